// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/process/learning_options.h"

#include <algorithm>
#include <optional>

namespace ruvd::node {

learning::BackgroundOptions RoundOptionsOf(const config::NodeConfig::LearningSection& learning,
                                           const inference::SimilarityScale& scale) {
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

learning::DeepOptions DeepOptionsOf(const config::NodeConfig::LearningSection& learning,
                                    const inference::SimilarityScale& scale) {
  return {
      .min_rating = learning.min_rating,
      .rank = learning.deep_rank,
      .steps = learning.deep_steps,
      .learning_rate = static_cast<double>(learning.deep_learning_rate),
      .guard =
          learning::DeepGuardByName(learning.deep_guard).value_or(learning::DeepGuard::kReplay),
      .ewc_strength = static_cast<double>(learning.deep_ewc_strength),
      .banks = learning.deep_banks,
      .bank_rank = learning.deep_bank_rank,
      .bank_training = {.residual_rate = learning.deep_bank_rate,
                        .residual_decay = learning.deep_bank_decay},
      .scope = learning.deep_scope == "all" ? std::nullopt : std::optional(scale.same),
      .memory_bytes = std::min(learning::DeepOptions().memory_bytes, learning.memory_bytes / 2)};
}

sharing::FederatedModelOptions FederatedOptionsOf(const config::NodeConfig& config) {
  const auto& federation = config.federation;
  return {.strategy = {.strategy = federation::StrategyByName(federation.strategy)
                                       .value_or(federation::Strategy::kTimestepAligned),
                       .timestep_weight = double{federation.timestep_weight},
                       .quality_weight = double{federation.quality_weight},
                       .schedule_weight = double{federation.schedule_weight}},
          .outer = {.step = double{federation.outer_step}},
          .gate = {.commits_harmless = federation.commit == "harmless"},
          .min_rating = config.learning.min_rating};
}

}  // namespace ruvd::node
