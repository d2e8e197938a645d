// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/transformer/transformer.h"

#include <algorithm>
#include <cmath>

#include "base/reasons.h"
#include "base/status.h"
#include "inference/model/limits.h"

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

absl::StatusOr<std::vector<float>> MeanDirection(std::span<const float> hidden, size_t width) {
  std::vector<double> sum(width);
  for (size_t i = 0; i < hidden.size(); ++i) {
    sum[i % width] += hidden[i];
  }
  double squares = 0;
  for (const double value : sum) {
    squares += value * value;
  }
  if (!(squares > 0) || !std::isfinite(squares)) {
    return Error(absl::StatusCode::kInternal, reasons::kInternal,
                 "the hidden states of the text have no direction");
  }
  std::vector<float> embedding(width);
  for (size_t i = 0; i < width; ++i) {
    embedding[i] = static_cast<float>(sum[i] / std::sqrt(squares));
  }
  return embedding;
}

}  // namespace ruvd::inference
