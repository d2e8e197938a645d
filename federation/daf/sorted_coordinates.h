// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace ruvd::federation {

// Coordinates that are worked on together: a block of 16 vectors fits the first-level cache.
inline constexpr size_t kCoordinateBlock = 256;
using CoordinateRow = std::array<float, kCoordinateBlock>;

// Batcher's odd-even merge sort of n numbers as the comparisons it makes (Knuth 1998, The Art of
// Computer Programming, volume 3, algorithm 5.2.2M): which ones does not depend on the numbers, so
// that a whole block of coordinates is sorted by minima and maxima of rows.
class SortingNetwork {
 public:
  explicit SortingNetwork(size_t count);
  // Sorts every column of `rows`, of which there are `count`.
  void Sort(std::span<CoordinateRow> rows) const;
  size_t comparisons() const { return pairs_.size(); }

 private:
  std::vector<std::pair<uint32_t, uint32_t>> pairs_;
};

// Weighted mean of what is left of `values` when the `trim` lowest and highest, fewer than half at
// each end, are dropped whatever they weigh; the plain mean where the rest weighs nothing. `order`
// is scratch.
float WeightedTrimmedMean(std::span<const float> values, std::span<const double> weights,
                          size_t trim, std::vector<size_t>& order);

// The value at which the weight of those below reaches half, the mean of two where it is reached
// exactly between them. `order` is scratch.
float WeightedMedian(std::span<const float> values, std::span<const double> weights,
                     std::vector<size_t>& order);

}  // namespace ruvd::federation
