// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/api/messages.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/reasons.h"
#include "base/status.h"
#include "node/limits.h"

namespace ruvd::api {
namespace {

TEST(ReadFeedbackTest, OneSignalIsRequired) {
  learning::v1::SubmitFeedbackRequest message;
  message.set_response_id("r1");
  EXPECT_EQ(ReasonOf(ReadFeedback(message, {}).status()), reasons::kInvalidArgument);
  message.set_rating(0.25F);
  auto feedback = ReadFeedback(message, {});
  ASSERT_TRUE(feedback.ok());
  EXPECT_FLOAT_EQ(*feedback->rating, 0.25F);
  EXPECT_FALSE(feedback->edited_text.has_value());
}

TEST(ReadFeedbackTest, RatingsOutsideZeroToOneAreRefused) {
  for (const float rating : {-0.1F, 1.1F, std::numeric_limits<float>::quiet_NaN()}) {
    learning::v1::SubmitFeedbackRequest message;
    message.set_rating(rating);
    EXPECT_FALSE(ReadFeedback(message, {}).ok()) << rating;
  }
}

TEST(ReadFeedbackTest, AnEmptyEditIsRefused) {
  learning::v1::SubmitFeedbackRequest message;
  message.set_edited_text("");
  EXPECT_NE(MessageOf(ReadFeedback(message, {}).status()).find("edited_text"), std::string::npos);
}

TEST(ReadPatternIdTest, OnlyThirtyTwoHexadecimalDigits) {
  EXPECT_TRUE(ReadPatternId("00112233445566778899aabbccddeeff").ok());
  EXPECT_FALSE(ReadPatternId("").ok());
  EXPECT_FALSE(ReadPatternId("00112233445566778899aabbccddeef").ok());
  EXPECT_FALSE(ReadPatternId("zz112233445566778899aabbccddeeff").ok());
  EXPECT_FALSE(ReadPatternId("00112233445566778899aabbccddeeff00").ok());
}

TEST(ReadScoreTest, SamplesAreLimited) {
  inference::v1::ScoreRequest message;
  message.set_samples(limits::kMaxScoreSamplesPerRequest + 1);
  EXPECT_FALSE(ReadScore(message, {}).ok());
  message.set_samples(0);
  EXPECT_FALSE(ReadScore(message, {}).ok());
  message.clear_samples();
  auto job = ReadScore(message, {});
  ASSERT_TRUE(job.ok());
  EXPECT_EQ(job->mode, std::nullopt) << "the model's best";
  message.set_mode(inference::v1::DECODING_MODE_DIFFUSION);
  EXPECT_EQ(ReadScore(message, {})->mode, inference::DecodingMode::kDiffusion);
}

}  // namespace
}  // namespace ruvd::api
