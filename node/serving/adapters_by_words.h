// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <optional>
#include <span>
#include <vector>

#include "inference/retrieval/word_evidence.h"
#include "inference/tokenizer/vocabulary.h"
#include "node/serving/adapter_catalog.h"

namespace ruvd::serving {

// Which of a text's adapters act, given the words of the text: those with evidence (RangedPart) as
// inference::WordChooser says, all others always.
class AdaptersByWords {
 public:
  AdaptersByWords(std::span<const RangedPart> parts, std::span<const inference::TokenId> prompt,
                  const inference::WordChoiceOptions& options = {});

  // Returns whether words decide about any of the adapters.
  bool decide() const { return decide_; }
  // Returns for each part, in order, the factor of its weight: 1 if it acts whole, 0 if it does not
  // act. `completion` may contain masks.
  std::vector<float> Factors(std::span<const inference::TokenId> completion,
                             std::optional<inference::TokenId> mask) const;

 private:
  inference::WordChooser chooser_;
  std::vector<bool> by_words_;  // by part
  bool decide_ = false;
};

// Returns the parts that act, with their weights, once these words of the completion are known.
std::vector<RangedPart> PartsByWords(std::span<const RangedPart> parts,
                                     std::span<const inference::TokenId> prompt,
                                     std::span<const inference::TokenId> completion,
                                     std::optional<inference::TokenId> mask);

}  // namespace ruvd::serving
