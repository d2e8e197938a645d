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

// What decides about a release before any data is looked at. All of it is public.
struct ReleaseTerms {
  std::string scope;                      // of the site policy
  PrivacyUnit unit = PrivacyUnit::kNode;  // whose presence the noise hides
  // What the values mean, the grid and the noise: of one update, or of a clique's sum.
  masking::MaskLayout layout;
  double delta = 1e-6;      // that the ledger's epsilon is said at
  double contributors = 1;  // nodes whose updates a receiver averages; a clique's are counted
  // Norm of the mean clipped update over the clip norm, and releases that are averaged (dp/snr.h).
  double signal = 1;
  double releases = 1;
};

// What a release depends on; everything outlives it.
struct ReleaseGuards {
  const SitePolicy& policy;
  const ConsentRegister& consents;
  ConsentTier node_tier;  // the operator's, of a record that was verified
  ReleaseLedger& ledger;
  dp::RandomBytes random;
  int64_t now_ms = 0;
};

// An update and whose words it was learned from. The banks are clipped in place.
struct ConsentedUpdate {
  dp::Banks banks;
  std::span<const Contributor> contributors;
};

// What a release would be and cost, without spending anything.
struct ReleaseForecast {
  double snr = 0;
  double noise_multiplier = 0;
  LedgerCharge charge;
};

// A paid release: the bytes that leave, and no others. Whoever sends them notes it with
// ReleaseLedger::Release afterwards.
struct PreparedRelease {
  uint64_t reservation = 0;
  ReleaseForecast forecast;
  std::string bytes;  // an encoded ReleasePayload; PreviewText shows them
};

// Checks everything that can be checked without spending: the site's policy, the operator's tier,
// every contributor's consent, the update's shape, the predicted signal. Reasons: SCOPE_UNKNOWN,
// POLICY_REFUSES, CONSENT_MISSING, UPDATE_INVALID, SIGNAL_TOO_WEAK, INVALID_ARGUMENT.
absl::StatusOr<ReleaseForecast> CheckRelease(const ReleaseTerms& terms, const ReleaseGuards& guards,
                                             const ConsentedUpdate& update);

// One release under the tier `dp`: CheckRelease; then the charge is reserved, durably; then joint
// clip, grid, clip in integers, integer noise; then the charge is spent and the bytes may leave.
// After an error of the ledger nothing was noised. PRIVACY_BUDGET_SPENT, the ledger's errors.
absl::StatusOr<PreparedRelease> PrepareRelease(const ReleaseTerms& terms,
                                               const ReleaseGuards& guards,
                                               const ConsentedUpdate& update);

// The same for the tier `masked`: this node's input to the sum of `clique`, with its share of the
// noise. It leaves masked only, by MaskingSession::Mask. After a drop-out it is prepared anew, with
// another charge.
struct PreparedInput {
  masking::MaskInput input;
  ReleaseForecast forecast;
};
absl::StatusOr<PreparedInput> PrepareMaskedInput(const ReleaseTerms& terms,
                                                 const ReleaseGuards& guards,
                                                 const ConsentedUpdate& update,
                                                 const masking::Clique& clique);

}  // namespace ruvd::privacy
