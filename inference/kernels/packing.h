// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>

#include "inference/gguf/types.h"

namespace ruvd::inference {

// Rows of a matrix as they lie in a file, to be packed as packed.h describes.
struct PackSource {
  TensorType type = TensorType::kQ8_0;  // one with a PackedFormat
  size_t outputs = 0;                   // rows of the whole matrix
  size_t columns = 0;                   // a multiple of the format's block
  const uint8_t* data = nullptr;        // row 0
  size_t row_bytes = 0;
};

// Packs groups [first_group, first_group + groups); `out` points at the first of them and is
// overwritten completely, rows beyond the last output with zeros. Pure; different groups may be
// packed by different threads.
void PackGroups(const PackSource& source, size_t first_group, size_t groups, uint8_t* out);

}  // namespace ruvd::inference
