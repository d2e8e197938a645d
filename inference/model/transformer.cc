// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/model/transformer.h"

#include <cmath>

#include "base/reasons.h"
#include "base/status.h"

namespace ruvd {

absl::StatusOr<std::vector<float>> EmbedTokens(Transformer& transformer,
                                               std::span<const TokenId> tokens) {
  ForwardOutput output;
  RETURN_IF_ERROR(transformer.Forward({.tokens = tokens}, &output));
  const auto width = static_cast<size_t>(transformer.model().config().width);
  std::vector<double> sum(width);
  for (size_t i = 0; i < output.hidden.size(); ++i) {
    sum[i % width] += output.hidden[i];
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

}  // namespace ruvd
