// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Computes integer products on 64-bit Arm without the dot product (Cortex-A53, A72).

#if defined(__aarch64__)
#include "inference/kernels/integer/direct-inl.h"
#include "inference/kernels/integer/integer_tables.h"
#include "inference/kernels/integer/isa_neon-inl.h"
#include "inference/kernels/integer/product-inl.h"
#include "inference/kernels/integer/quantize-inl.h"

namespace ruvd::inference::integer {
namespace {

// Two products are summed in 16 bits: at most 2 x 128 x 127 = 32512.
struct NeonIsa : NeonVectors {
  template <bool kWide>
  static RUVD_INLINE Ints Dot(Ints sums, Codes codes, Four x) {
    const int8x16_t w = Signed<kWide>(codes);
    const int16x8_t low = vmull_s8(vget_low_s8(w), vget_low_s8(x));
    const int16x8_t high = vmull_high_s8(w, x);
    return vpadalq_s16(sums, vpaddq_s16(low, high));
  }
};

}  // namespace

void FillNeon(KernelTable* table) {
  table->multiply_packed = MultiplyPacked<NeonIsa>;
  table->quantize_rows = QuantizeRowGroup;
}

}  // namespace ruvd::inference::integer
#endif
