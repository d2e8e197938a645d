// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/tokenizer/word_patterns.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/utf8.h"
#include "inference/tokenizer/unicode.h"

namespace ruvd::inference {
namespace {

// Sets of classes: bit i stands for CharClass i.
using ClassSet = uint8_t;
constexpr ClassSet Only(CharClass c) {
  return static_cast<ClassSet>(1U << static_cast<unsigned>(c));
}
constexpr ClassSet kLetters = Only(CharClass::kLetter);
constexpr ClassSet kMarks = Only(CharClass::kMark);
constexpr ClassSet kNumbers = Only(CharClass::kNumber);
constexpr ClassSet kSpaces = Only(CharClass::kWhiteSpace);
constexpr ClassSet kAllClasses = 0x7F;
constexpr ClassSet kSymbols = kAllClasses & ~(kLetters | kNumbers | kSpaces);

// The class sets of the ASCII characters; 0 for bytes that belong to a longer character.
const std::array<ClassSet, 256>& AsciiClasses() {
  static const std::array<ClassSet, 256> kTable = [] {
    std::array<ClassSet, 256> table{};
    for (uint32_t c = 0; c < 0x80; ++c) {
      table.at(c) = Only(ClassOf(c));
    }
    return table;
  }();
  return kTable;
}

// One character of a text. At the end of the text `classes` is empty and `length` is 0.
struct Char {
  ClassSet classes = 0;
  uint8_t length = 0;
  uint32_t code_point = 0;
};

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text), ascii_(AsciiClasses()) {}

  size_t size() const { return text_.size(); }
  Char At(size_t at) const {
    if (at >= text_.size()) {
      return {};
    }
    const auto byte = static_cast<uint8_t>(text_[at]);
    if (ascii_[byte] != 0) {
      return {ascii_[byte], 1, byte};
    }
    const Utf8Char next = FirstUtf8Char(text_.substr(at));
    const bool valid = next.state == Utf8Char::State::kValid;
    return {Only(ClassOf(next.code_point)), valid ? next.length : uint8_t{1}, next.code_point};
  }
  // Returns the byte at `at`, or NUL at the end.
  char Byte(size_t at) const { return at < text_.size() ? text_[at] : '\0'; }
  bool IsNewline(size_t at) const { return Byte(at) == '\r' || Byte(at) == '\n'; }
  // Returns the end of the run of characters of `set` that starts at `at`.
  size_t RunEnd(size_t at, ClassSet set) const {
    while (true) {
      const Char c = At(at);
      if ((c.classes & set) == 0) {
        return at;
      }
      at += c.length;
    }
  }

 private:
  std::string_view text_;
  const std::array<ClassSet, 256>& ascii_;
};

char Lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

// Returns the length of 's 't 'm 'd 're 've 'll at the beginning of the text, or 0.
size_t Contraction(const Scanner& text, bool any_case) {
  if (text.Byte(0) != '\'') {
    return 0;
  }
  const char first = any_case ? Lower(text.Byte(1)) : text.Byte(1);
  if (first == 's' || first == 't' || first == 'm' || first == 'd') {
    return 2;
  }
  const char second = any_case ? Lower(text.Byte(2)) : text.Byte(2);
  const bool two = (first == 'r' && second == 'e') || (first == 'v' && second == 'e') ||
                   (first == 'l' && second == 'l');
  return two ? 3 : 0;
}

// Matches \s+(?!\S)|\s+ at the beginning: a run of white space, without its last character if other
// text follows it (a run of one character stays whole). Returns 0 if there is no such run.
size_t SpaceRun(const Scanner& text) {
  size_t end = 0;
  size_t last = 0;  // where the last character of the run starts
  for (Char c = text.At(0); (c.classes & kSpaces) != 0; c = text.At(end)) {
    last = end;
    end += c.length;
  }
  return last > 0 && end < text.size() ? last : end;
}

// Matches \s*[\r\n]+ at the beginning: up to the last newline of the run of white space. Returns 0
// without a newline.
size_t NewlineRun(const Scanner& text) {
  size_t end = 0;
  size_t at = 0;
  for (Char c = text.At(0); (c.classes & kSpaces) != 0; c = text.At(at)) {
    if (text.IsNewline(at)) {
      end = at + 1;
    }
    at += c.length;
  }
  return end;
}

