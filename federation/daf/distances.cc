// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/daf/distances.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace ruvd {
namespace {

// Partial sums, so that the compiler may use vectors without reordering a sum.
constexpr size_t kLanes = 16;
// Floats add up to here, then doubles: a float's rounding stays below 1e-6 of the sum. The blocks
// of 16 vectors fit the second-level cache, where every pair finds them.
constexpr size_t kBlock = 1024;

template <typename Term>
double SumBlock(size_t begin, size_t end, const Term& term) {
  std::array<float, kLanes> lanes{};
  size_t i = begin;
  for (; i + kLanes <= end; i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) {
      lanes[lane] += term(i + lane);
    }
  }
  double sum = 0;
  for (const float lane : lanes) {
    sum += double{lane};
  }
  for (; i < end; ++i) {
    sum += double{term(i)};
  }
  return sum;
}

template <typename Term>
double Sum(size_t count, const Term& term) {
  double sum = 0;
  for (size_t begin = 0; begin < count; begin += kBlock) {
    sum += SumBlock(begin, std::min(count, begin + kBlock), term);
  }
  return sum;
}

double SquareBlock(const float* a, const float* b, size_t begin, size_t end) {
  return SumBlock(begin, end, [a, b](size_t i) {
    const float difference = a[i] - b[i];
    return difference * difference;
  });
}

}  // namespace

double SquaredDistance(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (size_t begin = 0; begin < a.size(); begin += kBlock) {
    sum += SquareBlock(a.data(), b.data(), begin, std::min(a.size(), begin + kBlock));
  }
  return sum;
}

double SquaredNorm(std::span<const float> a) {
  return Dot(a, a);
}

double Dot(std::span<const float> a, std::span<const float> b) {
  return Sum(a.size(), [x = a.data(), y = b.data()](size_t i) { return x[i] * y[i]; });
}

PairDistances::PairDistances(std::span<const std::span<const float>> vectors)
    : count_(vectors.size()), squares_(count_ * count_) {
  const size_t length = vectors.front().size();
  for (size_t begin = 0; begin < length; begin += kBlock) {
    const size_t end = std::min(length, begin + kBlock);
    for (size_t i = 0; i < count_; ++i) {
      for (size_t j = 0; j < i; ++j) {
        squares_[i * count_ + j] += SquareBlock(vectors[i].data(), vectors[j].data(), begin, end);
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
  std::ranges::stable_sort(order, [&](size_t a, size_t b) {
    // Itself first: a copy of it is as near.
    return (*this)(i, a) < (*this)(i, b) || ((*this)(i, a) == (*this)(i, b) && a == i && b != i);
  });
  order.resize(count);
  std::ranges::sort(order);
  return order;
}

}  // namespace ruvd
