// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <bit>
#include <cstdint>

namespace ruvd::inference {

// Converts IEEE 754 binary16 to float. The result is exact, also for subnormals, infinities and
// negative zero.
inline float HalfToFloat(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000U) << 16;
  const uint32_t magnitude = half & 0x7FFFU;
  if (magnitude >= 0x7C00U) {  // infinity and NaN keep an all-ones exponent
    return std::bit_cast<float>(sign | 0x7F800000U | ((magnitude & 0x3FFU) << 13));
  }
  if (magnitude < 0x0400U) {  // zero and subnormals: a whole multiple of 2^-24
    const float value = static_cast<float>(magnitude) * 0x1p-24F;
    return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(value));
  }
  return std::bit_cast<float>(sign | ((magnitude << 13) + ((127U - 15U) << 23)));
}

// Converts float to IEEE 754 binary16, rounding to nearest, ties to even. A value that is too large
// becomes infinity; NaN becomes a quiet NaN.
inline uint16_t FloatToHalf(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const auto sign = static_cast<uint16_t>((bits >> 16) & 0x8000U);
  const uint32_t magnitude = bits & 0x7FFFFFFFU;
  if (magnitude > 0x7F800000U) {
    return static_cast<uint16_t>(sign | 0x7E00U);
  }
  if (magnitude >= 0x477FF000U) {  // 65520 and above round to infinity
    return static_cast<uint16_t>(sign | 0x7C00U);
  }
  if (magnitude < 0x38800000U) {  // below 2^-14: adding 0.5 rounds to a multiple of 2^-24
    const float shifted = std::bit_cast<float>(magnitude) + 0.5F;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3F000000U));
  }
  const uint32_t odd = (magnitude >> 13) & 1U;
  const uint32_t rounded = magnitude - ((127U - 15U) << 23) + 0xFFFU + odd;
  return static_cast<uint16_t>(sign | (rounded >> 13));
}

// A bfloat16 is the upper half of a float.
inline float BFloat16ToFloat(uint16_t value) {
  return std::bit_cast<float>(static_cast<uint32_t>(value) << 16);
}

// Rounds to nearest, ties to even. NaN stays NaN.
inline uint16_t FloatToBFloat16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7FFFFFFFU) > 0x7F800000U) {
    return static_cast<uint16_t>((bits >> 16) | 0x40U);
  }
  return static_cast<uint16_t>((bits + 0x7FFFU + ((bits >> 16) & 1U)) >> 16);
}

}  // namespace ruvd::inference
