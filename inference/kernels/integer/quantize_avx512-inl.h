// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Quantises activations as quantize-inl.h does, with the same bits, 16 blocks at a time: either
// consecutive blocks of one row, or one block of each row of a group. In both cases their results
// are adjacent in memory.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "inference/kernels/integer/product-inl.h"
#include "inference/kernels/integer/quantize-inl.h"

namespace ruvd::inference {
namespace {

inline constexpr size_t kBatch = 16;

struct MaxOfInts {
  static RUVD_INLINE __m512i Of(__m512i a, __m512i b) { return _mm512_max_epi32(a, b); }
};
struct SumOfInts {
  static RUVD_INLINE __m512i Of(__m512i a, __m512i b) { return _mm512_add_epi32(a, b); }
};

// Reduces each v[i]: lane i of the result is the reduction of its lanes. This is a transposition
// that reduces in each stage.
template <class Op>
RUVD_INLINE __m512i ReduceEach(const __m512i (&v)[kBatch]) {
  __m512i pairs[8];
  RUVD_UNROLL
  for (size_t i = 0; i < 8; ++i) {
    pairs[i] = Op::Of(_mm512_unpacklo_epi32(v[2 * i], v[2 * i + 1]),
                      _mm512_unpackhi_epi32(v[2 * i], v[2 * i + 1]));
  }
  __m512i fours[4];
  RUVD_UNROLL
  for (size_t i = 0; i < 4; ++i) {
    fours[i] = Op::Of(_mm512_unpacklo_epi64(pairs[2 * i], pairs[2 * i + 1]),
                      _mm512_unpackhi_epi64(pairs[2 * i], pairs[2 * i + 1]));
  }
  __m512i eights[2];
  RUVD_UNROLL
  for (size_t i = 0; i < 2; ++i) {
    eights[i] = Op::Of(_mm512_shuffle_i32x4(fours[2 * i], fours[2 * i + 1], 0x88),
                       _mm512_shuffle_i32x4(fours[2 * i], fours[2 * i + 1], 0xDD));
  }
  return Op::Of(_mm512_shuffle_i32x4(eights[0], eights[1], 0x88),
                _mm512_shuffle_i32x4(eights[0], eights[1], 0xDD));
}

struct BatchScales {
  __m512 scales;
  __m512 inverses;
  __mmask16 counting;  // blocks whose codes are not all zero
};

// Does what ScaleOf does, for 16 blocks.
RUVD_INLINE BatchScales ScalesOf(__m512i largest_bits) {
  const __m512 largest = _mm512_castsi512_ps(largest_bits);
  const __mmask16 finite = _mm512_cmplt_epi32_mask(
      largest_bits, _mm512_set1_epi32(static_cast<int32_t>(kFloatInfinityBits)));
  const __mmask16 counting =
      _mm512_mask_cmp_ps_mask(finite, largest, _mm512_set1_ps(kSmallestActivation), _CMP_GE_OQ);
  const __m512 limit = _mm512_set1_ps(127.0F);
  __m512 scales = _mm512_maskz_div_ps(counting, largest, limit);
  const __mmask16 broken = _mm512_knot(finite);
  scales = _mm512_mask_mov_ps(scales, broken, _mm512_set1_ps(__builtin_nanf("")));
  return {scales, _mm512_maskz_div_ps(counting, limit, largest), counting};
}

// Quantises the blocks x, x + stride, ... (`count` blocks, at most 16), whose results begin at
// index `at` of out's arrays.
RUVD_INLINE void QuantizeBatch(const float* x, size_t stride, size_t count, size_t at,
                               const QuantizedOutput& out, __m512i (&half_sums)[2]) {
  const __m512i magnitude = _mm512_set1_epi32(0x7FFFFFFF);
  __m512i lanes[kBatch];
  for (size_t i = 0; i < kBatch; ++i) {
    const float* block = x + (i < count ? i : 0) * stride;
    const __m512i low = _mm512_and_si512(_mm512_loadu_si512(block), magnitude);
    const __m512i high = _mm512_and_si512(_mm512_loadu_si512(block + 16), magnitude);
    lanes[i] = _mm512_max_epi32(low, high);
  }
  const BatchScales s = ScalesOf(ReduceEach<MaxOfInts>(lanes));
  alignas(64) float inverses[kBatch];
  _mm512_store_ps(inverses, s.inverses);
  __m512i second[kBatch];
  for (size_t i = 0; i < kBatch; ++i) {
    const float* block = x + (i < count ? i : 0) * stride;
    const __mmask16 keep = i < count && ((s.counting >> i) & 1U) != 0 ? 0xFFFF : 0;
    const __m512 inverse = _mm512_set1_ps(inverses[i]);
    lanes[i] = _mm512_maskz_cvtps_epi32(keep, _mm512_mul_ps(_mm512_loadu_ps(block), inverse));
    second[i] = _mm512_maskz_cvtps_epi32(keep, _mm512_mul_ps(_mm512_loadu_ps(block + 16), inverse));
    if (i < count) {
      auto* codes = reinterpret_cast<__m128i*>(out.codes + (at + i) * kBlockColumns);
      _mm_storeu_si128(codes, _mm512_cvtepi32_epi8(lanes[i]));
      _mm_storeu_si128(codes + 1, _mm512_cvtepi32_epi8(second[i]));
    }
  }
  half_sums[0] = ReduceEach<SumOfInts>(lanes);
  half_sums[1] = ReduceEach<SumOfInts>(second);
  const __m512i sums = _mm512_add_epi32(half_sums[0], half_sums[1]);
  const auto mask = static_cast<__mmask16>((1U << count) - 1U);
  const __m512i minus = _mm512_sub_epi32(_mm512_setzero_si512(), sums);
  _mm512_mask_storeu_ps(out.scales + at, mask, s.scales);
  _mm512_mask_storeu_ps(out.sums + at, mask, _mm512_mul_ps(s.scales, _mm512_cvtepi32_ps(sums)));
  _mm512_mask_storeu_epi32(out.corrections[0] + at, mask, _mm512_slli_epi32(minus, 3));
  _mm512_mask_storeu_epi32(out.corrections[1] + at, mask, _mm512_slli_epi32(minus, 4));
  _mm512_mask_storeu_epi32(out.corrections[2] + at, mask, _mm512_slli_epi32(minus, 7));
  RUVD_UNROLL
  for (size_t half = 0; half < 2; ++half) {
    half_sums[half] =
        _mm512_slli_epi32(_mm512_sub_epi32(_mm512_setzero_si512(), half_sums[half]), 5);
  }
}

// Quantises a row that is a group of its own: the corrections of a block's two halves are adjacent.
inline void QuantizeRow(const float* x, size_t first_row, const QuantizedOutput& out) {
  const __m512i first = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
  const __m512i last = _mm512_add_epi32(first, _mm512_set1_epi32(8));
  const size_t base = first_row * out.blocks;
  for (size_t b = 0; b < out.blocks; b += kBatch) {
    const size_t count = out.blocks - b < kBatch ? out.blocks - b : kBatch;
    __m512i halves[2];
    QuantizeBatch(x + b * kBlockColumns, kBlockColumns, count, base + b, out, halves);
    const auto mask = static_cast<uint32_t>((uint64_t{1} << (2 * count)) - 1U);
    int32_t* to = out.half_corrections + 2 * (base + b);
    _mm512_mask_storeu_epi32(to, static_cast<__mmask16>(mask),
                             _mm512_permutex2var_epi32(halves[0], first, halves[1]));
    _mm512_mask_storeu_epi32(to + 16, static_cast<__mmask16>(mask >> 16),
                             _mm512_permutex2var_epi32(halves[0], last, halves[1]));
  }
}

inline void QuantizeRowGroupAvx512(const float* x, size_t x_stride, size_t first_row, size_t count,
                                   const QuantizedOutput& out) {
  if (count == 1) {
    return QuantizeRow(x, first_row, out);
  }
  const auto mask = static_cast<__mmask16>((1U << count) - 1U);
  for (size_t b = 0; b < out.blocks; ++b) {
    const size_t at = first_row * out.blocks + b * count;
    __m512i halves[2];
    QuantizeBatch(x + b * kBlockColumns, x_stride, count, at, out, halves);
    int32_t* to = out.half_corrections + 2 * at;
    _mm512_mask_storeu_epi32(to, mask, halves[0]);
    _mm512_mask_storeu_epi32(to + count, mask, halves[1]);
  }
}

}  // namespace
}  // namespace ruvd::inference
