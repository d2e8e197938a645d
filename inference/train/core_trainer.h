// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/parallel.h"
#include "inference/adapter/core_shape.h"
#include "inference/adapter/frame_set.h"
#include "inference/adapter/talora.h"
#include "inference/model/model.h"
#include "inference/numerics/optimizer.h"
#include "inference/train/adapter_changes.h"
#include "inference/train/change.h"
#include "inference/train/losses.h"
#include "inference/train/network.h"
#include "inference/train/network_pass.h"

namespace ruvd::inference::train {

// Counts of maskings by tenth of the masked share t: entry i counts those with t in (i/10,
// (i+1)/10].
inline constexpr size_t kShareTenths = 10;
using ShareCounts = std::array<uint64_t, kShareTenths>;
// Returns the tenth of a masked share, 0 < t <= 1.
size_t TenthOfShare(double t);

// Steps of AdamW on an objective.
struct CoreSteps {
  double learning_rate = 3e-3;  // above 0
  uint64_t first = 0;           // number of the first step, for the objective and the schedule
  uint64_t count = 12;          // 0: nothing is trained
  // Number of steps, counted from step 0, over which the learning rate rises and falls as
  // ScheduleOptions says; 0: the rate stays the same
  uint64_t schedule_steps = 0;
  double clip_norm = 1.0;  // largest Euclidean norm of a step's gradient, above 0
  // Weight of the proximal term of FedProx (arXiv 1812.06127), prox/2 |w - w0|^2, where w0 are the
  // values from which the call began; at least 0
  double prox = 0;
  // Weight of what holds the cores near the frozen model by the frame's Fisher information F, so
  // that they change little on general text: hold/2 sum F R^2 (elastic weight consolidation, arXiv
  // 1612.00796); at least 0. In a timestep bank, F counts with the bank's share of t.
  double hold = 0;
};

// Trains R-cores in a frame, and a LoRA above frozen cores, in one frozen model. Values are by
// bank, in the order of CoreShape. Results are equal bit for bit for any number of threads. Borrows
// what it is given. Not thread-safe.
class CoreTrainer {
 public:
  // All but `pass` must outlive the trainer.
  struct Parts {
    std::shared_ptr<const Model> model;
    NetworkWeights<float>* weights = nullptr;  // those of the model
    const FrameSet* frame = nullptr;
    ParallelRunner* runner = nullptr;
    PassOptions pass;
  };
  // Called between slices of about one layer of a group of sequences, with the bytes that the
  // trainer holds. An error ends the training, which returns it. An empty function never ends it.
  using BetweenSlices = std::function<absl::Status(uint64_t bytes)>;

  // Errors: those of CheckCoreShape; FRAME_MISMATCH for a frame of another model; INVALID_ARGUMENT
  // for a target that is not a linear layer of the model.
  static absl::StatusOr<std::unique_ptr<CoreTrainer>> Create(const Parts& parts,
                                                             const CoreShape& shape);

  const CoreShape& shape() const { return shape_; }

  struct Trained {
    std::vector<std::vector<float>> values;
    ShareCounts maskings{};  // of the sequences of all steps
    double loss = 0;         // of the last step's batch before the step, without `prox` and `hold`
  };
  // Trains the cores from `from`. `state` holds the optimiser's state after the step before, in the
  // order of values, or is empty if there was none; on success it holds the state after the last
  // step. With it, training in several calls is equal bit for bit to training in one, as long as
  // there is no proximal term. Null: the optimiser begins anew and is forgotten. Errors:
  // INVALID_ARGUMENT for values or a state of another size, an option out of range, a hold in a
  // frame without Fisher information, and objectives that compare, that follow the frozen network,
  // or that mask by blocks while there are several banks; INTERNAL for a gradient that is not
  // finite; those of `between_slices`.
  absl::StatusOr<Trained> Train(std::span<const std::vector<float>> from,
                                const Objective& objective, const CoreSteps& steps,
                                OptimizerState* state,
                                const BetweenSlices& between_slices = nullptr);

  // One masking of a text, drawn from its own seed. It depends on no other draw, so that it stays
  // the same when another text joins or leaves the batch, which privacy by example needs.
  struct Draw {
    const TrainingExample* text = nullptr;
    uint64_t seed = 0;
  };
  // Adds the gradient of the masked-diffusion loss of each draw (CorruptedSequence with the default
  // LossOptions and scale 1) to the shape's values() floats at gradients[i], all banks one after
  // the other; equal pointers give a sum. Sets t[i] to the masked share. Both lists are as long as
  // `draws`. A gradient is added as it is, even where it is not finite. Errors: INVALID_ARGUMENT
  // for values of another size, an empty completion and what CheckSequences refuses;
  // CONTEXT_TOO_LONG; MODE_UNSUPPORTED for a model without a mask token. Then nothing was added.
  // After an error of `between_slices` some parts were added.
  absl::Status Gradients(std::span<const std::vector<float>> at, std::span<const Draw> draws,
                         std::span<float* const> gradients, std::span<double> t,
                         const BetweenSlices& between_slices = nullptr);

  struct Overlay {
    int rank = 8;
    uint64_t seed = 0;  // of the LoRA's A
    AdapterLabels labels;
  };
  // Trains a LoRA for all t on the linear layers of the shape, on top of cores that stay as they
  // are. Returns the LoRA alone. Errors: those of Train and AddLoras, and INVALID_ARGUMENT for a
  // hold, which is for cores.
  absl::StatusOr<std::shared_ptr<const Talora>> TrainOverlay(
      std::span<const std::vector<float>> beneath, const Objective& objective,
      const CoreSteps& steps, const Overlay& overlay,
      const BetweenSlices& between_slices = nullptr);

 private:
  // The changes that steps are taken on, of which those before `frozen` stay as they are.
  struct Trainee {
    ChangeSet<float>& changes;
    size_t frozen = 0;
    Optimizer& optimizer;           // of the others
    std::span<const float> fisher;  // of the others; empty: unknown
  };
  struct Progress {
    ShareCounts maskings{};
    double loss = 0;
  };

  CoreTrainer(const Parts& parts, const CoreShape& shape);
  // Adds a core for each module and bank, so that parameters are in the order of values. A single
  // bank is a bank, too: a layer has one change for all t at most, which may be an overlay's LoRA.
  absl::Status AddCoresTo(ChangeSet<float>* changes) const;
  absl::Status SetCores(std::span<const std::vector<float>> values,
                        ChangeSet<float>* changes) const;
  std::vector<std::vector<float>> Cores() const;
  absl::StatusOr<Progress> TakeSteps(const Objective& objective, const CoreSteps& steps,
                                     const BetweenSlices& between_slices, const Trainee& trainee);
  absl::Status RunPass(std::span<const TrainingSequence> batch, std::span<float> gradient,
                       const BetweenSlices& between_slices, const Trainee& trainee);
  // Works until the pass that began is done; `state` are the bytes held beside its activations.
  absl::Status FinishPass(const BetweenSlices& between_slices, uint64_t state);

  Parts parts_;
  CoreShape shape_;
  std::vector<Site> sites_;  // of the modules, in their order
  NetworkPass<float> pass_;
  ChangeSet<float> cores_;
  std::vector<float> fisher_;  // in the order of values, or empty
};

}  // namespace ruvd::inference::train
