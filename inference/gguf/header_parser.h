// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/string_map.h"
#include "inference/gguf/types.h"

namespace ruvd::gguf {

// One metadata value, still in file bytes: decoded when asked for, because vocabularies are large
// and most readers want a few keys. The bytes are checked: all elements are there.
struct Value {
  uint32_t type = 0;  // ValueType; for an array the type of its elements
  bool is_array = false;
  uint64_t count = 1;  // elements of an array
  std::span<const uint8_t> bytes;
};

// A checked header.
struct Header {
  StringMap<Value> values;
  std::vector<TensorInfo> tensors;
  StringMap<size_t> tensor_index;  // position in `tensors`
  std::span<const uint8_t> data;   // the data section, to the end of the file
};

// Reads and checks the whole header. The result points into `file`.
absl::StatusOr<Header> ParseHeader(std::span<const uint8_t> file);

}  // namespace ruvd::gguf
