// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ruvd::inference {

// Element formats of GGUF tensors, numbered as in the file format (ggml_type in llama.cpp). A file
// with any other format is refused on loading.
enum class TensorType : uint32_t {
  kF32 = 0,
  kF16 = 1,
  kQ4_0 = 2,
  kQ4_1 = 3,
  kQ5_0 = 6,
  kQ5_1 = 7,
  kQ8_0 = 8,
  kQ4_K = 12,
  kQ5_K = 13,
  kQ6_K = 14,
  kBF16 = 30,
};

// Returns "Q8_0" and so on; "unknown" for a number outside the enumeration.
std::string_view TensorTypeName(TensorType type);

// Returns the format with this number in a file, or nullopt if the number is unknown.
std::optional<TensorType> TensorTypeFromNumber(uint32_t number);

// One tensor of a file. It has been checked: its bytes lie inside the file and belong to no other
// tensor.
struct TensorInfo {
  std::string name;
  TensorType type = TensorType::kF32;
  // shape[0] is the length of a row (ggml's ne0), shape[1] the number of rows; unused dimensions
  // are 1.
  std::array<uint64_t, 4> shape = {1, 1, 1, 1};
  uint32_t dimensions = 0;
  uint64_t offset = 0;  // from the start of the data section
  uint64_t bytes = 0;

  // Returns the number of elements. After the check it cannot overflow.
  uint64_t values() const { return shape[0] * shape[1] * shape[2] * shape[3]; }
};

}  // namespace ruvd::inference
