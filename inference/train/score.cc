// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/train/score.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "base/reasons.h"
#include "base/status.h"
#include "inference/evaluate/limits.h"
#include "inference/evaluate/nelbo.h"

namespace ruvd::inference {
namespace {

absl::Status Check(std::span<const TokenId> completion, const ScoreOptions& options) {
  if (completion.empty()) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "an empty completion has no score");
  }
  if (options.mode == DecodingMode::kAutoregressive) {
    return absl::OkStatus();
  }
  if (options.samples < 1 || options.samples > limits::kMaxScoreSamples) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "samples is {}; choose between 1 and {} mask draws", options.samples,
                 limits::kMaxScoreSamples);
  }
  if (options.mode == DecodingMode::kBlock && options.block_length < 1) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "the block length is {}; choose one above zero", options.block_length);
  }
  return absl::OkStatus();
}

// Without a prompt the first token has no prediction, so the mean is over the other tokens.
absl::StatusOr<double> ScoreLeftToRight(Transformer& transformer, ScoredText text,
                                        const AdapterMix* adapters, MemoryReader* memory) {
  text.first = std::max<size_t>(text.first, 1);
  if (text.first == text.tokens.size()) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "one token without a prompt has no next-token score");
  }
  std::vector<double> nats(text.tokens.size() - text.first);
  RETURN_IF_ERROR(ScoreNextTokens(transformer, text, adapters, nats, memory));
  return std::accumulate(nats.begin(), nats.end(), 0.0) / static_cast<double>(nats.size());
}

}  // namespace

absl::StatusOr<double> ScoreCompletion(Transformer& transformer, std::span<const TokenId> prompt,
                                       std::span<const TokenId> completion,
                                       const AdapterMix* adapters, const ScoreOptions& options) {
  const AdaptersOfStep always = [adapters](const ReadingStep&) { return adapters; };
  return ScoreCompletion(transformer, prompt, completion, always, options);
}

absl::StatusOr<double> ScoreCompletion(Transformer& transformer, std::span<const TokenId> prompt,
                                       std::span<const TokenId> completion,
                                       const AdaptersOfStep& adapters,
                                       const ScoreOptions& options) {
  RETURN_IF_ERROR(Check(completion, options));
  const auto mix_at = [&](double t, std::span<const TokenId> known) {
    return adapters ? adapters({.t = t, .prompt = prompt, .known = known}) : nullptr;
  };
  std::vector<TokenId> tokens(prompt.begin(), prompt.end());
  tokens.insert(tokens.end(), completion.begin(), completion.end());
  // This is checked before the masks are drawn, because their memory grows with samples and length.
  if (const auto context = static_cast<size_t>(transformer.model().config().context);
      tokens.size() > context) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kContextTooLong,
                 "{} tokens are {} more than the model's context of {}; shorten the text",
                 tokens.size(), tokens.size() - context, context);
  }
  const ScoredText text{.tokens = tokens, .first = prompt.size()};
  if (options.mode == DecodingMode::kAutoregressive) {
    return ScoreLeftToRight(transformer, text, mix_at(1, {}), options.memory);
  }
  const int block = options.mode == DecodingMode::kBlock ? options.block_length : 0;
  const std::vector<Corruption> corruptions =
      DrawCorruptions(SpansOf(text, block), options.samples, options.seed);
  return EstimateNelbo(corruptions, [&](const Corruption& corruption, std::span<double> nats) {
    if (options.cancelled && options.cancelled()) {
      return Error(absl::StatusCode::kCancelled, reasons::kCancelled,
                   "the scoring was cancelled; ask again");
    }
    const double share =
        static_cast<double>(corruption.masked.size()) / static_cast<double>(corruption.length);
    // Blocks of different shares are read at once, so what one of them knows chooses nothing.
    const std::vector<TokenId> known =
        block == 0 ? KnownTokens(text, corruption) : std::vector<TokenId>();
    return ScoreMasked(transformer, text, corruption, block, mix_at(share, known), nats,
                       options.memory);
  });
}

}  // namespace ruvd::inference