// The differences between the relatives of Qwen2's expression.
struct Qwen2Rules {
  size_t max_digits = 1;
  ClassSet letters = kLetters;  // the characters of a run of letters
  bool newlines_after_symbols = true;
};

TextSpan FindLikeQwen2(std::string_view all, Qwen2Rules rules) {
  const Scanner text(all);
  if (const size_t length = Contraction(text, /*any_case=*/true); length > 0) {
    return {0, length};
  }
  const Char first = text.At(0);
  if ((first.classes & kNumbers) != 0) {
    size_t end = first.length;
    for (size_t digits = 1; digits < rules.max_digits; ++digits) {
      const Char c = text.At(end);
      end += (c.classes & kNumbers) != 0 ? c.length : 0;
    }
    return {0, end};
  }
  // Any single character except a newline or a number may precede a run of letters.
  if ((first.classes & rules.letters) != 0 ||
      (!text.IsNewline(0) && (text.At(first.length).classes & rules.letters) != 0)) {
    return {0, text.RunEnd(first.length, rules.letters)};
  }
  const ClassSet symbols = kSymbols & ~rules.letters;
  const size_t start = first.code_point == ' ' ? 1 : 0;
  if (size_t end = text.RunEnd(start, symbols); end > start) {
    while (rules.newlines_after_symbols && text.IsNewline(end)) {
      ++end;
    }
    return {0, end};
  }
  const size_t newlines = NewlineRun(text);
  return {0, newlines > 0 ? newlines : SpaceRun(text)};
}

bool IsLetter(const Char& c) {
  return (c.classes & kLetters) != 0;
}
bool IsUpper(const Char& c) {
  return c.length == 1 && c.code_point >= 'A' && c.code_point <= 'Z';
}
bool IsLower(const Char& c) {
  return c.length == 1 && c.code_point >= 'a' && c.code_point <= 'z';
}

// Returns the end of U*D+|U+D* (see word_patterns.h) at `start`, where a letter stands.
size_t CasedRunEnd(const Scanner& text, size_t start) {
  size_t at = start;
  size_t after_both = 0;  // after the last letter of the run that is both U and D
  Char c = text.At(at);
  for (; IsLetter(c) && !IsLower(c); c = text.At(at)) {
    at += c.length;
    after_both = IsUpper(c) ? after_both : at;
  }
  if (!IsLetter(c)) {  // D+ must take a letter back from U*, or there is no D
    return after_both > 0 ? after_both : at;
  }
  for (; IsLetter(c) && !IsUpper(c); c = text.At(at)) {
    at += c.length;
  }
  return at;
}

// Finds the first run of at most `most` characters that satisfy `wanted`; with `spaced`, together
// with one preceding character of white space (\s?).
template <typename Predicate>
TextSpan FindRun(std::string_view all, bool spaced, Predicate wanted, size_t most = SIZE_MAX) {
  const Scanner text(all);
  size_t space_before = 0;  // length of the character before `at` if that is white space
  for (size_t at = 0; at < all.size();) {
    Char c = text.At(at);
    if (!wanted(c)) {
      space_before = (c.classes & kSpaces) != 0 ? c.length : 0;
      at += c.length;
      continue;
    }
    const size_t begin = spaced ? at - space_before : at;
    for (; most > 0 && at < all.size() && wanted(c); --most) {
      at += c.length;
      c = text.At(at);
    }
    return {begin, at};
  }
  return {all.size(), all.size()};
}

struct CodePointRange {
  uint32_t first;
  uint32_t last;
};

template <size_t kCount>
bool IsIn(uint32_t code_point, const CodePointRange (&ranges)[kCount]) {
  const auto* const after =
      std::upper_bound(std::begin(ranges), std::end(ranges), code_point,
                       [](uint32_t value, const CodePointRange& r) { return value < r.first; });
  return after != std::begin(ranges) && code_point <= (after - 1)->last;
}

