// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/memory/learning/observe_lesson.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "inference/evaluate/nelbo.h"
#include "inference/kernels/kernel_table.h"
#include "inference/limits.h"
#include "inference/memory/limits.h"
#include "inference/sampler/diffusion_loop.h"

namespace ruvd::inference {
namespace {

// Tokens of the sequences that one forward reads
constexpr size_t kBatchTokens = 512;

// The masked tokens of one forward; all tokens if read from left to right.
struct Forwarded {
  std::vector<TokenId> tokens;    // as the model reads them
  std::vector<size_t> positions;  // of the lesson, that are predicted
  std::vector<int> rows;          // that predict them
  float t = 0;
  uint32_t masked = 1;
};

// Records the predictions of one forward.
class Recorder {
 public:
  Recorder(Transformer& transformer, std::span<const TokenId> lesson, TokenId mask,
           ObservedLesson* out)
      : transformer_(transformer), lesson_(lesson), mask_(mask), out_(out) {}

  absl::Status Run(std::span<const Forwarded> sequences, bool causal) {
    while (!sequences.empty()) {
      size_t count = 1;
      size_t tokens = sequences.front().tokens.size();
      while (count < sequences.size() && tokens + sequences[count].tokens.size() <= kBatchTokens) {
        tokens += sequences[count++].tokens.size();
      }
      RETURN_IF_ERROR(RunBatch(sequences.first(count), causal));
      sequences = sequences.subspan(count);
    }
    return absl::OkStatus();
  }

 private:
  absl::Status RunBatch(std::span<const Forwarded> sequences, bool causal) {
    std::vector<ForwardInput> inputs;
    for (const Forwarded& forwarded : sequences) {
      inputs.push_back({.tokens = forwarded.tokens,
                        .attention = {.kind = causal ? Attention::Kind::kCausal
                                                     : Attention::Kind::kBidirectional},
                        .rows = forwarded.rows});
    }
    std::vector<ForwardOutput> outputs(inputs.size());
    RETURN_IF_ERROR(transformer_.Forward(inputs, outputs));
    for (size_t i = 0; i < outputs.size(); ++i) {
      RecordAll(sequences[i], outputs[i].hidden, causal);
    }
    return absl::OkStatus();
  }

  void RecordAll(const Forwarded& forwarded, std::span<const float> states, bool causal) {
    const auto width = static_cast<size_t>(transformer_.model().config().width);
    const auto vocabulary = static_cast<size_t>(transformer_.model().config().vocabulary);
    std::vector<float> logits;
    for (size_t begin = 0; begin < forwarded.positions.size(); begin += limits::kLogitRows) {
      const size_t count = std::min(limits::kLogitRows, forwarded.positions.size() - begin);
      const std::span<const float> hidden = states.subspan(begin * width, count * width);
      logits.resize(count * vocabulary);
      transformer_.Logits(hidden, nullptr, logits);
      for (size_t i = 0; i < count; ++i) {
        Record(forwarded, forwarded.positions[begin + i], causal, hidden.subspan(i * width, width),
               std::span(logits).subspan(i * vocabulary, vocabulary));
      }
    }
  }

  void Record(const Forwarded& forwarded, size_t position, bool causal,
              std::span<const float> hidden, std::span<const float> logits) {
    const size_t index = position - out_->given;
    const float largest = Kernels().max(logits.data(), logits.size());
    const ExpSums sums = Kernels().exp_sums(logits.data(), logits.size(), largest);
    ObservedToken& token = out_->tokens[index];
    token.token = lesson_[position];
    const double log_mass = std::log(sums.mass);
    token.probability =
        static_cast<float>(std::exp(static_cast<double>(logits[token.token] - largest) - log_mass));
    token.entropy = static_cast<float>(log_mass - sums.energy / sums.mass);
    token.t = forwarded.t;
    token.masked = forwarded.masked;
    const auto seen = [&](ptrdiff_t place) {
      if (place < 0 || place >= static_cast<ptrdiff_t>(lesson_.size()) ||
          (causal && place >= static_cast<ptrdiff_t>(position))) {
        return kNoToken;
      }
      const TokenId there = causal ? lesson_[static_cast<size_t>(place)]
                                   : forwarded.tokens[static_cast<size_t>(place)];
      return there == mask_ ? kNoToken : there;
    };
    const auto at = static_cast<ptrdiff_t>(position);
    for (size_t i = 0; i < kMemoryLeft; ++i) {
      token.left_seen[i] = seen(at - 1 - static_cast<ptrdiff_t>(i));
    }
    for (size_t i = 0; i < kMemoryRight; ++i) {
      token.right_seen[i] = seen(at + 1 + static_cast<ptrdiff_t>(i));
    }
    std::ranges::copy(hidden, out_->hidden.begin() + static_cast<ptrdiff_t>(index * hidden.size()));
  }

