// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/tokenizer/special_tokens.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace ruvd::inference {
namespace {

using ::testing::ElementsAre;

Vocabulary Tokens(const std::vector<std::pair<std::string, TokenKind>>& tokens) {
  Vocabulary out;
  for (const auto& [piece, kind] : tokens) {
    out.pieces.Add(piece);
    out.kinds.push_back(kind);
  }
  return out;
}

// Returns fragments as text and special tokens as "#id".
std::vector<std::string> Cut(const SpecialTokens& special, std::string_view text,
                             const std::vector<TextSpan>& trusted) {
  std::vector<std::string> out;
  for (const TextFragment& fragment : special.Partition(text, trusted)) {
    out.push_back(fragment.token ? "#" + std::to_string(*fragment.token)
                                 : std::string(fragment.text));
  }
  return out;
}

constexpr TokenKind kControl = TokenKind::kControl;
constexpr TokenKind kUser = TokenKind::kUserDefined;

TEST(SpecialTokensTest, TheLongestWinsWhereverItStands) {
  const SpecialTokens special(Tokens({{"ab", kUser}, {"bcd", kUser}, {"ab", kUser}, {"x", kUser}}));
  EXPECT_THAT(Cut(special, "abcd", {}), ElementsAre("a", "#1"));
  EXPECT_THAT(Cut(special, "abab-x", {}), ElementsAre("#0", "#0", "-", "#3"));
  EXPECT_THAT(Cut(special, "", {}), ElementsAre());
}

TEST(SpecialTokensTest, ControlTokensMustLieInTrustedText) {
  const SpecialTokens special(Tokens({{"<s>", kControl},
                                      {"<unk>", TokenKind::kUnknown},
                                      {"<p>", TokenKind::kUnused},
                                      {"<u>", kUser}}));
  EXPECT_THAT(Cut(special, "<s><u><unk>", {}), ElementsAre("<s>", "#3", "<unk>"));
  EXPECT_THAT(Cut(special, "<s><u><unk><p>", {{0, 14}}), ElementsAre("#0", "#3", "#1", "<p>"));
  EXPECT_THAT(Cut(special, "<s><s><s>", {{0, 3}, {5, 9}}), ElementsAre("#0", "<s>", "#0"));
  EXPECT_TRUE(special.IsControl("<s>"));
  EXPECT_FALSE(special.IsControl("<s"));
  EXPECT_FALSE(special.IsControl("<u>"));
  EXPECT_FALSE(special.IsControl(""));
  // Half of the marker is a user's text.
  EXPECT_THAT(Cut(special, "<s>", {{0, 2}}), ElementsAre("<s>"));
  EXPECT_THAT(Cut(special, "<s>", {{1, 3}}), ElementsAre("<s>"));
}

TEST(SpecialTokensTest, StripRulesOfKnownModels) {
  const std::vector<std::pair<std::string, TokenKind>> tokens = {
      {"<|user|>", kUser}, {"<s>", kUser}, {"<mask>", kUser}, {"[MASK]", kUser}};
  Vocabulary phi = Tokens(tokens);
  phi.model_name = "Phi-3-mini";
  const SpecialTokens right(phi);
  EXPECT_THAT(Cut(right, "a <|user|>\n \tb <s> c", {}), ElementsAre("a ", "#0", "b ", "#1", " c"));
  EXPECT_THAT(Cut(right, "<|user|>  <|user|>  ", {}), ElementsAre("#0", "#0"));
  Vocabulary jina = Tokens(tokens);
  jina.pre.mask_strips_left = true;
  const SpecialTokens left(jina);
  EXPECT_THAT(Cut(left, "a \n<mask> b [MASK]", {}), ElementsAre("a", "#2", " b ", "#3"));
  Vocabulary bert = Tokens(tokens);
  bert.model_name = "Modern-BERT";
  EXPECT_THAT(Cut(SpecialTokens(bert), " [MASK] <mask>", {}), ElementsAre("#3", " ", "#2"));
}

// Defines the cut: every token in turn, the longest first, cuts the plain text that is left.
std::vector<std::string> NaiveCut(std::vector<std::pair<std::string, TokenId>> tokens,
                                  const std::string& text) {
  std::stable_sort(tokens.begin(), tokens.end(),
                   [](const auto& a, const auto& b) { return a.first.size() > b.first.size(); });
  std::vector<std::string> parts(text.empty() ? 0 : 1, text);  // special ones begin with '#'
  for (const auto& [token, id] : tokens) {
    std::vector<std::string> next;
    for (std::string part : parts) {
      for (size_t at = 0; part[0] != '#' && (at = part.find(token)) != std::string::npos;) {
        next.push_back(part.substr(0, at));
        next.push_back("#" + std::to_string(id));
        part.erase(0, at + token.size());
      }
      next.push_back(part);
    }
    parts = next;
    std::erase(parts, "");
  }
  return parts;
}

RC_GTEST_PROP(SpecialTokensProperty, AgreesWithTheDefinition, ()) {
  std::vector<std::pair<std::string, TokenKind>> tokens;
  std::vector<std::pair<std::string, TokenId>> named;
  for (int i = *rc::gen::inRange(0, 8); i > 0; --i) {
    const auto token =
        *rc::gen::nonEmpty(rc::gen::container<std::string>(rc::gen::elementOf(std::string("abc"))));
    named.emplace_back(token, static_cast<TokenId>(tokens.size()));
    tokens.emplace_back(token, kUser);
  }
  const auto text = *rc::gen::container<std::string>(rc::gen::elementOf(std::string("aabbccd")));
  RC_ASSERT(Cut(SpecialTokens(Tokens(tokens)), text, {}) == NaiveCut(named, text));
}

}  // namespace
}  // namespace ruvd::inference
