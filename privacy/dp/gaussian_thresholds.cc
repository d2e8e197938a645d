// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "privacy/dp/gaussian_thresholds.h"

#include <cstddef>

#include "base/reasons.h"
#include "base/status.h"
#include "privacy/limits.h"

namespace ruvd::privacy::dp {
namespace {

// Fixed-point numbers up to 1 have 126 fractional bits. Weights are added with 15 bits fewer,
// because their sum can reach 2.6 times 4096.
constexpr int kFractionBits = 126;
constexpr int kSumShift = 15;
constexpr int kThresholdBits = 127;
// The table ends at 13 standard deviations: e^(-13^2 / 2) is below 2^-121.
constexpr uint32_t kReach = 13;
constexpr Uint128 kOne = Uint128{1} << kFractionBits;

// Returns a * b for fractions of at most 1, rounded down.
Uint128 Multiply(Uint128 a, Uint128 b) {
  constexpr uint64_t kLow = ~uint64_t{0};
  const Uint128 a0 = a & kLow;
  const Uint128 a1 = a >> 64;
  const Uint128 b0 = b & kLow;
  const Uint128 b1 = b >> 64;
  const Uint128 low = a0 * b0;
  // A fraction of at most 1 has at most 63 bits in its upper half, so no sum overflows.
  const Uint128 middle = a0 * b1 + a1 * b0 + (low >> 64);
  const Uint128 high = a1 * b1 + (middle >> 64);
  return (high << (128 - kFractionBits)) | ((middle & kLow) >> (kFractionBits - 64));
}

// Returns e^(-1 / divisor) for a divisor of at least 2, computed by the alternating series.
Uint128 ExpOfMinusInverse(uint64_t divisor) {
  Uint128 sum = kOne;
  Uint128 term = kOne;
  for (uint64_t n = 1; term != 0; ++n) {
    term = term / divisor / n;
    sum = n % 2 == 1 ? sum - term : sum + term;
  }
  return sum;
}

// Returns part / whole times 2^127, rounded down, where part < whole < 2^127.
Uint128 Share(Uint128 part, Uint128 whole) {
  Uint128 quotient = 0;
  for (int bit = 0; bit < kThresholdBits; ++bit) {
    part <<= 1;
    quotient <<= 1;
    if (part >= whole) {
      part -= whole;
      quotient |= 1;
    }
  }
  return quotient;
}

}  // namespace

absl::StatusOr<std::vector<Uint128>> DiscreteGaussianThresholds(uint32_t sigma) {
  if (sigma == 0 || sigma > limits::kMaxNoiseUnits) {
    return Error(
        absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
        "the standard deviation {} of integer noise is outside 1 to {}; choose another grid", sigma,
        limits::kMaxNoiseUnits);
  }
  const size_t count = size_t{kReach} * sigma;
  // The weight of k + 1 is that of k times e^(-(2k + 1) / (2 sigma^2)); these factors are a
  // geometric series.
  Uint128 ratio = ExpOfMinusInverse(2 * uint64_t{sigma} * sigma);
  const Uint128 ratio_step = Multiply(ratio, ratio);
  std::vector<Uint128> thresholds(count);
  Uint128 weight = kOne;
  Uint128 sum = weight >> kSumShift;
  for (size_t k = 0; k < count; ++k) {
    thresholds[k] = sum;  // the weight of |X| <= k, not scaled yet
    weight = Multiply(weight, ratio);
    ratio = Multiply(ratio, ratio_step);
    sum += 2 * (weight >> kSumShift);
  }
  for (Uint128& threshold : thresholds) {
    threshold = Share(threshold, sum);
  }
  return thresholds;
}

}  // namespace ruvd::privacy::dp
