// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>

#include "inference/gguf/types.h"

namespace ruvd::inference {

// The rows of a matrix as they lie in a file; packed.h describes how they are packed.
struct PackSource {
  TensorType type = TensorType::kQ8_0;  // one with a PackedFormat
  size_t outputs = 0;                   // rows of the whole matrix
  size_t columns = 0;                   // a multiple of the format's block
  const uint8_t* data = nullptr;        // row 0
  size_t row_bytes = 0;
};

// Packs groups [first_group, first_group + groups). `out` points at the first of them. It is
// overwritten completely, with zeros for rows beyond the last output. Pure; several threads may
// pack different groups at the same time.
void PackGroups(const PackSource& source, size_t first_group, size_t groups, uint8_t* out);

}  // namespace ruvd::inference
