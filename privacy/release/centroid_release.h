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
#include "privacy/release/release_guards.h"

namespace ruvd::privacy {

// The terms of a release of centroids, which are fixed before any data is read. All of them are
// public.
struct CentroidReleaseTerms {
  std::string scope;  // of the site policy
  dp::CentroidTerms centroids;
  double delta = 1e-6;  // delta of the ledger's epsilon
  Digest space{};       // the id of the model that made the embeddings; the anchors follow from it
};

// The embeddings of examples, each once, and the contributors whose words they represent.
struct ConsentedExamples {
  std::span<const std::span<const float>> embeddings;
  std::span<const Contributor> contributors;
};

// A paid release: the only data about the examples that may leave.
struct PreparedCentroids {
  uint64_t reservation = 0;
  LedgerCharge charge;
  std::vector<dp::NoisedCentroid> centroids;  // may be empty if the noise hid them all
};

// Returns the charge of one release outside rounds. The unit is one lesson, which is one example
// here. All passes and cells together are one charge, because an example is in one cell of each
// pass. Fails with INVALID_ARGUMENT.
absl::StatusOr<LedgerCharge> ChargeOf(const CentroidReleaseTerms& terms);

// Checks everything that can be checked without spending: the predicted signal, the site's policy,
// the operator's tier, every contributor's consent, and that there are enough examples for one
// centroid. The last check reveals nothing, because with fewer examples no centroid would leave
// (CentroidsOf). Fails with SIGNAL_TOO_WEAK (also for too few examples), SCOPE_UNKNOWN,
// POLICY_REFUSES or CONSENT_MISSING.
absl::Status CheckCentroids(const CentroidReleaseTerms& terms, const ReleaseGuards& guards,
                            const ConsentedExamples& examples);

// Makes one release under the tier `dp`: it calls CheckCentroids, reserves the charge durably, adds
// noise and spends the charge; then the centroids may leave. If reserving fails, no noise was
// drawn. Fails with PRIVACY_BUDGET_SPENT and the other errors of the ledger, and as
// dp::RunNoisedPasses does.
absl::StatusOr<PreparedCentroids> PrepareCentroids(const CentroidReleaseTerms& terms,
                                                   const ReleaseGuards& guards,
                                                   const ConsentedExamples& examples);

}  // namespace ruvd::privacy
