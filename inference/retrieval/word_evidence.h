// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "inference/adapter/lesson_words.h"
#include "inference/tokenizer/vocabulary.h"

namespace ruvd::inference {

// How much each word speaks for an adapter against public text: log of the word's frequency in
// texts like the adapter's lessons over its public frequency. Texts like the lessons have a tenth
// of their words from public text, so that no single foreign word decides. The commonest words of
// public text say nothing. Immutable.
class WordEvidence {
 public:
  // `public_log_frequency` has the log of the frequency of each token of the vocabulary, as
  // MemoryParameters has it; the tokens of `words` lie within it.
  WordEvidence(const LessonWords& words, std::span<const float> public_log_frequency);

  // Returns nats; 0 for a token beyond the vocabulary.
  float Of(TokenId token) const { return token < log_ratios_.size() ? log_ratios_[token] : 0.0F; }

 private:
  std::vector<float> log_ratios_;  // by token
};

// The defaults were chosen on texts of six domains that no adapter had learned from, by how often
// the right adapter acts.
struct WordChoiceOptions {
  // Evidence in nats that an adapter needs to be as likely as none. Without it a text of which
  // nothing is known would get an adapter by half, and go on in the words of its lessons.
  float reserve = 1.0F;
  // The share of the evidence that counts: words of one text are not independent of each other.
  float strength = 0.4F;
  // What a word counts that only the prompt has, once many words of the completion are known; 1
  // while none is, and half way between after two
  float prompt_share = 0.1F;
  // Adapters that act at once. With one, the likeliest acts whole or none does; with more, each
  // acts by its probability, in quarters: a small change need not compute again what was cached.
  size_t most = 2;
};

// An adapter that was chosen, and with which weight it acts.
struct WordChoice {
  size_t adapter = 0;
  float weight = 0;
  bool operator==(const WordChoice&) const = default;
};

// Chooses among the model alone and its adapters by the words of one text while it is written:
// Bayes' rule with equal priors of all adapters, words being independent of each other (naive
// Bayes). Not
// thread-safe.
class WordChooser {
 public:
  // One evidence for each adapter; null for one that cannot be judged by words and is not chosen.
  WordChooser(std::vector<std::shared_ptr<const WordEvidence>> adapters,
              std::span<const TokenId> prompt, const WordChoiceOptions& options = {});

  // Returns the probability that the text belongs to no adapter, and after it that of each
  // adapter. `completion` may contain masks (`mask`) and has words that became known.
  std::vector<double> Probabilities(std::span<const TokenId> completion,
                                    std::optional<TokenId> mask) const;
  // Returns the adapters that should act now, the likeliest first.
  std::vector<WordChoice> Choose(std::span<const TokenId> completion,
                                 std::optional<TokenId> mask) const;

 private:
  const std::vector<std::shared_ptr<const WordEvidence>> adapters_;
  const WordChoiceOptions options_;
  std::vector<TokenId> prompt_;  // each word once, ascending
};

}  // namespace ruvd::inference
