// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/tokenizer/unicode.h"

#include <algorithm>
#include <array>
#include <iterator>

namespace ruvd {
namespace {

constexpr uint32_t kRuns[] = {
#include "inference/tokenizer/unicode_tables.inc"
};
constexpr uint32_t kClassBits = 3;

CharClass Search(uint32_t code_point) {
  // The last run that starts at or before the code point; the first run starts at 0.
  const uint32_t key = (code_point << kClassBits) | ((1U << kClassBits) - 1);
  const auto* const after = std::upper_bound(std::begin(kRuns), std::end(kRuns), key);
  return static_cast<CharClass>(*(after - 1) & ((1U << kClassBits) - 1));
}

// Latin-1 is most of what is looked up.
const std::array<CharClass, 256>& Latin1() {
  static const std::array<CharClass, 256> kTable = [] {
    std::array<CharClass, 256> table{};
    for (uint32_t c = 0; c < table.size(); ++c) {
      table.at(c) = Search(c);
    }
    return table;
  }();
  return kTable;
}

}  // namespace

CharClass ClassOf(uint32_t code_point) {
  if (code_point < 256) {
    return Latin1()[code_point];
  }
  return code_point <= 0x10FFFF ? Search(code_point) : CharClass::kOther;
}

}  // namespace ruvd
