// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Provides vectors on a machine without vector instructions. This class also documents what
// product-inl.h and panel-inl.h need from `Isa`.
#pragma once

#include <cstddef>
#include <cstdint>

#include "inference/kernels/integer/product-inl.h"

namespace ruvd::inference {
namespace {

struct ScalarIsa {
  static constexpr size_t kLanes = 16;       // outputs in a vector; must divide 16
  static constexpr size_t kTileRows = 4;     // rows of a register tile: 2 or 4
  static constexpr size_t kTileVectors = 1;  // vectors of a register tile
  // If true, 8-bit codes are treated as code - 128, so that no correction is needed.
  static constexpr bool kSignedWide = false;

  struct Codes {  // four codes for each lane
    uint8_t at[kLanes * 4];
  };
  struct Ints {
    int32_t at[kLanes];
  };
  struct Floats {
    float at[kLanes];
  };
  struct Four {  // four activations
    int32_t at[4];
  };

  static RUVD_INLINE Codes LoadCodes(const uint8_t* p) {
    Codes codes;
    __builtin_memcpy(codes.at, p, sizeof(codes.at));
    return codes;
  }
  static RUVD_INLINE void StoreCodes(const Codes& codes, uint8_t* p) {
    __builtin_memcpy(p, codes.at, sizeof(codes.at));
  }
  // Bits may cross the borders of bytes; the callers mask them away.
  template <int kBits>
  static RUVD_INLINE Codes Left(Codes codes) {
    for (uint8_t& code : codes.at) {
      code = static_cast<uint8_t>(code << kBits);
    }
    return codes;
  }
  template <int kBits>
  static RUVD_INLINE Codes Right(Codes codes) {
    for (uint8_t& code : codes.at) {
      code = static_cast<uint8_t>(code >> kBits);
    }
    return codes;
  }
  template <int kMask>
  static RUVD_INLINE Codes Mask(Codes codes) {
    for (uint8_t& code : codes.at) {
      code = static_cast<uint8_t>(code & kMask);
    }
    return codes;
  }
  static RUVD_INLINE Codes Or(Codes a, const Codes& b) {
    for (size_t i = 0; i < kLanes * 4; ++i) {
      a.at[i] = static_cast<uint8_t>(a.at[i] | b.at[i]);
    }
    return a;
  }

  static RUVD_INLINE Ints ZeroInts() { return {}; }
  static RUVD_INLINE Ints BroadcastInt(const int32_t* p) {
    Ints ints;
    for (int32_t& lane : ints.at) {
      lane = *p;
    }
    return ints;
  }
  static RUVD_INLINE Four BroadcastFour(const int8_t* p) { return {{p[0], p[1], p[2], p[3]}}; }
  // Returns sums + codes x activations, with four products in each lane. kWide says that codes
  // above 63 are possible.
  template <bool kWide>
  static RUVD_INLINE Ints Dot(Ints sums, const Codes& codes, const Four& x) {
    for (size_t i = 0; i < kLanes; ++i) {
      const uint8_t* c = codes.at + 4 * i;
      sums.at[i] += c[0] * x.at[0] + c[1] * x.at[1] + c[2] * x.at[2] + c[3] * x.at[3];
    }
    return sums;
  }

  static RUVD_INLINE Floats ZeroFloats() { return {}; }
  static RUVD_INLINE Floats LoadFloats(const float* p) {
    Floats floats;
    __builtin_memcpy(floats.at, p, sizeof(floats.at));
    return floats;
  }
  static RUVD_INLINE void StoreFloats(const Floats& floats, float* p) {
    __builtin_memcpy(p, floats.at, sizeof(floats.at));
  }
  static RUVD_INLINE Floats BroadcastFloat(const float* p) {
    Floats floats;
    for (float& lane : floats.at) {
      lane = *p;
    }
    return floats;
  }
  static RUVD_INLINE Floats ToFloats(const Ints& ints) {
    Floats floats;
    for (size_t i = 0; i < kLanes; ++i) {
      floats.at[i] = static_cast<float>(ints.at[i]);
    }
    return floats;
  }
  static RUVD_INLINE Floats Mul(Floats a, const Floats& b) {
    for (size_t i = 0; i < kLanes; ++i) {
      a.at[i] *= b.at[i];
    }
    return a;
  }
  // MulAdd returns a * b + c and NegMulAdd returns c - a * b, each rounded once.
  static RUVD_INLINE Floats MulAdd(const Floats& a, const Floats& b, Floats c) {
    for (size_t i = 0; i < kLanes; ++i) {
      c.at[i] = __builtin_fmaf(a.at[i], b.at[i], c.at[i]);
    }
    return c;
  }
  static RUVD_INLINE Floats NegMulAdd(const Floats& a, const Floats& b, Floats c) {
    for (size_t i = 0; i < kLanes; ++i) {
      c.at[i] = __builtin_fmaf(-a.at[i], b.at[i], c.at[i]);
    }
    return c;
  }
  // The Load functions convert half-precision numbers, unsigned bytes and signed bytes to floats.
  static RUVD_INLINE Floats LoadHalves(const uint8_t* p) {
    Floats floats;
    for (size_t i = 0; i < kLanes; ++i) {
      uint16_t bits;
      __builtin_memcpy(&bits, p + 2 * i, sizeof(bits));
      floats.at[i] = FromHalf(bits);
    }
    return floats;
  }
  static RUVD_INLINE Floats LoadUnsigned(const uint8_t* p) {
    Floats floats;
    for (size_t i = 0; i < kLanes; ++i) {
      floats.at[i] = static_cast<float>(p[i]);
    }
    return floats;
  }
  static RUVD_INLINE Floats LoadSigned(const uint8_t* p) {
    Floats floats;
    for (size_t i = 0; i < kLanes; ++i) {
      floats.at[i] = static_cast<float>(static_cast<int8_t>(p[i]));
    }
    return floats;
  }

 private:
  // Does what HalfToFloat in gguf/half.h does, which may not be called from here (see
  // product-inl.h).
  static RUVD_INLINE float FromHalf(uint16_t half) {
    const uint32_t sign = static_cast<uint32_t>(half & 0x8000U) << 16;
    const uint32_t magnitude = half & 0x7FFFU;
    uint32_t bits = (magnitude << 13) + ((127U - 15U) << 23);
    if (magnitude >= 0x7C00U) {
      bits = kInfinityBits | ((magnitude & 0x3FFU) << 13);
    } else if (magnitude < 0x0400U) {
      bits = __builtin_bit_cast(uint32_t, static_cast<float>(magnitude) * 0x1p-24F);
    }
    return __builtin_bit_cast(float, sign | bits);
  }
  static constexpr uint32_t kInfinityBits = 0x7F800000;
};

}  // namespace
}  // namespace ruvd::inference
