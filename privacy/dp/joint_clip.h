// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace ruvd::privacy::dp {

// An update in parts, such as the core of each bank. All parts together are one vector.
using Banks = std::span<const std::span<float>>;

// Returns UPDATE_INVALID unless the banks have the sizes in `layout` and all values are finite, and
// LIMIT_EXCEEDED for more than kMaxUpdateValues values. The layout is public: the shape of an
// update must not depend on data.
absl::Status CheckBanks(Banks banks, std::span<const size_t> layout);

struct ClipOutcome {
  double norm = 0;   // norm before clipping
  double scale = 1;  // factor of all values, at most 1
};

// Scales all banks by min(1, clip_norm / norm), where norm is the Euclidean norm of all banks
// together (Abadi et al. 2016, "Deep learning with differential privacy", algorithm 1): there is
// one clip, one release and one epsilon, however many banks there are. Fails as CheckBanks does,
// and with INVALID_ARGUMENT unless `clip_norm` is finite and above 0; after an error the banks are
// unchanged. Rounding may leave the norm above `clip_norm` by a float's last digit, so the grid
// clips again in integers.
absl::StatusOr<ClipOutcome> ClipJointly(Banks banks, std::span<const size_t> layout,
                                        double clip_norm);

}  // namespace ruvd::privacy::dp
