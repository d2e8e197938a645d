// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// This kernel is for processors with the 256-bit integer dot product but no AVX-512 (Alder Lake and
// later).

#if defined(__x86_64__)
#include <immintrin.h>

#include "storage/hnsw/kernels/dot_nibbles-inl.h"
#include "storage/hnsw/kernels/nibble_kernels.h"

namespace ruvd::storage::hnsw {
namespace {

struct AvxVnniIsa {
  struct Sums {
    __m256i of_low, of_high;
  };
  static constexpr size_t kBytes = 32;

  static __m256i LoadQuery(const int8_t* query) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(query));
  }
  // High nibbles are not shifted: their sum is 16 times too large, and always a multiple of 16.
  static void Accumulate(Sums& sums, const uint8_t* row, __m256i low, __m256i high) {
    const __m256i mask = _mm256_set1_epi8(15);
    const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(row));
    sums.of_low = _mm256_dpbusd_avx_epi32(sums.of_low, _mm256_and_si256(bytes, mask), low);
    sums.of_high = _mm256_dpbusd_avx_epi32(sums.of_high, _mm256_andnot_si256(mask, bytes), high);
  }
  static __m256i Eight(const Sums& sums) {
    return _mm256_add_epi32(sums.of_low, _mm256_srai_epi32(sums.of_high, 4));
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

void DotNibblesAvxVnni(const int8_t* query, const uint8_t* plane, size_t row_bytes,
                       const uint32_t* ids, size_t n, int32_t* out) {
  DotNibblesOf<AvxVnniIsa>(query, plane, row_bytes, ids, n, out);
}

}  // namespace ruvd::storage::hnsw
#endif
