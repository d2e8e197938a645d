// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "inference/adapter/frame_set.h"
#include "inference/model/model.h"
#include "inference/train/network.h"
#include "inference/train/trainer.h"
#include "node/learning/learning_services.h"
#include "node/learning/lesson_clusters.h"
#include "privacy/consent/user_consent.h"

namespace ruvd::learning {

struct PatternTrainingOptions {
  // All linear matrices of this many last layers are changed.
  int layers = 2;
  int lora_rank = 2;  // of an adapter that stays on this node
  // Rank of cores in the frame. The nodes of a cluster must agree on it: peers refuse other cores.
  int core_rank = 32;
  int steps = 0;               // 0: the trainer's default
  double min_improvement = 0;  // of the held-out loss, in nats per token
};

// What was learned from a cluster of lessons.
struct PatternTraining {
  // The held-out losses are measured on top of the adapters that this node serves.
  inference::TrainingResult result;
  uint32_t deep_version = 0;  // the deep adapter that was served; 0: none
  // Those whose lessons were trained and measured on; empty unless `shareable`, or if the node
  // keeps no consents
  std::vector<privacy::Contributor> contributors;
  bool shareable = false;   // as in serving::PatternPayload
  bool stays_here = false;  // likewise
};

// Returns the matrices that adapters of patterns change: every linear one of the last `layers`
// layers, or of all layers if the model has fewer.
std::vector<inference::train::Site> PatternSites(const inference::ModelConfig& config, int layers);
// Returns those that the frame has. A frame may lack some (`ruvd model frame --modules`).
std::vector<inference::train::Site> PatternSitesIn(const inference::FrameSet& frame,
                                                   const inference::ModelConfig& config,
                                                   int layers);

// Returns whether the held-out loss falls by more than the options ask for.
bool Improves(const inference::TrainingResult& result, const PatternTrainingOptions& options);

// Trains the adapter of a pattern, which is the one that serves and the one that peers get.
//
// If this node shares patterns and all contributors agreed to it, the adapter consists of cores in
// the frame. They are trained on top of what all nodes of the cluster serve, so that nothing else
// of this node is in them. Other lessons are taught to LoRAs on top of what this node serves, and
// so are lessons whose cores gain nothing there.
//
// Returns CANCELLED, and the errors of TrainLora, TrainCores and AdapterCatalog::Choose.
absl::StatusOr<PatternTraining> TrainPattern(const LearningServices& services,
                                             const PatternTrainingOptions& options,
                                             const LessonSplit& lessons, uint64_t seed);

}  // namespace ruvd::learning
