// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// With the 512-bit dot products of AVX-512 VNNI (Ice Lake, Zen 4 and later).

#if defined(__x86_64__)
#include <immintrin.h>

#include "storage/hnsw/kernels/dot_nibbles-inl.h"
#include "storage/hnsw/kernels/nibble_kernels.h"

namespace ruvd::hnsw {
namespace {

struct Avx512VnniIsa {
  struct Sums {
    __m512i of_low, of_high;  // two chains for each row hide the latency of the product
  };
  static constexpr size_t kBytes = 64;

  static __m512i LoadQuery(const int8_t* query) { return _mm512_loadu_si512(query); }
  static void Accumulate(Sums& sums, const uint8_t* row, __m512i low, __m512i high) {
    const __m512i mask = _mm512_set1_epi8(15);
    const __m512i bytes = _mm512_loadu_si512(row);
    sums.of_low = _mm512_dpbusd_epi32(sums.of_low, _mm512_and_si512(bytes, mask), low);
    sums.of_high = _mm512_dpbusd_epi32(sums.of_high,
                                       _mm512_and_si512(_mm512_srli_epi16(bytes, 4), mask), high);
  }
  static int32_t Total(const Sums& sums) {
    return _mm512_reduce_add_epi32(_mm512_add_epi32(sums.of_low, sums.of_high));
  }
};

}  // namespace

void DotNibblesAvx512Vnni(const int8_t* query, const uint8_t* plane, size_t row_bytes,
                          const uint32_t* ids, size_t n, int32_t* out) {
  DotNibblesOf<Avx512VnniIsa>(query, plane, row_bytes, ids, n, out);
}

}  // namespace ruvd::hnsw
#endif
