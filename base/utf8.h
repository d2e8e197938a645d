// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace ruvd {

inline constexpr uint32_t kReplacementCharacter = 0xFFFD;
inline constexpr std::string_view kReplacementUtf8 = "\xEF\xBF\xBD";

// The beginning of a text, read as UTF-8 (Unicode 15, table 3-7: no overlong forms, no surrogates).
struct Utf8Char {
  enum class State : uint8_t {
    kValid,      // `length` bytes are `code_point`
    kTruncated,  // all `length` bytes of the text are a valid start that wants more
    kInvalid,    // `length` bytes are a maximal part that no continuation can make valid
  };
  State state = State::kInvalid;
  uint8_t length = 1;
  uint32_t code_point = kReplacementCharacter;  // for the last two states the replacement
};

// The first character of a text that is not empty.
Utf8Char FirstUtf8Char(std::string_view text);

// The bytes of a code point that is none of the surrogates.
std::string Utf8Of(uint32_t code_point);

// Whether all of a text is UTF-8. What a protobuf `string` holds must be: other bytes are written
// without an error and then make the whole message unreadable.
bool IsUtf8(std::string_view text);

// The text with a replacement character for every part that is not UTF-8.
std::string ValidUtf8(std::string_view text);

// The longest beginning of a UTF-8 text that has at most `limit` bytes and ends behind a character.
std::string_view CutUtf8(std::string_view text, size_t limit);

}  // namespace ruvd
