// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>

#include "inference/gguf/types.h"

namespace ruvd::inference::gguf {

// Decodes one block: BlockBytes(type) bytes at `in` to BlockValues(type) floats at `out`.
using BlockDecoder = void (*)(const uint8_t* in, float* out);

// Returns the decoder of a format other than F32.
BlockDecoder DecoderOf(TensorType type);

}  // namespace ruvd::inference::gguf
