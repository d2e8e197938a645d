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
// parts, and so on. The text between two matches is a part too, and an expression sees nothing
// beyond its part. Where the published expressions are ambiguous, the result is that of llama.cpp's
// splitters.
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
  kDefault,  // for files that name no pre-tokeniser
};

// The settings that a value of tokenizer.ggml.pre implies.
struct PreTokenizerEntry {
  PreTokenizer kind;
  // A word that is a token is taken whole, without merging.
  bool ignore_merges = false;
  // Used if the file has no add_bos_token.
  bool add_bos = false;
  // The token "<mask>" removes the white space before it.
  bool mask_strips_left = false;
};

// Returns nullopt for an unknown name.
std::optional<PreTokenizerEntry> PreTokenizerByName(std::string_view name);

// Yields the words of a text in order; together they are the whole text. Takes linear time. The
// text must outlive the splitter.
class WordSplitter {
 public:
  WordSplitter(PreTokenizer kind, std::string_view text);
  // Returns false at the end. Words are not empty.
  bool Next(std::string_view* word) { return NextOf(patterns_.size() - 1, word); }

 private:
  static constexpr size_t kMaxPatterns = 6;
  struct Level {
    std::string_view rest;   // the rest of the part that this pattern cuts
    std::string_view match;  // a match found already; it follows the gap that was returned
  };
  bool NextOf(size_t level, std::string_view* word);

  std::span<const WordPattern> patterns_;
  std::array<Level, kMaxPatterns> levels_;
};

// Returns all words at once.
std::vector<std::string_view> SplitWords(PreTokenizer kind, std::string_view text);

}  // namespace ruvd::inference
