// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/random.h"
#include "inference/transformer/transformer.h"

namespace ruvd::inference {

// One masking of a text, for the negative ELBO of masked diffusion under exact-count masking: in
// every span of length L a number k of positions is masked, each with weight L/k. The mean over k
// uniform on 1..L and over all k-subsets equals the average over all orders of revealing and the
// integral over t of the 1/t-weighted loss (MDLM, arXiv 2406.07524; RADD, arXiv 2406.03736).
struct Corruption {
  struct Position {
    size_t index = 0;   // offset into the text
    double weight = 0;  // L/k of its span
    double t = 0;       // k/L of its span
  };
  std::vector<Position> masked;  // ascending; at least one in every span
  size_t length = 0;             // of the text: the sum of the spans
};

// `count` maskings of a text that consists of `spans` (lengths, all above zero; one span for plain
// diffusion, one per block for block diffusion). k is stratified: all count * spans.size() values
// of k together cover 1..L evenly. Equal arguments give equal maskings on every machine.
std::vector<Corruption> DrawCorruptions(std::span<const size_t> spans, int count, uint64_t seed);

// The same for a batch of texts with spans of their own: one masking of each, k stratified over the
// spans of all of them.
std::vector<Corruption> DrawCorruptions(std::span<const std::vector<size_t>> texts, Random& random);

// Fills nats[i] with -log p of the token at masked[i], given the unmasked ones.
using MaskedScorer =
    std::function<absl::Status(const Corruption& corruption, std::span<double> nats)>;

// The NELBO of one masking in nats per token: sum of weight * nats over the masked, divided by the
// length.
double WeightedNats(const Corruption& corruption, std::span<const double> nats);

// The mean of WeightedNats over maskings: an unbiased estimate of the NELBO per token. Errors are
// the scorer's.
absl::StatusOr<double> EstimateNelbo(std::span<const Corruption> corruptions,
                                     const MaskedScorer& scorer);

// Where a text is scored: tokens [first, tokens.size()) are the scored ones, those before are given
// and never masked. Corruption indices count from `first`.
struct ScoredText {
  std::span<const TokenId> tokens;
  size_t first = 0;
};

// Lengths of the spans of the scored part: one, or with a block length above zero its pieces on the
// grid of blocks that counts from token 0.
std::vector<size_t> SpansOf(const ScoredText& text, int block_length);

// A masked text as the model reads it.
struct CorruptedText {
  std::vector<TokenId> tokens;  // masked; with blocks [masked ; clean]
  Attention attention;
  // By masked token: the row of `tokens` whose logits predict it, and what it is.
  std::vector<size_t> rows;
  std::vector<TokenId> targets;
};

// Bidirectional attention for block_length 0, else BD3-LM's (arXiv 2503.09573). With shifted logits
// the row before a token predicts it, the clean row before a block predicts its first token.
CorruptedText CorruptText(const ScoredText& text, const Corruption& corruption, int block_length,
                          TokenId mask, bool shift);

// Cross-entropies of the masked tokens of CorruptText. Errors: the forward pass's; MODE_UNSUPPORTED
// where the model has no mask token.
absl::Status ScoreMasked(Transformer& transformer, const ScoredText& text,
                         const Corruption& corruption, int block_length, const AdapterMix* adapters,
                         std::span<double> nats);

// Cross-entropies of the scored tokens read from left to right; nats has one entry for each. Token
// 0 of a text has no prediction, so `first` is at least 1.
absl::Status ScoreNextTokens(Transformer& transformer, const ScoredText& text,
                             const AdapterMix* adapters, std::span<double> nats);

}  // namespace ruvd::inference
