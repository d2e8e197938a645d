// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>

namespace ruvd::inference {

// The class of a character for pre-tokenisers: the first letter of its general category, except
// that characters with the property White_Space form a class of their own. The data is that of
// Unicode 15.0 (Debian's unicode-data; see generate_unicode_tables.py).
enum class CharClass : uint8_t {
  kOther = 0,  // controls, formats, unassigned, private use
  kLetter = 1,
  kNumber = 2,
  kMark = 3,
  kPunctuation = 4,
  kSymbol = 5,
  kWhiteSpace = 6,
};

// Returns kOther beyond U+10FFFF.
CharClass ClassOf(uint32_t code_point);

}  // namespace ruvd::inference
