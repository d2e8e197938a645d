// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>

namespace ruvd {

// Seeded pseudo-random numbers (xoshiro256**, Blackman and Vigna 2018): the same seed gives the
// same sequence on every machine. Not for keys, nonces or privacy noise: those come from libsodium.
// Not thread-safe; each actor owns one.
class Random {
 public:
  explicit Random(uint64_t seed);

  // Uniform over all 64-bit values.
  uint64_t Next();
  // Uniform over [0, n), n > 0, without modulo bias.
  uint64_t Below(uint64_t n);
  // Uniform over [0, 1) with 53 random bits.
  double Uniform();
  // Standard normal (polar method; platform independent up to libm's log and sqrt).
  double Normal();
  // True with probability p.
  bool Chance(double p) { return Uniform() < p; }
  // An independent generator, so that one component's draws do not shift another's.
  Random Fork();

  template <typename T>
  void Shuffle(std::span<T> items) {
    for (size_t i = items.size(); i > 1; --i) {
      std::swap(items[i - 1], items[Below(i)]);
    }
  }

 private:
  std::array<uint64_t, 4> state_;
  double spare_normal_ = 0;
  bool has_spare_ = false;
};

}  // namespace ruvd
