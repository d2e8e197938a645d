// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/tokenizer/pre_tokenizer.h"

#include "inference/tokenizer/unicode.h"
#include "inference/tokenizer/utf8.h"

namespace ruvd {
namespace {

// A text as characters. Reading beyond the end gives the class kOther and code point 0 with
// `InText` false, so that matchers can look ahead freely.
class Characters {
 public:
  explicit Characters(std::string_view text) : text_(text) {
    starts_.reserve(text.size() + 1);
    classes_.reserve(text.size());
    for (size_t at = 0; at < text.size();) {
      const Utf8Char next = FirstUtf8Char(text.substr(at));
      const bool valid = next.state == Utf8Char::State::kValid;
      starts_.push_back(static_cast<uint32_t>(at));
      classes_.push_back(ClassOf(next.code_point));
      at += valid ? next.length : 1;
    }
    starts_.push_back(static_cast<uint32_t>(text.size()));
  }

  size_t size() const { return classes_.size(); }
  bool InText(size_t i) const { return i < classes_.size(); }
  bool IsLetter(size_t i) const { return Is(i, CharClass::kLetter); }
  bool IsNumber(size_t i) const { return Is(i, CharClass::kNumber); }
  bool IsSpace(size_t i) const { return Is(i, CharClass::kWhiteSpace); }
  // [^\s\p{L}\p{N}]
  bool IsSymbol(size_t i) const { return InText(i) && !IsLetter(i) && !IsNumber(i) && !IsSpace(i); }
  // The character if it is ASCII, else 0.
  char Ascii(size_t i) const {
    if (!InText(i)) {
      return '\0';
    }
    const char c = text_[starts_[i]];
    return static_cast<uint8_t>(c) < 0x80 ? c : '\0';
  }
  bool IsNewline(size_t i) const { return Ascii(i) == '\r' || Ascii(i) == '\n'; }
  std::string_view Slice(size_t begin, size_t end) const {
    return text_.substr(starts_[begin], starts_[end] - starts_[begin]);
  }

 private:
  bool Is(size_t i, CharClass wanted) const { return InText(i) && classes_[i] == wanted; }

  std::string_view text_;
  std::vector<uint32_t> starts_;  // byte offset of each character, and the end
  std::vector<CharClass> classes_;
};

char Lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

// Length of 's 't 'm 'd 're 've 'll at i, or 0.
size_t Contraction(const Characters& text, size_t i, bool any_case) {
  if (text.Ascii(i) != '\'') {
    return 0;
  }
  const char first = any_case ? Lower(text.Ascii(i + 1)) : text.Ascii(i + 1);
  if (first == 's' || first == 't' || first == 'm' || first == 'd') {
    return 2;
  }
  const char second = any_case ? Lower(text.Ascii(i + 2)) : text.Ascii(i + 2);
  const bool two = (first == 'r' && second == 'e') || (first == 'v' && second == 'e') ||
                   (first == 'l' && second == 'l');
  return two ? 3 : 0;
}

// \s+(?!\S)|\s+ at i: a run of white space, without its last character if something follows it (a
// run of one stays whole). 0 where there is none.
size_t SpaceRun(const Characters& text, size_t i) {
  size_t run = 0;
  while (text.IsSpace(i + run)) {
    ++run;
  }
  return run > 1 && text.InText(i + run) ? run - 1 : run;
}

// Each matcher returns the end of the word that starts at i.
size_t MatchGpt2(const Characters& text, size_t i) {
  if (const size_t length = Contraction(text, i, /*any_case=*/false); length > 0) {
    return i + length;
  }
  size_t at = i + (text.Ascii(i) == ' ' ? 1 : 0);
  const auto run = [&](bool (Characters::*member)(size_t) const) {
    while ((text.*member)(at)) {
      ++at;
    }
    return at;
  };
  if (text.IsLetter(at)) {
    return run(&Characters::IsLetter);
  }
  if (text.IsNumber(at)) {
    return run(&Characters::IsNumber);
  }
  if (text.IsSymbol(at)) {
    return run(&Characters::IsSymbol);
  }
  return i + SpaceRun(text, i);
}

// \s*[\r\n]+ at i: up to the last newline of the run of white space; 0 without one.
size_t NewlineRunEnd(const Characters& text, size_t i) {
  size_t end = 0;
  for (; text.IsSpace(i); ++i) {
    if (text.IsNewline(i)) {
      end = i + 1;
    }
  }
  return end;
}

// kQwen2 and kLlama3, which differ in how many digits make a word.
size_t MatchQwen2(const Characters& text, size_t i, size_t max_digits) {
  if (const size_t length = Contraction(text, i, /*any_case=*/true); length > 0) {
    return i + length;
  }
  if (text.IsNumber(i)) {
    size_t digits = 1;
    while (digits < max_digits && text.IsNumber(i + digits)) {
      ++digits;
    }
    return i + digits;
  }
  // Any one character but a newline or number may lead a run of letters.
  if (text.IsLetter(i) || (!text.IsNewline(i) && text.IsLetter(i + 1))) {
    ++i;
    while (text.IsLetter(i)) {
      ++i;
    }
    return i;
  }
  size_t at = i + (text.Ascii(i) == ' ' ? 1 : 0);
  if (text.IsSymbol(at)) {
    while (text.IsSymbol(at)) {
      ++at;
    }
    while (text.IsNewline(at)) {
      ++at;
    }
    return at;
  }
  const size_t newline_end = NewlineRunEnd(text, i);
  return newline_end > 0 ? newline_end : i + SpaceRun(text, i);
}

}  // namespace

std::optional<PreTokenizer> PreTokenizerByName(std::string_view name) {
  for (const std::string_view known : {"gpt-2", "mpt", "olmo", "jais"}) {
    if (name == known) {
      return PreTokenizer::kGpt2;
    }
  }
  for (const std::string_view known : {"qwen2", "deepseek-r1-qwen"}) {
    if (name == known) {
      return PreTokenizer::kQwen2;
    }
  }
  if (name == "llama-bpe") {
    return PreTokenizer::kLlama3;
  }
  return std::nullopt;
}

std::vector<std::string_view> SplitWords(PreTokenizer kind, std::string_view text) {
  const Characters characters(text);
  std::vector<std::string_view> words;
  for (size_t i = 0; i < characters.size();) {
    const size_t end = kind == PreTokenizer::kGpt2
                           ? MatchGpt2(characters, i)
                           : MatchQwen2(characters, i, kind == PreTokenizer::kLlama3 ? 3 : 1);
    words.push_back(characters.Slice(i, end));
    i = end;
  }
  return words;
}

}  // namespace ruvd
