// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace ruvd::federation {

// Returns the squared Euclidean distance of vectors of equal length: float differences, summed in
// blocks in double. Returns infinity if a square overflows.
double SquaredDistance(std::span<const float> a, std::span<const float> b);
double SquaredNorm(std::span<const float> a);
double Dot(std::span<const float> a, std::span<const float> b);

// Returns the median; of an even number of values the lower one of the middle. There must be a
// value.
double LowerMedian(std::vector<double> values);

// The squared distances between all pairs of n vectors, n x n.
class PairDistances {
 public:
  explicit PairDistances(std::span<const std::span<const float>> vectors);
  size_t size() const { return count_; }
  double operator()(size_t i, size_t j) const { return squares_[i * count_ + j]; }
  // Returns the `count` vectors nearest to vector i, including itself, as indices in ascending
  // order; ties go to the lower index.
  std::vector<size_t> Nearest(size_t i, size_t count) const;

 private:
  size_t count_;
  std::vector<double> squares_;
};

}  // namespace ruvd::federation
