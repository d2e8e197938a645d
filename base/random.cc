// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "base/random.h"

#include <bit>
#include <cmath>

#include "base/status.h"

namespace ruvd {

Random::Random(uint64_t seed) {
  // SplitMix64 fills the state, so that close seeds give unrelated sequences.
  for (uint64_t& word : state_) {
    seed += 0x9e3779b97f4a7c15ULL;
    uint64_t z = seed;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    word = z ^ (z >> 31);
  }
}

uint64_t Random::Next() {
  const uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  const uint64_t t = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= t;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

uint64_t Random::Below(uint64_t n) {
  RUVD_CHECK(n > 0);
  const uint64_t threshold = (0 - n) % n;  // 2^64 mod n: values below it are over-represented
  uint64_t value = Next();
  while (value < threshold) {
    value = Next();
  }
  return value % n;
}

double Random::Uniform() {
  return static_cast<double>(Next() >> 11) * 0x1.0p-53;
}

double Random::Normal() {
  if (has_spare_) {
    has_spare_ = false;
    return spare_normal_;
  }
  double u = 0;
  double v = 0;
  double s = 0;
  do {
    u = 2 * Uniform() - 1;
    v = 2 * Uniform() - 1;
    s = u * u + v * v;
  } while (s >= 1 || s == 0);
  const double scale = std::sqrt(-2 * std::log(s) / s);
  spare_normal_ = v * scale;
  has_spare_ = true;
  return u * scale;
}

Random Random::Fork() {
  return Random(Next());
}

}  // namespace ruvd
