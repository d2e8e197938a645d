// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/constrain/gbnf.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "base/reasons.h"
#include "base/status.h"
#include "inference/constrain/automaton.h"
#include "inference/constrain/limits.h"

namespace ruvd::inference {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

void ExpectTexts(std::string_view text, const std::vector<std::string_view>& matched,
                 const std::vector<std::string_view>& unmatched) {
  const auto grammar = GrammarOfGbnf(text);
  ASSERT_TRUE(grammar.ok()) << text << ": " << grammar.status();
  for (const std::string_view one : matched) {
    EXPECT_TRUE(Matches(*grammar, one)) << text << ": " << one;
  }
  for (const std::string_view one : unmatched) {
    EXPECT_FALSE(Matches(*grammar, one)) << text << ": " << one;
  }
}

std::string ErrorOf(std::string_view text) {
  const auto grammar = GrammarOfGbnf(text);
  EXPECT_EQ(ReasonOf(grammar.status()), reasons::kInvalidArgument) << text;
  return MessageOf(grammar.status());
}

TEST(GbnfTest, LiteralsAlternativesAndReferences) {
  ExpectTexts(R"(root ::= "yes" | "no" | other-1
other-1 ::= "maybe" root?)",
              {"yes", "no", "maybe", "maybeyes", "maybemaybeno"}, {"", "yesno", "may"});
  ExpectTexts("root ::= \"\"", {""}, {"a"});
  ExpectTexts("root ::= \"a\" |", {"a", ""}, {"aa"});
  ExpectTexts("unused ::= root\nroot ::= \"é\" \"日\"", {"é日"}, {"é"});
}

TEST(GbnfTest, Repetitions) {
  ExpectTexts(R"(root ::= "ab"* "c"+ "d"?)", {"c", "ababccd"}, {"", "abb", "ab"});
  ExpectTexts(R"(root ::= "a"{2} [b]{1,} .{0,2})", {"aab", "aabbxy"}, {"ab", "aa", "aabxyz"});
}

TEST(GbnfTest, BlanksBeforeAndInsideRepetitions) {
  ExpectTexts("root ::= (\"a\" | \"b\") { 1 , 2 } \"c\" *", {"a", "bacc"}, {"", "aaa"});
  ExpectTexts("root ::= (\"a\"\n*\n)", {"", "aa"}, {"b"});
}

TEST(GbnfTest, LinesAndComments) {
  ExpectTexts(
      "# a grammar\r\n\n  root ::= # begins here\n  \"a\" | # one\n  \"b\" ( # two\n\n \"c\" |\n "
      "\"d\" # three\n ) x # ends\n\nx::=\"#\"\n",
      {"a", "bc#", "bd#"}, {"ac#", "b#"});
}

TEST(GbnfTest, ClassesAndAnyCharacter) {
  ExpectTexts("root ::= [a-cx-]", {"a", "c", "x", "-"}, {"d", ""});
  ExpectTexts("root ::= [^a-c\\n]", {"d", "日"}, {"a", "\n"});
  ExpectTexts(R"(root ::= [\]\[\\\-"^])", {"]", "[", "\\", "-", "\"", "^"}, {"a"});
  ExpectTexts("root ::= [à-ü]", {"é"}, {"e", "\xC3"});
  ExpectTexts("root ::= .", {"a", "\n", "日"}, {"", "ab", "\xFF"});
}

TEST(GbnfTest, Escapes) {
  ExpectTexts(R"(root ::= "\n\r\t\\\"\[\]\x41\u00e9\U0001F600")",
              {"\n\r\t\\\"[]A\xC3\xA9\xF0\x9F\x98\x80"}, {"A"});
  ExpectTexts(R"(root ::= [\x30-\x39\u65E5])", {"0", "5", "日"}, {"a"});
}

TEST(GbnfTest, RecursiveRulesReadNestedTexts) {
  ExpectTexts(R"(
root   ::= object
value  ::= object | array | string | ("true" | "false" | "null") ws
object ::=
  "{" ws (
            string ":" ws value
    ("," ws string ":" ws value)*
  )? "}" ws
array  ::= "[" ws ( value ("," ws value)* )? "]" ws
string ::= "\"" ( [^"\\\x7F\x00-\x1F] | "\\" (["\\bfnrt] | "u" [0-9a-fA-F]{4}) )* "\"" ws
ws ::= | " " | "\n" [ \t]{0,20}
)",
              {"{}", R"({"a": [true, {"b\u00e9": "日"}]})", "{\n  \"a\":null}"},
              {"", "[]", R"({"a"})", R"({"a": [})", R"({"a": "\x"})"});
}

