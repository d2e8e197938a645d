// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ruvd::inference {

// Joins the byte pieces of tokens into text that is valid UTF-8 at every step: bytes of a character
// that is not complete yet are held back, bytes that can never become one turn into U+FFFD (one per
// maximal invalid part, as the Unicode standard recommends in section 3.9). Not thread-safe.
class Utf8Assembler {
 public:
  // The text that became complete with these bytes; may be empty.
  std::string Append(std::string_view bytes);
  // The rest at the end of the stream: U+FFFD if a character was cut off, else "".
  std::string Finish();
  // Bytes that are held back.
  size_t held() const { return pending_.size(); }

 private:
  std::string pending_;  // a valid, incomplete start of one character: at most three bytes
};

}  // namespace ruvd::inference
