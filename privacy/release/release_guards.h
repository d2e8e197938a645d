// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>

#include "privacy/consent/consent.h"
#include "privacy/consent/site_policy.h"
#include "privacy/consent/user_consent.h"
#include "privacy/dp/discrete_gaussian.h"
#include "privacy/ledger/release_ledger.h"

namespace ruvd::privacy {

// What a release depends on. Everything referenced must outlive it.
struct ReleaseGuards {
  const SitePolicy& policy;
  const ConsentRegister& consents;
  ConsentTier node_tier;  // the operator's tier, from a verified record
  ReleaseLedger& ledger;
  dp::RandomBytes random;
  int64_t now_ms = 0;
};

}  // namespace ruvd::privacy
