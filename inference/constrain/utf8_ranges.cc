// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/constrain/utf8_ranges.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace ruvd::inference {
namespace {

constexpr uint32_t kLastCodePoint = 0x10FFFF;
constexpr CodePointRange kSurrogates = {0xD800, 0xDFFF};
// The last code points that take one to four bytes
constexpr std::array<uint32_t, 4> kLastOfLength = {0x7F, 0x7FF, 0xFFFF, kLastCodePoint};
constexpr int kBitsOfByte = 6;  // of every byte but the first

std::array<uint8_t, 4> Encode(uint32_t code_point, size_t length) {
  constexpr std::array<uint8_t, 4> kFirstByte = {0x00, 0xC0, 0xE0, 0xF0};
  std::array<uint8_t, 4> bytes{};
  for (size_t i = length; i-- > 1;) {
    bytes[i] = static_cast<uint8_t>(0x80 | (code_point & 0x3F));
    code_point >>= kBitsOfByte;
  }
  bytes[0] = static_cast<uint8_t>(kFirstByte[length - 1] | code_point);
  return bytes;
}

// Adds the sequences of a range whose code points have one length. A range is split until every
// byte but the first ones that both ends share runs over all its values.
void AddSequences(uint32_t low, uint32_t high, size_t length,
                  std::vector<std::vector<ByteRange>>* sequences) {
  for (size_t tail = 1; tail < length; ++tail) {
    const uint32_t mask = (uint32_t{1} << (kBitsOfByte * tail)) - 1;
    if ((low & ~mask) == (high & ~mask)) {
      continue;  // the bytes before the tail are equal
    }
    if ((low & mask) != 0) {
      AddSequences(low, low | mask, length, sequences);
      AddSequences((low | mask) + 1, high, length, sequences);
      return;
    }
    if ((high & mask) != mask) {
      AddSequences(low, (high & ~mask) - 1, length, sequences);
      AddSequences(high & ~mask, high, length, sequences);
      return;
    }
  }
  const std::array<uint8_t, 4> first = Encode(low, length);
  const std::array<uint8_t, 4> last = Encode(high, length);
  std::vector<ByteRange>& sequence = sequences->emplace_back();
  for (size_t i = 0; i < length; ++i) {
    sequence.push_back({first[i], last[i]});
  }
}

// Returns the ranges in order, those that touch or overlap as one.
std::vector<CodePointRange> Merged(std::span<const CodePointRange> ranges) {
  std::vector<CodePointRange> sorted;
  for (const auto& [low, high] : ranges) {
    if (low <= std::min(high, kLastCodePoint)) {
      sorted.emplace_back(low, std::min(high, kLastCodePoint));
    }
  }
  std::ranges::sort(sorted);
  std::vector<CodePointRange> merged;
  for (const CodePointRange& range : sorted) {
    if (!merged.empty() && range.first <= merged.back().second + 1) {
      merged.back().second = std::max(merged.back().second, range.second);
    } else {
      merged.push_back(range);
    }
  }
  return merged;
}

}  // namespace

std::vector<CodePointRange> OtherCodePoints(std::span<const CodePointRange> ranges) {
  std::vector<CodePointRange> others;
  uint32_t next = 0;
  for (const auto& [low, high] : Merged(ranges)) {
    if (low > next) {
      others.emplace_back(next, low - 1);
    }
    next = high + 1;
  }
  if (next <= kLastCodePoint) {
    others.emplace_back(next, kLastCodePoint);
  }
  return others;
}

std::vector<std::vector<ByteRange>> Utf8Sequences(std::span<const CodePointRange> ranges) {
  std::vector<std::vector<ByteRange>> sequences;
  std::vector<CodePointRange> kept;
  for (const auto& [low, high] : Merged(ranges)) {
    kept.emplace_back(low, std::min(high, kSurrogates.first - 1));
    kept.emplace_back(std::max(low, kSurrogates.second + 1), high);
  }
  for (const auto& [low, high] : kept) {
    uint32_t first_of_length = 0;
    for (size_t length = 1; length <= kLastOfLength.size(); ++length) {
      const uint32_t from = std::max(low, first_of_length);
      const uint32_t to = std::min(high, kLastOfLength[length - 1]);
      if (from <= to) {
        AddSequences(from, to, length, &sequences);
      }
      first_of_length = kLastOfLength[length - 1] + 1;
    }
  }
  return sequences;
}

}  // namespace ruvd::inference
