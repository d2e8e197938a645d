// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// What one core of this machine can do at most: register-only loops of independent multiply-adds,
// and reading memory that no cache holds. One JSON line; rates by CPU time, the best of several
// tries; 0 where the processor has no such instructions. A multiply-add counts as two operations.
//   int8_gops     8-bit dot products (AVX-512 VNNI, AVX-VNNI or the best there is, AMX left out)
//   int8_amx_gops 8-bit products of AMX tiles
//   bf16_gflops   bfloat16 dot products of AVX-512
//   f32_gflops    float32 fused multiply-adds
//   dram_gbs      gigabytes read a second

#include <cstdio>

#include "bench/peak_rates.h"
#include "inference/kernels/kernel_table.h"

int main() {
  const ruvd::bench::PeakRates rates = ruvd::bench::MeasurePeakRates();
  std::printf(
      "{\"int8_gops\": %.1f, \"int8_amx_gops\": %.1f, \"bf16_gflops\": %.1f, "
      "\"f32_gflops\": %.1f, \"dram_gbs\": %.1f, \"kernels\": \"%s\"}\n",
      rates.int8_gops, rates.int8_amx_gops, rates.bf16_gflops, rates.f32_gflops, rates.dram_gbs,
      ruvd::inference::Kernels().name);
  return 0;
}
