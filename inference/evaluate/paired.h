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

// A document to score: its prompt is given and never masked.
struct ScoredDocument {
  std::vector<TokenId> prompt;
  std::vector<TokenId> completion;
};

struct NelboOptions {
  DecodingMode mode = DecodingMode::kDiffusion;
  int draws = 8;          // maskings of a document, stratified over t; ignored for autoregressive
  int block_length = 16;  // for DecodingMode::kBlock
  uint64_t seed = 0;
  // Asked before every forward; true ends the evaluation with CANCELLED. May be empty.
  std::function<bool()> cancelled;
};

// The adapters for a masked share t, null for none: one mix for all t, or a bank for its range.
using AdaptersOfT = std::function<const AdapterMix*(double t)>;

// Scores of documents. Those of two arms with equal documents, draws and seed saw equal masks, so
// their differences are paired.
struct NelboTable {
  std::vector<double> nats;    // by document: NELBO or next-token cross-entropy, per token
  std::vector<size_t> tokens;  // by document: those that are scored
  // Mean unweighted cross-entropy of the tokens masked at share t in (i/10, (i+1)/10], and how
  // many; autoregressive: zeros. In block mode t is that of the block.
  std::array<double, 10> nats_by_t{};
  std::array<int64_t, 10> tokens_by_t{};

  // Mean over all tokens of all documents.
  double NatsPerToken() const;
};

// Scores each document under masks that depend on the seed, its place and the number of draws only.
// `adapters` is asked with the share of masked tokens of the whole completion; empty: none.
// Errors: INVALID_ARGUMENT for no documents, an empty completion (autoregressive: fewer than two
// tokens), a token beyond the vocabulary, options out of range, or in block mode adapters that are
// not the same for all t; CONTEXT_TOO_LONG; CANCELLED; those of the forward pass.
absl::StatusOr<NelboTable> EvaluateNelbo(Transformer& transformer,
                                         std::span<const ScoredDocument> documents,
                                         const AdaptersOfT& adapters, const NelboOptions& options);

struct Interval {
  double mean = 0;
  double low = 0;
  double high = 0;
};

// How much more nats per token `arm` takes than `baseline`, token-weighted over documents, with the
// 95 % percentile interval of a bootstrap over documents (Efron 1979): `resamples` draws of as many
// documents with replacement. Below zero: better. Both tables must be of the same documents, at
// least one; the interval does not cover what training's own randomness would change.
Interval PairedDifference(const NelboTable& baseline, const NelboTable& arm, int resamples,
                          uint64_t seed);

}  // namespace ruvd::inference
