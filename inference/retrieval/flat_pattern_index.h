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

// A pattern of a FlatPatternIndex. The embedding is normalised.
struct FlatPattern {
  std::string pattern_id;
  std::vector<float> embedding;
  std::string adapter;  // name
  uint32_t version = 0;
};

// The patterns of each timestep bank in a table of their own that a search scans whole: up to some
// thousand patterns that is faster than a graph, and it misses nothing but by rounding. Embeddings
// are scanned in 8 bits with a scale for 32 values (a quarter of float32's memory traffic); of the
// best few the cosine is computed again in float32. Immutable, hence thread-safe.
class FlatPatternIndex final : public PatternIndex {
 public:
  // INVALID_ARGUMENT for an embedding of another width, or a width that is no multiple of 32.
  static absl::StatusOr<FlatPatternIndex> Build(
      size_t width, std::array<std::vector<FlatPattern>, kTimestepBanks> banks);

  // Best first, equal ones by pattern id. INVALID_ARGUMENT for an embedding of another width.
  absl::StatusOr<std::vector<RetrievedPattern>> Search(std::span<const float> embedding,
                                                       TimestepBank bank, int k) const override;

  // Bytes that a search of this bank scans.
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
