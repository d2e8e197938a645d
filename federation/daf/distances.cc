// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/daf/distances.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "federation/daf/vector_kernels.h"

namespace ruvd::federation {
namespace {

// Blocks are summed in float, and the blocks in double, which keeps the rounding error below 1e-5
// of the sum. Blocks of 16 vectors fit the second-level cache, so all pairs read them from there.
constexpr size_t kBlock = 1024;

}  // namespace

double SquaredDistance(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (size_t begin = 0; begin < a.size(); begin += kBlock) {
    const size_t count = std::min(kBlock, a.size() - begin);
    sum += double{SumSquaredDifferences(a.data() + begin, b.data() + begin, count)};
  }
  return sum;
}

double SquaredNorm(std::span<const float> a) {
  return Dot(a, a);
}

double Dot(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (size_t begin = 0; begin < a.size(); begin += kBlock) {
    const size_t count = std::min(kBlock, a.size() - begin);
    sum += double{SumProducts(a.data() + begin, b.data() + begin, count)};
  }
  return sum;
}

double LowerMedian(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

PairDistances::PairDistances(std::span<const std::span<const float>> vectors)
    : count_(vectors.size()), squares_(count_ * count_) {
  const size_t length = vectors.front().size();
  for (size_t begin = 0; begin < length; begin += kBlock) {
    const size_t count = std::min(kBlock, length - begin);
    for (size_t i = 0; i < count_; ++i) {
      for (size_t j = 0; j < i; ++j) {
        squares_[i * count_ + j] += double{
            SumSquaredDifferences(vectors[i].data() + begin, vectors[j].data() + begin, count)};
      }
    }
  }
  for (size_t i = 0; i < count_; ++i) {
    for (size_t j = 0; j < i; ++j) {
      squares_[j * count_ + i] = squares_[i * count_ + j];
    }
  }
}

std::vector<size_t> PairDistances::Nearest(size_t i, size_t count) const {
  std::vector<size_t> order(count_);
  std::iota(order.begin(), order.end(), size_t{0});
  // The order is by distance. Vector i itself comes first, even before an equal copy; then ties go
  // to the lower index.
  const auto nearer = [&](size_t a, size_t b) {
    return std::tuple((*this)(i, a), a != i, a) < std::tuple((*this)(i, b), b != i, b);
  };
  if (count < count_) {
    std::ranges::nth_element(order, order.begin() + static_cast<std::ptrdiff_t>(count), nearer);
  }
  order.resize(count);
  std::ranges::sort(order);
  return order;
}

}  // namespace ruvd::federation
