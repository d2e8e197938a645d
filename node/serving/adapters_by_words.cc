// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/serving/adapters_by_words.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace ruvd::serving {
namespace {

std::vector<std::shared_ptr<const inference::WordEvidence>> EvidenceOf(
    std::span<const RangedPart> parts) {
  std::vector<std::shared_ptr<const inference::WordEvidence>> evidence;
  for (const RangedPart& part : parts) {
    evidence.push_back(part.evidence);
  }
  return evidence;
}

}  // namespace

AdaptersByWords::AdaptersByWords(std::span<const RangedPart> parts,
                                 std::span<const inference::TokenId> prompt,
                                 const inference::WordChoiceOptions& options)
    : chooser_(EvidenceOf(parts), prompt, options) {
  for (const RangedPart& part : parts) {
    by_words_.push_back(part.evidence != nullptr);
    decide_ = decide_ || part.evidence != nullptr;
  }
}

std::vector<float> AdaptersByWords::Factors(std::span<const inference::TokenId> completion,
                                            std::optional<inference::TokenId> mask) const {
  std::vector<float> factors;
  factors.reserve(by_words_.size());
  for (const bool by_words : by_words_) {
    factors.push_back(by_words ? 0.0F : 1.0F);
  }
  if (decide_) {
    for (const inference::WordChoice& choice : chooser_.Choose(completion, mask)) {
      factors[choice.adapter] = choice.weight;
    }
  }
  return factors;
}

std::vector<RangedPart> PartsByWords(std::span<const RangedPart> parts,
                                     std::span<const inference::TokenId> prompt,
                                     std::span<const inference::TokenId> completion,
                                     std::optional<inference::TokenId> mask) {
  std::vector<RangedPart> acting;
  const std::vector<float> factors = AdaptersByWords(parts, prompt).Factors(completion, mask);
  for (size_t i = 0; i < parts.size(); ++i) {
    if (factors[i] != 0) {
      acting.push_back(parts[i]);
      acting.back().weight *= factors[i];
    }
  }
  return acting;
}

}  // namespace ruvd::serving
