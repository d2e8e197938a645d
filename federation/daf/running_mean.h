// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace ruvd::federation {

// A running mean of the vectors that one node gave, in which each counts 0.9 of the one after it.
// It shows a lie that hides in the noise of single vectors but points the same way in all of them
// (Karimireddy, He and Jaggi 2021, "Learning from history for Byzantine robust optimization").
struct RunningMean {
  uint64_t round = 0;           // of the newest vector
  double weight = 0;            // of all vectors: 1 - 0.9^n after n of them
  std::vector<float> weighted;  // the mean times its weight; empty before the first vector

  // Adds the vector of a round; all must have equal length.
  void Add(uint64_t in_round, std::span<const float> values);
  // Whether it can be compared with means of which the heaviest has this weight: it has at least
  // five vectors, and as many as leave it at most half as much noise again.
  bool IsKnownBeside(double heaviest) const { return weight > 0.4 && weight > 0.65 * heaviest; }
  // Returns how much of the variance of the noise in single vectors is in the mean. There must be a
  // vector.
  double NoiseShare() const;
  // Returns the mean. There must be a vector.
  std::vector<float> Mean() const;
  bool operator==(const RunningMean&) const = default;
};

// Returns `values` in at most `most` numbers, so that a running mean of long vectors stays small:
// value i is added to place i mod `most`, with a sign that depends on i alone (count sketch,
// Charikar, Chen and Farach-Colton 2002). Scalar products keep their expected values. Vectors of at
// most `most` values stay as they are. The signs are public: who knows them can hide from this sum
// what SquaredDistance of the vectors themselves still shows.
std::vector<float> Folded(std::span<const float> values, size_t most);

}  // namespace ruvd::federation
