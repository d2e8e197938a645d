// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "inference/gguf/types.h"

namespace ruvd::inference {

// The block formats of GGUF: a block holds a fixed number of values in a fixed number of bytes.
// Layouts are ggml's block_* structures (ggml-common.h); Dequantize is bit-exact against them.

// Bytes of one block; 4 for F32, 34 for Q8_0, and so on.
uint64_t BlockBytes(TensorType type);
// Values of one block; 1 for the plain formats, 32 or 256 for the quantised ones.
uint64_t BlockValues(TensorType type);

// Converts whole blocks of any format to float32. `bytes` must hold exactly the blocks of
// `values.size()` values, a multiple of BlockValues; else INVALID_ARGUMENT.
absl::Status Dequantize(TensorType type, std::span<const uint8_t> bytes, std::span<float> values);

// Converts float32 values to any of the formats. F32, F16, BF16 and the formats of 32 values round
// as llama.cpp's reference does, byte for byte; Q4_K, Q5_K and Q6_K search for scales of small
// squared error. Blocks are independent of each other, so a tensor may be cut into parts at any
// block. INVALID_ARGUMENT for a count that is not a multiple of BlockValues, a value that is not
// finite, or a value or block scale too large for the format's 16-bit numbers.
absl::StatusOr<std::string> Quantize(TensorType type, std::span<const float> values);
// The same into `out`, which must have exactly the size of the blocks; unspecified after an error.
absl::Status QuantizeInto(TensorType type, std::span<const float> values, std::span<uint8_t> out);

}  // namespace ruvd::inference
