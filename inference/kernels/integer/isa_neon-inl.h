// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Vectors of 128 bits for product-inl.h; isa_scalar-inl.h explains each operation. The files that
// include this one define the dot product. All of them multiply signed bytes, so the zero point of
// 8-bit codes is subtracted first.
#pragma once

#include <arm_neon.h>

#include <cstddef>
#include <cstdint>

#include "inference/kernels/integer/product-inl.h"

namespace ruvd::inference {
namespace {

struct NeonVectors {
  static constexpr size_t kLanes = 4;
  static constexpr size_t kTileRows = 4;
  static constexpr size_t kTileVectors = 2;
  static constexpr bool kSignedWide = true;
  using Codes = uint8x16_t;
  using Ints = int32x4_t;
  using Floats = float32x4_t;
  using Four = int8x16_t;

  static RUVD_INLINE Codes LoadCodes(const uint8_t* p) { return vld1q_u8(p); }
  static RUVD_INLINE void StoreCodes(Codes codes, uint8_t* p) { vst1q_u8(p, codes); }
  template <int kBits>
  static RUVD_INLINE Codes Left(Codes codes) {
    if constexpr (kBits == 0) {
      return codes;
    } else {
      return vshlq_n_u8(codes, kBits);
    }
  }
  template <int kBits>
  static RUVD_INLINE Codes Right(Codes codes) {
    if constexpr (kBits == 0) {
      return codes;
    } else {
      return vshrq_n_u8(codes, kBits);
    }
  }
  template <int kMask>
  static RUVD_INLINE Codes Mask(Codes codes) {
    return vandq_u8(codes, vdupq_n_u8(kMask));
  }
  static RUVD_INLINE Codes Or(Codes a, Codes b) { return vorrq_u8(a, b); }
  // Returns the codes as the signed numbers that are multiplied.
  template <bool kWide>
  static RUVD_INLINE int8x16_t Signed(Codes codes) {
    return vreinterpretq_s8_u8(kWide ? veorq_u8(codes, vdupq_n_u8(0x80)) : codes);
  }

  static RUVD_INLINE Ints ZeroInts() { return vdupq_n_s32(0); }
  static RUVD_INLINE Ints BroadcastInt(const int32_t* p) { return vld1q_dup_s32(p); }
  static RUVD_INLINE Four BroadcastFour(const int8_t* p) {
    int32_t four;
    __builtin_memcpy(&four, p, sizeof(four));
    return vreinterpretq_s8_s32(vdupq_n_s32(four));
  }

  static RUVD_INLINE Floats ZeroFloats() { return vdupq_n_f32(0.0F); }
  static RUVD_INLINE Floats LoadFloats(const float* p) { return vld1q_f32(p); }
  static RUVD_INLINE void StoreFloats(Floats floats, float* p) { vst1q_f32(p, floats); }
  static RUVD_INLINE Floats BroadcastFloat(const float* p) { return vld1q_dup_f32(p); }
  static RUVD_INLINE Floats ToFloats(Ints ints) { return vcvtq_f32_s32(ints); }
  static RUVD_INLINE Floats Mul(Floats a, Floats b) { return vmulq_f32(a, b); }
  static RUVD_INLINE Floats MulAdd(Floats a, Floats b, Floats c) { return vfmaq_f32(c, a, b); }
  static RUVD_INLINE Floats NegMulAdd(Floats a, Floats b, Floats c) { return vfmsq_f32(c, a, b); }
  static RUVD_INLINE Floats LoadHalves(const uint8_t* p) {
    return vcvt_f32_f16(vreinterpret_f16_u8(vld1_u8(p)));
  }
  static RUVD_INLINE Floats LoadUnsigned(const uint8_t* p) {
    return vcvtq_f32_u32(vmovl_u16(vget_low_u16(vmovl_u8(LoadFourBytes(p)))));
  }
  static RUVD_INLINE Floats LoadSigned(const uint8_t* p) {
    const int16x8_t wide = vmovl_s8(vreinterpret_s8_u8(LoadFourBytes(p)));
    return vcvtq_f32_s32(vmovl_s16(vget_low_s16(wide)));
  }

 private:
  static RUVD_INLINE uint8x8_t LoadFourBytes(const uint8_t* p) {
    uint32_t four;
    __builtin_memcpy(&four, p, sizeof(four));
    return vreinterpret_u8_u32(vdup_n_u32(four));
  }
};

}  // namespace
}  // namespace ruvd::inference
