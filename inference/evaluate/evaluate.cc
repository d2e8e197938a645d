// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/evaluate/evaluate.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <vector>

#include "base/random.h"
#include "base/reasons.h"
#include "base/status.h"
#include "inference/evaluate/limits.h"
#include "inference/evaluate/nelbo.h"

namespace ruvd::inference {
namespace {

// Sums over crops and mask draws.
class Tally {
 public:
  // Adds the values of one crop, one value for each pass.
  void AddCrop(std::span<const double> passes) {
    crops_.push_back(Mean(passes));
    passes_.resize(passes.size());
    for (size_t i = 0; i < passes.size(); ++i) {
      passes_[i] += passes[i];
    }
  }
  void AddMasked(const Corruption& corruption, std::span<const double> nats) {
    for (size_t i = 0; i < nats.size(); ++i) {
      const double bin = std::ceil(corruption.masked[i].t * 10.0) - 1.0;
      const auto b = static_cast<size_t>(std::clamp(bin, 0.0, 9.0));
      sums_[b] += nats[i];
      ++counts_[b];
    }
  }
  EvaluateResult Finish(double bytes_per_token) const {
    EvaluateResult result;
    const auto n = static_cast<double>(crops_.size());
    const auto passes = static_cast<double>(passes_.size());
    result.sequences = static_cast<int>(crops_.size());
    result.nats_per_token = Mean(crops_);
    result.standard_error = std::sqrt(SquaredDistances(crops_) / n / n);
    if (passes_.size() > 1) {  // passes_ holds sums over crops, hence the extra division by n
      result.mask_error = std::sqrt(SquaredDistances(passes_) / (passes - 1) / passes) / n;
    }
    result.bits_per_byte = result.nats_per_token / std::numbers::ln2 / bytes_per_token;
    for (size_t b = 0; b < sums_.size(); ++b) {
      result.tokens_by_t[b] = counts_[b];
      result.nats_by_t[b] = counts_[b] == 0 ? 0.0 : sums_[b] / static_cast<double>(counts_[b]);
    }
    return result;
  }

 private:
  static double Mean(std::span<const double> values) {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  }
  // Returns the sum of squared distances from the mean.
  static double SquaredDistances(std::span<const double> values) {
    const double mean = Mean(values);
    double squares = 0;
    for (const double value : values) {
      squares += (value - mean) * (value - mean);
    }
    return squares;
  }

  std::vector<double> crops_;   // means over the passes
  std::vector<double> passes_;  // sums over the crops
  std::array<double, 10> sums_{};
  std::array<int64_t, 10> counts_{};
};

absl::Status CheckRange(std::string_view name, int value, int largest) {
  if (value >= 1 && value <= largest) {
    return absl::OkStatus();
  }
  return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
               "{} is {}; choose between 1 and {}", name, value, largest);
}

absl::Status Check(const Transformer& transformer, std::span<const TokenId> stream,
                   const EvaluateOptions& options) {
  const int context = transformer.model().config().context;
  RETURN_IF_ERROR(CheckRange("sequences", options.sequences, limits::kMaxEvaluateSequences));
  RETURN_IF_ERROR(CheckRange("sequence length", options.sequence_length, context));
  RETURN_IF_ERROR(CheckRange("samples", options.samples, limits::kMaxScoreSamples));
  RETURN_IF_ERROR(CheckRange("block length", options.block_length, context));
  if (static_cast<int64_t>(options.sequences) * options.samples > limits::kMaxEvaluateSequences) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "{} sequences with {} samples each are more than {} mask draws", options.sequences,
                 options.samples, limits::kMaxEvaluateSequences);
  }
  if (options.sequence_length < 2 ||
      stream.size() <= static_cast<size_t>(options.sequence_length)) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "{} tokens of text are too few for crops of {}; give a longer text or shorter "
                 "crops of at least 2",
                 stream.size(), options.sequence_length);
  }
  return absl::OkStatus();
}

