// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Computes integer products with the 512-bit dot products of AVX-512 VNNI (Ice Lake, Zen 4 and
// later).

#if defined(__x86_64__)
#include <immintrin.h>

#include "inference/kernels/integer/direct-inl.h"
#include "inference/kernels/integer/integer_tables.h"
#include "inference/kernels/integer/isa_avx512-inl.h"
#include "inference/kernels/integer/product-inl.h"
#include "inference/kernels/integer/quantize_avx512-inl.h"

namespace ruvd::inference::integer {

void FillAvx512Vnni(KernelTable* table) {
  table->multiply_packed = MultiplyPacked<Avx512Isa>;
  table->quantize_rows = QuantizeRowGroupAvx512;
}

}  // namespace ruvd::inference::integer
#endif
