// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "inference/tokenizer/tokenizer.h"
#include "inference/tokenizer/utf8_assembler.h"

namespace ruvd::inference {

// Turns committed tokens into final text: whole UTF-8 characters, cut before the first stop string
// or end token, and never taken back. Text that could still grow into a stop string is held back.
// Borrows the tokenizer. Not thread-safe.
class CompletionText {
 public:
  enum class End : uint8_t { kNone, kEndOfText, kStop };

  // Each of `end_tokens` ends the text.
  CompletionText(const Tokenizer& tokenizer, std::vector<TokenId> end_tokens,
                 std::vector<std::string> stop);

  // Appends tokens and returns the text that became final. Ignored after the end.
  std::string Append(std::span<const TokenId> tokens);
  // Says that no token follows. Returns the text that was held back.
  std::string Finish();

  End end() const { return end_; }
  // Tokens added up to the end, including the token that ended the text
  int tokens() const { return tokens_; }
  // The number of leading tokens whose bytes are all in text(), including the end-of-text token.
  // Tokens of a stop string do not count, even if one began before the stop string.
  int shown_tokens() const { return end_ == End::kStop ? shown_ : tokens_; }
  const std::string& text() const { return text_; }

 private:
  void CutAtStop();
  // Length of all text received so far, including incomplete characters
  size_t Length() const { return text_.size() + pending_.size() + assembler_.held(); }
  std::string Release(size_t bytes);
  // Bytes at the end of `pending_` that may begin a stop string
  size_t HeldBack() const;

  const Tokenizer& tokenizer_;
  std::vector<TokenId> end_tokens_;
  std::vector<std::string> stop_;
  Utf8Assembler assembler_;
  std::string pending_;  // decoded, but not final yet
  std::string text_;
  End end_ = End::kNone;
  int tokens_ = 0;
  int shown_ = 0;             // set when a stop string ended the text
  std::vector<size_t> ends_;  // Length() after each token
};

}  // namespace ruvd::inference
