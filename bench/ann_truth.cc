// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/ann_truth.h"

#include <algorithm>

namespace ruvd::bench {
namespace {

// Products may be summed in another order than the thresholds' were, on other machines.
constexpr float kTolerance = 1e-6F;
constexpr size_t kRowsAtOnce = 256;  // stay in the cache while all queries pass

}  // namespace

#if defined(__x86_64__)
__attribute__((target_clones("default", "arch=haswell", "arch=skylake-avx512")))
#endif
float FloatDot(const float* a, const float* b, size_t n) {
  constexpr size_t kLanes = 32;
  float sums[kLanes] = {};
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) {
      sums[lane] += a[i + lane] * b[i + lane];
    }
  }
  for (; i < n; ++i) {
    sums[0] += a[i] * b[i];
  }
  float sum = 0;
  for (const float lane : sums) {
    sum += lane;
  }
  return sum;
}

std::vector<float> Thresholds(const Matrix& base, const Matrix& queries, size_t k,
                              const std::vector<bool>& admitted) {
  std::vector<std::vector<float>> best(queries.rows);  // heaps, the least on top
  for (size_t first = 0; first < base.rows; first += kRowsAtOnce) {
    const size_t last = std::min(first + kRowsAtOnce, base.rows);
    for (size_t q = 0; q < queries.rows; ++q) {
      std::vector<float>& heap = best[q];
      for (size_t i = first; i < last; ++i) {
        if (!admitted.empty() && !admitted[i]) {
          continue;
        }
        const float dot = FloatDot(queries.row(q).data(), base.row(i).data(), base.dimension);
        if (heap.size() < k || dot > heap.front()) {
          heap.push_back(dot);
          std::push_heap(heap.begin(), heap.end(), std::greater<>());
        }
        if (heap.size() > k) {
          std::pop_heap(heap.begin(), heap.end(), std::greater<>());
          heap.pop_back();
        }
      }
    }
  }
  std::vector<float> thresholds;
  for (const std::vector<float>& heap : best) {
    thresholds.push_back(heap.empty() ? 0.0F : heap.front());
  }
  return thresholds;
}

double RecallOf(const Matrix& base, std::span<const float> query, std::span<const uint32_t> answer,
                size_t possible, float threshold) {
  if (possible == 0) {
    return 1.0;
  }
  const auto right = std::count_if(answer.begin(), answer.end(), [&](uint32_t row) {
    return FloatDot(query.data(), base.row(row).data(), base.dimension) >= threshold - kTolerance;
  });
  return std::min(1.0, static_cast<double>(right) / static_cast<double>(possible));
}

}  // namespace ruvd::bench
