// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/constrain/regex.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <regex>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/reasons.h"
#include "base/status.h"
#include "inference/constrain/automaton.h"
#include "inference/constrain/limits.h"

namespace ruvd::inference {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

bool MatchesRegex(std::string_view pattern, std::string_view text) {
  const auto grammar = GrammarOfRegex(pattern);
  EXPECT_TRUE(grammar.ok()) << pattern << ": " << grammar.status();
  return grammar.ok() && Matches(*grammar, text);
}

// Returns which of these texts do not match.
std::vector<std::string_view> Unmatched(std::string_view pattern,
                                        const std::vector<std::string_view>& texts) {
  std::vector<std::string_view> unmatched;
  for (const std::string_view text : texts) {
    if (!MatchesRegex(pattern, text)) {
      unmatched.push_back(text);
    }
  }
  return unmatched;
}

void ExpectTexts(std::string_view pattern, const std::vector<std::string_view>& matched,
                 const std::vector<std::string_view>& unmatched) {
  EXPECT_THAT(Unmatched(pattern, matched), testing::IsEmpty()) << pattern;
  EXPECT_EQ(Unmatched(pattern, unmatched), unmatched) << pattern;
}

std::string ErrorOf(std::string_view pattern) {
  const auto grammar = GrammarOfRegex(pattern);
  EXPECT_EQ(ReasonOf(grammar.status()), reasons::kInvalidArgument) << pattern;
  return MessageOf(grammar.status());
}

TEST(RegexTest, LiteralsAlternativesAndGroups) {
  ExpectTexts("", {""}, {"a"});
  ExpectTexts("abc", {"abc"}, {"", "ab", "abcd", "xabc"});
  ExpectTexts("yes|no|", {"yes", "no", ""}, {"y", "yesno"});
  ExpectTexts("a(b|cd)e", {"abe", "acde"}, {"ae", "abcde"});
  ExpectTexts("(?:a|b)(?<one>c)(?P<two_2>d)", {"acd", "bcd"}, {"abcd"});
  ExpectTexts("()", {""}, {"a"});
  ExpectTexts("Straße|日本", {"Straße", "日本"}, {"Strasse", "日"});
}

TEST(RegexTest, Repetitions) {
  ExpectTexts("ab*", {"a", "abbb"}, {"", "abab"});
  ExpectTexts("(ab)+", {"ab", "abab"}, {"", "aba"});
  ExpectTexts("é?", {"", "é"}, {"éé", "\xC3"});
  ExpectTexts("a{2}", {"aa"}, {"a", "aaa"});
  ExpectTexts("a{2,}", {"aa", "aaaaa"}, {"a"});
  ExpectTexts("a{1,3}", {"a", "aa", "aaa"}, {"", "aaaa"});
  ExpectTexts("a{0}b{0,0}", {""}, {"a", "b"});
  ExpectTexts("a*?b+?c??d{1,2}?", {"bd", "aabbcdd"}, {"ad"});
  ExpectTexts("(a*)*|(b?)+|(()*)*", {"", "aaa", "bbb"}, {"ab"});
}

TEST(RegexTest, BracesWithoutNumbersAreCharacters) {
  ExpectTexts(R"({"a": \d})", {R"({"a": 1})"}, {R"({"a": })"});
  ExpectTexts("a{}b{c}]", {"a{}b{c}]"}, {"ab"});
}

TEST(RegexTest, AnchorsAtBothEndsSayNothing) {
  ExpectTexts("^ab$", {"ab"}, {"a", "^ab$", "xab"});
  ExpectTexts("^a|b$", {"a", "b"}, {"ab"});
  ExpectTexts("^$", {""}, {"$"});
  ExpectTexts(R"(\^a\$)", {"^a$"}, {"a"});
  ExpectTexts("[$^]", {"$", "^"}, {""});
}

TEST(RegexTest, AnyCharacterButANewline) {
  ExpectTexts(".", {"a", "ß", "日", "\xF0\x9F\x98\x80", "\r"}, {"\n", "", "ab", "\xFF", "\xC3"});
}

TEST(RegexTest, Classes) {
  ExpectTexts("[a-cx]", {"a", "b", "c", "x"}, {"d", "-", ""});
  ExpectTexts("[^a-c]", {"d", "é", "\n"}, {"a", "b", "c"});
  ExpectTexts("[à-ü]", {"é"}, {"e", "\xC3"});
  ExpectTexts("[-a]|[b-]|[+--]", {"-", "a", "b", "+", ","}, {"."});
  ExpectTexts(R"([\]\[\\\-^])", {"]", "[", "\\", "-", "^"}, {"a"});
  ExpectTexts(R"([\w-.]|[a-\d])", {"a", "-", ".", "5"}, {",", "/"});
  ExpectTexts(R"([^\W\d]+)", {"az_AZ"}, {"a1", " "});
  ExpectTexts(R"([\s\S])", {"a", "\n", "日"}, {""});
}

TEST(RegexTest, Escapes) {
  ExpectTexts(R"(\d\D)", {"1a", "9é"}, {"11", "aa"});
  ExpectTexts(R"(\w\W)", {"_ ", "Zé"}, {"é ", "aa"});
  ExpectTexts(R"(\s\S)", {" a", "\va"}, {"aa", "  "});
  ExpectTexts(R"(\n\r\t\f\v)", {"\n\r\t\f\v"}, {"nrtfv"});
  ExpectTexts(R"(a\0)", {std::string_view("a\0", 2)}, {"a", "a0"});
  ExpectTexts(R"(\x41\u00e9\u65E5\u{1F600}\uD83D\uDE00)", {"Aé日\xF0\x9F\x98\x80\xF0\x9F\x98\x80"},
              {"A"});
  ExpectTexts(R"([\x41-\x43\u00e9])", {"A", "B", "é"}, {"D", "\xE9"});
  ExpectTexts(R"(\.\*\+\?\(\)\[\]\{\}\|\\\/\-\"\ )", {R"(.*+?()[]{}|\/-" )"}, {""});
}

TEST(RegexTest, UnsupportedPartsAreNamedWithTheirPlace) {
  EXPECT_EQ(ErrorOf("abcdefg(?=x)"),
            "the regular expression has a look-ahead at byte 7, which this node does not support; "
            "write the expression without it");
  const std::array<std::array<std::string_view, 2>, 16> kCases = {{
      {"a(?!x)", "a negative look-ahead at byte 1"},
      {"a(?<=x)", "a look-behind at byte 1"},
      {"a(?<!x)", "a negative look-behind at byte 1"},
      {"a(?>x)", "an atomic group at byte 1"},
      {"(?i)a", "inline flags at byte 0"},
      {"(?-s:a)", "inline flags at byte 0"},
      {"(a)\\1", "the backreference \\1 at byte 3"},
      {"(?<n>a)\\k<n>", "a backreference \\k at byte 7"},
      {"(?P<n>a)(?P=n)", "a backreference at byte 8"},
      {"é\\b", "a word boundary \\b at byte 2"},
      {"\\B", "a word boundary \\B at byte 0"},
      {"\\p{L}", "a Unicode class \\p at byte 0"},
      {"[\\P{L}]", "a Unicode class \\P at byte 1"},
      {"a*+", "a possessive repetition at byte 1"},
      {"a{1,2}+", "a possessive repetition at byte 1"},
      {"[[:alpha:]]", "a POSIX class such as [:alpha:] at byte 1"},
  }};
  for (const auto& [pattern, part] : kCases) {
    EXPECT_THAT(ErrorOf(pattern),
                AllOf(StartsWith(fmt::format("the regular expression has {}", part)),
                      HasSubstr("which this node does not support; write")));
  }
}

TEST(RegexTest, BrokenPatternsAreRefusedWithTheirPlace) {
  const std::array<std::array<std::string_view, 2>, 32> kCases = {{
      {"*a", "nothing to repeat before the * at byte 0"},
      {"^*", "nothing to repeat before the * at byte 1"},
      {"a**", "nothing to repeat before the * at byte 2"},
      {"a*??", "nothing to repeat before the ? at byte 3"},
      {"a{2}{3}", "nothing to repeat before the { at byte 4"},
      {"(|+)", "nothing to repeat before the + at byte 2"},
      {"{1}", "nothing to repeat before the { at byte 0"},
      {"a^b", "a ^ that is not its first character at byte 1"},
      {"^^a", "a ^ that is not its first character at byte 1"},
      {"a$b", "a $ that is not its last character at byte 1"},
      {"(a$)", "a $ that is not its last character at byte 2"},
      {"a$$", "a $ that is not its last character at byte 1"},
      {"x(a", "a ( without its ) at byte 1"},
      {"a)", "a ) without its ( at byte 1"},
      {"a[b", "a [ without its ] at byte 1"},
      {"[a-", "a [ without its ] at byte 0"},
      {"[]a]", "a class without characters at byte 0"},
      {"[^]", "a class without characters at byte 0"},
      {"[xz-a]", "a range that runs backwards from U+007A to U+0061 at byte 2"},
      {"a\\", "a backslash with nothing to escape at byte 1"},
      {"\\q", "the unknown escape \\q at byte 0"},
      {"\\01", "the unknown escape \\0 at byte 0"},
      {"[\\1]", "the unknown escape \\1 at byte 1"},
      {"\\x4", "the escape \\x4 with too few hexadecimal digits at byte 0"},
      {"\\u{}", "the escape \\u{ with too few hexadecimal digits at byte 0"},
      {"\\u{41", "an escape \\u{ without its } at byte 0"},
      {"\\u{110000}", "the escape \\u{110000 above U+10FFFF at byte 0"},
      {"\\uD800x", "the lone surrogate U+D800 at byte 0"},
      {"\\uD800\\u0041", "the lone surrogate U+D800 at byte 0"},
      {"(?<>a)", "a group with a broken name at byte 0"},
      {"(?#a)", "an unknown kind of group at byte 0"},
      {"a\xFF", "bytes that are not UTF-8 at byte 1"},
  }};
  for (const auto& [pattern, part] : kCases) {
    EXPECT_THAT(ErrorOf(pattern), StartsWith(fmt::format("the regular expression has {}; ", part)));
  }
}

TEST(RegexTest, NumbersOfRepetitionsAreChecked) {
  EXPECT_TRUE(GrammarOfRegex("a{10000}").ok());
  EXPECT_THAT(ErrorOf("a{10001}"), HasSubstr("too large a number at byte 1; repeat at most 10000"));
  EXPECT_THAT(ErrorOf("a{0,99999999999999999999}"), HasSubstr("too large a number"));
  EXPECT_THAT(ErrorOf("a{3,2}"), HasSubstr("a repetition of at least 3 and at most 2 times"));
  EXPECT_THAT(ErrorOf("a{,3}"), HasSubstr("a brace that does not begin a repetition at byte 1"));
  EXPECT_THAT(ErrorOf("a{1"), HasSubstr("a brace that does not begin a repetition"));
  EXPECT_THAT(ErrorOf("a{1,b}"), HasSubstr("a brace that does not begin a repetition"));
}

TEST(RegexTest, LargePatternsAreRefused) {
  EXPECT_THAT(ErrorOf(std::string(limits::kMaxConstraintBytes + 1, 'a')),
              HasSubstr("has 65537 bytes; send one with at most 65536"));
  EXPECT_THAT(ErrorOf("((a{1000}){1000}){1000}"), HasSubstr("smaller numbers of repetitions"));
  EXPECT_THAT(ErrorOf(std::string(limits::kMaxConstraintBytes, '.')), HasSubstr("states"));
  const auto nested = [](int depth) {
    return std::string(depth, '(') + "a" + std::string(depth, ')');
  };
  EXPECT_TRUE(MatchesRegex(nested(limits::kMaxConstraintDepth), "a"));
  EXPECT_THAT(ErrorOf(nested(limits::kMaxConstraintDepth + 1)),
              HasSubstr("a group inside 64 others at byte 64"));
  EXPECT_THAT(ErrorOf(std::string(limits::kMaxConstraintBytes, '(')), HasSubstr("64 others"));
}

TEST(RegexTest, PatternThatNothingMatchesIsRefused) {
  EXPECT_THAT(ErrorOf(R"([^\s\S])"), HasSubstr("no text satisfies"));
  EXPECT_TRUE(MatchesRegex(R"(a|[^\s\S])", "a"));
}

TEST(RegexTest, ExpressionIsPartOfALargerGrammar) {
  GrammarBuilder builder;
  const auto expression = ExpressionOfRegex("^[a-c]+|x$", &builder);
  ASSERT_TRUE(expression.ok());
  const std::array parts = {builder.Literal("<"), *expression, builder.Literal(">")};
  const auto grammar = builder.Build(builder.Sequence(parts));
  ASSERT_TRUE(grammar.ok());
  EXPECT_TRUE(Matches(*grammar, "<abc>"));
  EXPECT_TRUE(Matches(*grammar, "<x>"));
  EXPECT_FALSE(Matches(*grammar, "<>"));
}

// Patterns and texts are small, because the standard library tries all ways to read a text in turn.
//
// Returns a random pattern over a, b and c in the common syntax of this compiler and std::regex.
std::string RandomPattern(Random* random, int depth) {
  constexpr std::array<std::string_view, 9> kAtoms = {"a",    "b",     "c",   ".",     "[ab]",
                                                      "[^a]", "[b-c]", "\\w", "[^\\d]"};
  constexpr std::array<std::string_view, 12> kRepetitions = {
      "*", "+", "?", "*?", "+?", "??", "{2}", "{1,}", "{0,2}", "{1,3}?", "{0}", "{2,3}"};
  std::string pattern;
  for (uint64_t parts = random->Below(depth > 0 ? 4 : 3); parts > 0; --parts) {
    if (depth > 0 && random->Bernoulli(0.4)) {
      pattern += (random->Bernoulli(0.5) ? "(" : "(?:") + RandomPattern(random, depth - 1) + ")";
    } else {
      pattern += kAtoms.at(random->Below(kAtoms.size()));
    }
    if (random->Bernoulli(0.4)) {
      pattern += kRepetitions.at(random->Below(kRepetitions.size()));
    }
  }
  return random->Bernoulli(0.2) ? pattern + "|" + RandomPattern(random, depth) : pattern;
}

std::string RandomText(Random* random) {
  std::string text;
  for (uint64_t length = random->Below(6); length > 0; --length) {
    text += static_cast<char>('a' + random->Below(3));
  }
  return text;
}

TEST(RegexTest, AgreesWithTheStandardLibraryOnRandomPatterns) {
  Random random(20261201);
  int matched = 0;
  int unmatched = 0;
  for (int i = 0; i < 1500; ++i) {
    const std::string pattern = RandomPattern(&random, 1 + i % 2);
    const auto grammar = GrammarOfRegex(pattern);
    ASSERT_TRUE(grammar.ok()) << pattern << ": " << grammar.status();
    const std::regex expected(pattern, std::regex::ECMAScript);
    for (int j = 0; j < 20; ++j) {
      const std::string text = RandomText(&random);
      const bool matches = std::regex_match(text, expected);
      ASSERT_EQ(Matches(*grammar, text), matches) << "pattern " << pattern << ", text " << text;
      ++(matches ? matched : unmatched);
    }
  }
  EXPECT_GT(matched, 1000);
  EXPECT_GT(unmatched, 1000);
}

}  // namespace
}  // namespace ruvd::inference
