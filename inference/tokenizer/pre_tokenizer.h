// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace ruvd {

// Cuts a text into the words within which byte pairs are merged. Hand-written matchers of the
// published regular expressions; where those are ambiguous, llama.cpp's splitters decide.
enum class PreTokenizer : uint8_t {
  // 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
  kGpt2,
  // (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|
  // \s*[\r\n]+|\s+(?!\S)|\s+
  kQwen2,
  // As kQwen2 but \p{N}{1,3} for \p{N}.
  kLlama3,
};

// The splitter that tokenizer.ggml.pre names; nullopt for one we do not have.
std::optional<PreTokenizer> PreTokenizerByName(std::string_view name);

// The words of `text` in order; together they are the whole text. Linear time. A byte that is not
// part of valid UTF-8 counts as one symbol.
std::vector<std::string_view> SplitWords(PreTokenizer kind, std::string_view text);

}  // namespace ruvd
