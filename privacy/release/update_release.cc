// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "privacy/release/update_release.h"

#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "privacy/dp/distributed_gaussian.h"
#include "privacy/dp/grid_release.h"
#include "privacy/dp/rdp_curve.h"
#include "privacy/dp/snr.h"
#include "privacy/dp/zcdp.h"
#include "privacy/limits.h"
#include "privacy/reasons.h"
#include "privacy/release/release_payload.h"

namespace ruvd::privacy {
namespace {

// How an update is noised and what that costs.
struct Noising {
  ConsentTier tier = ConsentTier::kDp;
  ShareableKind kind = ShareableKind::kDpAdapterDelta;
  dp::NoiseGrid grid;  // includes only the noise that this node draws
  dp::NoiseLocation place = dp::NoiseLocation::kEach;
  double contributors = 1;
  double noise_multiplier = 0;  // of the data that other nodes see
  double rho = 0;
  PrivacyMechanism mechanism = PrivacyMechanism::kDiscreteGaussian;
};

Noising NoisingAlone(const ReleaseTerms& terms) {
  const double multiplier = terms.layout.grid.NoiseMultiplier();
  return {.grid = terms.layout.grid,
          .contributors = terms.contributors,
          .noise_multiplier = multiplier,
          .rho = dp::GaussianRho(multiplier)};
}

absl::StatusOr<Noising> NoisingInClique(const ReleaseTerms& terms, size_t members) {
  ASSIGN_OR_RETURN(const dp::NoiseShares shares,
                   dp::SplitNoise(terms.layout.grid, static_cast<uint32_t>(members),
                                  terms.layout.ColludersAmong(members), terms.layout.Values()));
  return Noising{.tier = ConsentTier::kMasked,
                 .kind = ShareableKind::kMaskedSum,
                 .grid = dp::NoiseShareGrid(terms.layout.grid, shares),
                 .place = dp::NoiseLocation::kSum,
                 .contributors = static_cast<double>(members),
                 .noise_multiplier = shares.noise_multiplier,
                 .rho = shares.rho,
                 .mechanism = PrivacyMechanism::kDistributedGaussian};
}

absl::Status CheckAllowed(const ReleaseTerms& terms, const ReleaseGuards& guards,
                          const ConsentedUpdate& update, const Noising& noising) {
  constexpr uint8_t kUse = consent_purposes::kTraining | consent_purposes::kSharing;
  RETURN_IF_ERROR(guards.policy.Require(terms.scope, kUse, noising.tier));
  RETURN_IF_ERROR(RequireConsent(guards.node_tier, noising.kind));
  return guards.consents.RequireAll(update.contributors, kUse, noising.tier, guards.now_ms);
}

// Checks everything that could stop a release after it was paid for.
absl::Status CheckShape(const ReleaseTerms& terms, const ConsentedUpdate& update) {
  const dp::NoiseGrid& grid = terms.layout.grid;
  if (grid.clip_units < limits::kMinClipUnits || grid.clip_units > limits::kMaxGridUnits ||
      terms.layout.Values() == 0 || terms.layout.Values() > limits::kMaxMaskedValues) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "cannot release {} values on a grid of {} units; give 1 to {} values and make the "
                 "grid with MakeNoiseGrid",
                 terms.layout.Values(), grid.clip_units, limits::kMaxMaskedValues);
  }
  const std::vector<size_t> layout(terms.layout.bank_values.begin(),
                                   terms.layout.bank_values.end());
  return dp::CheckBanks(update.banks, layout);
}

