// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// This kernel uses the dot product of Armv8.2 (Cortex-A76 and later).

#if defined(__aarch64__)
#include <arm_neon.h>

#include "storage/hnsw/kernels/dot_nibbles-inl.h"
#include "storage/hnsw/kernels/nibble_kernels.h"

namespace ruvd::storage::hnsw {
namespace {

struct NeonDotprodIsa {
  struct Sums {
    int32x4_t of_low, of_high;
  };
  static constexpr size_t kBytes = 16;

  static int8x16_t LoadQuery(const int8_t* query) { return vld1q_s8(query); }
  static void Accumulate(Sums& sums, const uint8_t* row, int8x16_t low, int8x16_t high) {
    const uint8x16_t bytes = vld1q_u8(row);
    sums.of_low = vdotq_s32(sums.of_low, vreinterpretq_s8_u8(vandq_u8(bytes, vdupq_n_u8(15))), low);
    sums.of_high = vdotq_s32(sums.of_high, vreinterpretq_s8_u8(vshrq_n_u8(bytes, 4)), high);
  }
  static void Totals(const Sums* rows, int32_t* out) {
    const int32x4_t first = vpaddq_s32(vaddq_s32(rows[0].of_low, rows[0].of_high),
                                       vaddq_s32(rows[1].of_low, rows[1].of_high));
    const int32x4_t second = vpaddq_s32(vaddq_s32(rows[2].of_low, rows[2].of_high),
                                        vaddq_s32(rows[3].of_low, rows[3].of_high));
    vst1q_s32(out, vpaddq_s32(first, second));
  }
  static int32_t Total(const Sums& sums) {
    return vaddvq_s32(vaddq_s32(sums.of_low, sums.of_high));
  }
};

}  // namespace

void DotNibblesNeonDotprod(const int8_t* query, const uint8_t* plane, size_t row_bytes,
                           const uint32_t* ids, size_t n, int32_t* out) {
  DotNibblesOf<NeonDotprodIsa>(query, plane, row_bytes, ids, n, out);
}

}  // namespace ruvd::storage::hnsw
#endif
