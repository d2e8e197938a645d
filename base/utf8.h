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

// The first character of a text, decoded as UTF-8 (Unicode 15, table 3-7: no overlong forms, no
// surrogates).
struct Utf8Char {
  enum class State : uint8_t {
    kValid,      // the first `length` bytes encode `code_point`
    kTruncated,  // the text ends inside a character, after `length` bytes
    kInvalid,    // the first `length` bytes cannot begin any valid character
  };
  State state = State::kInvalid;
  uint8_t length = 1;
  uint32_t code_point = kReplacementCharacter;  // the replacement character unless valid
};

// Returns the first character of a text, which must not be empty.
Utf8Char FirstUtf8Char(std::string_view text);

// Returns the UTF-8 bytes of a code point, which must not be a surrogate.
std::string Utf8Of(uint32_t code_point);

// Returns whether the whole text is UTF-8. Text in a protobuf `string` must be: protobuf writes
// other bytes without an error, and then the whole message cannot be read.
bool IsUtf8(std::string_view text);

// Returns the text with a replacement character in place of every part that is not UTF-8.
std::string ValidUtf8(std::string_view text);

// Returns the longest prefix of a UTF-8 text that has at most `limit` bytes and does not cut a
// character.
std::string_view CutUtf8(std::string_view text, size_t limit);

}  // namespace ruvd
