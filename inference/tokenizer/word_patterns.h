// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <string_view>

// Hand-written matchers of the regular expressions that vocabularies were made with, in linear
// time. \s, \p{L}, \p{N}, \p{P} are the classes of unicode.h. A byte that is not part of valid
// UTF-8 counts as one symbol.
namespace ruvd::inference {

// A part of a text, in bytes. `begin == end == text.size()`: there is none.
struct TextSpan {
  size_t begin = 0;
  size_t end = 0;
};

// Each finds the first match in a text, which is never empty.
using WordPattern = TextSpan (*)(std::string_view text);

// 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
TextSpan FindGpt2Word(std::string_view text);

// (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|
// \s*[\r\n]+|\s+(?!\S)|\s+
TextSpan FindQwen2Word(std::string_view text);
// As FindQwen2Word but \p{N}{1,3} for \p{N}.
TextSpan FindLlama3Word(std::string_view text);
// As FindQwen2Word but [\p{L}\p{M}]+ for \p{L}+ and [^\s\p{L}\p{M}\p{N}]+ for [^\s\p{L}\p{N}]+.
TextSpan FindQwen35Word(std::string_view text);
// As FindQwen2Word but without [\r\n]*.
TextSpan FindSeedCoderWord(std::string_view text);
// [^\r\n\p{L}\p{N}]?U*D+|[^\r\n\p{L}\p{N}]?U+D*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|
// \s+(?!\S)|\s+ where U is a letter outside a-z and D one outside A-Z, so that case counts in ASCII
// only: the peer's reading of Mistral's expression.
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
// \s?[...]+ with DeepSeek LLM's list of letters that have a case.
TextSpan FindDeepSeekLetters(std::string_view text);
// \s?[!-/:-~\uFF01-\uFF0F\uFF1A-\uFF5E\u2018-\u201F\u3001-\u3002]+. Here and in the next one the
// published expression has \u3000 too, but the peer takes all white space out of such lists.
TextSpan FindDeepSeekPunctuation(std::string_view text);
// [\u4E00-\u9FA5\u0800-\u4E00\uAC00-\uD7FF]+
TextSpan FindDeepSeekIdeographs(std::string_view text);

}  // namespace ruvd::inference
