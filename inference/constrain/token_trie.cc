// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/constrain/token_trie.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace ruvd::inference {

std::shared_ptr<const TokenTrie> TokenTrie::Build(const Tokenizer& tokenizer) {
  std::shared_ptr<TokenTrie> trie(new TokenTrie());
  std::vector<std::pair<std::string_view, TokenId>> texts;
  for (size_t i = 0; i < tokenizer.size(); ++i) {
    const auto token = static_cast<TokenId>(i);
    const std::string_view text = tokenizer.Piece(token);
    if (!tokenizer.IsSpecial(token) && !text.empty() && text.size() <= kMaxDepth) {
      texts.emplace_back(text, token);
      trie->texts_ += text;
    }
    trie->ends_.push_back(static_cast<uint32_t>(trie->texts_.size()));
  }
  std::ranges::sort(texts);    // a text comes before those that it begins
  std::vector<uint32_t> open;  // the nodes from the first byte of the last text to its end
  std::string_view last;
  const auto close_to = [&](size_t depth) {
    for (; open.size() > depth; open.pop_back()) {
      trie->nodes_[open.back()].end = static_cast<uint32_t>(trie->nodes_.size());
    }
  };
  for (const auto& [text, token] : texts) {
    const auto common = static_cast<size_t>(std::ranges::mismatch(last, text).in2 - text.begin());
    close_to(common);
    for (size_t i = common; i < text.size(); ++i) {
      open.push_back(static_cast<uint32_t>(trie->nodes_.size()));
      const auto at = static_cast<uint32_t>(trie->tokens_.size());
      trie->nodes_.push_back({.byte = static_cast<uint8_t>(text[i]),
                              .depth = static_cast<uint8_t>(i + 1),
                              .first_token = at,
                              .last_token = at});
    }
    trie->tokens_.push_back(token);
    ++trie->nodes_[open.back()].last_token;
    last = text;
  }
  close_to(0);
  return trie;
}

}  // namespace ruvd::inference
