// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "privacy/release/centroid_release.h"

#include <string_view>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "privacy/consent/consent.h"
#include "privacy/dp/rdp_curve.h"
#include "privacy/dp/zcdp.h"
#include "privacy/limits.h"
#include "privacy/reasons.h"

namespace ruvd::privacy {
namespace {

constexpr std::string_view kSubject = "centroids ";

// Checks everything that could stop a release after it was paid for.
absl::Status CheckExamples(const CentroidReleaseTerms& terms, const ConsentedExamples& examples) {
  if (examples.embeddings.size() > limits::kMaxCentroidExamples) {
    return Error(absl::StatusCode::kResourceExhausted, reasons::kLimitExceeded,
                 "{} examples are more than the limit of {}; use the newest ones",
                 examples.embeddings.size(), limits::kMaxCentroidExamples);
  }
  for (const std::span<const float> embedding : examples.embeddings) {
    if (embedding.size() != terms.centroids.dimension) {
      return Error(absl::StatusCode::kInvalidArgument, reasons::kWrongDimension,
                   "an embedding has {} values where {} are expected; use embeddings of one model",
                   embedding.size(), terms.centroids.dimension);
    }
  }
  if (static_cast<double>(examples.embeddings.size()) < terms.centroids.least_examples) {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kSignalTooWeak,
                 "only {} example(s) have their owners' consent, and one centroid needs {}; "
                 "wait for more",
                 examples.embeddings.size(), terms.centroids.least_examples);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<LedgerCharge> ChargeOf(const CentroidReleaseTerms& terms) {
  const double multiplier = dp::NoiseMultiplierOf(terms.centroids);
  const double rho = dp::GaussianRho(multiplier);
  LedgerCharge charge{.unit = PrivacyUnit::kLesson,
                      .mechanism = PrivacyMechanism::kDiscreteGaussian,
                      .sigma = multiplier,
                      .delta = terms.delta,
                      .subject = std::string(kSubject) + std::string(AsText(terms.space))};
  ASSIGN_OR_RETURN(charge.curve, dp::ZcdpCurve(rho));
  ASSIGN_OR_RETURN(const dp::RdpBound bound, dp::EpsilonOf(charge.curve, terms.delta));
  charge.epsilon = bound.value;
  return charge;
}

absl::Status CheckCentroids(const CentroidReleaseTerms& terms, const ReleaseGuards& guards,
                            const ConsentedExamples& examples) {
  constexpr uint8_t kUse = consent_purposes::kTraining | consent_purposes::kSharing;
  RETURN_IF_ERROR(dp::RequireCentroidSnr(terms.centroids));
  RETURN_IF_ERROR(guards.policy.Require(terms.scope, kUse, ConsentTier::kDp));
  RETURN_IF_ERROR(RequireConsent(guards.node_tier, ShareableKind::kDpPattern));
  RETURN_IF_ERROR(CheckExamples(terms, examples));
  return guards.consents.RequireAll(examples.contributors, kUse, ConsentTier::kDp, guards.now_ms);
}

absl::StatusOr<PreparedCentroids> PrepareCentroids(const CentroidReleaseTerms& terms,
                                                   const ReleaseGuards& guards,
                                                   const ConsentedExamples& examples) {
  RETURN_IF_ERROR(CheckCentroids(terms, guards, examples));
  PreparedCentroids prepared;
  ASSIGN_OR_RETURN(prepared.charge, ChargeOf(terms));
  ASSIGN_OR_RETURN(const dp::DiscreteGaussian noise,
                   dp::DiscreteGaussian::Create(terms.centroids.grid.sigma_units));
  const std::vector<std::vector<float>> anchors =
      dp::PublicAnchors(terms.space, terms.centroids.dimension);
  ASSIGN_OR_RETURN(prepared.reservation, guards.ledger.Reserve(prepared.charge));
  // From here on the release is paid for.
  ASSIGN_OR_RETURN(
      const std::vector<dp::NoisedSums> passes,
      dp::RunNoisedPasses(examples.embeddings, anchors, terms.centroids, noise, guards.random));
  RETURN_IF_ERROR(guards.ledger.Spend(prepared.reservation));
  prepared.centroids = dp::CentroidsOf(passes.back(), terms.centroids);
  return prepared;
}

}  // namespace ruvd::privacy
