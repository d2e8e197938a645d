// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/retrieval/prompt_embedding.h"

#include "base/reasons.h"
#include "base/status.h"
#include "inference/model/limits.h"
#include "inference/transformer/mean_direction.h"

namespace ruvd::inference {
namespace {

bool IsFirstForward(const ModelConfig& config, std::span<const TokenId> tokens,
                    const PrefixTree& prefixes) {
  return config.causal && !tokens.empty() && tokens.size() <= limits::kEmbeddedTokens &&
         tokens.size() <= static_cast<size_t>(config.context) &&
         prefixes.pool()->layout().format() == KvFormat::kF32;
}

}  // namespace

absl::StatusOr<std::vector<float>> EmbedPrompt(Transformer& transformer,
                                               std::span<const TokenId> tokens,
                                               const Whitening* whitening, PrefixTree* prefixes) {
  const ModelConfig& config = transformer.model().config();
  if (prefixes == nullptr || !IsFirstForward(config, tokens, *prefixes)) {
    return EmbedText(transformer, tokens, whitening);
  }
  const PrefixTree::Key key{.mix = {}, .attention = {.kind = Attention::Kind::kCausal}};
  KvCache cache(prefixes->pool(), static_cast<int>(tokens.size()));
  ForwardOutput output;
  const absl::Status forwarded = transformer.Forward(
      {.tokens = tokens, .attention = key.attention, .cache = &cache, .extend_cache = true},
      &output);
  if (ReasonOf(forwarded) == reasons::kKvBudgetExceeded) {
    return EmbedText(transformer, tokens, whitening);
  }
  RETURN_IF_ERROR(forwarded);
  const auto width = static_cast<size_t>(config.width);
  prefixes->Insert(key, tokens, cache, std::span(output.hidden).last(width));
  ASSIGN_OR_RETURN(std::vector<float> embedding, MeanDirection(output.hidden, width));
  return whitening == nullptr ? embedding : whitening->Apply(embedding);
}

}  // namespace ruvd::inference
