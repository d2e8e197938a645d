// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/daf/sorted_coordinates.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "federation/daf/vector_kernels.h"

namespace ruvd::federation {
namespace {

void SortByValue(std::span<const float> values, std::vector<size_t>& order) {
  order.resize(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, [&](size_t a, size_t b) { return values[a] < values[b]; });
}

double WeightOf(std::span<const double> weights, std::span<const size_t> which) {
  double sum = 0;
  for (const size_t i : which) {
    sum += weights[i];
  }
  return sum;
}

}  // namespace

SortingNetwork::SortingNetwork(size_t count) {
  if (count < 2) {
    return;
  }
  const size_t top = std::bit_ceil(count) / 2;
  for (size_t p = top; p > 0; p /= 2) {
    size_t q = top;
    size_t r = 0;
    size_t d = p;
    while (true) {
      for (size_t i = 0; i + d < count; ++i) {
        if ((i & p) == r) {
          pairs_.emplace_back(static_cast<uint32_t>(i), static_cast<uint32_t>(i + d));
        }
      }
      if (q == p) {
        break;
      }
      d = q - p;
      q /= 2;
      r = p;
    }
  }
}

void SortingNetwork::Sort(std::span<CoordinateRow> rows) const {
  for (const auto& [low, high] : pairs_) {
    OrderPairs(rows[low].data(), rows[high].data(), kCoordinateBlock);
  }
}

float WeightedTrimmedMean(std::span<const float> values, std::span<const double> weights,
                          size_t trim, std::vector<size_t>& order) {
  SortByValue(values, order);
  const std::span<const size_t> kept = std::span(order).subspan(trim, order.size() - 2 * trim);
  const double whole = WeightOf(weights, kept);
  double sum = 0;
  for (const size_t i : kept) {
    const double share = whole > 0 ? weights[i] / whole : 1.0 / double(kept.size());
    // The condition avoids 0 times infinity.
    sum += share > 0 ? share * double{values[i]} : 0.0;
  }
  return static_cast<float>(sum);
}

float WeightedMedian(std::span<const float> values, std::span<const double> weights,
                     std::vector<size_t>& order) {
  SortByValue(values, order);
  const double half = WeightOf(weights, order) / 2;
  double below = 0;
  for (size_t place = 0; place < order.size(); ++place) {
    below += weights[order[place]];
    if (below > half) {
      return values[order[place]];
    }
    if (below == half) {
      size_t next = place + 1;
      while (next + 1 < order.size() && weights[order[next]] == 0) {
        ++next;
      }
      return (values[order[place]] + values[order[std::min(next, order.size() - 1)]]) / 2;
    }
  }
  return values[order.back()];
}

}  // namespace ruvd::federation
