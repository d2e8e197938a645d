// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "inference/memory/memory_parameters.h"
#include "inference/memory/memory_scan.h"
#include "inference/memory/token_memory.h"
#include "inference/tokenizer/tokenizer.h"

namespace ruvd::inference {

// A text that is read at some of its positions.
struct MemoryWindow {
  // These are all tokens; read from left to right, a position sees only those before it.
  std::span<const TokenId> tokens;
  TokenId mask = kNoToken;  // the token of positions that are not known
  bool causal = false;      // read from left to right
  float t = 0;              // masked share of what is being filled; 0 if causal
  size_t masked = 1;        // masked tokens of it; 1 if causal
};

// What the memory says about one position.
struct MemoryReading {
  MemoryFeatures features{};
  float share = 0;     // of the memory in the mixture
  float log_mass = 0;  // log of the sum of the exponentials of the model's logits
  // Probabilities of the tokens that the memory has, without order; their sum is 1
  std::vector<std::pair<TokenId, float>> votes;
};

// How much a memory took part in a completion.
struct MemoryUse {
  size_t entries = 0;    // of the memory; 0: there was none
  size_t positions = 0;  // predictions in which it took part
  double share = 0;      // its mean share in them
};

// Reads a memory by attention: each entry has a score (MemoryParameters), the vote of a token is
// the softmax of the scores over the entries with this token, of the limits::kMaxMemoryVotes
// entries with the best scores (and those that equal the last of them), and a gate mixes the votes
// with the model: p = (1 - g) p_model + g p_memory. The result of a row does not depend on the
// other rows. It keeps scratch memory. Not thread-safe.
class MemoryReader {
 public:
  // `parameters` and `memory` must not be null; their dimensions must be equal. `runner` must
  // outlive the reader; no bit depends on it.
  MemoryReader(std::shared_ptr<const MemoryParameters> parameters,
               std::shared_ptr<const TokenMemory> memory, ParallelRunner& runner = SerialRunner());

  const TokenMemory& memory() const { return *memory_; }
  const MemoryParameters& parameters() const { return *parameters_; }

  // Changes rows of logits (positions x vocabulary), which the hidden states (positions x width)
  // made, into logits of the mixture up to a constant. `positions` are ascending places of the
  // window that are not known; from left to right its length may be one, too. A row without finite
  // probabilities, or whose state is not finite, stays unchanged, and nothing changes if the memory
  // is empty.
  void Mix(const MemoryWindow& window, std::span<const int> positions,
           std::span<const float> hidden, std::span<float> logits);
  // Returns what all calls of Mix so far did.
  MemoryUse use() const;
  // Returns what Mix would mix, one item for each position, for tests and training of the gate; an
  // item without votes for a row that would stay unchanged.
  std::vector<MemoryReading> Read(const MemoryWindow& window, std::span<const int> positions,
                                  std::span<const float> hidden, std::span<const float> logits);

 private:
  // What the text that a position can see has in common with the memory
  struct Words {
    float ratio = 0;         // MemoryFeature::kWordRatio
    float shared_pairs = 0;  // MemoryFeature::kSharedPairs
  };
  // Sums over the tokens before `end` of a window
  struct SeenWords {
    size_t end = 0;
    TokenId before = kNoToken;  // the last token, if it is known
    double ratio = 0;
    size_t seen = 0;
    size_t pairs = 0;
    size_t shared = 0;
    Words words() const;
  };
  std::vector<Words> WordsOf(const MemoryWindow& window, std::span<const int> positions);
  void See(const MemoryWindow& window, size_t end, SeenWords* seen);
  // Returns the log of a token's frequency in the memory over that in public text.
  float LogRatio(TokenId token);
  bool HasPair(TokenId left, TokenId right);
  // Sets the votes of a row; returns the likeliest token and its probability.
  std::pair<TokenId, float> Vote(ScannedRow* row, std::vector<std::pair<TokenId, float>>* votes);
  bool ReadRow(const MemoryWindow& window, const MemoryNeighbours& near, const Words& words,
               std::span<const float> logits, ScannedRow* row, MemoryReading* reading);

  const std::shared_ptr<const MemoryParameters> parameters_;
  const std::shared_ptr<const TokenMemory> memory_;
  MemoryScan scan_;
  // What the memory says about tokens and pairs that were asked for; NaN: not yet
  std::vector<float> log_ratios_;
  std::unordered_map<uint64_t, bool> pairs_;
  // The prefix of a text that is read from left to right, and the sums over it
  std::vector<TokenId> prefix_;
  SeenWords prefix_words_;
  size_t mixed_ = 0;                // rows
  double share_sum_ = 0;            // of these rows
  std::vector<float> token_votes_;  // vocabulary; zero between calls
  MemoryReading reading_;
};

}  // namespace ruvd::inference
