// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/transformer/batch.h"

#include <algorithm>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"

namespace ruvd::inference {
namespace {

template <typename... Args>
absl::Status Invalid(fmt::format_string<Args...> format, Args&&... args) {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument, format,
               std::forward<Args>(args)...);
}

absl::Status CheckAttention(const ModelConfig& config, const ForwardInput& input) {
  const Attention& attention = input.attention;
  if (config.sliding_window > 0 && attention.kind != Attention::Kind::kCausal) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kModeUnsupported,
                 "a model with a sliding window of {} tokens runs with causal attention only",
                 config.sliding_window);
  }
  const bool blocks = attention.kind == Attention::Kind::kBlockCausal ||
                      attention.kind == Attention::Kind::kNoisyAndClean;
  if (blocks && attention.block_length <= 0) {
    return Invalid("block attention needs a block length above zero, not {}",
                   attention.block_length);
  }
  if (attention.kind == Attention::Kind::kNoisyAndClean &&
      (input.cache != nullptr || input.tokens.size() % 2 != 0)) {
    return Invalid("noisy-and-clean attention needs two halves of equal length and no cache");
  }
  return absl::OkStatus();
}

absl::Status CheckTokens(const ModelConfig& config, const ForwardInput& input) {
  if (input.tokens.empty()) {
    return Invalid("a forward pass needs at least one token; give a text that is not empty");
  }
  for (const TokenId token : input.tokens) {
    if (token >= static_cast<TokenId>(config.vocabulary)) {
      return Invalid("token {} is outside the vocabulary of {}", token, config.vocabulary);
    }
  }
  for (const int row : input.rows.value_or(std::vector<int>())) {
    if (row < 0 || static_cast<size_t>(row) >= input.tokens.size()) {
      return Invalid("row {} is requested, but there are only {} tokens", row, input.tokens.size());
    }
  }
  return absl::OkStatus();
}

absl::Status CheckLength(const ModelConfig& config, const ForwardInput& input) {
  const int cached = input.cache == nullptr ? 0 : input.cache->length();
  if (input.position < -1 || input.position > cached) {
    return Invalid("the first token's position is {}, but only {} tokens are cached before it",
                   input.position, cached);
  }
  size_t length = input.tokens.size();
  if (input.attention.kind == Attention::Kind::kNoisyAndClean) {
    length /= 2;
  }
  length += static_cast<size_t>(input.position < 0 ? cached : input.position);
  if (input.cache != nullptr && length > static_cast<size_t>(input.cache->capacity())) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kContextTooLong,
                 "{} tokens do not fit the key-value cache of {}", length, input.cache->capacity());
  }
  if (length > static_cast<size_t>(config.context)) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kContextTooLong,
                 "{} tokens are {} more than the model's context of {}; shorten the text", length,
                 length - static_cast<size_t>(config.context), config.context);
  }
  return absl::OkStatus();
}

absl::Status CheckCaches(std::span<const ForwardInput> inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (inputs[i].cache != nullptr && inputs[i].cache == inputs[j].cache &&
          (inputs[i].extend_cache || inputs[j].extend_cache)) {
        return Invalid("sequences {} and {} of a batch extend the same cache", j, i);
      }
    }
  }
  return absl::OkStatus();
}

void Append(const ForwardInput& input, ForwardBatch* batch) {
  BatchSequence sequence{.input = &input, .begin = batch->tokens, .tokens = input.tokens.size()};
  const size_t cached = input.cache == nullptr ? 0 : static_cast<size_t>(input.cache->length());
  sequence.position = input.position < 0 ? cached : static_cast<size_t>(input.position);
  sequence.suffix = cached - std::min(cached, sequence.position + sequence.tokens);
  sequence.wanted_begin = batch->wanted;
  sequence.wanted = input.rows.has_value() ? input.rows->size() : sequence.tokens;
  for (size_t i = 0; i < sequence.wanted; ++i) {
    const size_t row = input.rows.has_value() ? static_cast<size_t>((*input.rows)[i]) : i;
    batch->wanted_rows.push_back(sequence.begin + row);
  }
  batch->sequence_of_row.insert(batch->sequence_of_row.end(), sequence.tokens,
                                batch->sequences.size());
  batch->sequence_of_want.insert(batch->sequence_of_want.end(), sequence.wanted,
                                 batch->sequences.size());
  batch->tokens += sequence.tokens;
  batch->wanted += sequence.wanted;
  batch->positions = std::max(batch->positions, sequence.position + sequence.tokens);
  batch->sequences.push_back(sequence);
}

}  // namespace

absl::Status LayOutBatch(const ModelConfig& config, std::span<const ForwardInput> inputs,
                         ForwardBatch* batch) {
  for (const ForwardInput& input : inputs) {
    RETURN_IF_ERROR(CheckTokens(config, input));
    RETURN_IF_ERROR(CheckAttention(config, input));
    RETURN_IF_ERROR(CheckLength(config, input));
  }
  RETURN_IF_ERROR(CheckCaches(inputs));
  *batch = ForwardBatch();
  for (const ForwardInput& input : inputs) {
    Append(input, batch);
  }
  batch->all_wanted = batch->wanted == batch->tokens;
  for (size_t i = 0; i < batch->wanted && batch->all_wanted; ++i) {
    batch->all_wanted = batch->wanted_rows[i] == i;
  }
  return absl::OkStatus();
}

}  // namespace ruvd::inference
