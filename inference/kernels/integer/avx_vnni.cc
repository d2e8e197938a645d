// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Computes integer products with the 256-bit dot product of AVX-VNNI (Alder Lake and its
// successors).

#if defined(__x86_64__)
#include <immintrin.h>

#include "inference/kernels/integer/direct-inl.h"
#include "inference/kernels/integer/integer_tables.h"
#include "inference/kernels/integer/isa_avx2-inl.h"
#include "inference/kernels/integer/product-inl.h"
#include "inference/kernels/integer/quantize-inl.h"

namespace ruvd::inference::integer {
namespace {

struct AvxVnniIsa : Avx2Vectors {
  static constexpr bool kSignedWide = false;
  template <bool kWide>
  static RUVD_INLINE Ints Dot(Ints sums, Codes codes, Four x) {
    return _mm256_dpbusd_avx_epi32(sums, codes, x);
  }
};

}  // namespace

void FillAvxVnni(KernelTable* table) {
  table->multiply_packed = MultiplyPacked<AvxVnniIsa>;
  table->quantize_rows = QuantizeRowGroup;
}

}  // namespace ruvd::inference::integer
#endif
