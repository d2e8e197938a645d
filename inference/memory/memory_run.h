// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "inference/memory/memory_parameters.h"
#include "inference/sampler/distribution.h"
#include "inference/tokenizer/tokenizer.h"

namespace ruvd::inference {

// What the model computed when it read one token that is to be remembered.
struct MemoryObservation {
  std::span<const float> hidden;  // the final hidden state that predicted the token
  float probability = 0;          // that it gave to the token
  float t = 0;                    // masked share of the window; 0 when read from left to right
};

// One lesson as the memory holds it: its tokens, and for each token but those of the context a key
// and a bias. The tokens beside an entry are its neighbours. Instances are immutable.
class MemoryRun {
 public:
  // `tokens` are the lesson's, at most limits::kMaxMemoryRun; the first `context` of them are only
  // neighbours. `observations` has one item for each further token. An entry whose state or
  // probability is not finite keeps its token as a neighbour, and never votes.
  static std::shared_ptr<const MemoryRun> Make(const MemoryParameters& parameters, uint64_t id,
                                               std::span<const TokenId> tokens, size_t context,
                                               std::span<const MemoryObservation> observations);

  // Reads what Serialize wrote, as the run `id`. Returns INVALID_ARGUMENT with reason
  // FILE_UNREADABLE for other bytes and for keys of another dimension. An entry whose key or bias
  // is not finite never votes.
  static absl::StatusOr<std::shared_ptr<const MemoryRun>> Parse(std::string_view bytes, uint64_t id,
                                                                int dimension);
  // The run without its id, for files: docs/store-format.md, "Token memory".
  std::string Serialize() const;

  // The lesson that this run was made from
  uint64_t id() const { return id_; }
  std::span<const TokenId> tokens() const { return tokens_; }
  // Tokens before the first entry
  size_t context() const { return tokens_.size() - biases_.size(); }
  // Number of entries
  size_t size() const { return biases_.size(); }
  int dimension() const { return dimension_; }
  // Keys in the format Q8_0, one row for each entry
  std::span<const uint8_t> keys() const { return keys_; }
  // The biases of the scores; minus infinity for an entry that never votes
  std::span<const float> biases() const { return biases_; }
  size_t bytes() const;

 private:
  MemoryRun() = default;

  uint64_t id_ = 0;
  int dimension_ = 0;
  std::vector<TokenId> tokens_;
  std::vector<uint8_t> keys_;
  std::vector<float> biases_;
};

}  // namespace ruvd::inference
