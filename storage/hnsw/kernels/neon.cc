// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// This kernel is for 64-bit Arm processors without the dot product.

#if defined(__aarch64__)
#include <arm_neon.h>

#include "storage/hnsw/kernels/dot_nibbles-inl.h"
#include "storage/hnsw/kernels/nibble_kernels.h"

namespace ruvd::storage::hnsw {
namespace {

struct NeonIsa {
  using Sums = int32x4_t;
  static constexpr size_t kBytes = 16;

  static int8x16_t LoadQuery(const int8_t* query) { return vld1q_s8(query); }
  // Sums of four products fit into 16 bits: they are at most 4 x 15 x 128 = 7680.
  static void Accumulate(int32x4_t& sums, const uint8_t* row, int8x16_t low, int8x16_t high) {
    const uint8x16_t bytes = vld1q_u8(row);
    const int8x16_t first = vreinterpretq_s8_u8(vandq_u8(bytes, vdupq_n_u8(15)));
    const int8x16_t second = vreinterpretq_s8_u8(vshrq_n_u8(bytes, 4));
    int16x8_t products = vmull_s8(vget_low_s8(first), vget_low_s8(low));
    products = vmlal_s8(products, vget_high_s8(first), vget_high_s8(low));
    products = vmlal_s8(products, vget_low_s8(second), vget_low_s8(high));
    products = vmlal_s8(products, vget_high_s8(second), vget_high_s8(high));
    sums = vpadalq_s16(sums, products);
  }
  static void Totals(const Sums* rows, int32_t* out) {
    const int32x4_t first = vpaddq_s32(rows[0], rows[1]);
    const int32x4_t second = vpaddq_s32(rows[2], rows[3]);
    vst1q_s32(out, vpaddq_s32(first, second));
  }
  static int32_t Total(int32x4_t sums) { return vaddvq_s32(sums); }
};

}  // namespace

void DotNibblesNeon(const int8_t* query, const uint8_t* plane, size_t row_bytes,
                    const uint32_t* ids, size_t n, int32_t* out) {
  DotNibblesOf<NeonIsa>(query, plane, row_bytes, ids, n, out);
}

}  // namespace ruvd::storage::hnsw
#endif
