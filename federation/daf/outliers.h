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
// Among at least five known pasts the same is asked of the pasts, with 1.6 in place of 1.4.
//
// Noise is no distance: a sum of few members has more of it than sums of many. Let e_i be the
// expected square of the noise in vector i less the lower median of all, and at least 0, and E the
// sum of all e. Before a root is taken, the square of the distance of i from the mean of all n
// vectors loses (1 - 2/n) (e_i + 3 sqrt(2/d) of its noise's square, if e_i > 0) + E / n^2, where d
// is the number of values; the square of i loses e_i, and that of the sum of the others E - e_i, of
// both of which at least max(0.01, 100/d) is left. Medians are taken over the vectors whose e is 0.
// A sender says itself what noise it added, so
// among senders that add none a liar that claims noise has that much more room.
//
// A vector whose square is above 1e30
// stands apart at once. bench/experiments/round_arms.py measured these limits. A liar that knows
// all others can make an unusual honest vector stand apart in its place.
std::vector<size_t> Outliers(const NoisyVectors& now, const NoisyVectors& past, size_t most);

}  // namespace ruvd::federation
