// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>

namespace ruvd::hnsw {

// Rows are padded with zeros to a multiple of this many floats, the widest vector register used.
inline constexpr size_t kRowPadding = 16;

inline constexpr size_t PaddedLength(size_t n) {
  return (n + kRowPadding - 1) / kRowPadding * kRowPadding;
}

// Sum of a[i] * b[i] over n, a multiple of kRowPadding. Highway picks the widest instruction set of
// the CPU once; the order of the sum, and so its last bits, depend on it.
float Dot(const float* a, const float* b, size_t n);

}  // namespace ruvd::hnsw
