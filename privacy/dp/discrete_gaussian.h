// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "privacy/dp/gaussian_thresholds.h"

namespace ruvd::privacy::dp {

// Fills bytes: SecureRandomBytes in production, a seeded generator in tests. Noise that an attacker
// can predict protects nothing.
using RandomBytes = std::function<void(std::span<uint8_t>)>;

// Draws integers from the discrete Gaussian in a time that does not depend on the drawn values:
// every draw takes 16 random bytes and compares them with every threshold of a table, without a
// branch. The running time of a sampler that stops early reveals how large the noise was (Jin,
// McMurtry, Rubinstein and Ohrimenko 2022, "Are we there yet? Timing and floating-point attacks on
// differential privacy systems"). It is immutable and so thread-safe.
class DiscreteGaussian {
 public:
  // Makes a sampler with the standard deviation `sigma` in units, 1 to kMaxNoiseUnits. Fails with
  // INVALID_ARGUMENT for any other.
  static absl::StatusOr<DiscreteGaussian> Create(uint32_t sigma);

  // Fills `out` with independent draws and wipes the random bytes that it used.
  void Sample(const RandomBytes& random, std::span<int32_t> out) const;

  uint32_t sigma() const { return sigma_; }

 private:
  DiscreteGaussian(uint32_t sigma, std::vector<Uint128> thresholds);
  int32_t FromBits(Uint128 bits) const;

  uint32_t sigma_;
  std::vector<Uint128> thresholds_;
};

}  // namespace ruvd::privacy::dp