// The letters with case that DeepSeek LLM's expression lists.
constexpr CodePointRange kDeepSeekLetters[] = {
    {0x41, 0x5A},       {0x61, 0x7A},       {0xB5, 0xB5},       {0xC0, 0xD6},
    {0xD8, 0xF6},       {0xF8, 0x1BA},      {0x1BC, 0x1BF},     {0x1C4, 0x293},
    {0x295, 0x2AF},     {0x370, 0x373},     {0x376, 0x376},     {0x377, 0x377},
    {0x37B, 0x37D},     {0x37F, 0x37F},     {0x386, 0x386},     {0x388, 0x38A},
    {0x38C, 0x38C},     {0x38E, 0x3A1},     {0x3A3, 0x3F5},     {0x3F7, 0x481},
    {0x48A, 0x52F},     {0x531, 0x556},     {0x10A0, 0x10C5},   {0x13A0, 0x13F5},
    {0x13F8, 0x13FD},   {0x1C90, 0x1CBA},   {0x1CBD, 0x1CBF},   {0x1D00, 0x1D2B},
    {0x1D6B, 0x1D77},   {0x1D79, 0x1D9A},   {0x1E00, 0x1F15},   {0x1F18, 0x1F1D},
    {0x1F20, 0x1F45},   {0x1F48, 0x1F4D},   {0x1F50, 0x1F57},   {0x1F59, 0x1F59},
    {0x1F5B, 0x1F5B},   {0x1F5D, 0x1F5D},   {0x1F5F, 0x1F7D},   {0x1F80, 0x1FB4},
    {0x1FB6, 0x1FBC},   {0x1FBE, 0x1FBE},   {0x1FC2, 0x1FC4},   {0x1FC6, 0x1FCC},
    {0x1FD0, 0x1FD3},   {0x1FD6, 0x1FDB},   {0x1FE0, 0x1FEC},   {0x1FF2, 0x1FF4},
    {0x1FF6, 0x1FFC},   {0x2102, 0x2102},   {0x2107, 0x2107},   {0x210A, 0x2113},
    {0x2115, 0x2115},   {0x2119, 0x211D},   {0x2124, 0x2124},   {0x2126, 0x2126},
    {0x2128, 0x2128},   {0x212A, 0x212D},   {0x212F, 0x2134},   {0x2139, 0x2139},
    {0x213C, 0x213F},   {0x2145, 0x2149},   {0x214E, 0x214E},   {0x2183, 0x2183},
    {0x2184, 0x2184},   {0x2C00, 0x2C7B},   {0x2C7E, 0x2CE4},   {0x2CEB, 0x2CEE},
    {0x2CF2, 0x2CF2},   {0x2CF3, 0x2CF3},   {0xA640, 0xA66D},   {0xA680, 0xA69B},
    {0xA722, 0xA76F},   {0xA771, 0xA787},   {0xA78B, 0xA78E},   {0xAB70, 0xABBF},
    {0xFB00, 0xFB06},   {0xFB13, 0xFB17},   {0xFF21, 0xFF3A},   {0xFF41, 0xFF5A},
    {0x10400, 0x1044F}, {0x104B0, 0x104D3}, {0x104D8, 0x104FB}, {0x10C80, 0x10CB2},
    {0x10CC0, 0x10CF2}, {0x118A0, 0x118DF}, {0x1E900, 0x1E943}};
constexpr CodePointRange kDeepSeekPunctuation[] = {
    {0x21, 0x2F},     {0x3A, 0x7E},     {0x2018, 0x201F},
    {0x3001, 0x3002}, {0xFF01, 0xFF0F}, {0xFF1A, 0xFF5E},
};
constexpr CodePointRange kDeepSeekIdeographs[] = {{0x0800, 0x9FA5}, {0xAC00, 0xD7FF}};

constexpr std::string_view kDefaultSymbols = "$+<=>^~|";

bool IsFalconPunctuation(const Char& c, bool backtick) {
  return (c.classes & Only(CharClass::kPunctuation)) != 0 ||
         (c.code_point < 0x80 && c.length == 1 &&
          (kDefaultSymbols.find(static_cast<char>(c.code_point)) != std::string_view::npos ||
           (backtick && c.code_point == '`')));
}

}  // namespace

TextSpan FindGpt2Word(std::string_view all) {
  const Scanner text(all);
  if (const size_t length = Contraction(text, /*any_case=*/false); length > 0) {
    return {0, length};
  }
  const size_t start = text.Byte(0) == ' ' ? 1 : 0;
  const Char c = text.At(start);
  for (const ClassSet set : {kLetters, kNumbers, kSymbols}) {
    if ((c.classes & set) != 0) {
      return {0, text.RunEnd(start + c.length, set)};
    }
  }
  return {0, SpaceRun(text)};
}

