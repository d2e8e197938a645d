// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Vectors of 256 bits for product-inl.h; isa_scalar-inl.h explains each operation. The files that
// include this one define the dot product.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "inference/kernels/integer/product-inl.h"

namespace ruvd::inference {
namespace {

struct Avx2Vectors {
  static constexpr size_t kLanes = 8;
  static constexpr size_t kTileRows = 4;
  static constexpr size_t kTileVectors = 2;
  using Codes = __m256i;
  using Ints = __m256i;
  using Floats = __m256;
  using Four = __m256i;

  static RUVD_INLINE Codes LoadCodes(const uint8_t* p) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  }
  static RUVD_INLINE void StoreCodes(Codes codes, uint8_t* p) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), codes);
  }
  template <int kBits>
  static RUVD_INLINE Codes Left(Codes codes) {
    return kBits == 0 ? codes : _mm256_slli_epi16(codes, kBits);
  }
  template <int kBits>
  static RUVD_INLINE Codes Right(Codes codes) {
    return kBits == 0 ? codes : _mm256_srli_epi16(codes, kBits);
  }
  template <int kMask>
  static RUVD_INLINE Codes Mask(Codes codes) {
    return _mm256_and_si256(codes, _mm256_set1_epi8(kMask));
  }
  static RUVD_INLINE Codes Or(Codes a, Codes b) { return _mm256_or_si256(a, b); }

  static RUVD_INLINE Ints ZeroInts() { return _mm256_setzero_si256(); }
  static RUVD_INLINE Ints BroadcastInt(const int32_t* p) { return _mm256_set1_epi32(*p); }
  static RUVD_INLINE Four BroadcastFour(const int8_t* p) {
    int32_t four;
    __builtin_memcpy(&four, p, sizeof(four));
    return _mm256_set1_epi32(four);
  }

  static RUVD_INLINE Floats ZeroFloats() { return _mm256_setzero_ps(); }
  static RUVD_INLINE Floats LoadFloats(const float* p) { return _mm256_loadu_ps(p); }
  static RUVD_INLINE void StoreFloats(Floats floats, float* p) { _mm256_storeu_ps(p, floats); }
  static RUVD_INLINE Floats BroadcastFloat(const float* p) { return _mm256_set1_ps(*p); }
  static RUVD_INLINE Floats ToFloats(Ints ints) { return _mm256_cvtepi32_ps(ints); }
  static RUVD_INLINE Floats Mul(Floats a, Floats b) { return _mm256_mul_ps(a, b); }
  static RUVD_INLINE Floats MulAdd(Floats a, Floats b, Floats c) {
    return _mm256_fmadd_ps(a, b, c);
  }
  static RUVD_INLINE Floats NegMulAdd(Floats a, Floats b, Floats c) {
    return _mm256_fnmadd_ps(a, b, c);
  }
  static RUVD_INLINE Floats LoadHalves(const uint8_t* p) {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }
  static RUVD_INLINE Floats LoadUnsigned(const uint8_t* p) {
    return _mm256_cvtepi32_ps(
        _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))));
  }
  static RUVD_INLINE Floats LoadSigned(const uint8_t* p) {
    return _mm256_cvtepi32_ps(
        _mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))));
  }
};

}  // namespace
}  // namespace ruvd::inference
