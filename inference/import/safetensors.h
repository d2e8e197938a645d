// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "inference/gguf/types.h"

namespace ruvd::inference {

// One tensor of a safetensors file; `bytes` points into the file.
struct SafetensorsTensor {
  TensorType type = TensorType::kF32;  // F32, F16 or BF16
  std::vector<uint64_t> shape;         // rows first, row length last
  std::span<const uint8_t> bytes;

  // Returns the values as float32.
  std::vector<float> ToFloat() const;
};

// Reads the header of a safetensors file (64-bit length, JSON object, data) and checks it: every
// offset must be inside the file, every size must fit its shape, and tensors must not overlap.
// Errors: MODEL_CORRUPT, naming the fault; MODEL_UNSUPPORTED for an element type other than F32,
// F16 or BF16. The result is sorted by name.
absl::StatusOr<std::map<std::string, SafetensorsTensor>> ParseSafetensors(
    std::span<const uint8_t> file);

}  // namespace ruvd::inference
