// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/constrain/grammar.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "base/utf8.h"
#include "inference/constrain/automaton.h"
#include "inference/constrain/choices.h"
#include "inference/constrain/limits.h"
#include "inference/constrain/utf8_ranges.h"

namespace ruvd::inference {
namespace {

using ::testing::HasSubstr;
using Expression = GrammarBuilder::Expression;

TEST(GrammarTest, SequencesChoicesAndRepetitionsReadWhatTheySay) {
  GrammarBuilder builder;
  const std::vector<Expression> words = {builder.Literal("cat"), builder.Literal("car")};
  const std::vector<Expression> parts = {builder.Choice(words),
                                         builder.Repeat(builder.Literal("ab"), 1, 3),
                                         builder.Optional(builder.Byte('0', '9'))};
  const auto grammar = builder.Build(builder.Sequence(parts)).value();
  for (const char* good : {"catab", "carabab", "catababab7", "carab0"}) {
    EXPECT_TRUE(Matches(grammar, good)) << good;
  }
  for (const char* bad : {"", "cat", "catabababab", "cabab", "catab77", "catabx"}) {
    EXPECT_FALSE(Matches(grammar, bad)) << bad;
  }
}

TEST(GrammarTest, RulesCallEachOtherAndThemselves) {
  GrammarBuilder builder;
  const GrammarBuilder::Rule balanced = builder.AddRule();
  const std::vector<Expression> group = {builder.Literal("("), builder.Call(balanced),
                                         builder.Literal(")")};
  builder.Define(balanced, builder.Repeat(builder.Sequence(group), 0, GrammarBuilder::kUnbounded));
  const auto grammar = builder.Build(builder.Call(balanced)).value();
  EXPECT_TRUE(Matches(grammar, ""));
  EXPECT_TRUE(Matches(grammar, "(()())()"));
  EXPECT_FALSE(Matches(grammar, "(()"));
  EXPECT_FALSE(Matches(grammar, "())"));
  const std::string deep(limits::kMaxOpenRules + 10, '(');
  EXPECT_FALSE(Matches(grammar, deep + std::string(deep.size(), ')'))) << "too deep";
}

// A list that is written by right recursion opens no rule for each of its items.
TEST(GrammarTest, ALastCallTakesNoRoom) {
  GrammarBuilder builder;
  const GrammarBuilder::Rule list = builder.AddRule();
  const std::vector<Expression> rest = {builder.Literal(","), builder.Call(list)};
  const std::vector<Expression> item = {builder.Byte('a', 'z'),
                                        builder.Optional(builder.Sequence(rest))};
  builder.Define(list, builder.Sequence(item));
  const auto grammar = builder.Build(builder.Call(list)).value();
  std::string text = "a";
  for (size_t i = 0; i < 20 * limits::kMaxOpenRules; ++i) {
    text += ",b";
  }
  EXPECT_TRUE(Matches(grammar, text));
  EXPECT_FALSE(Matches(grammar, text + ","));
}

TEST(GrammarTest, WhatCannotBeReadIsRefused) {
  GrammarBuilder builder;
  EXPECT_THAT(MessageOf(builder.Build(builder.Choice({})).status()), HasSubstr("no text"));
  const GrammarBuilder::Rule endless = builder.AddRule();
  const std::vector<Expression> again = {builder.Literal("a"), builder.Call(endless)};
  builder.Define(endless, builder.Sequence(again));
  EXPECT_THAT(MessageOf(builder.Build(builder.Call(endless)).status()), HasSubstr("no text"));

  const GrammarBuilder::Rule left = builder.AddRule();
  const std::vector<Expression> first = {builder.Optional(builder.Literal("-")), builder.Call(left),
                                         builder.Literal("x")};
  const std::vector<Expression> either = {builder.Sequence(first), builder.Literal("y")};
  builder.Define(left, builder.Choice(either));
  EXPECT_THAT(MessageOf(builder.Build(builder.Call(left)).status()), HasSubstr("itself"));

  Expression many = builder.Literal("a");
  for (int i = 0; i < 4; ++i) {
    many = builder.Repeat(many, limits::kMaxRepetitions, limits::kMaxRepetitions);
  }
  EXPECT_THAT(MessageOf(builder.Build(many).status()), HasSubstr("states"));
}

// A dead end beside a way on is never entered, so what can go on can end.
TEST(GrammarTest, DeadEndsAreLeftOut) {
  GrammarBuilder builder;
  const std::vector<Expression> nowhere = {builder.Literal("b"), builder.Choice({})};
  const std::vector<Expression> ways = {builder.Literal("a"), builder.Sequence(nowhere)};
  Automaton automaton(builder.Build(builder.Choice(ways)).value());
  EXPECT_EQ(automaton.Next(automaton.start(), 'b'), Automaton::kDead);
  const Automaton::State end = automaton.Next(automaton.start(), 'a');
  EXPECT_TRUE(automaton.CanEnd(end));
  EXPECT_FALSE(automaton.CanGoOn(end));
}

TEST(GrammarTest, CharactersAreThoseOfTheirRanges) {
  using Range = std::pair<uint32_t, uint32_t>;
  const std::vector<Range> ranges = {{'a', 'f'},       {0x7F, 0x81},      {0x7FE, 0x803},
                                     {0xD700, 0xE001}, {0xFFFE, 0x10002}, {0x10FFFE, 0x10FFFF},
                                     {0x40, 0x62}};
  GrammarBuilder builder;
  const auto inside = builder.Build(builder.Characters(ranges)).value();
  const auto outside = builder.Build(builder.CharactersExcept(ranges)).value();
  const auto is_in = [&](uint32_t c) {
    return std::ranges::any_of(
        ranges, [c](const Range& range) { return range.first <= c && c <= range.second; });
  };
  for (uint32_t c = 0; c <= 0x10FFFF; c += c < 0x900 || c > 0x10FF00 ? 1 : 37) {
    if (c >= 0xD800 && c <= 0xDFFF) {
      continue;
    }
    ASSERT_EQ(Matches(inside, Utf8Of(c)), is_in(c)) << c;
    ASSERT_EQ(Matches(outside, Utf8Of(c)), !is_in(c)) << c;
  }
  EXPECT_FALSE(Matches(inside, "\xED\xA0\x80")) << "a surrogate";
  EXPECT_FALSE(Matches(outside, "\xC0\x80")) << "an overlong zero";
}

TEST(GrammarTest, AnAutomatonThatForgetsGoesOn) {
  GrammarBuilder builder;
  const GrammarBuilder::Rule nested = builder.AddRule();
  const std::vector<Expression> group = {builder.Literal("["), builder.Call(nested),
                                         builder.Literal("]")};
  const std::vector<Expression> either = {builder.Sequence(group), builder.Literal("x")};
  builder.Define(nested, builder.Choice(either));
  Automaton automaton(builder.Build(builder.Call(nested)).value());
  Automaton::State state = automaton.start();
  for (const char byte : std::string("[[[x]")) {
    state = automaton.Forget(automaton.Next(state, static_cast<uint8_t>(byte)));
  }
  EXPECT_FALSE(automaton.CanEnd(state));
  EXPECT_EQ(automaton.Next(state, 'x'), Automaton::kDead);
  state = automaton.Next(automaton.Next(state, ']'), ']');
  EXPECT_TRUE(automaton.CanEnd(state));
}

TEST(GrammarTest, ChoicesAreTheTextsAndNothingElse) {
  const auto grammar = GrammarOfChoices(std::vector<std::string>{"yes", "no", "nö"}).value();
  EXPECT_TRUE(Matches(grammar, "nö"));
  EXPECT_FALSE(Matches(grammar, "n"));
  EXPECT_FALSE(Matches(grammar, "yesno"));
  for (const std::vector<std::string>& bad :
       {std::vector<std::string>{},
        {"yes", ""},
        {"\xFF"},
        std::vector<std::string>(limits::kMaxChoices + 1, "a")}) {
    EXPECT_FALSE(GrammarOfChoices(bad).ok());
  }
}

}  // namespace
}  // namespace ruvd::inference
