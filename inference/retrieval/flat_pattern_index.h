// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "inference/adapter/bank.h"
#include "inference/model/linear.h"
#include "inference/retrieval/pattern_index.h"

namespace ruvd::inference {

// A pattern of a FlatPatternIndex. The embedding must be normalised.
struct FlatPattern {
  std::string pattern_id;
  std::vector<float> embedding;
  std::string adapter;  // name
  uint32_t version = 0;
};

// Holds the patterns of each timestep bank in a table that a search scans completely. Up to a few
// thousand patterns this is faster than a graph, and it misses patterns only through rounding. The
// scan reads embeddings in 8 bits with one scale per 32 values (a quarter of the memory traffic of
// float32); the cosines of the best few are computed again in float32. The index is immutable,
// hence thread-safe.
class FlatPatternIndex final : public PatternIndex {
 public:
  // Returns INVALID_ARGUMENT if an embedding has another width, or if the width is not a multiple
  // of 32.
  static absl::StatusOr<FlatPatternIndex> Build(
      size_t width, std::array<std::vector<FlatPattern>, kTimestepBanks> banks);

  // Returns hits best first, equal ones by pattern id, or INVALID_ARGUMENT for an embedding of
  // another width.
  absl::StatusOr<std::vector<RetrievedPattern>> Search(std::span<const float> embedding,
                                                       TimestepBank bank, int k) const override;

  // The number of bytes that a search of this bank scans
  size_t ScannedBytes(TimestepBank bank) const;

 private:
  struct Table {
    std::vector<FlatPattern> rows;
    PackedMatrix codes;
  };

  explicit FlatPatternIndex(size_t width) : width_(width) {}

  size_t width_;
  std::array<Table, kTimestepBanks> banks_;
};

}  // namespace ruvd::inference
