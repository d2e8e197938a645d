// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/evaluate/paired.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/random.h"
#include "base/reasons.h"
#include "base/status.h"
#include "inference/evaluate/limits.h"
#include "inference/evaluate/nelbo.h"

namespace ruvd::inference {
namespace {

// The sums for the table by t.
struct BinSums {
  std::array<double, 10> nats{};
  std::array<int64_t, 10> tokens{};

  void Add(double t, double value) {
    const auto bin = static_cast<size_t>(std::clamp(std::ceil(t * 10.0 - 1e-9) - 1.0, 0.0, 9.0));
    nats[bin] += value;
    ++tokens[bin];
  }
};

absl::Status Check(const ModelConfig& config, std::span<const ScoredDocument> documents,
                   const NelboOptions& options) {
  if (options.draws < 1 || options.draws > limits::kMaxScoreSamples || options.block_length < 1) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "draws is {}, choose 1 to {}; the block length is {}, choose one above zero",
                 options.draws, limits::kMaxScoreSamples, options.block_length);
  }
  if (documents.empty()) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "there is no document to evaluate");
  }
  for (const ScoredDocument& document : documents) {
    const size_t length = document.prompt.size() + document.completion.size();
    if (document.completion.empty() ||
        (options.mode == DecodingMode::kAutoregressive && length < 2)) {
      return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                   "a document to evaluate needs a completion, and two tokens for next-token "
                   "scores");
    }
    if (length > static_cast<size_t>(config.context)) {
      return Error(absl::StatusCode::kInvalidArgument, reasons::kContextTooLong,
                   "a document of {} tokens exceeds the context of {}; shorten it", length,
                   config.context);
    }
    const auto beyond = [&config](TokenId token) {
      return token >= static_cast<TokenId>(config.vocabulary);
    };
    if (std::ranges::any_of(document.prompt, beyond) ||
        std::ranges::any_of(document.completion, beyond)) {
      return Error(
          absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
          "a document has a token outside the model's vocabulary of {}; encode it with the "
          "model's own tokenizer",
          config.vocabulary);
    }
  }
  return absl::OkStatus();
}

class Evaluation {
 public:
  Evaluation(Transformer& transformer, const AdaptersOfStep& adapters, const NelboOptions& options)
      : transformer_(transformer),
        adapters_(adapters),
        options_(options),
        block_(options.mode == DecodingMode::kBlock ? options.block_length : 0) {}

  absl::Status Add(const ScoredDocument& document, uint64_t place, NelboTable* table) {
    std::vector<TokenId> tokens = document.prompt;
    tokens.insert(tokens.end(), document.completion.begin(), document.completion.end());
    ScoredText text{.tokens = tokens, .first = document.prompt.size()};
    double nats = 0;
    if (options_.mode == DecodingMode::kAutoregressive) {
      text.first = std::max<size_t>(text.first, 1);
      RETURN_IF_ERROR(ReadFromLeft(text, &nats));
    } else {
      RETURN_IF_ERROR(ReadMasked(text, place, &nats));
    }
    table->nats.push_back(nats);
    table->tokens.push_back(tokens.size() - text.first);
    return absl::OkStatus();
  }

  void Finish(NelboTable* table) const {
    table->tokens_by_t = bins_.tokens;
    for (size_t i = 0; i < bins_.nats.size(); ++i) {
      const auto tokens = static_cast<double>(std::max<int64_t>(1, bins_.tokens[i]));
      table->nats_by_t[i] = bins_.nats[i] / tokens;
    }
  }

 private:
  const AdapterMix* AdaptersOf(const ScoredText& text, double t,
                               std::span<const TokenId> known = {}) const {
    return adapters_ ? adapters_({.t = t, .prompt = text.tokens.first(text.first), .known = known})
                     : nullptr;
  }

  // Returns the adapters for a masking. While serving, the adapters are chosen by the share of the
  // current block for all blocks that are read, the clean ones before it included; here blocks of
  // different shares are read at once.
  absl::StatusOr<const AdapterMix*> AdaptersOf(const ScoredText& text,
                                               const Corruption& corruption) const {
    const double share =
        static_cast<double>(corruption.masked.size()) / static_cast<double>(corruption.length);
    if (block_ == 0 || !adapters_) {
      return AdaptersOf(text, share, KnownTokens(text, corruption));
    }
    const auto mix_at = [&](double t) {
      const AdapterMix* mix = AdaptersOf(text, t);
      return mix == nullptr ? AdapterMix{} : *mix;
    };
    const AdapterMix first = mix_at(share);
    double last = share;
    for (const auto& token : corruption.masked) {
      if (token.t != last && !SameMix(first, mix_at(token.t))) {
        return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                     "adapters that change with the masked share cannot be scored in block mode: a "
                     "pass reads blocks of different shares at once; score them in diffusion mode, "
                     "or a static adapter");
      }
      last = token.t;
    }
    return AdaptersOf(text, share);
  }

  absl::Status CheckCancelled() const {
    return options_.cancelled && options_.cancelled()
               ? Error(absl::StatusCode::kCancelled, reasons::kCancelled,
                       "the evaluation was cancelled; ask again")
               : absl::OkStatus();
  }

  absl::Status ReadFromLeft(const ScoredText& text, double* nats) {
    RETURN_IF_ERROR(CheckCancelled());
    std::vector<double> values(text.tokens.size() - text.first);
    RETURN_IF_ERROR(ScoreNextTokens(transformer_, text, AdaptersOf(text, 1.0), values));
    *nats = std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
    return absl::OkStatus();
  }

  absl::Status ReadMasked(const ScoredText& text, uint64_t place, double* nats) {
    Random seeds(options_.seed);
    const uint64_t seed = Random(seeds.Next() + place).Next();
    std::vector<double> values;
    for (const Corruption& corruption :
         DrawCorruptions(SpansOf(text, block_), options_.draws, seed)) {
      RETURN_IF_ERROR(CheckCancelled());
      ASSIGN_OR_RETURN(const AdapterMix* const mix, AdaptersOf(text, corruption));
      values.assign(corruption.masked.size(), 0.0);
      RETURN_IF_ERROR(ScoreMasked(transformer_, text, corruption, block_, mix, values));
      *nats += WeightedNats(corruption, values) / options_.draws;
      for (size_t i = 0; i < values.size(); ++i) {
        bins_.Add(corruption.masked[i].t, values[i]);
      }
    }
    return absl::OkStatus();
  }

  Transformer& transformer_;
  const AdaptersOfStep& adapters_;
  const NelboOptions& options_;
  const int block_;
  BinSums bins_;
};

}  // namespace

double NelboTable::NatsPerToken() const {
  double sum = 0;
  double count = 0;
  for (size_t i = 0; i < nats.size(); ++i) {
    sum += nats[i] * static_cast<double>(tokens[i]);
    count += static_cast<double>(tokens[i]);
  }
  return sum / count;
}

absl::StatusOr<NelboTable> EvaluateNelbo(Transformer& transformer,
                                         std::span<const ScoredDocument> documents,
                                         const AdaptersOfStep& adapters,
                                         const NelboOptions& options) {
  RETURN_IF_ERROR(Check(transformer.model().config(), documents, options));
  NelboTable table;
  Evaluation evaluation(transformer, adapters, options);
  for (size_t i = 0; i < documents.size(); ++i) {
    RETURN_IF_ERROR(evaluation.Add(documents[i], i, &table));
  }
  evaluation.Finish(&table);
  return table;
}

}  // namespace ruvd::inference
