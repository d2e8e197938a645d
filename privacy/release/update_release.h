// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "privacy/consent/consent.h"
#include "privacy/consent/site_policy.h"
#include "privacy/consent/user_consent.h"
#include "privacy/dp/joint_clip.h"
#include "privacy/ledger/release_ledger.h"
#include "privacy/masking/clique.h"
#include "privacy/masking/masking_session.h"

namespace ruvd::privacy {

// The terms of a release, which are fixed before any data is read. All of them are public.
struct ReleaseTerms {
  std::string scope;                      // of the site policy
  PrivacyUnit unit = PrivacyUnit::kNode;  // whose presence the noise hides
  // The meaning of the values, the grid and the noise of one update or of a clique's sum
  masking::MaskLayout layout;
  double delta = 1e-6;      // delta of the ledger's epsilon
  double contributors = 1;  // nodes whose updates a receiver averages; not used for a clique
  // Norm of the mean clipped update over the clip norm, and the number of releases that are
  // averaged (dp/snr.h)
  double signal = 1;
  double releases = 1;
};

// What a release depends on. Everything referenced must outlive it.
struct ReleaseGuards {
  const SitePolicy& policy;
  const ConsentRegister& consents;
  ConsentTier node_tier;  // the operator's tier, from a verified record
  ReleaseLedger& ledger;
  dp::RandomBytes random;
  int64_t now_ms = 0;
};

// An update and the contributors from whose words it was learned. The banks are clipped in place.
struct ConsentedUpdate {
  dp::Banks banks;
  std::span<const Contributor> contributors;
};

// What a release would contain and cost; nothing is spent yet.
struct ReleaseForecast {
  double snr = 0;
  double noise_multiplier = 0;
  LedgerCharge charge;
};

// A paid release: the only bytes that may leave. The sender must call ReleaseLedger::Release
// afterwards.
struct PreparedRelease {
  uint64_t reservation = 0;
  ReleaseForecast forecast;
  std::string bytes;  // an encoded ReleasePayload
};

// Checks everything that can be checked without spending: the site's policy, the operator's tier,
// every contributor's consent, the update's shape and the predicted signal. Fails with
// SCOPE_UNKNOWN, POLICY_REFUSES, CONSENT_MISSING, UPDATE_INVALID, SIGNAL_TOO_WEAK or
// INVALID_ARGUMENT.
absl::StatusOr<ReleaseForecast> CheckRelease(const ReleaseTerms& terms, const ReleaseGuards& guards,
                                             const ConsentedUpdate& update);

// Makes one release under the tier `dp`: it calls CheckRelease and reserves the charge durably;
// then it clips the banks jointly, rounds to the grid, clips again in integers and adds integer
// noise; then it spends the charge, and the bytes may leave. If reserving fails, no noise was
// drawn. Fails with PRIVACY_BUDGET_SPENT and the other errors of the ledger.
absl::StatusOr<PreparedRelease> PrepareRelease(const ReleaseTerms& terms,
                                               const ReleaseGuards& guards,
                                               const ConsentedUpdate& update);

// A paid release under the tier `masked`: this node's input to the sum of a clique, with its share
// of the noise. It may leave only masked, through MaskingSession::Mask. After a drop-out a new
// input must be prepared with another charge.
struct PreparedMaskInput {
  masking::MaskInput input;
  ReleaseForecast forecast;
};
absl::StatusOr<PreparedMaskInput> PrepareMaskedInput(const ReleaseTerms& terms,
                                                     const ReleaseGuards& guards,
                                                     const ConsentedUpdate& update,
                                                     const masking::Clique& clique);

}  // namespace ruvd::privacy
