// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace ruvd::test {

// Counts durations from 1 ms to 11 days in cells of 1 % width: percentiles over any number of seeds
// in 17 kB. Not thread-safe.
class Histogram {
 public:
  void Add(double seconds);
  void Merge(const Histogram& other);
  uint64_t count() const { return count_; }
  // Returns the upper edge of the cell in which the share `quantile` of all values is reached, in
  // seconds; 0 if there are no values.
  double Quantile(double quantile) const;

 private:
  static constexpr size_t kCells = 2100;
  std::array<uint64_t, kCells> cells_{};
  uint64_t count_ = 0;
};

}  // namespace ruvd::test