  Transformer& transformer_;
  const std::span<const TokenId> lesson_;
  const TokenId mask_;
  ObservedLesson* const out_;
};

// Returns a random choice of positions to mask, a stratum of all being masked included.
std::vector<bool> DrawMask(size_t length, Random& random) {
  const size_t masked = static_cast<size_t>(random.Below(length)) + 1;
  std::vector<bool> mask(length, false);
  std::fill_n(mask.begin(), masked, true);
  for (size_t i = length; i > 1; --i) {
    const size_t other = random.Below(i);
    const bool kept = mask[i - 1];
    mask[i - 1] = mask[other];
    mask[other] = kept;
  }
  return mask;
}

absl::Status NoMask(const Model& model) {
  return Error(absl::StatusCode::kFailedPrecondition, reasons::kModeUnsupported,
               "model {} has no mask token, so it reads texts from left to right only",
               model.config().name);
}

}  // namespace

absl::StatusOr<ObservedLesson> ObserveLesson(Transformer& transformer,
                                             std::span<const TokenId> tokens, size_t given,
                                             bool causal, Random& random) {
  RUVD_CHECK(given >= 1 && given < tokens.size());
  const Model& model = transformer.model();
  const std::optional<TokenId> mask = model.tokenizer().mask_id();
  if (!causal && !mask) {
    return NoMask(model);
  }
  ObservedLesson lesson{.given = given};
  lesson.tokens.resize(tokens.size() - given);
  lesson.hidden.resize(lesson.tokens.size() * static_cast<size_t>(model.config().width));
  Recorder recorder(transformer, tokens, mask.value_or(kNoToken), &lesson);
  if (causal) {
    Forwarded forwarded{.tokens = {tokens.begin(), tokens.end() - 1}};
    for (size_t position = given; position < tokens.size(); ++position) {
      forwarded.positions.push_back(position);
      forwarded.rows.push_back(static_cast<int>(position) - 1);
    }
    RETURN_IF_ERROR(recorder.Run(std::span(&forwarded, 1), causal));
    return lesson;
  }
  std::vector<bool> masked = DrawMask(tokens.size() - given, random);
  std::vector<Forwarded> halves;
  for (int half = 0; half < 2; ++half) {
    Forwarded forwarded{.tokens = {tokens.begin(), tokens.end()}};
    for (size_t i = 0; i < masked.size(); ++i) {
      if (masked[i]) {
        const size_t position = given + i;
        forwarded.tokens[position] = *mask;
        forwarded.positions.push_back(position);
        forwarded.rows.push_back(static_cast<int>(position) -
                                 (model.config().shift_logits ? 1 : 0));
      }
    }
    forwarded.masked = static_cast<uint32_t>(forwarded.positions.size());
    forwarded.t = static_cast<float>(forwarded.masked) / static_cast<float>(masked.size());
    if (forwarded.masked > 0) {
      halves.push_back(std::move(forwarded));
    }
    masked.flip();
  }
  RETURN_IF_ERROR(recorder.Run(halves, causal));
  return lesson;
}

absl::StatusOr<ObservedLesson> ObserveFromPrefixes(Transformer& transformer,
                                                   std::span<const TokenId> tokens, size_t given) {
  RUVD_CHECK(given >= 1 && given < tokens.size());
  const Model& model = transformer.model();
  const std::optional<TokenId> mask = model.tokenizer().mask_id();
  if (!mask) {
    return NoMask(model);
  }
  const size_t length = tokens.size() - given;
  ObservedLesson lesson{.given = given};
  lesson.tokens.resize(length);
  lesson.hidden.resize(length * static_cast<size_t>(model.config().width));
  Recorder recorder(transformer, tokens, *mask, &lesson);
  std::vector<Forwarded> prefixes;
  for (size_t begin = 0; begin < length;) {
    // The first tokens decide whether the others follow; behind them neighbours show the way.
    const size_t end = std::min(begin + std::max<size_t>(1, begin / 4), length);
    Forwarded forwarded{.tokens = {tokens.begin(), tokens.end()}};
    std::fill(forwarded.tokens.begin() + static_cast<ptrdiff_t>(given + begin),
              forwarded.tokens.end(), *mask);
    for (size_t i = begin; i < end; ++i) {
      forwarded.positions.push_back(given + i);
      forwarded.rows.push_back(
          PredictingRow(static_cast<int>(given + i), model.config().shift_logits));
    }
    forwarded.masked = static_cast<uint32_t>(length - begin);
    forwarded.t = static_cast<float>(length - begin) / static_cast<float>(length);
    prefixes.push_back(std::move(forwarded));
    begin = end;
  }
  RETURN_IF_ERROR(recorder.Run(prefixes, /*causal=*/false));
  return lesson;
}

std::shared_ptr<const MemoryRun> RunOf(const MemoryParameters& parameters, uint64_t id,
                                       std::span<const TokenId> tokens,
                                       std::span<const ObservedLesson> readings) {
  RUVD_CHECK(!readings.empty());
  const auto width = static_cast<size_t>(parameters.width);
  // More of the context would be neighbours of no entry.
  const auto context_of = [](const ObservedLesson& lesson) {
    return std::min(lesson.given, kMemoryLeft);
  };
  const std::vector<float> nothing(width);
  std::vector<TokenId> all;
  std::vector<MemoryObservation> observations;
  for (const ObservedLesson& lesson : readings) {
    const size_t context = context_of(lesson);
    const std::span<const TokenId> run = tokens.subspan(lesson.given - context);
    if (all.size() + run.size() > limits::kMaxMemoryRun) {
      break;
    }
    // Between two readings the context comes again, and its entries never vote.
    observations.resize(
        observations.size() + (all.empty() ? 0 : context),
        {.hidden = nothing, .probability = std::numeric_limits<float>::quiet_NaN()});
    all.insert(all.end(), run.begin(), run.end());
    for (size_t i = 0; i < lesson.tokens.size(); ++i) {
      observations.push_back({.hidden = std::span(lesson.hidden).subspan(i * width, width),
                              .probability = lesson.tokens[i].probability,
                              .t = lesson.tokens[i].t});
    }
  }
  return MemoryRun::Make(parameters, id, all, context_of(readings.front()), observations);
}

std::shared_ptr<const MemoryRun> RunOf(const MemoryParameters& parameters, uint64_t id,
                                       std::span<const TokenId> tokens,
                                       const ObservedLesson& lesson) {
  return RunOf(parameters, id, tokens, std::span(&lesson, 1));
}

}  // namespace ruvd::inference
