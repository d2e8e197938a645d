// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace ruvd::privacy::dp {

// An update in parts, such as the core of each bank; together they are one vector.
using Banks = std::span<const std::span<float>>;

// UPDATE_INVALID unless there is a bank for each of the sizes in `layout`, of that many values, all
// finite; LIMIT_EXCEEDED for more than kMaxUpdateValues. The layout is public: what an update looks
// like must not depend on data.
absl::Status CheckBanks(Banks banks, std::span<const size_t> layout);

struct ClipOutcome {
  double norm = 0;   // before
  double scale = 1;  // that all values were multiplied by, at most 1
};

// Scales all banks by min(1, clip_norm / norm), norm the Euclidean one of all banks together
// (Abadi et al. 2016, "Deep learning with differential privacy", algorithm 1): one clip, one
// release, one epsilon, however many banks. Errors of CheckBanks, INVALID_ARGUMENT unless
// `clip_norm` is a number above 0; then nothing was changed. Rounding may leave the norm above
// `clip_norm` by a float's last digit: the grid clips again, in integers.
absl::StatusOr<ClipOutcome> ClipJointly(Banks banks, std::span<const size_t> layout,
                                        double clip_norm);

}  // namespace ruvd::privacy::dp
