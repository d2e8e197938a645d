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

// Coordinates that are processed together; a block of 16 vectors fits the first-level cache.
inline constexpr size_t kCoordinateBlock = 256;
using CoordinateRow = std::array<float, kCoordinateBlock>;

// Batcher's odd-even merge sort of n numbers as a list of comparisons (Knuth 1998, The Art of
// Computer Programming, volume 3, algorithm 5.2.2M). The list does not depend on the numbers, so a
// whole block of coordinates is sorted by minima and maxima of rows.
class SortingNetwork {
 public:
  explicit SortingNetwork(size_t count);
  // Sorts every column of `rows`, which must have `count` rows.
  void Sort(std::span<CoordinateRow> rows) const;

 private:
  std::vector<std::pair<uint32_t, uint32_t>> pairs_;
};

// Returns the weighted mean of `values` after dropping the `trim` lowest and the `trim` highest
// (fewer than half at each end), whatever their weights; the plain mean if the rest has no weight.
// `order` is scratch memory.
float WeightedTrimmedMean(std::span<const float> values, std::span<const double> weights,
                          size_t trim, std::vector<size_t>& order);

// Returns the value at which the cumulative weight reaches half, or the mean of two values if half
// is reached exactly between them. `order` is scratch memory.
float WeightedMedian(std::span<const float> values, std::span<const double> weights,
                     std::vector<size_t>& order);

}  // namespace ruvd::federation
