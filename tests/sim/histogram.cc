// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/sim/histogram.h"

#include <algorithm>
#include <cmath>

namespace ruvd::test {
namespace {

constexpr double kLeast = 1e-3;
constexpr double kGrowth = 1.01;

}  // namespace

void Histogram::Add(double seconds) {
  const double cell = std::ceil(std::log(std::max(seconds, kLeast) / kLeast) / std::log(kGrowth));
  ++cells_[std::min(static_cast<size_t>(cell), kCells - 1)];
  ++count_;
}

void Histogram::Merge(const Histogram& other) {
  for (size_t i = 0; i < kCells; ++i) {
    cells_[i] += other.cells_[i];
  }
  count_ += other.count_;
}

double Histogram::Quantile(double quantile) const {
  const auto wanted = static_cast<uint64_t>(std::ceil(quantile * static_cast<double>(count_)));
  uint64_t seen = 0;
  for (size_t i = 0; i < kCells; ++i) {
    seen += cells_[i];
    if (count_ > 0 && seen >= std::max<uint64_t>(wanted, 1)) {
      return kLeast * std::pow(kGrowth, static_cast<double>(i));
    }
  }
  return 0;
}

}  // namespace ruvd::test
