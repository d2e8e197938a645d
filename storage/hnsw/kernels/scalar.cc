// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// The scalar kernel is the definition that all other kernels must equal.

#include "storage/hnsw/kernels/nibble_kernels.h"

namespace ruvd::storage::hnsw {

void DotNibblesScalar(const int8_t* query, const uint8_t* plane, size_t row_bytes,
                      const uint32_t* ids, size_t n, int32_t* out) {
  for (size_t i = 0; i < n; ++i) {
    const uint8_t* row = plane + size_t{ids[i]} * row_bytes;
    int32_t sum = 0;
    for (size_t j = 0; j < row_bytes; ++j) {
      sum += query[j] * (row[j] & 15) + query[row_bytes + j] * (row[j] >> 4);
    }
    out[i] = sum;
  }
}

}  // namespace ruvd::storage::hnsw
