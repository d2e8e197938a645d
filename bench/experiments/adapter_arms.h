// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/parallel.h"
#include "bench/experiments/crops.h"
#include "inference/adapter/frame_set.h"
#include "inference/adapter/talora.h"
#include "inference/evaluate/paired.h"
#include "inference/limits.h"
#include "inference/train/adapter_changes.h"
#include "inference/train/change.h"
#include "inference/train/losses.h"
#include "inference/train/model_weights.h"
#include "inference/train/run.h"
#include "inference/transformer/transformer.h"

namespace ruvd::bench {

// A way of adapting the model, before its training.
struct AdapterArm {
  std::string name;
  bool core = false;  // R-cores in the frame, else LoRAs
  inference::train::TaloraPlan plan;
  inference::BankSchedule schedule;
  double learning_rate = 1e-3;
  // Banks are drawn at random instead of by t, in training and afterwards: the same capacity and
  // the same split of the data, without the alignment.
  bool shuffled = false;
};

struct TrainedAdapter {
  std::shared_ptr<const inference::Talora> talora;
  bool shuffled = false;
  size_t parameters = 0;
  double seconds = 0;  // of training, wall
};

// What all arms of an experiment share; borrowed.
struct ArmParts {
  std::shared_ptr<const inference::Model> model;
  inference::train::ModelWeights* weights = nullptr;
  ParallelRunner* runner = nullptr;
  const inference::FrameSet* frame = nullptr;  // null where no arm has cores
};

struct ArmSteps {
  int steps = 100;
  int batch = 8;
};

// Trains the arm on every linear layer but the head.
absl::StatusOr<TrainedAdapter> TrainArm(const ArmParts& parts, const AdapterArm& arm,
                                        const std::vector<inference::TrainingExample>& examples,
                                        const ArmSteps& steps, uint64_t seed);

// Scores the adapter as it would be served: at every masking with the mix of its t.
absl::StatusOr<inference::NelboTable> EvaluateAdapter(
    inference::Transformer& transformer, const std::vector<inference::ScoredDocument>& documents,
    const TrainedAdapter& adapter, const inference::NelboOptions& options);

// Returns the cosines between the gradients of a static adapter's parameters by the sequences of
// two banks of the default schedule, over maskings of the examples: {low-middle, low-high,
// middle-high}. Above 0.8, separate banks promise no gain.
absl::StatusOr<std::vector<double>> GradientCosines(
    const ArmParts& parts, const AdapterArm& arm, const TrainedAdapter& trained,
    const std::vector<inference::TrainingExample>& examples, uint64_t seed);

// Makes a covariance frame of all linear layers but the head from public text. The rank is that of
// the widest core.
absl::StatusOr<inference::FrameSet> FrameOf(const std::shared_ptr<const inference::Model>& model,
                                            const std::vector<inference::TrainingExample>& examples,
                                            int rank, ParallelRunner& runner);

}  // namespace ruvd::bench
