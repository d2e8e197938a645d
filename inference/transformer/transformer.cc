// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/transformer/transformer.h"

#include <algorithm>

#include "base/reasons.h"
#include "base/status.h"
#include "inference/model/limits.h"
#include "inference/transformer/mean_direction.h"

namespace ruvd::inference {

absl::StatusOr<std::vector<float>> EmbedTokens(Transformer& transformer,
                                               std::span<const TokenId> tokens) {
  const ModelConfig& config = transformer.model().config();
  if (tokens.size() > static_cast<size_t>(config.context)) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kContextTooLong,
                 "a text of {} tokens is {} more than the model's context of {}; shorten it",
                 tokens.size(), tokens.size() - static_cast<size_t>(config.context),
                 config.context);
  }
  const ForwardInput input{.tokens = tokens.last(std::min(tokens.size(), limits::kEmbeddedTokens)),
                           .attention = {.kind = config.causal ? Attention::Kind::kCausal
                                                               : Attention::Kind::kBidirectional}};
  ForwardOutput output;
  RETURN_IF_ERROR(transformer.Forward(input, &output));
  return MeanDirection(output.hidden, static_cast<size_t>(config.width));
}

}  // namespace ruvd::inference
