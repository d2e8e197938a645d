// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Computes integer products on processors with AVX2 but no integer dot product (Haswell to Zen 3).

#if defined(__x86_64__)
#include <immintrin.h>

#include "inference/kernels/integer/direct-inl.h"
#include "inference/kernels/integer/integer_tables.h"
#include "inference/kernels/integer/isa_avx2-inl.h"
#include "inference/kernels/integer/product-inl.h"
#include "inference/kernels/integer/quantize-inl.h"

namespace ruvd::inference::integer {
namespace {

// Two products are summed in 16 bits. For codes up to 63 the sum is at most 2 x 63 x 127. Wider
// codes are treated as signed numbers q: |q| times x with the sign of q, at most 2 x 128 x 127 =
// 32512.
struct Avx2Isa : Avx2Vectors {
  static constexpr bool kSignedWide = true;
  template <bool kWide>
  static RUVD_INLINE Ints Dot(Ints sums, Codes codes, Four x) {
    __m256i pairs;
    if constexpr (kWide) {
      const __m256i q = _mm256_xor_si256(codes, _mm256_set1_epi8(-128));
      pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(q), _mm256_sign_epi8(x, q));
    } else {
      pairs = _mm256_maddubs_epi16(codes, x);
    }
    return _mm256_add_epi32(sums, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
  }
};

}  // namespace

void FillAvx2(KernelTable* table) {
  table->multiply_packed = MultiplyPacked<Avx2Isa>;
  table->quantize_rows = QuantizeRowGroup;
}

}  // namespace ruvd::inference::integer
#endif
