// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/bytes.h"
#include "privacy/consent/user_consent.h"
#include "privacy/dp/noised_centroids.h"
#include "privacy/ledger/ledger_entry.h"
#include "privacy/release/update_release.h"

namespace ruvd::privacy {

// What decides about a release of centroids before any data is looked at. All of it is public.
struct CentroidReleaseTerms {
  std::string scope;  // of the site policy
  dp::CentroidTerms centroids;
  double delta = 1e-6;  // that the ledger's epsilon is said at
  Digest space{};       // which embeddings these are: the model's id. The anchors follow from it
};

// Embeddings of examples, each once, and whose words they are of.
struct ConsentedExamples {
  std::span<const std::span<const float>> embeddings;
  std::span<const Contributor> contributors;
};

// A paid release: what of the examples may leave, and nothing else.
struct PreparedCentroids {
  uint64_t reservation = 0;
  LedgerCharge charge;
  std::vector<dp::NoisedCentroid> centroids;  // may be none: noise hid them all
};

// What one release is charged: one example is the unit, all passes and cells together are one
// charge, since an example is in one cell of each pass. INVALID_ARGUMENT.
absl::StatusOr<LedgerCharge> ChargeOf(const CentroidReleaseTerms& terms);

// Checks everything that can be checked without spending: the predicted signal, the site's policy,
// the operator's tier, every contributor's consent, that there are as many examples as one
// group needs. The last tells nothing: with fewer none would leave anyway (CentroidsOf).
// Reasons: SIGNAL_TOO_WEAK (also for too few examples), SCOPE_UNKNOWN, POLICY_REFUSES,
// CONSENT_MISSING.
absl::Status CheckCentroids(const CentroidReleaseTerms& terms, const ReleaseGuards& guards,
                            const ConsentedExamples& examples);

// One release under the tier `dp`: CheckCentroids; then the charge is reserved, durably; then
// noise; then the charge is spent and the centroids may leave. After an error of the ledger nothing
// was noised. PRIVACY_BUDGET_SPENT, the ledger's errors, those of dp::NoisedPasses.
absl::StatusOr<PreparedCentroids> PrepareCentroids(const CentroidReleaseTerms& terms,
                                                   const ReleaseGuards& guards,
                                                   const ConsentedExamples& examples);

}  // namespace ruvd::privacy
