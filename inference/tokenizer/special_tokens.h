// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "inference/tokenizer/vocabulary.h"
#include "inference/tokenizer/word_patterns.h"

namespace ruvd {

// A part of a text: plain, or one special token.
struct TextFragment {
  std::string_view text;
  std::optional<TokenId> token;
};

// Finds the tokens that are recognised in text as they are spelled: user-defined tokens anywhere,
// control and unknown tokens only where the text is trusted. Of tokens that overlap the longest
// wins, then the one with the smaller id, then the leftmost, as in llama.cpp. Immutable and
// thread-safe.
class SpecialTokens {
 public:
  explicit SpecialTokens(const Vocabulary& vocabulary);

  // The fragments of the text in order, none of them empty. `trusted` holds parts of the text in
  // ascending order; a control token must lie in one of them whole. White space beside a token that
  // swallows it is left out.
  std::vector<TextFragment> Partition(std::string_view text,
                                      std::span<const TextSpan> trusted) const;

  // Whether trusted text spelled like this is one control or unknown token, and other text never
  // is.
  bool IsControl(std::string_view text) const;

 private:
  struct Token {
    std::string text;
    TokenId id;
    uint32_t order;  // 0 is searched first
    bool control;    // only in trusted text
    bool strips_left = false;
    bool strips_right = false;
  };
  struct Occurrence {
    const Token* token;
    TextSpan span;
  };
  void ReadStripRules(const Vocabulary& vocabulary);
  void FindAt(std::string_view text, size_t at, std::vector<const Token*>* found) const;
  std::vector<Occurrence> FindAll(std::string_view text, std::span<const TextSpan> trusted) const;
  static std::vector<Occurrence> Choose(std::string_view text, std::vector<Occurrence> all);

  std::vector<Token> tokens_;  // sorted by text
  std::array<bool, 256> starts_{};
};

}  // namespace ruvd
