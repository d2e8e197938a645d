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

// Turns committed tokens into text that is final: whole UTF-8 characters, cut before the first stop
// string or token that ends the text, and never taken back. Text that could still grow into a stop
// string is held back. Borrows the tokenizer; not thread-safe.
class CompletionText {
 public:
  enum class End : uint8_t { kNone, kEndOfText, kStop };

  // `end_tokens`: any of them ends the text.
  CompletionText(const Tokenizer& tokenizer, std::vector<TokenId> end_tokens,
                 std::vector<std::string> stop);

  // Adds tokens that follow the earlier ones; returns what became final. Ignored once ended.
  std::string Append(std::span<const TokenId> tokens);
  // No token follows: returns what was held back.
  std::string Finish();

  End end() const { return end_; }
  // Tokens added up to the end, the one that ended the text included.
  int tokens() const { return tokens_; }
  // Of these, the leading ones whose bytes are all in text(), the end-of-text token included:
  // tokens that make up the stop string are none of them, not even one that began before it.
  int shown_tokens() const { return end_ == End::kStop ? shown_ : tokens_; }
  const std::string& text() const { return text_; }

 private:
  void CutAtStop();
  // The length of the text with all that came so far, complete characters or not.
  size_t Length() const { return text_.size() + pending_.size() + assembler_.held(); }
  std::string Release(size_t bytes);
  // Bytes at the end of `pending_` that may be the start of a stop string.
  size_t HeldBack() const;

  const Tokenizer& tokenizer_;
  std::vector<TokenId> end_tokens_;
  std::vector<std::string> stop_;
  Utf8Assembler assembler_;
  std::string pending_;  // assembled, not final yet
  std::string text_;
  End end_ = End::kNone;
  int tokens_ = 0;
  int shown_ = 0;             // once a stop string ended the text
  std::vector<size_t> ends_;  // Length() behind each token
};

}  // namespace ruvd::inference
