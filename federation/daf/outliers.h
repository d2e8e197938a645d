// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace ruvd::federation {

// Vectors, and the expected square of the noise in each; no numbers mean that all are equal.
struct NoisyVectors {
  std::span<const std::span<const float>> vectors;
  std::span<const double> noise = {};
};

// Returns which of n vectors stand apart from the others, worst first, at most `most` of them.
// `now` are the vectors of a round, and `past` what is known of their senders from several rounds
// (RunningMean): n vectors, empty for a sender of whom too little is known, or none at all. After
// each vector that is found, the rest are judged anew. A vector stands apart if
// - its distance from the mean of the others is more than 1.4 times the lower median of these
//   distances, or
// - the cosine of it with the sum of the others is more than 0.5 below the lower median of these
//   cosines. (Near a common optimum all cosines fall: what honest nodes give adds up to zero
//   there.)
// Among at least five known pasts the same is asked of the pasts, with 1.6 in place of 1.4. What a
// vector has more noise than the lower median is taken off first, as its expected square, so that a
// sum of few members does not stand apart from sums of many. A vector whose square is above 1e30
// stands apart at once. bench/experiments/round_arms.py measured these limits. A liar that knows
// all others can make an unusual honest vector stand apart in its place.
std::vector<size_t> Outliers(const NoisyVectors& now, const NoisyVectors& past, size_t most);

}  // namespace ruvd::federation