TEST(GbnfTest, ErrorsNameTheLine) {
  const std::array<std::array<std::string_view, 2>, 22> kCases = {{
      {"root ::= \"a\"\n\n  | \"b\"", "'|' where a rule must begin in line 3"},
      {"root = \"a\"", "'=' behind the name 'root' in line 1"},
      {"root", "an end behind the name 'root' in line 1"},
      {"root ::= a_b", "'_' inside the rule 'root' in line 1"},
      {"root ::= \"a\")", "')' inside the rule 'root' in line 1"},
      {"root ::= b\nb ::= \"b\"\nroot ::= b", "a second definition of the rule 'root' in line 3"},
      {"root ::= (\n\"a\"\n", "a ( without its ) in line 1"},
      {"root ::= \"a\nb", "a text without its closing quotation mark in line 1"},
      {"root ::= \n[a", "a [ without its ] in line 2"},
      {"root ::= [a-", "a [ without its ] in line 1"},
      {"root ::= []", "a class without characters in line 1"},
      {"root ::= [b-a]", "a range that runs backwards from U+0062 to U+0061 in line 1"},
      {"root ::= \"\\q\"", "a backslash before 'q' in line 1"},
      {"root ::= \"\\", "a backslash before an end in line 1"},
      {"root ::= \"\\x4\"", "the escape \\x4 with too few hexadecimal digits in line 1"},
      {"root ::= \"\\UFFFFFFFF\"", "the escape \\UFFFFFFFF above U+10FFFF in line 1"},
      {"root ::= \"\\uD800\"", "the lone surrogate U+D800 in line 1"},
      {"root ::= *", "nothing to repeat before the * in line 1"},
      {"root ::= \"a\"* +", "nothing to repeat before the + in line 1"},
      {"root ::= \"a\"{3,2}", "a repetition of at least 3 and at most 2 times in line 1"},
      {"root ::= \"a\"{99999999999}", "a repetition with too large a number in line 1"},
      {"root ::= \"a\"\n# \xFF", "bytes that are not UTF-8 in line 2"},
  }};
  for (const auto& [text, part] : kCases) {
    EXPECT_THAT(ErrorOf(text), StartsWith(fmt::format("the grammar has {}; ", part)));
  }
}

TEST(GbnfTest, RulesThatAreMissingAreNamed) {
  EXPECT_EQ(ErrorOf("root ::= \"a\" (\n  zz | aa)\n"),
            "the grammar has a reference to the rule 'zz' in line 2, which is not defined; define "
            "it or correct the name");
  EXPECT_EQ(ErrorOf("main ::= \"a\""),
            "the grammar has no rule root; name the rule of the whole text so");
  EXPECT_THAT(ErrorOf(""), HasSubstr("no rule root"));
}

TEST(GbnfTest, ReferencesToTokensAreNotSupported) {
  for (const std::string_view token : {"<think>", "<[1000]>", "!<think>"}) {
    EXPECT_EQ(ErrorOf(fmt::format("root ::= {}", token)),
              "the grammar has a reference to a token in line 1, which this node does not support; "
              "write the text of the token");
  }
}

TEST(GbnfTest, LargeGrammarsAreRefused) {
  EXPECT_THAT(ErrorOf(std::string(limits::kMaxConstraintBytes + 1, '\n')),
              HasSubstr("has 65537 bytes; send one with at most 65536"));
  const auto nested = [](int depth) {
    return "root ::= " + std::string(depth, '(') + "\"a\"" + std::string(depth, ')');
  };
  EXPECT_TRUE(GrammarOfGbnf(nested(limits::kMaxConstraintDepth)).ok());
  EXPECT_THAT(ErrorOf(nested(limits::kMaxConstraintDepth + 1)), HasSubstr("inside 64 others"));
  EXPECT_THAT(ErrorOf("root ::= ((\"a\"{1000}){1000}){1000}"), HasSubstr("states"));
  EXPECT_THAT(ErrorOf("root ::= " + std::string(60'000, '.')), HasSubstr("states"));
}

TEST(GbnfTest, RulesWithoutAFirstCharacterAreRefused) {
  EXPECT_THAT(ErrorOf("root ::= root \"a\" | \"b\""), HasSubstr("refers to itself"));
  EXPECT_THAT(ErrorOf("root ::= \"a\" root"), HasSubstr("no text satisfies"));
}

}  // namespace
}  // namespace ruvd::inference
