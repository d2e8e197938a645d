// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <string>

#include "base/error_details.h"
#include "base/reasons.h"
#include "base/status.h"
#include "node/openai/api_error.h"
#include "node/openai/completion_request.h"

namespace ruvd::openai {
namespace {

// Reads a request with more fields.
absl::StatusOr<CompletionRequest> Read(const std::string& more) {
  return ReadTextRequest(R"({"prompt":"Hi",)" + more + "}", "m");
}

TEST(SamplingFieldsTest, TopPIsLeftOutWhereTheMostLikelyTokenIsTaken) {
  for (const char* const greedy :
       {R"("top_p":0.9)", R"("temperature":0,"top_p":0.95)", R"("temperature":0.7,"top_p":1)"}) {
    const auto request = Read(greedy);
    ASSERT_TRUE(request.ok()) << request.status();
    EXPECT_EQ(request->generate.sampling().top_p(), 0) << greedy;
  }
  const auto drawn = Read(R"("top_p":0.9,"temperature":0.7)");
  ASSERT_TRUE(drawn.ok()) << drawn.status();
  EXPECT_FLOAT_EQ(drawn->generate.sampling().top_p(), 0.9F);
}

TEST(SamplingFieldsTest, ATopPThatIsNoFloatAboveZeroIsRefused) {
  for (const char* const bad : {"1e-50", "0", "-1", "1.5", "1.00000000001"}) {
    const absl::Status refused = Read(R"("temperature":0.7,"top_p":)" + std::string(bad)).status();
    EXPECT_EQ(ReasonOf(refused), reasons::kInvalidArgument) << bad;
    EXPECT_EQ(FieldOf(refused), "top_p") << bad;
  }
}

TEST(SamplingFieldsTest, ThePenaltiesThatActWithoutBeingSentCanBeSet) {
  const auto request = Read(R"("repetition_penalty":1,"no_repeat_ngram":0)");
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_EQ(request->generate.sampling().repetition_penalty(), 1);
  EXPECT_TRUE(request->generate.sampling().has_no_repeat_ngram());
  EXPECT_EQ(request->generate.sampling().no_repeat_ngram(), 0);
  const auto none = Read(R"("seed":1)");
  ASSERT_TRUE(none.ok()) << none.status();
  EXPECT_FALSE(none->generate.sampling().has_repetition_penalty()) << "the default of gRPC";
  EXPECT_EQ(FieldOf(Read(R"("no_repeat_ngram":-1)").status()), "no_repeat_ngram");
}

TEST(SamplingFieldsTest, APartOfAMessageWithoutItsTextIsRefused) {
  const absl::Status refused =
      ReadChatRequest(R"({"messages":[{"role":"user","content":[{"type":"text"}]}]})", "m")
          .status();
  EXPECT_EQ(ReasonOf(refused), reasons::kInvalidArgument);
  EXPECT_EQ(FieldOf(refused), "messages[0].content[0].text");
}

}  // namespace
}  // namespace ruvd::openai
