// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/bytes.h"
#include "base/parallel.h"
#include "inference/numerics/optimizer.h"
#include "inference/train/change.h"
#include "inference/train/ewc.h"
#include "inference/train/losses.h"
#include "inference/train/network_pass.h"
#include "inference/train/run_state.h"

namespace ruvd::inference::train {

struct RunOptions {
  int steps = 100;
  // Batches of the objective whose gradients are added up for one step.
  int accumulate = 1;
  double learning_rate = 1e-3;
  ScheduleOptions schedule;
  OptimizerOptions optimizer;
  // Euclidean norm that the whole gradient is scaled down to.
  double clip_norm = 1.0;
  // Held-out losses are taken before the first step, after every so many steps and after the last
  // one; 0: before the first and after the last only.
  int evaluate_every = 0;
  // Ends the run after so many evaluations in a row without a new best, and gives the best
  // parameters back; 0: never, and the last parameters stay.
  int patience = 0;
  EwcOptions ewc;     // off by default
  uint64_t seed = 0;  // of the objective; kept in checkpoints
  Digest task{};      // what else tells this run from others: model, texts, frozen factors
  PassOptions pass;
  // Polled between slices; true ends the run with CANCELLED. May be empty.
  std::function<bool()> cancelled;
};

// What a run works on, all borrowed.
struct RunParts {
  NetworkWeights<float>* weights = nullptr;
  ChangeSet<float>* changes = nullptr;
  const Objective* objective = nullptr;
  // Scored on the same masks every time; may be empty.
  std::span<const TrainingSequence> held_out;
  ParallelRunner* runner = nullptr;
  // Of the training before, with as many parameters: the anchor of the EWC penalty, and where the
  // running Fisher goes on from. Null: there was none, so that there is no penalty.
  const EwcMemory* remembered = nullptr;
};

// A training run in slices: of about a layer of a group of sequences, so that whoever runs it may
// do other things in between. Deterministic: where slices end changes nothing, nor does a
// checkpoint and a restore, bit for bit. Not thread-safe.
class TrainingRun {
 public:
  // Options are within their ranges (CheckRunOptions).
  TrainingRun(const RunParts& parts, const RunOptions& options);

  // Works until `pause` says so, asked after each slice, or the run is done. Empty: until it is
  // done. Errors: CANCELLED; INVALID_ARGUMENT for timestep banks on sequences of block diffusion;
  // INTERNAL when the gradient is not finite.
  absl::Status Advance(const std::function<bool()>& pause = nullptr);
  bool done() const { return phase_ == Phase::kDone; }

  // Steps taken; what the last one's batch lost; the EWC penalty on top of it; the norm of its
  // gradient, that of the penalty included, before clipping.
  uint64_t step() const { return state_.step; }
  double loss() const { return loss_; }
  double penalty() const { return penalty_; }
  double gradient_norm() const { return gradient_norm_; }
  // Nats per token of the held-out sequences, one for each evaluation.
  const std::vector<double>& held_out() const { return state_.held_out; }

  // Memory that the run holds: activations, what is kept of the frozen network, parameters,
  // gradients, the optimiser's state and the Fisher.
  uint64_t bytes() const;

  // The state at the end of the last step or evaluation. Work on the next one is done again.
  std::string Checkpoint() const;
  // Goes on from a checkpoint of a run with equal parts and options. INVALID_ARGUMENT for bytes
  // that are none, or of another run; then nothing has changed.
  absl::Status Restore(std::span<const uint8_t> bytes);

 private:
  enum class Phase : uint8_t { kHeldOut, kPolicy, kReference, kFrozen, kGradient, kDone };

  void BeginEvaluation();
  void BeginStep();
  void BeginBatch();
  void BeginFrozen();
  void BeginGradient();
  std::vector<size_t> FisherExamples() const;
  void TakeExampleGradients();
  void BeginNext();
  absl::Status CheckBanks() const;
  absl::Status FinishPass();
  absl::Status FinishGradient();
  void FinishEvaluation();
  bool EvaluationIsDue() const;
  bool OutOfPatience() const;
  Digest Task() const;
  std::vector<double> SequenceLosses() const;

  RunParts parts_;
  RunOptions options_;
  NetworkPass<float> pass_;
  FrozenPrefix<float> held_out_prefix_;
  Optimizer optimizer_;
  RunState state_;  // without parameters and optimiser, which live elsewhere
  Phase phase_ = Phase::kDone;
  int accumulated_ = 0;
  std::vector<TrainingSequence> batch_;
  std::vector<double> policy_;
  FrozenStates<float> frozen_;
  std::vector<float> gradient_;
  std::vector<float> example_gradients_;  // of FisherExamples()
  std::vector<double> next_fisher_;
  double batch_loss_ = 0;
  double loss_ = 0;
  double penalty_ = 0;
  double gradient_norm_ = 0;
};

// INVALID_ARGUMENT for an option out of its range.
absl::Status CheckRunOptions(const RunOptions& options);

}  // namespace ruvd::inference::train
