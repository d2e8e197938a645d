// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "privacy/consent/user_consent.h"
#include "privacy/dp/discrete_gaussian.h"
#include "privacy/dp/grid_release.h"
#include "privacy/ledger/ledger_entry.h"
#include "privacy/masking/clique.h"
#include "privacy/masking/masking_session.h"
#include "privacy/release/release_guards.h"

// What a round of learning releases of single units, which are lessons, users or the whole node:
// the sum of their clipped gradients, with noise.
namespace ruvd::privacy {

// Draws a Poisson sample: each of `count` units is in it, independently of the others, with a
// probability that is at most `rate` and below it by 2^-64 at most. `rate` is 0 to 1. Returns the
// numbers of the units in ascending order. The coins come from `random`; privacy is amplified only
// as long as they, and so the sample, stay secret.
std::vector<size_t> PoissonSample(size_t count, double rate, const dp::RandomBytes& random);

// The sum over units of their gradients on a grid. One unit more or less changes it by a vector of
// integers whose Euclidean norm is at most grid.clip_units, whatever the gradients are. Not
// thread-safe.
class UnitSum {
 public:
  // Makes a sum of `values` values that is zero. Fails with INVALID_ARGUMENT unless the clip norm
  // is finite and above 0, the grid's clip_units are 1 to kMaxGridUnits, and there are 1 to
  // kMaxUpdateValues values.
  static absl::StatusOr<UnitSum> Create(const dp::NoiseGrid& grid, double clip_norm, size_t values);

  // Adds the gradient of one unit, all banks one after the other; for a user or the node it is the
  // sum over its lessons. Clips it (in place) to the clip norm, rounds it to the grid and clips it
  // again in integers. A gradient that is not finite counts as zero, because a failure would show
  // what one unit is like. Fails with INVALID_ARGUMENT for a gradient of another size, and then
  // adds nothing.
  absl::Status Add(std::span<float> gradient);

  // Returns the sum with noise in every value. Numbers beyond int32_t become the largest or
  // smallest one of equal magnitude; that happens after the noise, so it shows nothing more. Noise
  // and noised values are never computed in floating point.
  std::vector<int32_t> Noised(const dp::DiscreteGaussian& noise,
                              const dp::RandomBytes& random) const;
  // Does the same with every value of the sum brought to at most `limit` in magnitude before the
  // noise. One unit more or less changes the result no more for that.
  std::vector<int32_t> Noised(const dp::DiscreteGaussian& noise, const dp::RandomBytes& random,
                              int64_t limit) const;
  // Returns the sum as it is, which protects no unit: for lessons that are shared openly.
  std::vector<int32_t> Plain() const;

  const dp::NoiseGrid& grid() const { return grid_; }
  size_t values() const { return sum_.size(); }
  // Units that were added, and how many of them counted as zero. Both are secret where the sample
  // is.
  size_t units() const { return units_; }
  size_t not_finite() const { return not_finite_; }

 private:
  UnitSum(const dp::NoiseGrid& grid, double clip_norm, size_t values)
      : grid_(grid), clip_norm_(clip_norm), sum_(values), rounded_(values) {}

