// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bench/experiments/federate_settings.h"
#include "bench/experiments/federate_training.h"
#include "federation/daf/bank_gate.h"
#include "inference/train/core_trainer.h"
#include "privacy/dp/discrete_gaussian.h"
#include "privacy/dp/grid_release.h"
#include "privacy/dp/sampled_gaussian.h"
#include "privacy/ledger/ledger_entry.h"

namespace ruvd::bench {

// Steps of DP-SGD at the level of examples in one node: what they add, and what they cost. All of
// it is known before any text is looked at.
struct ExamplePlan {
  double sampling_rate = 1;
  uint64_t steps = 1;
  double clip = 2;
  double expected_batch = 64;
  privacy::dp::NoiseGrid grid;
  double snr = 0;                // predicted, of the mean over all steps and nodes
  privacy::LedgerCharge charge;  // of all steps together
};

// Returns what the ledger is charged for all steps of the sampled Gaussian together, as one release
// outside rounds. Fails as CheckSampledGaussian and EpsilonOf do.
absl::StatusOr<privacy::LedgerCharge> ChargeOf(const privacy::dp::SampledGaussian& mechanism,
                                               double delta);

// Plans steps within (epsilon, delta) of the settings, as the ledger counts, for `examples`
// sequences of each of `nodes`, in `dimension` values. The sum of clipped integer gradients gets
// discrete Gaussian noise, which dp::SampledCurve covers.
// Errors: INVALID_ARGUMENT; SIGNAL_TOO_WEAK, whose message gives the figure and the ways out.
absl::StatusOr<ExamplePlan> PlanExamples(const FederateSettings& settings, size_t examples,
                                         size_t nodes, size_t dimension);

// Runs DP-SGD of one node: every sequence is drawn independently with the sampling rate and masked
// by itself; its gradient is clipped, rounded to the grid and clipped again in integers; the sum
// gets noise. Borrows what it is given; not thread-safe.
class ExampleTraining {
 public:
  struct Parts {
    inference::train::CoreTrainer& trainer;
    std::span<const inference::TrainingExample> examples;
    const privacy::dp::RandomBytes& random;
  };
  // Without `noise` the steps only clip, for comparison. Fails as DiscreteGaussian does.
  static absl::StatusOr<ExampleTraining> Create(const Parts& parts, const ExamplePlan& plan,
                                                bool noise);

  // Returns the negative mean gradient of one step at `cores` in the form that may be used: noised,
  // and divided by the size of the expected batch. Fails as CoreTrainer::Gradients does.
  absl::StatusOr<federation::BankedValues> Step(const federation::BankedValues& cores);
  const MaskingCounts& maskings() const { return maskings_; }

 private:
  using Draw = inference::train::CoreTrainer::Draw;
  ExampleTraining(const Parts& parts, const ExamplePlan& plan, privacy::dp::DiscreteGaussian noise,
                  bool noised);
  std::vector<Draw> Sample();
  // Adds the clipped gradients of some sequences.
  absl::Status AddClipped(const federation::BankedValues& cores, std::span<const Draw> draws,
                          std::vector<int64_t>* sum);

  Parts parts_;
  ExamplePlan plan_;
  privacy::dp::DiscreteGaussian noise_;
  bool noised_;
  MaskingCounts maskings_{};
};

}  // namespace ruvd::bench
