// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ruvd::storage::hnsw {

// Rows and queries are padded to a multiple of this many values: one plane of nibbles is then a
// multiple of 64 bytes, the widest register and the cache line.
inline constexpr size_t kCodePadding = 128;

// Computes the products of a query with one plane of nibbles (0 to 15) of many rows:
//
//   out[i] = sum over j < row_bytes of
//              query[j] * (row[j] & 15) + query[row_bytes + j] * (row[j] >> 4)
//
// where row is plane + ids[i] * row_bytes, for i < n. `row_bytes` is a multiple of kCodePadding /
// 2, and `query` has 2 * row_bytes values. All numbers are integers, so every instruction set gives
// the same sums. Rows are prefetched while earlier ones are multiplied.
using DotNibblesFunction = void (*)(const int8_t* query, const uint8_t* plane, size_t row_bytes,
                                    const uint32_t* ids, size_t n, int32_t* out);

struct NibbleKernel {
  const char* name;
  DotNibblesFunction dot;
};

// Returns the best kernel that this machine can run, chosen at the first call. Thread-safe.
DotNibblesFunction DotNibbles();

// Returns all kernels that this machine can run, best first and the scalar one last. Tests compare
// them.
std::vector<NibbleKernel> AvailableNibbleKernels();

// One kernel for each instruction set. Call it only if the processor has that set
// (base/cpu_features.h).
void DotNibblesScalar(const int8_t* query, const uint8_t* plane, size_t row_bytes,
                      const uint32_t* ids, size_t n, int32_t* out);
void DotNibblesAvx2(const int8_t* query, const uint8_t* plane, size_t row_bytes,
                    const uint32_t* ids, size_t n, int32_t* out);
void DotNibblesAvxVnni(const int8_t* query, const uint8_t* plane, size_t row_bytes,
                       const uint32_t* ids, size_t n, int32_t* out);
void DotNibblesAvx512Vnni(const int8_t* query, const uint8_t* plane, size_t row_bytes,
                          const uint32_t* ids, size_t n, int32_t* out);
void DotNibblesNeon(const int8_t* query, const uint8_t* plane, size_t row_bytes,
                    const uint32_t* ids, size_t n, int32_t* out);
void DotNibblesNeonDotprod(const int8_t* query, const uint8_t* plane, size_t row_bytes,
                           const uint32_t* ids, size_t n, int32_t* out);

}  // namespace ruvd::storage::hnsw
