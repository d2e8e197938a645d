// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/random.h"
#include "inference/memory/memory_reader.h"
#include "inference/transformer/transformer.h"

namespace ruvd::inference {

// One masking of a text, for the NELBO (negative evidence lower bound) of masked diffusion under
// exact-count masking: in every span of length L exactly k positions are masked, each with weight
// L/k. The mean over k uniform on 1..L and over all k-subsets equals the average over all orders of
// revealing and the integral over t of the 1/t-weighted loss (MDLM, arXiv 2406.07524; RADD, arXiv
// 2406.03736).
struct Corruption {
  struct Position {
    size_t index = 0;   // offset into the text
    double weight = 0;  // L/k of the position's span
    double t = 0;       // k/L of the position's span
  };
  std::vector<Position> masked;  // ascending; at least one in every span
  size_t length = 0;             // length of the text: the sum of the spans
};

// Returns `count` maskings of a text that consists of `spans` (lengths, all above zero; one span
// for plain diffusion, one per block for block diffusion). k is stratified: all count *
// spans.size() values of k together cover 1..L evenly. Equal arguments give equal maskings on every
// machine.
std::vector<Corruption> DrawCorruptions(std::span<const size_t> spans, int count, uint64_t seed);

// Masks each text of a batch once. Each text has its own spans, and k is stratified over the spans
// of all texts.
std::vector<Corruption> DrawCorruptions(std::span<const std::vector<size_t>> texts, Random& random);

// Returns the NELBO of one masking in nats per token: the sum of weight * nats over the masked
// tokens, divided by the length; nats[i] is -log p of the token at masked[i], given the unmasked
// tokens. The mean over the maskings of DrawCorruptions is an unbiased estimate of the NELBO.
double WeightedNats(const Corruption& corruption, std::span<const double> nats);

// The scored part of a text: tokens [first, tokens.size()) are scored, the tokens before are given
// and never masked. Indices of a Corruption count from `first`.
struct ScoredText {
  std::span<const TokenId> tokens;
  size_t first = 0;
};

// Returns the lengths of the spans of the scored part: one span, or, if the block length is above
// zero, its pieces on the grid of blocks that counts from token 0.
std::vector<size_t> SpansOf(const ScoredText& text, int block_length);

// Returns the scored tokens that a masking leaves, in order.
std::vector<TokenId> KnownTokens(const ScoredText& text, const Corruption& corruption);

// A masked text as the model reads it.
struct CorruptedText {
  std::vector<TokenId> tokens;  // masked; in block mode [masked ; clean]
  Attention attention;
  // For each masked token: the row of `tokens` whose logits predict it, and its true value
  std::vector<size_t> rows;
  std::vector<TokenId> targets;
};

// Masks a text for the model. Attention is bidirectional if block_length is 0, otherwise that of
// BD3-LM (arXiv 2503.09573). If logits are shifted, the row before a token predicts it, and the
// clean row before a block predicts the block's first token.
CorruptedText CorruptText(const ScoredText& text, const Corruption& corruption, int block_length,
                          TokenId mask, bool shift);

// Computes the cross-entropies of the masked tokens of CorruptText. A memory that is not null takes
// part as it does in a completion. Returns the errors of the forward pass, and MODE_UNSUPPORTED if
// the model has no mask token.
absl::Status ScoreMasked(Transformer& transformer, const ScoredText& text,
                         const Corruption& corruption, int block_length, const AdapterMix* adapters,
                         std::span<double> nats, MemoryReader* memory = nullptr);

// Computes the cross-entropies of the scored tokens read from left to right; `nats` has one entry
// per token. Token 0 of a text has no prediction, so `first` must be at least 1.
absl::Status ScoreNextTokens(Transformer& transformer, const ScoredText& text,
                             const AdapterMix* adapters, std::span<double> nats,
                             MemoryReader* memory = nullptr);

}  // namespace ruvd::inference
