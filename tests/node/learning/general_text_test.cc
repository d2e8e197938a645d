// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/learning/general_text.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "base/reasons.h"
#include "base/status.h"
#include "inference/adapter/adapter.h"
#include "node/learning/deep_limits.h"
#include "tests/inference/text_model.h"

namespace ruvd::learning {
namespace {

using test::TextModel;
using ::testing::HasSubstr;

class GeneralTextTest : public ::testing::Test {
 protected:
  static std::shared_ptr<const TextModel> MakeModel(int context) {
    test::TinyModel::Options options = TextModel::Defaults();
    options.layers = 1;
    options.context = context;
    return std::make_shared<const TextModel>(options);
  }
  static std::string Text(size_t bytes, unsigned seed) {
    std::minstd_rand random(seed);
    std::string text;
    while (text.size() < bytes) {
      text += static_cast<char>('a' + random() % 26);
    }
    return text;
  }
  const std::shared_ptr<const TextModel> model_ = MakeModel(1024);
};

TEST_F(GeneralTextTest, TheBuiltInTextFitsEveryContext) {
  for (const int context : {64, 1024}) {
    const GeneralPassages passages = BuiltInPassages(*MakeModel(context));
    EXPECT_EQ(passages.replayed.size(), GeneralText().size());
    ASSERT_EQ(passages.measured.size(), 1u);
    for (const auto& passage : passages.replayed) {
      EXPECT_LE(passage.size(), static_cast<size_t>(context));
    }
    EXPECT_LE(passages.measured.front().size(), static_cast<size_t>(context));
  }
}

// For any documents, every passage fits, and no passage that measures is replayed.
TEST_F(GeneralTextTest, WhatMeasuresIsNeverReplayed) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    std::vector<std::string> documents;
    for (unsigned i = 0; i <= seed % 7; ++i) {
      documents.push_back(Text(1000 + 700 * i * seed % 5000, seed * 10 + i));
    }
    documents.push_back(documents.front());  // twice
    documents.emplace_back();
    const auto passages = PassagesOf(documents, *model_);
    ASSERT_TRUE(passages.ok()) << passages.status();
    std::set<std::vector<inference::TokenId>> all;
    for (const auto* part : {&passages->replayed, &passages->measured}) {
      EXPECT_FALSE(part->empty());
      for (const auto& passage : *part) {
        EXPECT_TRUE(all.insert(passage).second);
        EXPECT_GE(passage.size(), limits::kMinPassageTokens);
        EXPECT_LE(passage.size(), limits::kGeneralPassageTokens);
      }
    }
    EXPECT_LE(passages->measured.size(), limits::kMaxMeasuredPassages);
    std::ranges::reverse(documents);
    EXPECT_EQ(PassagesOf(documents, *model_).value(), *passages) << "whatever their order";
  }
}

TEST_F(GeneralTextTest, PassagesFitASmallContext) {
  const auto passages = PassagesOf(std::vector<std::string>{Text(2000, 1)}, *MakeModel(40));
  ASSERT_TRUE(passages.ok());
  EXPECT_EQ(passages->measured.front().size(), 40u);
}

TEST_F(GeneralTextTest, TooLittleTextIsRefused) {
  const auto passages = PassagesOf(std::vector<std::string>{Text(300, 1)}, *model_);
  EXPECT_EQ(ReasonOf(passages.status()), reasons::kInvalidArgument);
  EXPECT_THAT(MessageOf(passages.status()), HasSubstr("give at least 4"));
}

}  // namespace
}  // namespace ruvd::learning
