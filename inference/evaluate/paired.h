// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "inference/engine/generation.h"
#include "inference/transformer/transformer.h"

namespace ruvd::inference {

// A document to score. Its prompt is given and never masked.
struct ScoredDocument {
  std::vector<TokenId> prompt;
  std::vector<TokenId> completion;
};

struct NelboOptions {
  DecodingMode mode = DecodingMode::kDiffusion;
  int draws = 8;  // maskings of each document, stratified over t; ignored in autoregressive mode
  int block_length = 16;  // for DecodingMode::kBlock
  uint64_t seed = 0;
  // Asked before every forward; true ends the evaluation with CANCELLED. May be empty
  std::function<bool()> cancelled;
};

// What adapters are chosen by when a text is read.
struct ReadingStep {
  double t = 1;  // masked share of the completion
  std::span<const TokenId> prompt;
  // The tokens of the completion that are known, in order; empty where blocks of different shares
  // are read at once, and from left to right.
  std::span<const TokenId> known;
};
// Returns the adapters of a step, or null for no adapters.
using AdaptersOfStep = std::function<const AdapterMix*(const ReadingStep& step)>;

// Scores of documents. Two evaluations with equal documents, draws and seed use equal masks, so
// their differences are paired.
struct NelboTable {
  std::vector<double> nats;    // by document: NELBO or next-token cross-entropy, per token
  std::vector<size_t> tokens;  // by document: the number of scored tokens
  // Mean unweighted cross-entropy of the tokens masked at share t in (i/10, (i+1)/10], and how many
  // tokens these are; zeros in autoregressive mode. In block mode t is the masked share of the
  // block.
  std::array<double, 10> nats_by_t{};
  std::array<int64_t, 10> tokens_by_t{};

  // Returns the mean over all tokens of all documents.
  double NatsPerToken() const;
};

// Scores each document. The masks depend only on the seed, the index of the document and the number
// of draws. An empty `adapters` means no adapters. Errors: INVALID_ARGUMENT if there are no
// documents, a completion is empty (autoregressive: has fewer than two tokens), a token lies beyond
// the vocabulary, an option is out of range, or the adapters in block mode are not the same for all
// t; CONTEXT_TOO_LONG; CANCELLED; and the errors of the forward pass.
absl::StatusOr<NelboTable> EvaluateNelbo(Transformer& transformer,
                                         std::span<const ScoredDocument> documents,
                                         const AdaptersOfStep& adapters,
                                         const NelboOptions& options);

}  // namespace ruvd::inference
