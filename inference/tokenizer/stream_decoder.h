// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>

#include "inference/tokenizer/tokenizer.h"
#include "inference/tokenizer/utf8_assembler.h"

namespace ruvd::inference {

// Decodes tokens, as they arrive, into whole UTF-8 characters. The parts together equal
// Tokenizer::Decode of all tokens, with U+FFFD for bytes that are not UTF-8. The tokenizer must
// outlive the decoder. Not thread-safe.
class StreamDecoder {
 public:
  // `continues_text`: the tokens follow other text, so a space at their beginning belongs to the
  // text.
  explicit StreamDecoder(const Tokenizer& tokenizer, bool continues_text = false)
      : tokenizer_(tokenizer), at_start_(!continues_text) {}

  // Returns the text that became complete with this token; may be empty.
  std::string Append(TokenId token) {
    std::string bytes;
    tokenizer_.AppendText(token, &at_start_, &bytes);
    return assembler_.Append(bytes);
  }
  // Returns the rest at the end of the stream: U+FFFD if a character was cut off, else "".
  std::string Finish() { return assembler_.Finish(); }

 private:
  const Tokenizer& tokenizer_;
  Utf8Assembler assembler_;
  bool at_start_;
};

}  // namespace ruvd::inference
