// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/serving/late_embedding.h"

#include <algorithm>
#include <span>

#include "node/serving/prompt_tokens.h"

namespace ruvd::serving {

absl::StatusOr<std::vector<float>> EmbeddingOf(const storage::Trajectory& trajectory,
                                               inference::Transformer& transformer,
                                               const inference::Whitening* whitening,
                                               const Digest& package_id) {
  const bool same_package = trajectory.embedded_by == AsText(package_id);
  if (same_package && !trajectory.embedding.empty()) {
    return trajectory.embedding;
  }
  const inference::Model& model = transformer.model();
  const std::vector<inference::TokenId> tokens = same_package && !trajectory.prompt_tokens.empty()
                                                     ? trajectory.prompt_tokens
                                                     : PromptTokens(model, trajectory.prompt);
  const auto context = static_cast<size_t>(model.config().context);
  return EmbedText(transformer, std::span(tokens).last(std::min(tokens.size(), context)),
                   whitening);
}

}  // namespace ruvd::serving
