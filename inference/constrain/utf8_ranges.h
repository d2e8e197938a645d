// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace ruvd::inference {

// Both ends are included.
using CodePointRange = std::pair<uint32_t, uint32_t>;

struct ByteRange {
  uint8_t low = 0;
  uint8_t high = 0;
  bool operator==(const ByteRange&) const = default;
};

// Returns sequences of byte ranges that together match the UTF-8 of every code point in the ranges,
// and nothing else. Ranges may overlap. Surrogates and what is above 0x10FFFF is left out.
std::vector<std::vector<ByteRange>> Utf8Sequences(std::span<const CodePointRange> ranges);

// Returns the ranges of the code points that are in none of these, ascending.
std::vector<CodePointRange> OtherCodePoints(std::span<const CodePointRange> ranges);

}  // namespace ruvd::inference
