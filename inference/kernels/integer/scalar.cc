// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Computes integer products on any machine. This is the reference for the other tables and is not
// made for speed: loops are not unrolled, which keeps the file small.
#define RUVD_UNROLL

#include "inference/kernels/integer/direct-inl.h"
#include "inference/kernels/integer/integer_tables.h"
#include "inference/kernels/integer/isa_scalar-inl.h"
#include "inference/kernels/integer/product-inl.h"
#include "inference/kernels/integer/quantize-inl.h"

namespace ruvd::inference::integer {

void FillScalar(KernelTable* table) {
  table->multiply_packed = MultiplyPacked<ScalarIsa>;
  table->quantize_rows = QuantizeRowGroup;
}

}  // namespace ruvd::inference::integer
