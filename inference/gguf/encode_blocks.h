// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>

#include "inference/gguf/types.h"

namespace ruvd::inference::gguf {

// Encodes one block: BlockValues(type) finite floats at `values` to BlockBytes(type) bytes at
// `out`. Returns false if a value or a scale does not fit the format's 16-bit numbers; `out` is
// then unspecified.
using BlockEncoder = bool (*)(const float* values, uint8_t* out);

// Returns the encoder of a format other than F32.
BlockEncoder EncoderOf(TensorType type);

// The encoders of blocks of 256 values. The format leaves the choice of scales to the encoder;
// these search for a small sum of squared errors (see encode_q4_q5_k.cc, encode_q6_k.cc).
bool EncodeQ4_K(const float* values, uint8_t* out);
bool EncodeQ5_K(const float* values, uint8_t* out);
bool EncodeQ6_K(const float* values, uint8_t* out);

}  // namespace ruvd::inference::gguf
