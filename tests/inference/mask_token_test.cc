// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/convert/mask_token.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "base/status.h"

namespace ruvd::inference {
namespace {

using ::testing::HasSubstr;

Vocabulary VocabularyOf(const std::vector<std::pair<std::string, TokenKind>>& tokens) {
  Vocabulary vocabulary;
  for (const auto& [piece, kind] : tokens) {
    vocabulary.pieces.Add(piece);
    vocabulary.kinds.push_back(kind);
  }
  return vocabulary;
}

Vocabulary Everything() {
  Vocabulary vocabulary = VocabularyOf({{"a", TokenKind::kNormal},
                                        {"[MASK]", TokenKind::kNormal},
                                        {"<|end|>", TokenKind::kControl},
                                        {"<|mask|>", TokenKind::kControl},
                                        {"<|spare|>", TokenKind::kUnused},
                                        {"<|spare2|>", TokenKind::kUnused},
                                        {"7", TokenKind::kNormal}});
  vocabulary.eos = 2;
  vocabulary.mask = 6;
  return vocabulary;
}

TEST(MaskTokenTest, TheFilesOwnThenASpellingThenAnUnusedOne) {
  Vocabulary vocabulary = Everything();
  EXPECT_EQ(*ChooseMaskToken(vocabulary, ""), 6U);
  vocabulary.mask.reset();
  EXPECT_EQ(*ChooseMaskToken(vocabulary, ""), 3U) << "a plain token spelled as a mask is text";
  vocabulary.kinds[3] = TokenKind::kNormal;
  EXPECT_EQ(*ChooseMaskToken(vocabulary, ""), 5U);
  vocabulary.kinds[4] = vocabulary.kinds[5] = TokenKind::kNormal;
  EXPECT_THAT(MessageOf(ChooseMaskToken(vocabulary, "").status()), HasSubstr("--mask-token"));
}

TEST(MaskTokenTest, ByTextOrId) {
  const Vocabulary vocabulary = Everything();
  EXPECT_EQ(*ChooseMaskToken(vocabulary, "<|spare|>"), 4U);
  EXPECT_EQ(*ChooseMaskToken(vocabulary, "5"), 5U);
  EXPECT_EQ(*ChooseMaskToken(vocabulary, "7"), 6U) << "the text comes first";
  for (const char* unknown : {"8", "<|no|>", "-1", "5x", "99999999999999999999"}) {
    EXPECT_THAT(MessageOf(ChooseMaskToken(vocabulary, unknown).status()), HasSubstr("no token"));
  }
}

TEST(MaskTokenTest, NotOneThatMeansSomething) {
  Vocabulary vocabulary = Everything();
  EXPECT_THAT(MessageOf(ChooseMaskToken(vocabulary, "<|end|>").status()),
              HasSubstr("begins or ends texts"));
  vocabulary.unknown = 6;
  EXPECT_FALSE(ChooseMaskToken(vocabulary, "").ok());
}

}  // namespace
}  // namespace ruvd::inference
