// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ruvd::inference {

// Joins the byte pieces of tokens into text that is valid UTF-8 at every step. Bytes of a character
// that is not complete yet are held back. Bytes that can never become a character turn into U+FFFD
// (one for each maximal invalid part, as section 3.9 of the Unicode standard recommends). Not
// thread-safe.
class Utf8Assembler {
 public:
  // Returns the text that became complete with these bytes; may be empty.
  std::string Append(std::string_view bytes);
  // Returns the rest at the end of the stream: U+FFFD if a character was cut off, else "".
  std::string Finish();
  // Returns the number of bytes held back.
  size_t held() const { return pending_.size(); }

 private:
  std::string pending_;  // the valid but incomplete start of one character: at most three bytes
};

}  // namespace ruvd::inference
