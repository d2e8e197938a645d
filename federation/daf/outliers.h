// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace ruvd::federation {

// Returns which of n vectors stand apart from the others, worst first, at most `most` of them.
// `now` are the vectors of a round, and `past` what is known of their senders from earlier rounds,
// with this one (RunningMean); both have n vectors. After each vector that is found, the rest are
// judged anew. A vector stands apart if
// - its distance from the mean of the others is more than 1.4 times the lower median of these
//   distances, or
// - that of its past is more than 1.6 times the lower median, or
// - the cosine of its past with the sum of the others' pasts is more than 0.5 below the lower
//   median of these cosines. (Near a common optimum all cosines fall: what honest nodes give adds
//   up to zero there.)
// A vector whose square is above 1e30 stands apart at once.
// bench/experiments/round_arms.py measured these limits.
std::vector<size_t> Outliers(std::span<const std::span<const float>> now,
                             std::span<const std::span<const float>> past, size_t most);

}  // namespace ruvd::federation
