// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "inference/constrain/automaton.h"
#include "inference/constrain/grammar.h"
#include "inference/constrain/token_trie.h"

namespace ruvd::inference {

// What a completion is held to. Immutable; completions share it.
struct TextConstraint {
  std::shared_ptr<const Grammar> grammar;
  std::shared_ptr<const TokenTrie> tokens;  // of the model that writes the completion
};

// A completion on its way through a grammar: which tokens may come next, so that what is written is
// always the beginning of a text of the grammar, and ends only as such a text. A token may end
// inside a character, or inside what one rule reads. Not thread-safe.
class ConstrainedText {
 public:
  // Each of `end_tokens` ends the text.
  ConstrainedText(std::shared_ptr<const TextConstraint> constraint,
                  std::vector<TokenId> end_tokens);

  // Sets the logits of all tokens that may not come next to kForbidden. Returns CONSTRAINT_UNMET if
  // no token may: the vocabulary has none for the bytes that must follow. Returns LIMIT_EXCEEDED if
  // the grammar can be read in so many ways that it takes too long to say.
  absl::Status Mask(std::span<float> logits);
  // Adds the token that was chosen under Mask.
  void Add(TokenId token);
  // Returns the work so far (Automaton::work).
  uint64_t work() const { return automaton_.work(); }

 private:
  using Bits = std::vector<uint64_t>;  // one for each token
  // Returns the tokens that may come next, without the end, or LIMIT_EXCEEDED.
  absl::StatusOr<const Bits*> Allowed();

  const std::shared_ptr<const TextConstraint> constraint_;
  const std::vector<TokenId> end_tokens_;
  Automaton automaton_;
  Automaton::State state_;
  std::unordered_map<Automaton::State, Bits> masks_;
};

}  // namespace ruvd::inference
