// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Quantises activations; the rules are in packed.h. The code is plain loops over 32 values, which
// compilers vectorise for the instruction set of the including file. Every operation is exact or
// correctly rounded, so all versions agree bit for bit.
#pragma once

#include <cstddef>
#include <cstdint>

#include "inference/kernels/integer/product-inl.h"

namespace ruvd::inference {
namespace {

inline constexpr uint32_t kFloatInfinityBits = 0x7F800000;

// Adding and subtracting this number rounds a float of magnitude below 2^22 to the nearest integer,
// ties to even. The bits of the sum are kRoundingBits plus that integer.
inline constexpr float kRoundingShift = 12582912.0F;
inline constexpr int32_t kRoundingBits = 0x4B400000;

// Computes the scale and its inverse for a block whose largest magnitude has these bits.
RUVD_INLINE void ScaleOf(uint32_t largest_bits, float* scale, float* inverse) {
  if (largest_bits >= kFloatInfinityBits) {
    *scale = __builtin_nanf("");
    *inverse = 0.0F;
    return;
  }
  const float largest = __builtin_bit_cast(float, largest_bits);
  const bool counts = largest >= kSmallestActivation;
  *scale = counts ? largest / 127.0F : 0.0F;
  *inverse = counts ? 127.0F / largest : 0.0F;
}

// Quantises one block of 32 values to codes. Returns the scale, and in `sums` the sum of the codes
// of each half.
RUVD_INLINE float QuantizeBlock(const float* x, int8_t* codes, int32_t (&sums)[2]) {
  uint32_t largest = 0;
  for (size_t i = 0; i < kBlockColumns; ++i) {
    uint32_t bits;
    __builtin_memcpy(&bits, x + i, sizeof(bits));
    bits &= 0x7FFFFFFFU;
    largest = bits > largest ? bits : largest;
  }
  float scale;
  float inverse;
  ScaleOf(largest, &scale, &inverse);
  if (inverse == 0.0F) {
    __builtin_memset(codes, 0, kBlockColumns);
    sums[0] = sums[1] = 0;
    return scale;
  }
  int32_t rounded[kBlockColumns];
  for (size_t i = 0; i < kBlockColumns; ++i) {
    const float shifted = x[i] * inverse + kRoundingShift;
    int32_t bits;
    __builtin_memcpy(&bits, &shifted, sizeof(bits));
    rounded[i] = bits - kRoundingBits;
  }
  for (size_t half = 0; half < 2; ++half) {
    int32_t sum = 0;
    for (size_t i = 0; i < kBlockColumns / 2; ++i) {
      sum += rounded[half * 16 + i];
    }
    sums[half] = sum;
  }
  for (size_t i = 0; i < kBlockColumns; ++i) {
    codes[i] = static_cast<int8_t>(rounded[i]);
  }
  return scale;
}

// Quantises `count` rows of the group that begins at row `first_row` (a multiple of 16); x points
// at that row.
inline void QuantizeRowGroup(const float* x, size_t x_stride, size_t first_row, size_t count,
                             const QuantizedOutput& out) {
  const size_t base = first_row * out.blocks;
  for (size_t r = 0; r < count; ++r) {
    for (size_t b = 0; b < out.blocks; ++b) {
      const size_t at = base + b * count + r;
      int32_t sums[2];
      const float scale =
          QuantizeBlock(x + r * x_stride + b * kBlockColumns, out.codes + at * kBlockColumns, sums);
      const int32_t sum = sums[0] + sums[1];
      out.scales[at] = scale;
      out.sums[at] = scale * static_cast<float>(sum);
      out.corrections[0][at] = -8 * sum;
      out.corrections[1][at] = -16 * sum;
      out.corrections[2][at] = -128 * sum;
      int32_t* halves = out.half_corrections + 2 * (base + b * count) + r;
      halves[0] = -32 * sums[0];
      halves[count] = -32 * sums[1];
    }
  }
}

}  // namespace
}  // namespace ruvd::inference
