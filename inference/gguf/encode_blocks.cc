// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/gguf/encode_blocks.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/status.h"
#include "inference/gguf/half.h"

// For the formats of one and of 32 values, scales and rounding follow ggml's reference
// (quantize_row_*_ref), so the same floats give the same bytes as ggml.
namespace ruvd::inference::gguf {
namespace {

constexpr int kBlock = 32;

// Stores `value` in half precision. Returns false if it is too large.
bool StoreHalf(float value, uint8_t* out) {
  const uint16_t half = FloatToHalf(value);
  std::memcpy(out, &half, sizeof(half));
  return (half & 0x7FFFU) < 0x7C00U;
}

// Returns 1 / scale, or 0 if the scale is zero or so small that its inverse is infinite. Such a
// scale is zero in half precision, so the block is zero anyway.
float Inverse(float scale) {
  const float inverse = 1.0F / scale;
  return std::isfinite(inverse) ? inverse : 0.0F;
}

// Returns the first value of largest magnitude, with its sign.
float Extreme(const float* values) {
  float extreme = 0;
  for (int i = 0; i < kBlock; ++i) {
    extreme = std::fabs(values[i]) > std::fabs(extreme) ? values[i] : extreme;
  }
  return extreme;
}

bool EncodeF16(const float* values, uint8_t* out) {
  return StoreHalf(*values, out);
}

bool EncodeBF16(const float* values, uint8_t* out) {
  const uint16_t rounded = FloatToBFloat16(*values);
  std::memcpy(out, &rounded, sizeof(rounded));
  return (rounded & 0x7FFFU) < 0x7F80U;
}

// The scale is |extreme| / 127. Values are rounded half away from zero.
bool EncodeQ8_0(const float* values, uint8_t* out) {
  const float scale = std::fabs(Extreme(values)) / 127.0F;
  const float inverse = Inverse(scale);
  if (!StoreHalf(scale, out)) {
    return false;
  }
  for (int i = 0; i < kBlock; ++i) {
    out[2 + i] = static_cast<uint8_t>(static_cast<int8_t>(std::round(values[i] * inverse)));
  }
  return true;
}

// The extreme value maps to -levels / 2 whatever its sign, so the scale may be negative, and the
// opposite end of the range is clipped. Quants are 0 to levels - 1.
bool SymmetricQuants(const float* values, int levels, uint8_t* scale_out, int* quants) {
  const int middle = levels / 2;
  const auto half = static_cast<float>(middle);
  const float scale = Extreme(values) / -half;
  const float inverse = Inverse(scale);
  if (!StoreHalf(scale, scale_out)) {
    return false;
  }
  for (int i = 0; i < kBlock; ++i) {
    quants[i] = std::min(levels - 1, static_cast<int>(values[i] * inverse + (half + 0.5F)));
  }
  return true;
}

// The least value maps to 0 and the largest to levels - 1. The minimum is stored after the scale.
bool AffineQuants(const float* values, int levels, uint8_t* scale_out, int* quants) {
  const auto [low, high] = std::minmax_element(values, values + kBlock);
  const float minimum = *low;
  const float scale = (*high - minimum) / static_cast<float>(levels - 1);
  const float inverse = Inverse(scale);
  if (!StoreHalf(scale, scale_out) || !StoreHalf(minimum, scale_out + 2)) {
    return false;
  }
  for (int i = 0; i < kBlock; ++i) {
    quants[i] = std::min(levels - 1, static_cast<int>((values[i] - minimum) * inverse + 0.5F));
  }
  return true;
}

// Byte j holds the low four bits of quant j in its lower half and those of quant j + 16 in its
// upper half.
void StoreLowBits(const int* quants, uint8_t* out) {
  for (int j = 0; j < kBlock / 2; ++j) {
    out[j] = static_cast<uint8_t>((quants[j] & 0xF) | ((quants[j + kBlock / 2] & 0xF) << 4));
  }
}

// Bit j is the fifth bit of quant j.
void StoreFifthBits(const int* quants, uint8_t* out) {
  uint32_t high = 0;
  for (int j = 0; j < kBlock; ++j) {
    high |= static_cast<uint32_t>(quants[j] >> 4) << j;
  }
  std::memcpy(out, &high, sizeof(high));
}

bool EncodeQ4_0(const float* values, uint8_t* out) {
  int quants[kBlock];
  const bool fits = SymmetricQuants(values, 16, out, quants);
  if (fits) {
    StoreLowBits(quants, out + 2);
  }
  return fits;
}

bool EncodeQ4_1(const float* values, uint8_t* out) {
  int quants[kBlock];
  const bool fits = AffineQuants(values, 16, out, quants);
  if (fits) {
    StoreLowBits(quants, out + 4);
  }
  return fits;
}

bool EncodeQ5_0(const float* values, uint8_t* out) {
  int quants[kBlock];
  const bool fits = SymmetricQuants(values, 32, out, quants);
  if (fits) {
    StoreFifthBits(quants, out + 2);
    StoreLowBits(quants, out + 6);
  }
  return fits;
}

bool EncodeQ5_1(const float* values, uint8_t* out) {
  int quants[kBlock];
  const bool fits = AffineQuants(values, 32, out, quants);
  if (fits) {
    StoreFifthBits(quants, out + 4);
    StoreLowBits(quants, out + 8);
  }
  return fits;
}

}  // namespace

BlockEncoder EncoderOf(TensorType type) {
  switch (type) {
    case TensorType::kF16:
      return EncodeF16;
    case TensorType::kBF16:
      return EncodeBF16;
    case TensorType::kQ8_0:
      return EncodeQ8_0;
    case TensorType::kQ4_0:
      return EncodeQ4_0;
    case TensorType::kQ4_1:
      return EncodeQ4_1;
    case TensorType::kQ5_0:
      return EncodeQ5_0;
    case TensorType::kQ5_1:
      return EncodeQ5_1;
    case TensorType::kQ4_K:
      return EncodeQ4_K;
    case TensorType::kQ5_K:
      return EncodeQ5_K;
    case TensorType::kQ6_K:
      return EncodeQ6_K;
    case TensorType::kF32:
      break;
  }
  RUVD_CHECK(false && "F32 has no blocks to encode");
  return nullptr;
}

}  // namespace ruvd::inference::gguf