// Returns the first tokens of `count` crops of `length`, evenly spread from the first possible
// start to the last.
std::vector<size_t> CropStarts(size_t stream, size_t length, size_t count) {
  std::vector<size_t> starts(count);
  const auto last = static_cast<double>(stream - length - 1);
  for (size_t i = 1; i < count; ++i) {
    starts[i] = static_cast<size_t>(static_cast<double>(i) * last / static_cast<double>(count - 1));
  }
  return starts;
}

double BytesPerToken(const Tokenizer& tokenizer, std::span<const TokenId> stream) {
  size_t bytes = 0;
  for (const TokenId token : stream) {
    bytes += tokenizer.IsSpecial(token) ? 0 : tokenizer.Piece(token).size();
  }
  return static_cast<double>(bytes) / static_cast<double>(stream.size());
}

// Returns the maskings of all crops, for each pass. Each pass is stratified over all crops, as a
// training batch is, and is independent of the others.
std::vector<std::vector<Corruption>> DrawPasses(std::span<const TokenId> crop, int crops,
                                                const EvaluateOptions& options) {
  const int block = options.mode == DecodingMode::kBlock ? options.block_length : 0;
  const std::vector<size_t> spans = SpansOf({.tokens = crop}, block);
  Random random(options.seed);
  std::vector<std::vector<Corruption>> passes;
  for (int i = 0; i < options.samples && options.mode != DecodingMode::kAutoregressive; ++i) {
    passes.push_back(DrawCorruptions(spans, crops, random.Next()));
  }
  return passes;
}

// Scores all passes of one crop, or reads the crop once from left to right.
absl::Status ScoreCrop(Transformer& transformer, std::span<const TokenId> crop, size_t number,
                       const std::vector<std::vector<Corruption>>& passes,
                       const EvaluateOptions& options, Tally* tally) {
  std::vector<double> values;
  std::vector<double> nats;
  if (options.mode == DecodingMode::kAutoregressive) {
    nats.resize(crop.size() - 1);
    RETURN_IF_ERROR(ScoreNextTokens(transformer, {.tokens = crop, .first = 1}, nullptr, nats));
    values = {std::accumulate(nats.begin(), nats.end(), 0.0) / static_cast<double>(nats.size())};
  }
  const int block = options.mode == DecodingMode::kBlock ? options.block_length : 0;
  for (const std::vector<Corruption>& pass : passes) {
    const Corruption& corruption = pass[number];
    nats.resize(corruption.masked.size());
    RETURN_IF_ERROR(ScoreMasked(transformer, {.tokens = crop}, corruption, block, nullptr, nats));
    tally->AddMasked(corruption, nats);
    values.push_back(WeightedNats(corruption, nats));
  }
  tally->AddCrop(values);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<EvaluateResult> EvaluateText(Transformer& transformer,
                                            std::span<const TokenId> stream,
                                            const EvaluateOptions& options,
                                            const EvaluateProgress& progress) {
  RETURN_IF_ERROR(Check(transformer, stream, options));
  const auto length = static_cast<size_t>(options.sequence_length);
  const size_t count =
      std::min(static_cast<size_t>(options.sequences), (stream.size() - 1) / length);
  const std::vector<std::vector<Corruption>> passes =
      DrawPasses(stream.first(length), static_cast<int>(count), options);
  const std::vector<size_t> starts = CropStarts(stream.size(), length, count);
  Tally tally;
  for (size_t i = 0; i < count; ++i) {
    RETURN_IF_ERROR(
        ScoreCrop(transformer, stream.subspan(starts[i], length), i, passes, options, &tally));
    if (progress && !progress(static_cast<int>(i + 1), static_cast<int>(count))) {
      return Error(absl::StatusCode::kCancelled, reasons::kCancelled,
                   "the evaluation was stopped after {} of {} crops", i + 1, count);
    }
  }
  return tally.Finish(BytesPerToken(transformer.model().tokenizer(), stream));
}

}  // namespace ruvd::inference
