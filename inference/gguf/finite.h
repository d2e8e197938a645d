// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <span>

#include "inference/gguf/types.h"

namespace ruvd::inference {

// Returns whether all values of a tensor are finite. `data` must be whole blocks. For quantised
// formats it is enough to read the scales of the blocks. Several times faster than a SHA-256 of the
// same bytes.
bool AllFinite(TensorType type, std::span<const uint8_t> data);

}  // namespace ruvd::inference
