// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "privacy/dp/discrete_gaussian.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/status.h"
#include "privacy/sodium.h"

namespace ruvd::privacy::dp {
namespace {

constexpr size_t kBytesPerDraw = sizeof(Uint128);
constexpr size_t kDrawsAtOnce = 64;

}  // namespace

DiscreteGaussian::DiscreteGaussian(uint32_t sigma, std::vector<Uint128> thresholds)
    : sigma_(sigma), thresholds_(std::move(thresholds)) {}

absl::StatusOr<DiscreteGaussian> DiscreteGaussian::Create(uint32_t sigma) {
  ASSIGN_OR_RETURN(std::vector<Uint128> thresholds, DiscreteGaussianThresholds(sigma));
  return DiscreteGaussian(sigma, std::move(thresholds));
}

// The top bit is the sign, and the other bits are compared. Subtracting a threshold from them
// borrows from the top bit exactly if they are below it.
int32_t DiscreteGaussian::FromBits(Uint128 bits) const {
  const auto negative = static_cast<uint32_t>(bits >> 127);
  const Uint128 level = bits & ~(Uint128{1} << 127);
  uint32_t magnitude = 0;
  for (const Uint128 threshold : thresholds_) {
    magnitude += 1 - static_cast<uint32_t>((level - threshold) >> 127);
  }
  return static_cast<int32_t>((magnitude ^ (0 - negative)) + negative);
}

void DiscreteGaussian::Sample(const RandomBytes& random, std::span<int32_t> out) const {
  std::array<uint8_t, kDrawsAtOnce * kBytesPerDraw> bytes{};
  while (!out.empty()) {
    const size_t draws = std::min(out.size(), kDrawsAtOnce);
    random(std::span(bytes).first(draws * kBytesPerDraw));
    for (size_t i = 0; i < draws; ++i) {
      Uint128 bits = 0;
      std::memcpy(&bits, &bytes[i * kBytesPerDraw], kBytesPerDraw);
      out[i] = FromBits(bits);
    }
    out = out.subspan(draws);
  }
  SecureWipe(bytes);
}

}  // namespace ruvd::privacy::dp
