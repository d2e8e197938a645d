// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <span>

#include "inference/gguf/types.h"

namespace ruvd::inference {

// Whether no value of a tensor is infinite or no number. `data` are whole blocks. Of quantised
// formats only the scales of the blocks are read, which decide it; several times faster than a
// SHA-256 of the same bytes.
bool AllFinite(TensorType type, std::span<const uint8_t> data);

}  // namespace ruvd::inference
