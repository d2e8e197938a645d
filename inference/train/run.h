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
  // Batches of the objective whose gradients are added up for one step
  int accumulate = 1;
  double learning_rate = 1e-3;
  ScheduleOptions schedule;
  OptimizerOptions optimizer;
  // The whole gradient is scaled down to this Euclidean norm if it is larger
  double clip_norm = 1.0;
  // Steps between held-out evaluations; the run also evaluates before the first and after the last
  // step. 0: only before the first and after the last step
  int evaluate_every = 0;
  // Ends the run after this many evaluations in a row without a new best, and restores the best
  // parameters; 0: never, and the last parameters stay
  int patience = 0;
  EwcOptions ewc;     // off by default
  uint64_t seed = 0;  // seed of the objective; kept in checkpoints
  Digest task{};  // digest of everything else that identifies the run: model, texts, fixed factors
  PassOptions pass;
  // Polled between slices; true ends the run with CANCELLED. May be empty
  std::function<bool()> cancelled;
};

// The parts that a run works on, all borrowed.
struct RunParts {
  NetworkWeights<float>* weights = nullptr;
  ChangeSet<float>* changes = nullptr;
  const Objective* objective = nullptr;
  // Scored with the same masks every time; may be empty
  std::span<const TrainingSequence> held_out;
  ParallelRunner* runner = nullptr;
  // Memory of the previous training, with as many parameters: the anchor of the EWC penalty, and
  // the start of the running Fisher. Null: there was no previous training, so there is no penalty
  const EwcMemory* remembered = nullptr;
};

// A training run that works in slices of about one layer of a group of sequences, so that the
// caller can do other work in between. Deterministic: neither the places where slices end nor a
// checkpoint and restore change a single bit of the result. Not thread-safe.
class TrainingRun {
 public:
  // The options must be within their ranges (CheckRunOptions).
  TrainingRun(const RunParts& parts, const RunOptions& options);

  // Works until the run is done or `pause`, which is asked after each slice, returns true. An empty
  // `pause` never stops. Errors: CANCELLED; INVALID_ARGUMENT for timestep banks on sequences of
  // block diffusion; INTERNAL if the gradient is not finite.
  absl::Status Advance(const std::function<bool()>& pause = nullptr);
  bool done() const { return phase_ == Phase::kDone; }

  // Number of steps taken, and three values of the last step: the loss of its batch, the EWC
  // penalty on top of it, and the norm of its gradient (including the penalty's) before clipping
  uint64_t step() const { return state_.step; }
  double loss() const { return loss_; }
  double penalty() const { return penalty_; }
  double gradient_norm() const { return gradient_norm_; }
  // Held-out losses in nats per token, one for each evaluation
  const std::vector<double>& held_out() const { return state_.held_out; }

  // Bytes held by the run: activations, cached outputs of the frozen network, parameters,
  // gradients, the optimiser's state and the Fisher
  uint64_t bytes() const;

  // Returns the state at the end of the last step or evaluation. Work on the next step is not
  // included.
  std::string Checkpoint() const;
  // Continues from a checkpoint of a run with equal parts and options. INVALID_ARGUMENT for bytes
  // that are not a checkpoint, or that belong to another run; then nothing is changed.
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
  bool ShouldStopEarly() const;
  Digest Task() const;
  std::vector<double> SequenceLosses() const;

  RunParts parts_;
  RunOptions options_;
  NetworkPass<float> pass_;
  FrozenPrefix<float> held_out_prefix_;
  Optimizer optimizer_;
  RunState state_;  // without parameters and optimiser state, which are stored elsewhere
  Phase phase_ = Phase::kDone;
  int accumulated_ = 0;
  std::vector<TrainingSequence> batch_;
  std::vector<double> policy_;
  FrozenStates<float> frozen_;
  std::vector<float> gradient_;
  std::vector<float> example_gradients_;  // gradients of FisherExamples()
  std::vector<double> next_fisher_;
  double batch_loss_ = 0;
  double loss_ = 0;
  double penalty_ = 0;
  double gradient_norm_ = 0;
};

// Returns INVALID_ARGUMENT for an option out of range.
absl::Status CheckRunOptions(const RunOptions& options);

}  // namespace ruvd::inference::train
