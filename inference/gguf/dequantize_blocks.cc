// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/gguf/dequantize_blocks.h"

#include <cstring>

#include "base/status.h"
#include "inference/gguf/half.h"

// Every product of scale, sub-scale and quant is exact in float32 (11 + 6 + 6 bits at most), so the
// results do not depend on the order of multiplication or on fused multiply-add.
namespace ruvd::inference::gguf {
namespace {

uint16_t Load16(const uint8_t* in) {
  uint16_t value;
  std::memcpy(&value, in, sizeof(value));
  return value;
}

uint32_t Load32(const uint8_t* in) {
  uint32_t value;
  std::memcpy(&value, in, sizeof(value));
  return value;
}

float LoadHalf(const uint8_t* in) {
  return HalfToFloat(Load16(in));
}

void DecodeF16(const uint8_t* in, float* out) {
  *out = LoadHalf(in);
}

void DecodeBF16(const uint8_t* in, float* out) {
  *out = BFloat16ToFloat(Load16(in));
}

// scale, 32 signed bytes
void DecodeQ8_0(const uint8_t* in, float* out) {
  const float scale = LoadHalf(in);
  for (int j = 0; j < 32; ++j) {
    out[j] = static_cast<float>(static_cast<int8_t>(in[2 + j])) * scale;
  }
}

// scale, 16 bytes of two quants, offset 8
void DecodeQ4_0(const uint8_t* in, float* out) {
  const float scale = LoadHalf(in);
  const uint8_t* quants = in + 2;
  for (int j = 0; j < 16; ++j) {
    out[j] = static_cast<float>((quants[j] & 0xF) - 8) * scale;
    out[j + 16] = static_cast<float>((quants[j] >> 4) - 8) * scale;
  }
}

// scale, minimum, 16 bytes of two quants
void DecodeQ4_1(const uint8_t* in, float* out) {
  const float scale = LoadHalf(in);
  const float minimum = LoadHalf(in + 2);
  const uint8_t* quants = in + 4;
  for (int j = 0; j < 16; ++j) {
    out[j] = static_cast<float>(quants[j] & 0xF) * scale + minimum;
    out[j + 16] = static_cast<float>(quants[j] >> 4) * scale + minimum;
  }
}

// Returns the 5-bit quant of value j < 32: its low four bits are stored as in Q4_0, the fifth is
// bit j of `high`.
int Quant5(const uint8_t* quants, uint32_t high, int j) {
  const int low = j < 16 ? quants[j] & 0xF : quants[j - 16] >> 4;
  return low | static_cast<int>(((high >> j) & 1U) << 4);
}

// scale, 32 fifth bits, 16 bytes of two quants, offset 16
void DecodeQ5_0(const uint8_t* in, float* out) {
  const float scale = LoadHalf(in);
  const uint32_t high = Load32(in + 2);
  for (int j = 0; j < 32; ++j) {
    out[j] = static_cast<float>(Quant5(in + 6, high, j) - 16) * scale;
  }
}

// scale, minimum, 32 fifth bits, 16 bytes of two quants
void DecodeQ5_1(const uint8_t* in, float* out) {
  const float scale = LoadHalf(in);
  const float minimum = LoadHalf(in + 2);
  const uint32_t high = Load32(in + 4);
  for (int j = 0; j < 32; ++j) {
    out[j] = static_cast<float>(Quant5(in + 8, high, j)) * scale + minimum;
  }
}

// The 6-bit scale and minimum of sub-block j < 8, packed in 12 bytes: the first four are whole, in
// the low six bits of bytes j and j + 4; the other four are split between two places.
struct SubScale {
  float scale;
  float minimum;
};
SubScale UnpackSubScale(const uint8_t* packed, int j) {
  if (j < 4) {
    return {static_cast<float>(packed[j] & 63), static_cast<float>(packed[j + 4] & 63)};
  }
  return {static_cast<float>((packed[j + 4] & 0xF) | ((packed[j - 4] >> 6) << 4)),
          static_cast<float>((packed[j + 4] >> 4) | ((packed[j] >> 6) << 4))};
}

// Q4_K and Q5_K: scale, minimum, 12 bytes of sub-scales, [Q5_K: 32 bytes of fifth bits,] 128 bytes
// of two quants each. A run of 32 bytes holds two sub-blocks, the first in the low halves.
void DecodeQ4Or5_K(const uint8_t* in, const uint8_t* high, const uint8_t* quants, float* out) {
  const float scale = LoadHalf(in);
  const float minimum = LoadHalf(in + 2);
  for (int sub = 0; sub < 8; ++sub) {
    const SubScale s = UnpackSubScale(in + 4, sub);
    const float d = scale * s.scale;
    const float m = minimum * s.minimum;
    const uint8_t* run = quants + sub / 2 * 32;
    for (int l = 0; l < 32; ++l) {
      int quant = sub % 2 == 0 ? run[l] & 0xF : run[l] >> 4;
      if (high != nullptr) {
        quant |= ((high[l] >> sub) & 1) << 4;
      }
      *out++ = d * static_cast<float>(quant) - m;
    }
  }
}

void DecodeQ4_K(const uint8_t* in, float* out) {
  DecodeQ4Or5_K(in, nullptr, in + 16, out);
}

void DecodeQ5_K(const uint8_t* in, float* out) {
  DecodeQ4Or5_K(in, in + 16, in + 48, out);
}

// 128 bytes of low halves, 64 bytes of upper two bits, 16 signed sub-scales, scale; offset 32
void DecodeQ6_K(const uint8_t* in, float* out) {
  const float scale = LoadHalf(in + 208);
  for (int half = 0; half < 2; ++half) {
    const uint8_t* low = in + half * 64;
    const uint8_t* high = in + 128 + half * 32;
    const uint8_t* scales = in + 192 + half * 8;
    for (int quarter = 0; quarter < 4; ++quarter) {
      const uint8_t* run = low + quarter % 2 * 32;
      for (int l = 0; l < 32; ++l) {
        const int bits = quarter < 2 ? run[l] & 0xF : run[l] >> 4;
        const int quant = (bits | (((high[l] >> (2 * quarter)) & 3) << 4)) - 32;
        const auto sub = static_cast<float>(static_cast<int8_t>(scales[2 * quarter + l / 16]));
        *out++ = scale * sub * static_cast<float>(quant);
      }
    }
  }
}

}  // namespace

BlockDecoder DecoderOf(TensorType type) {
  switch (type) {
    case TensorType::kF16:
      return DecodeF16;
    case TensorType::kBF16:
      return DecodeBF16;
    case TensorType::kQ8_0:
      return DecodeQ8_0;
    case TensorType::kQ4_0:
      return DecodeQ4_0;
    case TensorType::kQ4_1:
      return DecodeQ4_1;
    case TensorType::kQ5_0:
      return DecodeQ5_0;
    case TensorType::kQ5_1:
      return DecodeQ5_1;
    case TensorType::kQ4_K:
      return DecodeQ4_K;
    case TensorType::kQ5_K:
      return DecodeQ5_K;
    case TensorType::kQ6_K:
      return DecodeQ6_K;
    case TensorType::kF32:
      break;
  }
  RUVD_CHECK(false && "F32 has no blocks to decode");
  return nullptr;
}

}  // namespace ruvd::inference::gguf
