// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/gguf/finite.h"

#include <cstddef>
#include <cstring>

#include "inference/gguf/quantize.h"

namespace ruvd::inference {
namespace {

// Where a block has its half-precision scales: one scale, or two next to each other.
struct Scales {
  size_t offset;
  size_t count;
};

Scales ScalesOf(TensorType type) {
  switch (type) {
    case TensorType::kQ4_1:
    case TensorType::kQ5_1:
    case TensorType::kQ4_K:
    case TensorType::kQ5_K:
      return {0, 2};
    case TensorType::kQ6_K:
      return {BlockBytes(type) - sizeof(uint16_t), 1};
    default:
      return {0, 1};
  }
}

// Returns whether any number has an exponent with all bits set, as infinities and NaNs have. The
// loop has no early exit, so that the compiler can vectorise it.
template <typename Word>
bool AnyFullExponent(std::span<const uint8_t> data, Word exponent, size_t stride) {
  bool any = false;
  for (size_t at = 0; at + sizeof(Word) <= data.size(); at += stride) {
    Word word = 0;
    std::memcpy(&word, data.data() + at, sizeof word);
    any |= (word & exponent) == exponent;
  }
  return any;
}

constexpr uint16_t kHalfExponent = 0x7C00;

}  // namespace

bool AllFinite(TensorType type, std::span<const uint8_t> data) {
  switch (type) {
    case TensorType::kF32:
      return !AnyFullExponent<uint32_t>(data, 0x7F800000U, sizeof(uint32_t));
    case TensorType::kBF16:
      return !AnyFullExponent<uint16_t>(data, 0x7F80, sizeof(uint16_t));
    case TensorType::kF16:
      return !AnyFullExponent<uint16_t>(data, kHalfExponent, sizeof(uint16_t));
    default:
      break;
  }
  const Scales scales = ScalesOf(type);
  for (size_t i = 0; i < scales.count; ++i) {
    const size_t first = scales.offset + i * sizeof(uint16_t);
    if (first < data.size() &&
        AnyFullExponent<uint16_t>(data.subspan(first), kHalfExponent, BlockBytes(type))) {
      return false;
    }
  }
  return true;
}

}  // namespace ruvd::inference
