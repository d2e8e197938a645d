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

// Returns the block length of the mode; 0: masks are not drawn block by block.
int BlockOf(const ScoreOptions& options) {
  return options.mode == DecodingMode::kBlock ? options.block_length : 0;
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
  ASSIGN_OR_RETURN(StepwiseScore score,
                   StepwiseScore::Begin(transformer.model(), prompt, completion, options));
  for (bool done = false; !done;) {
    ASSIGN_OR_RETURN(done, score.Step(transformer, adapters));
  }
  return score.nats_per_token();
}

absl::StatusOr<StepwiseScore> StepwiseScore::Begin(const Model& model,
                                                   std::span<const TokenId> prompt,
                                                   std::span<const TokenId> completion,
                                                   const ScoreOptions& options) {
  RETURN_IF_ERROR(Check(completion, options));
  StepwiseScore score(options);
  score.tokens_.assign(prompt.begin(), prompt.end());
  score.tokens_.insert(score.tokens_.end(), completion.begin(), completion.end());
  score.prompt_ = prompt.size();
  // This is checked before the masks are drawn, because their memory grows with samples and length.
  if (const auto context = static_cast<size_t>(model.config().context);
      score.tokens_.size() > context) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kContextTooLong,
                 "{} tokens are {} more than the model's context of {}; shorten the text",
                 score.tokens_.size(), score.tokens_.size() - context, context);
  }
  if (options.mode != DecodingMode::kAutoregressive) {
    const ScoredText text{.tokens = score.tokens_, .first = score.prompt_};
    score.corruptions_ =
        DrawCorruptions(SpansOf(text, BlockOf(options)), options.samples, options.seed);
  }
  return score;
}

const AdapterMix* StepwiseScore::AdaptersAt(double t, std::span<const TokenId> known,
                                            const AdaptersOfStep& adapters) const {
  const std::span<const TokenId> prompt = std::span(tokens_).first(prompt_);
  return adapters ? adapters({.t = t, .prompt = prompt, .known = known}) : nullptr;
}

absl::Status StepwiseScore::ReadMasked(Transformer& transformer, const AdaptersOfStep& adapters) {
  const ScoredText text{.tokens = tokens_, .first = prompt_};
  const Corruption& corruption = corruptions_[next_++];
  const int block = BlockOf(options_);
  const double share =
      static_cast<double>(corruption.masked.size()) / static_cast<double>(corruption.length);
  // Blocks of different shares are read at once, so what one of them knows chooses nothing.
  const std::vector<TokenId> known =
      block == 0 ? KnownTokens(text, corruption) : std::vector<TokenId>();
  std::vector<double> nats(corruption.masked.size());
  RETURN_IF_ERROR(ScoreMasked(transformer, text, corruption, block,
                              AdaptersAt(share, known, adapters), nats, options_.memory));
  sum_ += WeightedNats(corruption, nats);
  return absl::OkStatus();
}

absl::StatusOr<bool> StepwiseScore::Step(Transformer& transformer, const AdaptersOfStep& adapters) {
  if (options_.cancelled && options_.cancelled()) {
    return Error(absl::StatusCode::kCancelled, reasons::kCancelled,
                 "the scoring was cancelled; ask again");
  }
  if (options_.mode == DecodingMode::kAutoregressive) {
    ASSIGN_OR_RETURN(nats_per_token_,
                     ScoreLeftToRight(transformer, {.tokens = tokens_, .first = prompt_},
                                      AdaptersAt(1, {}, adapters), options_.memory));
    return true;
  }
  RETURN_IF_ERROR(ReadMasked(transformer, adapters));
  nats_per_token_ = sum_ / static_cast<double>(corruptions_.size());
  return next_ == corruptions_.size();
}

}  // namespace ruvd::inference
