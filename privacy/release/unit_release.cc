// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "privacy/release/unit_release.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "privacy/consent/consent.h"
#include "privacy/dp/distributed_gaussian.h"
#include "privacy/dp/rdp_curve.h"
#include "privacy/dp/sampled_gaussian.h"
#include "privacy/dp/zcdp.h"
#include "privacy/limits.h"
#include "privacy/reasons.h"
#include "privacy/sodium.h"

namespace ruvd::privacy {
namespace {

constexpr int kCoinBits = 64;
constexpr size_t kCoinsAtOnce = 64;
// Rounding adds to the norm. Gradients are therefore clipped a little shorter, so that few are
// clipped again in integers, which rounds towards zero.
constexpr double kRoomForRounding = 1 - 1.0 / 64;

absl::Status Invalid(std::string_view what) {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
               "a sum of gradients {}", what);
}

double NormOf(std::span<const float> values) {
  double squares = 0;
  for (const float value : values) {
    squares += static_cast<double>(value) * static_cast<double>(value);
  }
  return std::sqrt(squares);
}

// Returns a number as int32_t; the smallest one has the magnitude of the largest, so that its
// negative exists.
int32_t Saturated(int64_t value) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  return static_cast<int32_t>(std::clamp(value, -kMost, kMost));
}

absl::StatusOr<dp::NoiseShares> SharesOf(const masking::MaskLayout& layout, size_t members) {
  return dp::SplitNoise(layout.grid, static_cast<uint32_t>(members), layout.ColludersAmong(members),
                        layout.Values());
}

bool SameGrid(const dp::NoiseGrid& a, const dp::NoiseGrid& b) {
  return a.exponent == b.exponent && a.clip_units == b.clip_units && a.sigma_units == b.sigma_units;
}

}  // namespace

std::vector<size_t> PoissonSample(size_t count, double rate, const dp::RandomBytes& random) {
  std::vector<size_t> sample;
  // A rate below 1 times 2^64 is exact and fits 64 bits.
  const uint64_t below = rate < 1 ? static_cast<uint64_t>(std::ldexp(rate, kCoinBits)) : 0;
  std::array<uint8_t, kCoinsAtOnce * sizeof(uint64_t)> coins{};
  for (size_t begin = 0; begin < count; begin += kCoinsAtOnce) {
    const size_t units = std::min(kCoinsAtOnce, count - begin);
    random(std::span(coins).first(units * sizeof(uint64_t)));
    for (size_t i = 0; i < units; ++i) {
      uint64_t coin = 0;
      std::memcpy(&coin, &coins[i * sizeof(coin)], sizeof(coin));
      if (rate >= 1 || coin < below) {
        sample.push_back(begin + i);
      }
    }
  }
  SecureWipe(coins);
  return sample;
}

absl::StatusOr<UnitSum> UnitSum::Create(const dp::NoiseGrid& grid, double clip_norm,
                                        size_t values) {
  if (!(clip_norm > 0) || !std::isfinite(clip_norm)) {
    return Invalid(fmt::format("needs a clip norm above 0, not {}", clip_norm));
  }
  if (grid.clip_units < 1 || grid.clip_units > limits::kMaxGridUnits) {
    return Invalid(
        fmt::format("needs a grid of MakeNoiseGrid, not one of {} units", grid.clip_units));
  }
  if (values < 1 || values > limits::kMaxUpdateValues) {
    return Invalid(fmt::format("has {} values, not 1 to {}; share a smaller rank", values,
                               limits::kMaxUpdateValues));
  }
  return UnitSum(grid, clip_norm, values);
}

absl::Status UnitSum::Add(std::span<float> gradient) {
  if (gradient.size() != sum_.size()) {
    return Invalid(fmt::format("of {} values cannot take a gradient of {}; use one plan",
                               sum_.size(), gradient.size()));
  }
  ++units_;
  const double norm = NormOf(gradient);
  if (!std::isfinite(norm)) {
    ++not_finite_;
    return absl::OkStatus();
  }
  const double most = kRoomForRounding * clip_norm_;
  const float factor = norm > most ? static_cast<float>(most / norm) : 1.0F;
  constexpr double kMostUnits = limits::kMaxGridUnits;
  for (size_t i = 0; i < gradient.size(); ++i) {
    gradient[i] *= factor;
    const double scaled = std::ldexp(static_cast<double>(gradient[i]), -grid_.exponent);
    rounded_[i] = static_cast<int32_t>(std::lround(std::clamp(scaled, -kMostUnits, kMostUnits)));
  }
  dp::ClipIntegers(rounded_, grid_.clip_units);
  std::ranges::transform(rounded_, sum_, sum_.begin(),
                         [](int32_t unit, int64_t before) { return before + unit; });
  return absl::OkStatus();
}

