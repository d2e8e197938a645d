// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "inference/tokenizer/tokenizer.h"

namespace ruvd::inference {

// The bytes of all tokens that stand for text, as a tree in the order of a walk that visits a node
// before its children. Immutable and thread-safe.
class TokenTrie {
 public:
  struct Node {
    uint8_t byte = 0;
    uint8_t depth = 0;         // the length of the text that ends here, at most kMaxDepth
    uint32_t end = 0;          // the node after the last one below
    uint32_t first_token = 0;  // of the tokens with this text, in tokens()
    uint32_t last_token = 0;   // the one after the last
  };
  // Longer tokens are left out, so they are never written where a text is constrained.
  static constexpr size_t kMaxDepth = 255;

  // Builds the tree of a vocabulary, in time and memory linear in its bytes.
  static std::shared_ptr<const TokenTrie> Build(const Tokenizer& tokenizer);

  std::span<const Node> nodes() const { return nodes_; }
  std::span<const TokenId> tokens() const { return tokens_; }
  size_t vocabulary() const { return ends_.size(); }
  // Returns the text of a token in the tree, and "" for others.
  std::string_view TextOf(TokenId token) const {
    const size_t begin = token == 0 ? 0 : ends_[token - 1];
    return std::string_view(texts_).substr(begin, ends_[token] - begin);
  }

 private:
  TokenTrie() = default;
  std::vector<Node> nodes_;
  std::vector<TokenId> tokens_;
  std::string texts_;           // of all tokens, one behind the other
  std::vector<uint32_t> ends_;  // of each token's text
};

}  // namespace ruvd::inference
