// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <string_view>

// Hand-written matchers, in linear time, for the regular expressions that vocabularies were made
// with. \s, \p{L}, \p{N} and \p{P} are the classes of unicode.h. A byte that is not part of valid
// UTF-8 counts as one symbol.
namespace ruvd::inference {

// A part of a text, in bytes. `begin == end == text.size()` means that there is no match.
struct TextSpan {
  size_t begin = 0;
  size_t end = 0;
};

// A function that finds the first match in a text. A match is never empty.
using WordPattern = TextSpan (*)(std::string_view text);

// 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
TextSpan FindGpt2Word(std::string_view text);

// (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|
// \s*[\r\n]+|\s+(?!\S)|\s+
TextSpan FindQwen2Word(std::string_view text);
// The expression of FindQwen2Word with \p{N}{1,3} instead of \p{N}.
TextSpan FindLlama3Word(std::string_view text);
// The expression of FindQwen2Word with [\p{L}\p{M}]+ instead of \p{L}+, and
// [^\s\p{L}\p{M}\p{N}]+ instead of [^\s\p{L}\p{N}]+.
TextSpan FindQwen35Word(std::string_view text);
// The expression of FindQwen2Word without [\r\n]*.
TextSpan FindSeedCoderWord(std::string_view text);
// [^\r\n\p{L}\p{N}]?U*D+|[^\r\n\p{L}\p{N}]?U+D*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|
// \s+(?!\S)|\s+
// Here U is a letter outside a-z and D a letter outside A-Z, so case matters only in ASCII.
// llama.cpp reads Mistral's expression in this way.
TextSpan FindTekkenWord(std::string_view text);

TextSpan FindNumber(std::string_view text);             // \p{N}
TextSpan FindNumbers(std::string_view text);            // \p{N}+
TextSpan FindThreeDigits(std::string_view text);        // [0-9][0-9][0-9]
TextSpan FindNewline(std::string_view text);            // [\r\n]
TextSpan FindSpaceAtEnd(std::string_view text);         // \s+$
TextSpan FindSpacedLetters(std::string_view text);      // \s?\p{L}+
TextSpan FindSpacedPunctuation(std::string_view text);  // \s?\p{P}+
TextSpan FindPunctuation(std::string_view text);        // [\p{P}$+<=>^~|]+
TextSpan FindFalconPunctuation(std::string_view text);  // [\p{P}$+<=>^~|`]+
// \s?[...]+ with DeepSeek LLM's list of letters that have case
TextSpan FindDeepSeekLetters(std::string_view text);
// \s?[!-/:-~\uFF01-\uFF0F\uFF1A-\uFF5E\u2018-\u201F\u3001-\u3002]+
// The published expression of this function and of the next one contains \u3000 too, but llama.cpp
// removes all white space from such lists.
TextSpan FindDeepSeekPunctuation(std::string_view text);
// [\u4E00-\u9FA5\u0800-\u4E00\uAC00-\uD7FF]+
TextSpan FindDeepSeekIdeographs(std::string_view text);

}  // namespace ruvd::inference
