// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// This kernel is for processors with AVX2 but no integer dot product (Haswell to Zen 3).

#if defined(__x86_64__)
#include <immintrin.h>

#include "storage/hnsw/kernels/dot_nibbles-inl.h"
#include "storage/hnsw/kernels/nibble_kernels.h"

namespace ruvd::storage::hnsw {
namespace {

struct Avx2Isa {
  using Sums = __m256i;
  static constexpr size_t kBytes = 32;

  static __m256i LoadQuery(const int8_t* query) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(query));
  }
  // Sums of four products fit into 16 bits: they are at most 4 x 15 x 128 = 7680.
  static void Accumulate(__m256i& sums, const uint8_t* row, __m256i low, __m256i high) {
    const __m256i mask = _mm256_set1_epi8(15);
    const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(row));
    const __m256i of_low = _mm256_maddubs_epi16(_mm256_and_si256(bytes, mask), low);
    const __m256i of_high =
        _mm256_maddubs_epi16(_mm256_and_si256(_mm256_srli_epi16(bytes, 4), mask), high);
    sums = _mm256_add_epi32(
        sums, _mm256_madd_epi16(_mm256_add_epi16(of_low, of_high), _mm256_set1_epi16(1)));
  }
  static void Totals(const Sums* rows, int32_t* out) {
    const __m256i first = _mm256_hadd_epi32(rows[0], rows[1]);
    const __m256i second = _mm256_hadd_epi32(rows[2], rows[3]);
    const __m256i both = _mm256_hadd_epi32(first, second);
    _mm_storeu_si128(
        reinterpret_cast<__m128i*>(out),
        _mm_add_epi32(_mm256_castsi256_si128(both), _mm256_extracti128_si256(both, 1)));
  }
  static int32_t Total(__m256i sums) {
    __m128i four = _mm_add_epi32(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
    four = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0x4E));
    return _mm_cvtsi128_si32(_mm_add_epi32(four, _mm_shuffle_epi32(four, 0xB1)));
  }
};

}  // namespace

void DotNibblesAvx2(const int8_t* query, const uint8_t* plane, size_t row_bytes,
                    const uint32_t* ids, size_t n, int32_t* out) {
  DotNibblesOf<Avx2Isa>(query, plane, row_bytes, ids, n, out);
}

}  // namespace ruvd::storage::hnsw
#endif
