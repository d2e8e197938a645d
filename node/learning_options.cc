// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/learning_options.h"

namespace ruvd {

BackgroundOptions RoundOptionsOf(const NodeConfig::LearningSection& learning,
                                 const SimilarityScale& scale) {
  return {.min_rating = learning.min_rating,
          .cluster_similarity =
              learning.cluster_similarity == 0 ? scale.same : learning.cluster_similarity,
          .merge_similarity =
              learning.merge_similarity == 0 ? (1 + scale.same) / 2 : learning.merge_similarity,
          .rank = learning.rank,
          .layers = learning.layers,
          .steps = learning.steps,
          .min_improvement = learning.min_improvement,
          .quality_decay = learning.quality_decay};
}

DeepOptions DeepOptionsOf(const NodeConfig::LearningSection& learning) {
  return {
      .min_rating = learning.min_rating, .rank = learning.deep_rank, .steps = learning.deep_steps};
}

}  // namespace ruvd
