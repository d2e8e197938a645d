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

// The block formats of GGUF: a block holds a fixed number of values in a fixed number of bytes. The
// layouts are ggml's block_* structures (ggml-common.h). Dequantize agrees with them bit for bit.

// Returns the bytes of one block; 4 for F32, 34 for Q8_0, and so on.
uint64_t BlockBytes(TensorType type);
// Returns the number of values in one block; 1 for the plain formats, 32 or 256 for the quantised
// ones.
uint64_t BlockValues(TensorType type);

// Converts whole blocks of any format to float32. `bytes` must hold exactly the blocks of
// `values.size()` values, which must be a multiple of BlockValues; otherwise INVALID_ARGUMENT.
absl::Status Dequantize(TensorType type, std::span<const uint8_t> bytes, std::span<float> values);

// Converts float32 values to any of the formats. F32, F16, BF16 and the formats of 32 values give
// the same bytes as llama.cpp's reference. Q4_K, Q5_K and Q6_K search for scales with a small
// squared error. Blocks are independent of each other, so a tensor may be split at any block.
// Errors: INVALID_ARGUMENT if the count is not a multiple of BlockValues, if a value is not finite,
// or if a value or a block scale is too large for the format's 16-bit numbers.
absl::StatusOr<std::string> Quantize(TensorType type, std::span<const float> values);
// Does what Quantize does, but writes to `out`, which must have exactly the size of the blocks.
// After an error `out` is unspecified.
absl::Status QuantizeInto(TensorType type, std::span<const float> values, std::span<uint8_t> out);

}  // namespace ruvd::inference
