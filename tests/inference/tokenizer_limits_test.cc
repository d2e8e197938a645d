// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/reasons.h"
#include "base/status.h"
#include "inference/tokenizer/limits.h"
#include "inference/tokenizer/special_tokens.h"
#include "inference/tokenizer/word_table.h"
#include "tests/inference/test_vocabulary.h"

// Small files that would cost much if they were accepted.
namespace ruvd::inference {
namespace {

using test::TestVocabulary;
using ::testing::HasSubstr;

std::string Refusal(const TestVocabulary& vocabulary) {
  const absl::Status status = vocabulary.Build().status();
  EXPECT_EQ(ReasonOf(status), reasons::kTokenizerInvalid) << status;
  return MessageOf(status);
}

TEST(TokenizerLimitsTest, AMergeMakesNoLongerTokenThanAFileMayHave) {
  TestVocabulary vocabulary = TestVocabulary::Bytes();
  const std::string half(limits::kMaxTokenBytes / 2, 'a');
  vocabulary.merges = {half + " " + half};
  EXPECT_TRUE(vocabulary.Build().ok());
  vocabulary.merges = {half + "a " + half};
  EXPECT_THAT(Refusal(vocabulary), HasSubstr("merge 0 has 8194 bytes"));
}

TEST(TokenizerLimitsTest, MergesTogetherAreLimited) {
  TestVocabulary vocabulary = TestVocabulary::Bytes();
  const std::string half(limits::kMaxTokenBytes / 2, 'a');
  vocabulary.merges.assign(limits::kMaxVocabularyBytes / limits::kMaxTokenBytes, half + " " + half);
  EXPECT_THAT(Refusal(vocabulary), HasSubstr("with those before it"));
}

TEST(TokenizerLimitsTest, TokensTogetherAreLimited) {
  TestVocabulary vocabulary = TestVocabulary::Bytes();
  for (size_t i = 0; i <= limits::kMaxVocabularyBytes / limits::kMaxTokenBytes; ++i) {
    vocabulary.Add(std::string(limits::kMaxTokenBytes, 'a'));
  }
  EXPECT_THAT(Refusal(vocabulary), HasSubstr("with those before it"));
}

TEST(TokenizerLimitsTest, PiecesHaveALimitedNumberOfCuts) {
  TestVocabulary vocabulary = TestVocabulary::Pieces();
  const std::string tail(limits::kMaxSentencePieceBytes - 8, 'a');
  for (size_t i = 0; i <= limits::kMaxVocabularyMerges / (limits::kMaxSentencePieceBytes - 1);
       ++i) {
    vocabulary.Add(fmt::format("{:08}", i) + tail);
  }
  EXPECT_THAT(Refusal(vocabulary), HasSubstr("can be cut at"));
  vocabulary = TestVocabulary::Pieces();
  vocabulary.Add(tail + "123456789");
  EXPECT_THAT(Refusal(vocabulary), HasSubstr("has 257 bytes"));
}

TEST(TokenizerLimitsTest, SpecialTokensAreShort) {
  for (const auto type : {TestVocabulary::kControl, TestVocabulary::kUserDefined}) {
    TestVocabulary vocabulary = TestVocabulary::Bytes();
    vocabulary.Add(std::string(limits::kMaxSpecialTokenBytes, 'a'), type);
    EXPECT_TRUE(vocabulary.Build().ok());
    vocabulary.Add(std::string(limits::kMaxSpecialTokenBytes + 1, 'a'), type);
    EXPECT_THAT(Refusal(vocabulary), HasSubstr("special token 257"));
  }
}

// Every position of the text begins as many tokens as one can hold.
TEST(TokenizerLimitsTest, NestedSpecialTokensAreCutAsTheLongestSay) {
  TestVocabulary vocabulary = TestVocabulary::Bytes();
  for (size_t length = 1; length <= limits::kMaxSpecialTokenBytes; ++length) {
    vocabulary.Add(std::string(length, 'a'), TestVocabulary::kUserDefined);
  }
  const auto tokenizer = vocabulary.Build().value();
  const auto ids = tokenizer->Encode(std::string(20'000, 'a') + "b");
  // The ids are 78 of 256 bytes, one of 32 and one b.
  ASSERT_EQ(ids.size(), 80U);
  EXPECT_EQ(ids.front(), 256U + 255);
  EXPECT_EQ(ids[78], 256U + 31);
}

TEST(TokenizerLimitsTest, OfTokensSpelledAlikeTheFirstThatMayStandThereCounts) {
  TestVocabulary vocabulary = TestVocabulary::Bytes();
  const TokenId control = vocabulary.Add("<x>", TestVocabulary::kControl);
  vocabulary.Add("<x>", TestVocabulary::kControl);
  const TokenId user = vocabulary.Add("<x>", TestVocabulary::kUserDefined);
  const auto tokenizer = vocabulary.Build().value();
  EXPECT_EQ(tokenizer->Encode("<x>", /*parse_special=*/true), std::vector<TokenId>{control});
  EXPECT_EQ(tokenizer->Encode("<x>"), std::vector<TokenId>{user});
  EXPECT_FALSE(tokenizer->IsControlText("<x>"));
}

TEST(WordTableTest, FindsWhatWasAdded) {
  WordTable table;
  EXPECT_EQ(table.Find("a"), std::nullopt);
  for (uint32_t i = 0; i < 10'000; ++i) {
    ASSERT_TRUE(table.Add(std::to_string(i), i));
    ASSERT_FALSE(table.Add(std::to_string(i), 7));
  }
  EXPECT_EQ(table.size(), 10'000U);
  for (uint32_t i = 0; i < 10'000; ++i) {
    ASSERT_EQ(table.Find(std::to_string(i)), i);
  }
  EXPECT_EQ(table.Find("10000"), std::nullopt);
}

}  // namespace
}  // namespace ruvd::inference
