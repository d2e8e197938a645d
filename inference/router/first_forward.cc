// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/router/first_forward.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/reasons.h"
#include "base/status.h"
#include "inference/sampler/distribution.h"

namespace ruvd::inference {
namespace {

// A cascade pays for this forward with every request. This is enough of a text to judge what
// follows, and costs a fraction of a completion.
constexpr size_t kPromptTokens = 128;
constexpr size_t kMasks = 16;

struct Sequence {
  std::vector<TokenId> tokens;
  Attention attention;
  std::vector<int> rows;
};

Sequence SequenceOf(const Model& model, std::span<const TokenId> prompt, DecodingMode mode,
                    int tokens) {
  const auto context = static_cast<size_t>(model.config().context);
  const auto tail = prompt.last(std::min({prompt.size(), kPromptTokens, context}));
  Sequence sequence{.tokens = {tail.begin(), tail.end()}};
  const std::optional<TokenId> mask = model.tokenizer().mask_id();
  if (mode == DecodingMode::kAutoregressive || !mask.has_value()) {
    sequence.attention.kind = Attention::Kind::kCausal;
    sequence.rows = {static_cast<int>(tail.size()) - 1};
    return sequence;
  }
  sequence.attention.kind = Attention::Kind::kBidirectional;
  const size_t masks = std::min({static_cast<size_t>(std::max(1, tokens)), kMasks,
                                 std::max<size_t>(1, context - tail.size())});
  sequence.tokens.resize(std::min(context, tail.size() + masks), *mask);
  // With shifted logits the row before a position predicts it.
  const size_t shift = model.config().shift_logits ? 1 : 0;
  for (size_t i = tail.size(); i < sequence.tokens.size(); ++i) {
    sequence.rows.push_back(static_cast<int>(i - shift));
  }
  if (sequence.rows.empty()) {  // the prompt fills the context
    sequence.rows = {static_cast<int>(tail.size()) - 1};
  }
  return sequence;
}

}  // namespace

absl::StatusOr<FirstForward> ReadFirstForward(Transformer& transformer,
                                              std::span<const TokenId> prompt, DecodingMode mode,
                                              int tokens) {
  if (prompt.empty()) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "an empty prompt predicts nothing; give a prompt of at least one token");
  }
  const Model& model = transformer.model();
  const Sequence sequence = SequenceOf(model, prompt, mode, tokens);
  ForwardOutput output;
  RETURN_IF_ERROR(transformer.Forward(
      {.tokens = sequence.tokens, .attention = sequence.attention, .rows = sequence.rows},
      &output));
  const auto vocabulary = static_cast<size_t>(model.config().vocabulary);
  std::vector<float> logits(sequence.rows.size() * vocabulary);
  transformer.Logits(output.hidden, nullptr, logits);
  const TokenId excluded = model.tokenizer().mask_id().value_or(kNoToken);
  FirstForward reading{.entropy = 0};
  for (size_t i = 0; i < sequence.rows.size(); ++i) {
    const auto row = std::span<const float>(logits).subspan(i * vocabulary, vocabulary);
    const RowSummary summary = Summarise(row, excluded);
    if (!std::isfinite(summary.log_mass)) {
      return Error(absl::StatusCode::kDataLoss, reasons::kModelCorrupt,
                   "the model's logits are not finite; download the model file again");
    }
    reading.entropy += summary.entropy / std::log(static_cast<float>(vocabulary));
    reading.confidence += summary.Probability(row[summary.best]);
  }
  const auto rows = static_cast<float>(sequence.rows.size());
  reading.entropy /= rows;
  reading.confidence /= rows;
  return reading;
}

}  // namespace ruvd::inference
