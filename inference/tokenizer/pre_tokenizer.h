// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "inference/tokenizer/word_patterns.h"

namespace ruvd::inference {

// How a text is cut into the words within which byte pairs are merged. Each kind is a row of
// expressions (word_patterns.h): the first one cuts the text at its matches, the next one cuts the
// parts, and so on; what lies between two matches is a part too, and an expression sees nothing
// beyond its part. Where the published expressions leave room, llama.cpp's splitters decide.
enum class PreTokenizer : uint8_t {
  kGpt2,
  kQwen2,
  kQwen35,
  kLlama3,
  kSeedCoder,
  kTekken,
  kStarCoder,
  kFalcon,
  kDeepSeekLlm,
  kDeepSeekCoder,
  kDefault,  // of files that name none
};

// What goes with a value of tokenizer.ggml.pre.
struct PreTokenizerEntry {
  PreTokenizer kind;
  // A word that is a token is taken whole, whatever the merges say.
  bool ignore_merges = false;
  // Where the file has no add_bos_token.
  bool add_bos = false;
  // The token "<mask>" swallows white space before it.
  bool mask_strips_left = false;
};

// Nullopt for a name we do not have.
std::optional<PreTokenizerEntry> PreTokenizerByName(std::string_view name);

// The words of a text in order; together they are the whole text. Linear time. Borrows the text.
class WordSplitter {
 public:
  WordSplitter(PreTokenizer kind, std::string_view text);
  // False at the end. Words are not empty.
  bool Next(std::string_view* word) { return NextOf(patterns_.size() - 1, word); }

 private:
  static constexpr size_t kMaxPatterns = 6;
  struct Level {
    std::string_view rest;   // of the part that this pattern cuts
    std::string_view match;  // found already, behind the gap that was returned
  };
  bool NextOf(size_t level, std::string_view* word);

  std::span<const WordPattern> patterns_;
  std::array<Level, kMaxPatterns> levels_;
};

// All words at once.
std::vector<std::string_view> SplitWords(PreTokenizer kind, std::string_view text);

}  // namespace ruvd::inference