TextSpan FindTekkenWord(std::string_view all) {
  const Scanner text(all);
  const Char first = text.At(0);
  if (IsLetter(first)) {
    return {0, CasedRunEnd(text, 0)};
  }
  if ((first.classes & kNumbers) != 0) {
    return {0, first.length};
  }
  if (!text.IsNewline(0) && IsLetter(text.At(first.length))) {
    return {0, CasedRunEnd(text, first.length)};
  }
  const size_t start = first.code_point == ' ' ? 1 : 0;
  if (size_t end = text.RunEnd(start, kSymbols); end > start) {
    while (text.IsNewline(end) || text.Byte(end) == '/') {
      ++end;
    }
    return {0, end};
  }
  const size_t newlines = NewlineRun(text);
  return {0, newlines > 0 ? newlines : SpaceRun(text)};
}

TextSpan FindQwen2Word(std::string_view text) {
  return FindLikeQwen2(text, {});
}
TextSpan FindLlama3Word(std::string_view text) {
  return FindLikeQwen2(text, {.max_digits = 3});
}
TextSpan FindQwen35Word(std::string_view text) {
  return FindLikeQwen2(text, {.letters = kLetters | kMarks});
}
TextSpan FindSeedCoderWord(std::string_view text) {
  return FindLikeQwen2(text, {.newlines_after_symbols = false});
}

TextSpan FindNumber(std::string_view text) {
  return FindRun(
      text, /*spaced=*/false, [](const Char& c) { return (c.classes & kNumbers) != 0; },
      /*most=*/1);
}

TextSpan FindNumbers(std::string_view text) {
  return FindRun(text, /*spaced=*/false, [](const Char& c) { return (c.classes & kNumbers) != 0; });
}

TextSpan FindThreeDigits(std::string_view text) {
  size_t digits = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    digits = text[at] >= '0' && text[at] <= '9' ? digits + 1 : 0;
    if (digits == 3) {
      return {at - 2, at + 1};
    }
  }
  return {text.size(), text.size()};
}

TextSpan FindNewline(std::string_view text) {
  const size_t at = std::min(text.find_first_of("\r\n"), text.size());
  return {at, std::min(at + 1, text.size())};
}

TextSpan FindSpaceAtEnd(std::string_view all) {
  const Scanner text(all);
  size_t begin = all.size();
  for (size_t at = 0; at < all.size();) {
    const Char c = text.At(at);
    const bool space = (c.classes & kSpaces) != 0;
    begin = space ? std::min(begin, at) : all.size();
    at += c.length;
  }
  return {begin, all.size()};
}

TextSpan FindSpacedLetters(std::string_view text) {
  return FindRun(text, /*spaced=*/true, [](const Char& c) { return (c.classes & kLetters) != 0; });
}
TextSpan FindSpacedPunctuation(std::string_view text) {
  return FindRun(text, /*spaced=*/true,
                 [](const Char& c) { return (c.classes & Only(CharClass::kPunctuation)) != 0; });
}
TextSpan FindPunctuation(std::string_view text) {
  return FindRun(text, /*spaced=*/false,
                 [](const Char& c) { return IsFalconPunctuation(c, /*backtick=*/false); });
}
TextSpan FindFalconPunctuation(std::string_view text) {
  return FindRun(text, /*spaced=*/false,
                 [](const Char& c) { return IsFalconPunctuation(c, /*backtick=*/true); });
}
TextSpan FindDeepSeekLetters(std::string_view text) {
  return FindRun(text, /*spaced=*/true,
                 [](const Char& c) { return IsIn(c.code_point, kDeepSeekLetters); });
}
TextSpan FindDeepSeekPunctuation(std::string_view text) {
  return FindRun(text, /*spaced=*/true,
                 [](const Char& c) { return IsIn(c.code_point, kDeepSeekPunctuation); });
}
TextSpan FindDeepSeekIdeographs(std::string_view text) {
  return FindRun(text, /*spaced=*/false, [](const Char& c) {
    return (c.classes & kSpaces) == 0 && IsIn(c.code_point, kDeepSeekIdeographs);
  });
}

}  // namespace ruvd::inference
