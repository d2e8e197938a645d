// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/process/learning_options.h"

#include <algorithm>

#include "node/process/limits.h"

namespace ruvd::node {

learning::BackgroundOptions BackgroundOptionsOf(const config::NodeConfig::LearningSection& learning,
                                                const inference::SimilarityThresholds& scale,
                                                learning::BackgroundOptions tuned) {
  tuned.min_rating = learning.min_rating;
  tuned.training.core_rank = limits::kPatternCoreRank;
  tuned.cluster_similarity = scale.same;
  tuned.merge_similarity = (1 + scale.same) / 2;
  return tuned;
}

learning::DeepOptions DeepOptionsOf(const config::NodeConfig& config, learning::DeepOptions tuned) {
  tuned.min_rating = config.learning.min_rating;
  tuned.guard = learning::DeepGuardByName(config.experimental.deep_guard)
                    .value_or(learning::DeepGuard::kReplay);
  tuned.banks = config.experimental.deep_banks;
  tuned.memory_bytes = std::min(tuned.memory_bytes, config.learning.memory_bytes / 2);
  return tuned;
}

}  // namespace ruvd::node