absl::StatusOr<ReleaseForecast> Forecast(const ReleaseTerms& terms, const ReleaseGuards& guards,
                                         const ConsentedUpdate& update, const Noising& noising) {
  RETURN_IF_ERROR(CheckAllowed(terms, guards, update, noising));
  RETURN_IF_ERROR(CheckShape(terms, update));
  const dp::SnrParameters question{.place = noising.place,
                                   .noise_multiplier = noising.noise_multiplier,
                                   .dimension = terms.layout.Values(),
                                   .contributors = noising.contributors,
                                   .releases = terms.releases,
                                   .signal = terms.signal};
  RETURN_IF_ERROR(dp::RequireSnr(question));
  ReleaseForecast forecast{.noise_multiplier = noising.noise_multiplier};
  ASSIGN_OR_RETURN(forecast.snr, dp::PredictSnr(question));
  forecast.charge = {.unit = terms.unit,
                     .mechanism = noising.mechanism,
                     .sigma = noising.noise_multiplier,
                     .delta = terms.delta,
                     .subject = std::string(AsText(terms.layout.Hash()))};
  if (terms.unit == PrivacyUnit::kNode) {
    ASSIGN_OR_RETURN(forecast.charge.epsilon, dp::EpsilonOfRho(noising.rho, terms.delta));
    ASSIGN_OR_RETURN(forecast.charge.rho_q32, dp::FixedPointRho(noising.rho));
    return forecast;
  }
  ASSIGN_OR_RETURN(forecast.charge.curve, dp::ZcdpCurve(noising.rho));
  ASSIGN_OR_RETURN(const dp::RdpBound bound, dp::EpsilonOf(forecast.charge.curve, terms.delta));
  forecast.charge.epsilon = bound.value;
  return forecast;
}

struct Noised {
  uint64_t reservation = 0;
  std::vector<int32_t> units;
};

// Pays for a release and draws its noise. The table of the noise is computed before the charge,
// because that may fail.
absl::StatusOr<Noised> Pay(const ReleaseTerms& terms, const ReleaseGuards& guards,
                           const ConsentedUpdate& update, const Noising& noising,
                           const LedgerCharge& charge) {
  ASSIGN_OR_RETURN(const dp::DiscreteGaussian noise,
                   dp::DiscreteGaussian::Create(noising.grid.sigma_units));
  const std::vector<size_t> layout(terms.layout.bank_values.begin(),
                                   terms.layout.bank_values.end());
  ASSIGN_OR_RETURN(const uint64_t reservation, guards.ledger.Reserve(charge));
  ASSIGN_OR_RETURN(dp::NoisedUpdate noised,
                   dp::ReleaseOnGrid(update.banks, layout, noising.grid, noise, guards.random));
  RETURN_IF_ERROR(guards.ledger.Spend(reservation));
  return Noised{.reservation = reservation, .units = std::move(noised.units)};
}

}  // namespace

absl::StatusOr<ReleaseForecast> CheckRelease(const ReleaseTerms& terms, const ReleaseGuards& guards,
                                             const ConsentedUpdate& update) {
  return Forecast(terms, guards, update, NoisingAlone(terms));
}

absl::StatusOr<PreparedRelease> PrepareRelease(const ReleaseTerms& terms,
                                               const ReleaseGuards& guards,
                                               const ConsentedUpdate& update) {
  const Noising noising = NoisingAlone(terms);
  PreparedRelease release;
  ASSIGN_OR_RETURN(release.forecast, Forecast(terms, guards, update, noising));
  ASSIGN_OR_RETURN(Noised noised, Pay(terms, guards, update, noising, release.forecast.charge));
  release.reservation = noised.reservation;
  release.bytes = ReleasePayload{.unit = terms.unit,
                                 .layout = terms.layout.Hash(),
                                 .exponent = noising.grid.exponent,
                                 .clip_units = static_cast<uint32_t>(noising.grid.clip_units),
                                 .sigma_units = noising.grid.sigma_units,
                                 .units = std::move(noised.units)}
                      .Encode();
  return release;
}

absl::StatusOr<PreparedMaskInput> PrepareMaskedInput(const ReleaseTerms& terms,
                                                     const ReleaseGuards& guards,
                                                     const ConsentedUpdate& update,
                                                     const masking::Clique& clique) {
  RETURN_IF_ERROR(clique.Check());
  if (clique.layout != terms.layout.Hash()) {
    return Error(
        absl::StatusCode::kFailedPrecondition, reasons::kMaskLayoutMismatch,
        "the clique uses another layout than this update; give its members the same configuration");
  }
  ASSIGN_OR_RETURN(const Noising noising, NoisingInClique(terms, clique.members.size()));
  PreparedMaskInput prepared;
  ASSIGN_OR_RETURN(prepared.forecast, Forecast(terms, guards, update, noising));
  ASSIGN_OR_RETURN(Noised noised, Pay(terms, guards, update, noising, prepared.forecast.charge));
  prepared.input = {.reservation = noised.reservation,
                    .contributors = static_cast<uint32_t>(clique.members.size()),
                    .units = std::move(noised.units)};
  return prepared;
}

}  // namespace ruvd::privacy
