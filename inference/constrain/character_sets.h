// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <map>
#include <vector>

#include "inference/constrain/grammar.h"
#include "inference/constrain/utf8_ranges.h"

namespace ruvd::inference {

// Expressions that read one character of a set. A set such as "all but a newline" takes dozens of
// parts, so equal sets share one expression, and a text of many dots stays small. Not thread-safe.
class CharacterSets {
 public:
  // The builder must outlive this object.
  explicit CharacterSets(GrammarBuilder* builder) : builder_(builder) {}

  // Returns an expression that reads one character in one of the ranges.
  GrammarBuilder::Expression In(const std::vector<CodePointRange>& ranges) {
    const auto [found, is_new] = expressions_.emplace(ranges, 0);
    if (is_new) {
      found->second = builder_->Characters(ranges);
    }
    return found->second;
  }
  // Returns an expression that reads one character in none of the ranges.
  GrammarBuilder::Expression NotIn(const std::vector<CodePointRange>& ranges) {
    return In(OtherCodePoints(ranges));
  }

 private:
  GrammarBuilder* const builder_;
  std::map<std::vector<CodePointRange>, GrammarBuilder::Expression> expressions_;
};

}  // namespace ruvd::inference
