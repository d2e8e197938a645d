// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/random.h"
#include "inference/gguf/half.h"
#include "inference/gguf/quantize.h"

namespace ruvd::test {

inline constexpr inference::TensorType kPackedTypes[] = {
    inference::TensorType::kQ8_0, inference::TensorType::kQ4_0, inference::TensorType::kQ4_1,
    inference::TensorType::kQ5_0, inference::TensorType::kQ5_1, inference::TensorType::kQ4_K,
    inference::TensorType::kQ5_K, inference::TensorType::kQ6_K};

// Offsets of the half-precision scale and minimum in a block of a quantised format.
inline std::vector<size_t> HalvesOf(inference::TensorType type) {
  switch (type) {
    case inference::TensorType::kQ6_K:
      return {208};
    case inference::TensorType::kQ8_0:
    case inference::TensorType::kQ4_0:
    case inference::TensorType::kQ5_0:
      return {0};
    default:
      return {0, 2};
  }
}

inline void SetHalf(std::vector<uint8_t>& bytes, size_t at, uint16_t half) {
  bytes[at] = static_cast<uint8_t>(half & 0xFF);
  bytes[at + 1] = static_cast<uint8_t>(half >> 8);
}

// Random blocks of a quantised format: every code and sub-scale occurs, scales and minima are
// normally distributed around zero.
inline std::vector<uint8_t> RandomBlocks(inference::TensorType type, size_t values,
                                         Random& random) {
  const size_t block = inference::BlockBytes(type);
  std::vector<uint8_t> bytes(values / inference::BlockValues(type) * block);
  for (uint8_t& byte : bytes) {
    byte = static_cast<uint8_t>(random.Next());
  }
  for (size_t at = 0; at < bytes.size(); at += block) {
    for (const size_t half : HalvesOf(type)) {
      SetHalf(bytes, at + half,
              inference::FloatToHalf(static_cast<float>(random.Normal()) * 0.05F));
    }
  }
  return bytes;
}

}  // namespace ruvd::test
