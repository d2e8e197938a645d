// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/api/generate_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "base/reasons.h"
#include "base/status.h"
#include "inference/tokenizer/limits.h"
#include "node/cli/prompt_syntax.h"
#include "node/limits.h"

namespace ruvd::api {
namespace {

using inference::v1::GenerateRequest;
using ::testing::HasSubstr;

void Say(const std::string& role, const std::string& content, GenerateRequest* request) {
  auto* message = request->add_messages();
  message->set_role(role);
  message->set_content(content);
}

std::string Refusal(const std::function<void(GenerateRequest*)>& fill) {
  GenerateRequest request;
  fill(&request);
  const absl::Status status = ReadGenerate(request, {}).status();
  EXPECT_EQ(ReasonOf(status), reasons::kInvalidArgument) << status;
  return MessageOf(status);
}

TEST(ReadGenerateTest, AConversationArrives) {
  GenerateRequest request;
  Say("system", "Be brief.", &request);
  Say("user", "Hi", &request);
  const serving::GenerationJob job = ReadGenerate(request, {}).value();
  ASSERT_EQ(job.conversation.messages.size(), 2U);
  EXPECT_EQ(job.conversation.messages[0].role, "system");
  EXPECT_EQ(job.conversation.messages[1].content, "Hi");
  EXPECT_EQ(job.conversation.format, std::nullopt);
  request.set_chat_format("llama-3");
  EXPECT_EQ(ReadGenerate(request, {}).value().conversation.format, inference::ChatFormat::kLlama3);
}

TEST(ReadGenerateTest, TextComesInOneWay) {
  const std::vector<std::function<void(GenerateRequest*)>> ways = {
      [](GenerateRequest* request) { request->set_prompt("a"); },
      [](GenerateRequest* request) { request->set_suffix("a"); },
      [](GenerateRequest* request) { request->add_parts()->set_text("a"); },
      [](GenerateRequest* request) { Say("user", "a", request); }};
  for (size_t i = 0; i < ways.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (i == 1) {
        continue;  // a prompt and a suffix belong together
      }
      EXPECT_THAT(Refusal([&](GenerateRequest* request) {
                    ways[i](request);
                    ways[j](request);
                  }),
                  HasSubstr("more than one of"));
    }
  }
}

TEST(ReadGenerateTest, ConversationsThatCannotBeAnsweredAreRefused) {
  EXPECT_THAT(Refusal([](GenerateRequest* request) { request->set_chat_format("chatml"); }),
              HasSubstr("without messages"));
  EXPECT_THAT(Refusal([](GenerateRequest* request) {
                Say("user", "Hi", request);
                request->set_chat_format("smoke");
              }),
              HasSubstr("'smoke' is unknown; use one of plain, chatml"));
  EXPECT_THAT(Refusal([](GenerateRequest* request) { Say("assistant", "Hi", request); }),
              HasSubstr("not the user's"));
  EXPECT_THAT(Refusal([](GenerateRequest* request) {
                for (size_t i = 0; i <= limits::kMaxChatMessages; ++i) {
                  Say("user", "Hi", request);
                }
              }),
              HasSubstr("messages; use at most"));
}

TEST(ReadGenerateTest, ASuffixMakesOneGap) {
  GenerateRequest request;
  request.set_prompt("a");
  request.set_suffix("b");
  const serving::GenerationJob job = ReadGenerate(request, {}).value();
  ASSERT_EQ(job.parts.size(), 3U);
  EXPECT_EQ(job.parts[1].gap, inference::SamplingOptions().max_tokens);
  EXPECT_EQ(job.prompt, "a");
}

TEST(PromptSyntaxTest, GapsAreReadAndOthersRefused) {
  GenerateRequest request;
  ASSERT_TRUE(cli::ReadGaps("The [[2]] of [x] is [[3]]", &request).ok());
  ASSERT_EQ(request.parts_size(), 4);
  EXPECT_EQ(request.parts(0).text(), "The ");
  EXPECT_EQ(request.parts(1).gap(), 2U);
  EXPECT_EQ(request.parts(2).text(), " of [x] is ");
  EXPECT_EQ(request.parts(3).gap(), 3U);
  for (const char* text : {"[[", "[[0]]", "[[-1]]", "[[2]", "[[a]]", "[[99999999999]]", "[[ 2]]"}) {
    GenerateRequest refused;
    EXPECT_EQ(ReasonOf(cli::ReadGaps(text, &refused)), reasons::kUsage) << text;
  }
}

TEST(PromptSyntaxTest, AMessageIsARoleAndAText) {
  GenerateRequest request;
  ASSERT_TRUE(cli::ReadMessage("assistant=1 + 1 = 2", &request).ok());
  EXPECT_EQ(request.messages(0).role(), "assistant");
  EXPECT_EQ(request.messages(0).content(), "1 + 1 = 2");
  for (const char* text : {"", "user", "tool=x", " user=x", "=x"}) {
    EXPECT_EQ(ReasonOf(cli::ReadMessage(text, &request)), reasons::kUsage) << text;
  }
}

}  // namespace
}  // namespace ruvd::api
