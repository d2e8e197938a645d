// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>

namespace ruvd {

// Seeded pseudo-random numbers (xoshiro256**, Blackman and Vigna 2018): the same seed gives the
// same sequence on every machine. Never use them for keys, nonces or privacy noise, which come from
// libsodium. Not thread-safe; each actor owns one.
class Random {
 public:
  explicit Random(uint64_t seed);

  // Returns a value that is uniform over all 64-bit values.
  uint64_t Next();
  // Returns a value that is uniform over [0, n), without modulo bias; n > 0.
  uint64_t Below(uint64_t n);
  // Returns a value that is uniform over [0, 1), with 53 random bits.
  double Uniform();
  // Returns a standard normal value (polar method). It is the same on all platforms up to libm's
  // log and sqrt.
  double Normal();
  // Returns true with probability p.
  bool Bernoulli(double p) { return Uniform() < p; }
  // Returns an independent generator, so that the draws of one component do not shift those of
  // another.
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