std::vector<int32_t> UnitSum::Noised(const dp::DiscreteGaussian& noise,
                                     const dp::RandomBytes& random) const {
  return Noised(noise, random, std::numeric_limits<int64_t>::max() / 2);
}

std::vector<int32_t> UnitSum::Noised(const dp::DiscreteGaussian& noise,
                                     const dp::RandomBytes& random, int64_t limit) const {
  std::vector<int32_t> drawn(sum_.size());
  noise.Sample(random, drawn);
  std::vector<int32_t> noised(sum_.size());
  std::ranges::transform(sum_, drawn, noised.begin(), [limit](int64_t sum, int32_t draw) {
    return Saturated(std::clamp(sum, -limit, limit) + draw);
  });
  SecureWipe({reinterpret_cast<uint8_t*>(drawn.data()), drawn.size() * sizeof(int32_t)});
  return noised;
}

std::vector<int32_t> UnitSum::Plain() const {
  std::vector<int32_t> plain(sum_.size());
  std::ranges::transform(sum_, plain.begin(), Saturated);
  return plain;
}

namespace {

// Returns the charge of one release that is `rho`-zCDP without sampling.
absl::StatusOr<LedgerCharge> SampledCharge(const UnitReleaseTerms& terms,
                                           PrivacyMechanism mechanism, double multiplier,
                                           double rho) {
  RETURN_IF_ERROR(dp::CheckSampledGaussian({.q = terms.sampling_rate, .sigma = multiplier}));
  LedgerCharge charge{.unit = terms.unit,
                      .mechanism = mechanism,
                      .sigma = multiplier,
                      .sampling_rate = terms.sampling_rate,
                      .delta = terms.delta,
                      .round = terms.round,
                      .oldest_joined = terms.oldest_joined,
                      .subject = terms.subject};
  ASSIGN_OR_RETURN(charge.curve, dp::SampledCurve(terms.sampling_rate, rho));
  ASSIGN_OR_RETURN(const dp::RdpBound bound, dp::EpsilonOf(charge.curve, terms.delta));
  charge.epsilon = bound.value;
  return charge;
}

// Checks everything about the people and the data that could stop a release before it is charged.
absl::Status CheckAllowed(const UnitReleaseTerms& terms, const ReleaseGuards& guards,
                          const UnitSum& sum, std::span<const Contributor> contributors,
                          ConsentTier tier) {
  constexpr uint8_t kUse = consent_purposes::kTraining | consent_purposes::kSharing;
  const ShareableKind kind =
      tier == ConsentTier::kMasked ? ShareableKind::kMaskedSum : ShareableKind::kDpContribution;
  if (!SameGrid(terms.grid, sum.grid())) {
    return Invalid("was made on another grid than that of its release; use one plan");
  }
  RETURN_IF_ERROR(guards.policy.Require(terms.scope, kUse, tier));
  RETURN_IF_ERROR(RequireConsent(guards.node_tier, kind));
  return guards.consents.RequireAll(contributors, kUse, tier, guards.now_ms);
}

absl::Status CheckClique(const UnitSum& sum, const masking::MaskLayout& layout,
                         const masking::Clique& clique) {
  RETURN_IF_ERROR(layout.Check());
  RETURN_IF_ERROR(clique.Check());
  if (clique.layout == layout.Hash() && SameGrid(layout.grid, sum.grid()) &&
      layout.Values() == sum.values()) {
    return absl::OkStatus();
  }
  return Error(absl::StatusCode::kFailedPrecondition, reasons::kMaskLayoutMismatch,
               "the clique adds up values of another layout than this sum; give its members the "
               "same configuration");
}

// Notes that noise was drawn for a charge, which stays whatever happens now.
absl::Status Spend(const ReleaseGuards& guards, uint64_t reservation, const LedgerCharge& charge) {
  const absl::Status spent = guards.ledger.Spend(reservation);
  return spent.ok() ? spent
                    : Annotate(spent, fmt::format("nothing left this node, but the charge of "
                                                  "epsilon {:.3f} stays",
                                                  charge.epsilon));
}

}  // namespace

