// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Included once per instruction set by kernels.cc; a plain include guard would skip all but the
// first. Reads vectors of float32 from rows in the formats of GGUF.
#if defined(RUVD_KERNELS_DECODE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RUVD_KERNELS_DECODE_INL_H_
#undef RUVD_KERNELS_DECODE_INL_H_
#else
#define RUVD_KERNELS_DECODE_INL_H_
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "inference/gguf/half.h"
#include "inference/gguf/types.h"

HWY_BEFORE_NAMESPACE();
namespace ruvd::inference {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The type has at most 16 lanes, so that a vector never spans the two halves of a 32-value block.
using Floats = hn::CappedTag<float, 16>;
using FloatVector = hn::Vec<Floats>;
using Halves = hn::Rebind<hwy::float16_t, Floats>;
using HalfBits = hn::Rebind<uint16_t, Floats>;
using Integers = hn::Rebind<int32_t, Floats>;

inline uint16_t LoadBits16(const uint8_t* bytes) {
  uint16_t bits;
  std::memcpy(&bits, bytes, sizeof(bits));
  return bits;
}

// Returns a block's half-precision scale in every lane.
HWY_INLINE FloatVector BroadcastHalf(const uint8_t* bytes) {
  return hn::PromoteTo(Floats(), hn::BitCast(Halves(), hn::Set(HalfBits(), LoadBits16(bytes))));
}

// Each format has Vector(row, k), which returns values k .. k + lanes - 1 of a row for k a multiple
// of the lanes, and Scalar(row, k), which reads the remaining values of a row that vectors do not
// divide.

struct F32Row {
  static HWY_INLINE FloatVector Vector(const uint8_t* row, size_t k) {
    return hn::LoadU(Floats(), reinterpret_cast<const float*>(row) + k);
  }
  static float Scalar(const uint8_t* row, size_t k) {
    float value;
    std::memcpy(&value, row + k * sizeof(float), sizeof(float));
    return value;
  }
};

struct F16Row {
  static HWY_INLINE FloatVector Vector(const uint8_t* row, size_t k) {
    const auto* halves = reinterpret_cast<const hwy::float16_t*>(row);
    return hn::PromoteTo(Floats(), hn::LoadU(Halves(), halves + k));
  }
  static float Scalar(const uint8_t* row, size_t k) { return HalfToFloat(LoadBits16(row + k * 2)); }
};

struct BF16Row {
  static HWY_INLINE FloatVector Vector(const uint8_t* row, size_t k) {
    const hn::Rebind<uint32_t, Floats> d32;
    const auto* bits = reinterpret_cast<const uint16_t*>(row);
    const auto wide = hn::PromoteTo(d32, hn::LoadU(HalfBits(), bits + k));
    return hn::BitCast(Floats(), hn::ShiftLeft<16>(wide));
  }
  static float Scalar(const uint8_t* row, size_t k) {
    return BFloat16ToFloat(LoadBits16(row + k * 2));
  }
};

// Blocks of 32: scale, 32 signed bytes. Scale times byte is exact in float32.
struct Q8Row {
  static constexpr size_t kBlockBytes = 34;
  static HWY_INLINE FloatVector Vector(const uint8_t* row, size_t k) {
    const hn::Rebind<int8_t, Floats> d8;
    const uint8_t* block = row + k / 32 * kBlockBytes;
    const auto* quants = reinterpret_cast<const int8_t*>(block + 2);
    const auto wide = hn::PromoteTo(Integers(), hn::LoadU(d8, quants + k % 32));
    return hn::Mul(hn::ConvertTo(Floats(), wide), BroadcastHalf(block));
  }
  static float Scalar(const uint8_t* row, size_t k) {
    const uint8_t* block = row + k / 32 * kBlockBytes;
    return HalfToFloat(LoadBits16(block)) *
           static_cast<float>(static_cast<int8_t>(block[2 + k % 32]));
  }
};

// Blocks of 32: scale, 16 bytes; byte j holds values j (low bits) and j + 16 (high), biased by 8.
struct Q4Row {
  static constexpr size_t kBlockBytes = 18;
  static HWY_INLINE FloatVector Vector(const uint8_t* row, size_t k) {
    const hn::Rebind<uint8_t, Floats> d8;
    const Integers d32;
    const uint8_t* block = row + k / 32 * kBlockBytes;
    const auto pairs = hn::PromoteTo(d32, hn::LoadU(d8, block + 2 + k % 16));
    const auto nibbles = k % 32 < 16 ? hn::And(pairs, hn::Set(d32, 15)) : hn::ShiftRight<4>(pairs);
    const auto centred = hn::Sub(nibbles, hn::Set(d32, 8));
    return hn::Mul(hn::ConvertTo(Floats(), centred), BroadcastHalf(block));
  }
  static float Scalar(const uint8_t* row, size_t k) {
    const uint8_t* block = row + k / 32 * kBlockBytes;
    const int pair = block[2 + k % 16];
    const int nibble = k % 32 < 16 ? pair & 15 : pair >> 4;
    return HalfToFloat(LoadBits16(block)) * static_cast<float>(nibble - 8);
  }
};

template <class Row>
HWY_NOINLINE void DecodeRow(const uint8_t* row, size_t count, float* out) {
  const Floats d;
  const size_t lanes = hn::Lanes(d);
  size_t k = 0;
  for (; k + lanes <= count; k += lanes) {
    hn::StoreU(Row::Vector(row, k), d, out + k);
  }
  for (; k < count; ++k) {
    out[k] = Row::Scalar(row, k);
  }
}

inline bool Decodes(TensorType type) {
  return type == TensorType::kF32 || type == TensorType::kF16 || type == TensorType::kBF16 ||
         type == TensorType::kQ8_0 || type == TensorType::kQ4_0;
}

inline void Decode(TensorType type, const uint8_t* bytes, size_t count, float* out) {
  switch (type) {
    case TensorType::kF16:
      return DecodeRow<F16Row>(bytes, count, out);
    case TensorType::kBF16:
      return DecodeRow<BF16Row>(bytes, count, out);
    case TensorType::kQ8_0:
      return DecodeRow<Q8Row>(bytes, count, out);
    case TensorType::kQ4_0:
      return DecodeRow<Q4Row>(bytes, count, out);
    default:
      return DecodeRow<F32Row>(bytes, count, out);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace ruvd::inference
HWY_AFTER_NAMESPACE();

#endif
