// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

namespace ruvd::bench {

// What one core of this machine can do at most, by CPU time, as the best of several tries; 0 where
// the processor has no such instructions. A multiply-add counts as two operations.
struct PeakRates {
  double int8_gops = 0;      // 8-bit dot products (AVX-512 VNNI, AVX-VNNI or the best there is)
  double int8_amx_gops = 0;  // 8-bit products of AMX tiles
  double bf16_gflops = 0;    // bfloat16 dot products of AVX-512
  double f32_gflops = 0;     // float32 fused multiply-adds
  double dram_gbs = 0;       // gigabytes read a second
};

PeakRates MeasurePeakRates();
// Measures f32_gflops alone.
double MeasureFloatPeak();

}  // namespace ruvd::bench