absl::StatusOr<LedgerCharge> ChargeOf(const UnitReleaseTerms& terms) {
  const double multiplier = terms.grid.NoiseMultiplier();
  return SampledCharge(terms, PrivacyMechanism::kSubsampledGaussian, multiplier,
                       dp::GaussianRho(multiplier));
}

absl::StatusOr<PreparedUnits> PrepareUnits(const UnitReleaseTerms& terms,
                                           const ReleaseGuards& guards, const UnitSum& sum,
                                           std::span<const Contributor> contributors) {
  RETURN_IF_ERROR(CheckAllowed(terms, guards, sum, contributors, ConsentTier::kDp));
  PreparedUnits prepared;
  ASSIGN_OR_RETURN(prepared.charge, ChargeOf(terms));
  // The table of the noise is computed before the charge, because that may fail.
  ASSIGN_OR_RETURN(const dp::DiscreteGaussian noise,
                   dp::DiscreteGaussian::Create(terms.grid.sigma_units));
  ASSIGN_OR_RETURN(prepared.reservation, guards.ledger.Reserve(prepared.charge));
  prepared.units = sum.Noised(noise, guards.random);
  RETURN_IF_ERROR(Spend(guards, prepared.reservation, prepared.charge));
  return prepared;
}

masking::MaskLayout LayoutOfUnits(const Digest& name, const Digest& frame_id,
                                  std::vector<uint32_t> bank_values, const dp::NoiseGrid& grid) {
  const int64_t most = std::min(limits::kMaxMaskUnits,
                                limits::kMaxSampleClips * std::max<int64_t>(grid.clip_units, 1));
  return {.model_hash = name,
          .frame_id = frame_id,
          .bank_values = std::move(bank_values),
          .grid = grid,
          .colluders = masking::kThirdColludes,
          .unit_limit = static_cast<uint32_t>(most)};
}

absl::StatusOr<LedgerCharge> ChargeOfShare(const UnitReleaseTerms& terms,
                                           const masking::MaskLayout& layout, size_t members) {
  ASSIGN_OR_RETURN(const dp::NoiseShares shares, SharesOf(layout, members));
  return SampledCharge(terms, PrivacyMechanism::kDistributedGaussian, shares.noise_multiplier,
                       shares.rho);
}

absl::StatusOr<double> LargestShareRho(const masking::MaskLayout& layout) {
  double largest = 0;
  for (size_t members = limits::kMinCliqueMembers; members <= limits::kMaxCliqueMembers;
       ++members) {
    ASSIGN_OR_RETURN(const dp::NoiseShares shares, SharesOf(layout, members));
    largest = std::max(largest, shares.rho);
  }
  return largest;
}

absl::StatusOr<NoisedUnitShare> NoiseUnitShare(const UnitReleaseTerms& terms,
                                               const ReleaseGuards& guards, const UnitSum& sum,
                                               std::span<const Contributor> contributors,
                                               const masking::MaskLayout& layout,
                                               const masking::Clique& clique) {
  const size_t members = clique.members.size();
  RETURN_IF_ERROR(CheckAllowed(terms, guards, sum, contributors, ConsentTier::kMasked));
  RETURN_IF_ERROR(CheckClique(sum, layout, clique));
  ASSIGN_OR_RETURN(const dp::NoiseShares shares, SharesOf(layout, members));
  NoisedUnitShare share;
  ASSIGN_OR_RETURN(share.charge, ChargeOfShare(terms, layout, members));
  ASSIGN_OR_RETURN(const dp::DiscreteGaussian noise,
                   dp::DiscreteGaussian::Create(shares.share_units));
  RETURN_IF_ERROR(guards.ledger.Check(share.charge));
  share.input.contributors = static_cast<uint32_t>(members);
  share.input.units = sum.Noised(noise, guards.random, layout.MaxUnitsBeforeNoise());
  std::ranges::transform(share.input.units, share.input.units.begin(), std::negate<>());
  return share;
}

absl::StatusOr<uint64_t> PayForUnitShare(const UnitReleaseTerms& terms, const ReleaseGuards& guards,
                                         const UnitSum& sum,
                                         std::span<const Contributor> contributors,
                                         const LedgerCharge& charge) {
  RETURN_IF_ERROR(CheckAllowed(terms, guards, sum, contributors, ConsentTier::kMasked));
  ASSIGN_OR_RETURN(const uint64_t reservation, guards.ledger.Reserve(charge));
  RETURN_IF_ERROR(Spend(guards, reservation, charge));
  return reservation;
}

}  // namespace ruvd::privacy
