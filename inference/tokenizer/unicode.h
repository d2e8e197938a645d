// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>

namespace ruvd::inference {

// What pre-tokenisers want to know of a character: its general category, by first letter, with the
// property White_Space taken out of the others. Data of Unicode 15.0 (Debian's unicode-data; see
// generate_unicode_tables.py).
enum class CharClass : uint8_t {
  kOther = 0,  // controls, formats, unassigned, private use
  kLetter = 1,
  kNumber = 2,
  kMark = 3,
  kPunctuation = 4,
  kSymbol = 5,
  kWhiteSpace = 6,
};

// Beyond U+10FFFF: kOther.
CharClass ClassOf(uint32_t code_point);

}  // namespace ruvd::inference
