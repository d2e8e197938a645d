// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "inference/tokenizer/merge_table.h"
#include "inference/tokenizer/vocabulary.h"

namespace ruvd::inference {

// Memory that encoding reuses from word to word. Its contents mean nothing between two calls.
struct EncodeWorkspace {
  MergeTable::Workspace merging;
  std::vector<MergeTable::Symbol> symbols;
  std::vector<MergeTable::Symbol> parts;
  std::vector<MergeTable::Symbol> pending;
  std::string text;
};

// One tokenizer family. Encoders are immutable and thread-safe.
class TextEncoder {
 public:
  virtual ~TextEncoder() = default;

  // Appends the ids of a text without special tokens. `at_start`: the text is the beginning or
  // follows a special token.
  virtual void Append(std::string_view text, bool at_start, EncodeWorkspace* workspace,
                      std::vector<TokenId>* out) const = 0;
};

}  // namespace ruvd::inference
