// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// This kernel uses the 512-bit dot products of AVX-512 VNNI (Ice Lake, Zen 4 and later).

#if defined(__x86_64__)
#include <immintrin.h>

#include "storage/hnsw/kernels/dot_nibbles-inl.h"
#include "storage/hnsw/kernels/nibble_kernels.h"

namespace ruvd::storage::hnsw {
namespace {

struct Avx512VnniIsa {
  struct Sums {
    __m512i of_low, of_high;  // two chains for each row hide the latency of the product
  };
  static constexpr size_t kBytes = 64;

  static __m512i LoadQuery(const int8_t* query) { return _mm512_loadu_si512(query); }
  // High nibbles are not shifted: their sum is 16 times too large, and always a multiple of 16.
  static void Accumulate(Sums& sums, const uint8_t* row, __m512i low, __m512i high) {
    const __m512i mask = _mm512_set1_epi8(15);
    const __m512i bytes = _mm512_loadu_si512(row);
    sums.of_low = _mm512_dpbusd_epi32(sums.of_low, _mm512_and_si512(bytes, mask), low);
    sums.of_high = _mm512_dpbusd_epi32(sums.of_high, _mm512_andnot_si512(mask, bytes), high);
  }
  static __m256i Eight(const Sums& sums) {
    const __m512i all = _mm512_add_epi32(sums.of_low, _mm512_srai_epi32(sums.of_high, 4));
    return _mm256_add_epi32(_mm512_castsi512_si256(all), _mm512_extracti64x4_epi64(all, 1));
  }
  static void Totals(const Sums* rows, int32_t* out) {
    const __m256i first = _mm256_hadd_epi32(Eight(rows[0]), Eight(rows[1]));
    const __m256i second = _mm256_hadd_epi32(Eight(rows[2]), Eight(rows[3]));
    const __m256i both = _mm256_hadd_epi32(first, second);
    _mm_storeu_si128(
        reinterpret_cast<__m128i*>(out),
        _mm_add_epi32(_mm256_castsi256_si128(both), _mm256_extracti128_si256(both, 1)));
  }
  static int32_t Total(const Sums& sums) {
    const __m256i eight = Eight(sums);
    __m128i four = _mm_add_epi32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256(eight, 1));
    four = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0x4E));
    return _mm_cvtsi128_si32(_mm_add_epi32(four, _mm_shuffle_epi32(four, 0xB1)));
  }
};

}  // namespace

void DotNibblesAvx512Vnni(const int8_t* query, const uint8_t* plane, size_t row_bytes,
                          const uint32_t* ids, size_t n, int32_t* out) {
  DotNibblesOf<Avx512VnniIsa>(query, plane, row_bytes, ids, n, out);
}

}  // namespace ruvd::storage::hnsw
#endif
