// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "absl/status/statusor.h"

namespace ruvd::inference {

// Returns the mean of these hidden states (rows x width), normalised to length one. INTERNAL if it
// has no direction.
absl::StatusOr<std::vector<float>> MeanDirection(std::span<const float> hidden, size_t width);

}  // namespace ruvd::inference
