// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Vectors of 512 bits for product-inl.h; isa_scalar-inl.h explains each operation.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "inference/kernels/integer/product-inl.h"

namespace ruvd::inference {
namespace {

struct Avx512Isa {
  static constexpr size_t kLanes = 16;
  static constexpr size_t kTileRows = 4;
  static constexpr size_t kTileVectors = 3;
  static constexpr bool kSignedWide = false;
  using Codes = __m512i;
  using Ints = __m512i;
  using Floats = __m512;
  using Four = __m512i;

  static RUVD_INLINE Codes LoadCodes(const uint8_t* p) { return _mm512_loadu_si512(p); }
  static RUVD_INLINE void StoreCodes(Codes codes, uint8_t* p) { _mm512_storeu_si512(p, codes); }
  template <int kBits>
  static RUVD_INLINE Codes Left(Codes codes) {
    return kBits == 0 ? codes : _mm512_slli_epi16(codes, kBits);
  }
  template <int kBits>
  static RUVD_INLINE Codes Right(Codes codes) {
    return kBits == 0 ? codes : _mm512_srli_epi16(codes, kBits);
  }
  template <int kMask>
  static RUVD_INLINE Codes Mask(Codes codes) {
    return _mm512_and_si512(codes, _mm512_set1_epi8(kMask));
  }
  static RUVD_INLINE Codes Or(Codes a, Codes b) { return _mm512_or_si512(a, b); }

  static RUVD_INLINE Ints ZeroInts() { return _mm512_setzero_si512(); }
  static RUVD_INLINE Ints BroadcastInt(const int32_t* p) { return _mm512_set1_epi32(*p); }
  static RUVD_INLINE Four BroadcastFour(const int8_t* p) {
    int32_t four;
    __builtin_memcpy(&four, p, sizeof(four));
    return _mm512_set1_epi32(four);
  }
  template <bool kWide>
  static RUVD_INLINE Ints Dot(Ints sums, Codes codes, Four x) {
    return _mm512_dpbusd_epi32(sums, codes, x);
  }

  static RUVD_INLINE Floats ZeroFloats() { return _mm512_setzero_ps(); }
  static RUVD_INLINE Floats LoadFloats(const float* p) { return _mm512_loadu_ps(p); }
  static RUVD_INLINE void StoreFloats(Floats floats, float* p) { _mm512_storeu_ps(p, floats); }
  static RUVD_INLINE Floats BroadcastFloat(const float* p) { return _mm512_set1_ps(*p); }
  static RUVD_INLINE Floats ToFloats(Ints ints) { return _mm512_cvtepi32_ps(ints); }
  static RUVD_INLINE Floats Mul(Floats a, Floats b) { return _mm512_mul_ps(a, b); }
  static RUVD_INLINE Floats MulAdd(Floats a, Floats b, Floats c) {
    return _mm512_fmadd_ps(a, b, c);
  }
  static RUVD_INLINE Floats NegMulAdd(Floats a, Floats b, Floats c) {
    return _mm512_fnmadd_ps(a, b, c);
  }
  static RUVD_INLINE Floats LoadHalves(const uint8_t* p) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  }
  static RUVD_INLINE Floats LoadUnsigned(const uint8_t* p) {
    return _mm512_cvtepi32_ps(
        _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
  }
  static RUVD_INLINE Floats LoadSigned(const uint8_t* p) {
    return _mm512_cvtepi32_ps(
        _mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
  }
};

}  // namespace
}  // namespace ruvd::inference
