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
#include "inference/gguf/value.h"

namespace ruvd::inference::gguf {

// A header that has been checked.
struct Header {
  StringMap<Value> values;
  std::vector<std::string> keys;  // in file order
  std::vector<TensorInfo> tensors;
  StringMap<size_t> tensor_index;  // index into `tensors`
  std::span<const uint8_t> data;   // the data section, up to the end of the file
};

// Reads and checks the whole header. The result points into `file`, which must outlive it.
absl::StatusOr<Header> ParseHeader(std::span<const uint8_t> file);

}  // namespace ruvd::inference::gguf
