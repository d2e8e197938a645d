// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Consents, withdrawals and site policies from outside: what decodes encodes to the
// same bytes, and nothing that the fuzzer made counts as signed.

#include <cstddef>
#include <cstdint>

#include "base/status.h"
#include "privacy/consent/site_policy.h"
#include "privacy/consent/user_consent.h"
#include "privacy/consent/withdrawal.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ruvd;
  const std::span<const uint8_t> bytes(data, size);
  static const ruvd::privacy::NodeKey key =
      ruvd::privacy::NodeKey::FromSeed(ruvd::privacy::KeySeed{1});
  if (const auto record = ruvd::privacy::UserConsent::Parse(bytes); record.ok()) {
    RUVD_CHECK(record->Encode() == AsText(bytes) && !record->Verify(key).ok());
  }
  if (const auto record = ruvd::privacy::Withdrawal::Parse(bytes); record.ok()) {
    RUVD_CHECK(record->Encode() == AsText(bytes) && !record->Verify(key.public_key()).ok());
  }
  if (const auto policy = ruvd::privacy::SitePolicy::Parse(AsText(bytes)); policy.ok()) {
    // A scope that is not listed is never allowed.
    RUVD_CHECK(!policy->Require(std::string(100, 'x'), 3, ruvd::privacy::ConsentTier::kDp).ok());
  }
  return 0;
}
