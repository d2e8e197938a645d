// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Computes integer products with the mixed-sign dot product of Armv8.6 (I8MM: Neoverse V1 and N2,
// Apple M2 and later), which takes the unsigned codes directly.

#if defined(__aarch64__)
#include "inference/kernels/integer/direct-inl.h"
#include "inference/kernels/integer/integer_tables.h"
#include "inference/kernels/integer/isa_neon-inl.h"
#include "inference/kernels/integer/product-inl.h"
#include "inference/kernels/integer/quantize-inl.h"

namespace ruvd::inference::integer {
namespace {

struct NeonMixedIsa : NeonVectors {
  static constexpr bool kSignedWide = false;
  template <bool kWide>
  static RUVD_INLINE Ints Dot(Ints sums, Codes codes, Four x) {
    return vusdotq_s32(sums, codes, x);
  }
};

}  // namespace

void FillNeonI8mm(KernelTable* table) {
  table->multiply_packed = MultiplyPacked<NeonMixedIsa>;
  table->quantize_rows = QuantizeRowGroup;
}

}  // namespace ruvd::inference::integer
#endif
