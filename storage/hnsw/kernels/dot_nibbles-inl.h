// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>

// The loop that all instruction sets share. Each file that includes it defines its own Isa in an
// unnamed namespace, so that code compiled for one instruction set is never linked for another.
namespace ruvd::storage::hnsw {
namespace {

// their sums fit into the registers, and the query is loaded once
inline constexpr size_t kRowsAtOnce = 4;

inline void PrefetchRow(const uint8_t* row, size_t row_bytes) {
  constexpr size_t kCacheLine = 64;
  for (size_t j = 0; j < row_bytes; j += kCacheLine) {
    __builtin_prefetch(row + j);
  }
}

// Prefetches rows [first, first + kRowsAtOnce), or those of them that exist.
inline void PrefetchGroup(const uint8_t* plane, size_t row_bytes, const uint32_t* ids, size_t first,
                          size_t n) {
  const size_t end = first + kRowsAtOnce < n ? first + kRowsAtOnce : n;
  for (size_t i = first; i < end; ++i) {
    PrefetchRow(plane + size_t{ids[i]} * row_bytes, row_bytes);
  }
}

// Isa::Totals returns the sums of four rows at once, Isa::Total the sum of one row.
template <typename Isa, size_t kRows>
inline __attribute__((always_inline)) void DotRows(const int8_t* query, const uint8_t* const* rows,
                                                   size_t row_bytes, int32_t* out) {
  typename Isa::Sums sums[kRows] = {};
  for (size_t j = 0; j < row_bytes; j += Isa::kBytes) {
    const auto low = Isa::LoadQuery(query + j);
    const auto high = Isa::LoadQuery(query + row_bytes + j);
    for (size_t r = 0; r < kRows; ++r) {
      Isa::Accumulate(sums[r], rows[r] + j, low, high);
    }
  }
  if constexpr (kRows == kRowsAtOnce) {
    Isa::Totals(sums, out);
  } else {
    for (size_t r = 0; r < kRows; ++r) {
      out[r] = Isa::Total(sums[r]);
    }
  }
}

template <typename Isa>
inline void DotNibblesOf(const int8_t* query, const uint8_t* plane, size_t row_bytes,
                         const uint32_t* ids, size_t n, int32_t* out) {
  PrefetchGroup(plane, row_bytes, ids, 0, n);
  size_t i = 0;
  for (; i + kRowsAtOnce <= n; i += kRowsAtOnce) {
    PrefetchGroup(plane, row_bytes, ids, i + kRowsAtOnce, n);
    const uint8_t* rows[kRowsAtOnce];
    for (size_t r = 0; r < kRowsAtOnce; ++r) {
      rows[r] = plane + size_t{ids[i + r]} * row_bytes;
    }
    DotRows<Isa, kRowsAtOnce>(query, rows, row_bytes, out + i);
  }
  const uint8_t* rows[kRowsAtOnce];
  for (size_t r = 0; i + r < n; ++r) {
    rows[r] = plane + size_t{ids[i + r]} * row_bytes;
  }
  switch (n - i) {
    case 3:
      return DotRows<Isa, 3>(query, rows, row_bytes, out + i);
    case 2:
      return DotRows<Isa, 2>(query, rows, row_bytes, out + i);
    case 1:
      return DotRows<Isa, 1>(query, rows, row_bytes, out + i);
    default:
      return;
  }
}

}  // namespace
}  // namespace ruvd::storage::hnsw
