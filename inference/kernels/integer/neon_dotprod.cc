// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Computes integer products with the dot product of Armv8.2 (Cortex-A76, Neoverse N1, Apple M1 and
// later).

#if defined(__aarch64__)
#include "inference/kernels/integer/direct-inl.h"
#include "inference/kernels/integer/integer_tables.h"
#include "inference/kernels/integer/isa_neon-inl.h"
#include "inference/kernels/integer/product-inl.h"
#include "inference/kernels/integer/quantize-inl.h"

namespace ruvd::inference::integer {
namespace {

struct NeonDotIsa : NeonVectors {
  template <bool kWide>
  static RUVD_INLINE Ints Dot(Ints sums, Codes codes, Four x) {
    return vdotq_s32(sums, Signed<kWide>(codes), x);
  }
};

}  // namespace

void FillNeonDotprod(KernelTable* table) {
  table->multiply_packed = MultiplyPacked<NeonDotIsa>;
  table->quantize_rows = QuantizeRowGroup;
}

}  // namespace ruvd::inference::integer
#endif