  dp::NoiseGrid grid_;
  double clip_norm_;
  std::vector<int64_t> sum_;
  std::vector<int32_t> rounded_;  // of the unit that is added
  size_t units_ = 0;
  size_t not_finite_ = 0;
};

// The terms of the release of a sum, which are fixed before any data is read.
struct UnitReleaseTerms {
  std::string scope;  // of the site policy
  PrivacyUnit unit = PrivacyUnit::kLesson;
  dp::NoiseGrid grid;
  double sampling_rate = 1;  // of the Poisson sample of the sum
  double delta = 1e-6;       // delta of the ledger's epsilon
  // As in LedgerCharge: the round that is paid for, the joining round from which on units may be in
  // the sample, and the name of the release
  uint64_t round = 0;
  uint64_t oldest_joined = 0;
  std::string subject;
};

// Returns what the ledger is charged for one release of the sampled Gaussian (dp::SampledCurve).
// Fails with INVALID_ARGUMENT for terms that no accountant takes.
absl::StatusOr<LedgerCharge> ChargeOf(const UnitReleaseTerms& terms);

// A paid release: the only data about the units that may leave. The sender must call
// ReleaseLedger::Release afterwards.
struct PreparedUnits {
  uint64_t reservation = 0;
  LedgerCharge charge;
  std::vector<int32_t> units;  // of the grid
};

// Makes one release under the tier `dp`: it checks the site's policy, the operator's tier and the
// consent of all contributors, whether they are in the sample or not, reserves the charge durably,
// adds whole noise and spends the charge; then the units may leave. If reserving fails, no noise
// was drawn. Fails with SCOPE_UNKNOWN, POLICY_REFUSES, CONSENT_MISSING, PRIVACY_BUDGET_SPENT and
// the other errors of the ledger; and with INVALID_ARGUMENT if the sum was made on another grid
// than that of the terms.
absl::StatusOr<PreparedUnits> PrepareUnits(const UnitReleaseTerms& terms,
                                           const ReleaseGuards& guards, const UnitSum& sum,
                                           std::span<const Contributor> contributors);

// ---- The same under the tier `masked`

// Returns the layout of a clique's sum of UnitSums: a third of the members, rounded up, may
// collude, and a member may add kMaxSampleClips clip norms to a value. `name` is what else all
// members must have in common, as a digest.
masking::MaskLayout LayoutOfUnits(const Digest& name, const Digest& frame_id,
                                  std::vector<uint32_t> bank_values, const dp::NoiseGrid& grid);

// Returns what the ledger is charged for a share in the sum of `members`: the sampled Gaussian of
// NoiseShares::rho, in which the noise of a third of the members does not count and the difference
// between a sum of discrete Gaussians and one of them does. Fails as ChargeOf and dp::SplitNoise.
absl::StatusOr<LedgerCharge> ChargeOfShare(const UnitReleaseTerms& terms,
                                           const masking::MaskLayout& layout, size_t members);
// Returns the largest NoiseShares::rho of any clique, for planning before the clique is known.
absl::StatusOr<double> LargestShareRho(const masking::MaskLayout& layout);

// A share with noise, before it is paid for: nothing of it may leave but a commitment.
struct NoisedUnitShare {
  masking::MaskInput input;  // minus the sum, because a round moves against the gradient
  LedgerCharge charge;       // what it will cost
};

// Makes this node's input to the sum of `clique`: checks under the tier `masked` what PrepareUnits
// checks for a sum of its own, and that the ledger would take the charge, and adds this node's
// share of the noise. It costs nothing, so an input whose attempt fails is forgotten, and another
// one may be made of the same sum. Fails as PrepareUnits does, and with CLIQUE_INVALID and
// MASK_LAYOUT_MISMATCH for an invalid clique, or one that agreed on another layout.
absl::StatusOr<NoisedUnitShare> NoiseUnitShare(const UnitReleaseTerms& terms,
                                               const ReleaseGuards& guards, const UnitSum& sum,
                                               std::span<const Contributor> contributors,
                                               const masking::MaskLayout& layout,
                                               const masking::Clique& clique);

// Pays for a share that NoiseUnitShare made of `sum`: checks the same again, reserves the charge
// durably and spends it, and returns the reservation; then the share may leave, masked by
// MaskingSession::Mask. The caller pays for no second share of one sample, because both together
// would cost more than two charges (CohortLedger::Add).
absl::StatusOr<uint64_t> PayForUnitShare(const UnitReleaseTerms& terms, const ReleaseGuards& guards,
                                         const UnitSum& sum,
                                         std::span<const Contributor> contributors,
                                         const LedgerCharge& charge);

}  // namespace ruvd::privacy
