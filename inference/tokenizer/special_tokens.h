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

namespace ruvd::inference {

// A part of a text: either plain text or one special token.
struct TextFragment {
  std::string_view text;
  std::optional<TokenId> token;
};

// Finds the tokens that are recognised in text by their spelling: user-defined tokens anywhere,
// control and unknown tokens only in trusted text. If tokens overlap, the longest wins, then the
// one with the smaller id, then the leftmost, as in llama.cpp. It is immutable and thread-safe.
class SpecialTokens {
 public:
  explicit SpecialTokens(const Vocabulary& vocabulary);

  // Returns the fragments of the text in order; no fragment is empty. Memory is linear in the text,
  // however many tokens have the same beginning. `trusted` holds parts of the text in ascending
  // order; a control token must lie entirely in one of them. White space that a token removes is
  // left out.
  std::vector<TextFragment> Partition(std::string_view text,
                                      std::span<const TextSpan> trusted) const;

  // Returns whether this text is one control or unknown token if it is trusted, and is not
  // recognised if it is untrusted.
  bool IsControl(std::string_view text) const;

 private:
  struct Token {
    std::string text;
    TokenId id;
    uint32_t order;  // 0 is searched first
    bool control;    // recognised only in trusted text
    bool strips_left = false;
    bool strips_right = false;
  };
  struct Chosen {
    const Token* token;
    TextSpan span;
  };
  // The token to try next at a place.
  struct Candidate {
    const Token* token;
    size_t begin;
  };
  using Trusted = std::span<const TextSpan>;
  void DropRepeated();
  void ReadStripRules(const Vocabulary& vocabulary);
  const Token* LongestAt(std::string_view text, size_t at, size_t longest, Trusted trusted) const;
  std::vector<Candidate> CandidatesIn(std::string_view text, Trusted trusted) const;
  std::vector<Chosen> Choose(std::string_view text, Trusted trusted,
                             std::vector<Candidate> queue) const;
  static TextSpan Taken(std::string_view text, const Candidate& next, std::vector<bool>* taken);

  // sorted by text; for each text at most one control and one other token
  std::vector<Token> tokens_;
  std::array<bool, 256> starts_{};
};

}  // namespace ruvd::inference
