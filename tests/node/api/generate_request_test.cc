// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/api/generate_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "base/reasons.h"
#include "base/status.h"
#include "inference/tokenizer/limits.h"
#include "node/cli/prompt_syntax.h"
#include "node/limits.h"

namespace ruvd::api {
namespace {

using inference::v1::CHAT_ROLE_ASSISTANT;
using inference::v1::CHAT_ROLE_SYSTEM;
using inference::v1::CHAT_ROLE_UNSPECIFIED;
using inference::v1::CHAT_ROLE_USER;
using inference::v1::GenerateRequest;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

void Say(inference::v1::ChatRole role, const std::string& content, GenerateRequest* request) {
  auto* message = request->mutable_chat()->add_messages();
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
  Say(CHAT_ROLE_SYSTEM, "Be brief.", &request);
  Say(CHAT_ROLE_USER, "Hi", &request);
  const serving::GenerationJob job = ReadGenerate(request, {}).value();
  ASSERT_EQ(job.conversation.messages.size(), 2U);
  EXPECT_EQ(job.conversation.messages[0].role, "system");
  EXPECT_EQ(job.conversation.messages[1].content, "Hi");
  EXPECT_EQ(job.conversation.format, std::nullopt);
  request.mutable_chat()->set_format("llama-3");
  EXPECT_EQ(ReadGenerate(request, {}).value().conversation.format, inference::ChatFormat::kLlama3);
}

TEST(ReadGenerateTest, TextComesInOneWay) {
  GenerateRequest request;
  const auto forms = [&request] {
    const serving::GenerationJob job = ReadGenerate(request, {}).value();
    return std::vector<std::string>{job.prompt, job.parts.empty() ? "" : "a text with gaps",
                                    job.conversation.messages.empty() ? "" : "a conversation"};
  };
  EXPECT_THAT(forms(), ElementsAre("", "", "")) << "an empty prompt";
  request.set_prompt("a");
  EXPECT_THAT(forms(), ElementsAre("a", "", ""));
  Say(CHAT_ROLE_USER, "a", &request);
  EXPECT_THAT(forms(), ElementsAre("", "", "a conversation"));
  request.mutable_infill()->add_parts()->set_gap(1);
  EXPECT_THAT(forms(), ElementsAre("", "a text with gaps", ""));
}

TEST(ReadGenerateTest, ConversationsThatCannotBeAnsweredAreRefused) {
  EXPECT_THAT(
      Refusal([](GenerateRequest* request) { request->mutable_chat()->set_format("chatml"); }),
      HasSubstr("no message"));
  EXPECT_THAT(Refusal([](GenerateRequest* request) {
                Say(CHAT_ROLE_USER, "Hi", request);
                request->mutable_chat()->set_format("smoke");
              }),
              HasSubstr("'smoke' is unknown; use one of plain, chatml"));
  EXPECT_THAT(Refusal([](GenerateRequest* request) { Say(CHAT_ROLE_ASSISTANT, "Hi", request); }),
              HasSubstr("not the user's"));
  for (const auto role : {CHAT_ROLE_UNSPECIFIED, static_cast<inference::v1::ChatRole>(99)}) {
    EXPECT_THAT(Refusal([role](GenerateRequest* request) {
                  Say(role, "Hi", request);
                  Say(CHAT_ROLE_USER, "Hi", request);
                }),
                HasSubstr("role"));
  }
  EXPECT_THAT(Refusal([](GenerateRequest* request) {
                for (size_t i = 0; i <= limits::kMaxChatMessages; ++i) {
                  Say(CHAT_ROLE_USER, "Hi", request);
                }
              }),
              HasSubstr("messages; use at most"));
}

TEST(ReadGenerateTest, TheTextAroundAGapArrives) {
  GenerateRequest request;
  request.mutable_infill()->add_parts()->set_text("a");
  request.mutable_infill()->add_parts()->set_gap(7);
  request.mutable_infill()->add_parts()->set_text("b");
  const serving::GenerationJob job = ReadGenerate(request, {}).value();
  ASSERT_EQ(job.parts.size(), 3U);
  EXPECT_EQ(job.parts[1].gap, 7);
  EXPECT_EQ(job.parts[2].text, "b");
  EXPECT_EQ(job.prompt, "a");
}

TEST(ReadGenerateTest, GapsAloneSayHowManyTokensAnInfillingHas) {
  EXPECT_THAT(Refusal([](GenerateRequest* request) {
                request->mutable_infill()->add_parts()->set_gap(7);
                request->mutable_sampling()->set_max_tokens(7);
              }),
              HasSubstr("max_tokens"));
}

TEST(PromptSyntaxTest, GapsAreReadAndOthersRefused) {
  GenerateRequest request;
  ASSERT_TRUE(cli::ReadGaps("The [[2]] of [x] is [[3]]", &request).ok());
  const auto& parts = request.infill().parts();
  ASSERT_EQ(parts.size(), 4);
  EXPECT_EQ(parts[0].text(), "The ");
  EXPECT_EQ(parts[1].gap(), 2U);
  EXPECT_EQ(parts[2].text(), " of [x] is ");
  EXPECT_EQ(parts[3].gap(), 3U);
  for (const char* text : {"[[", "[[0]]", "[[-1]]", "[[2]", "[[a]]", "[[99999999999]]", "[[ 2]]"}) {
    GenerateRequest refused;
    EXPECT_EQ(ReasonOf(cli::ReadGaps(text, &refused)), reasons::kUsage) << text;
  }
}

TEST(PromptSyntaxTest, AMessageIsARoleAndAText) {
  GenerateRequest request;
  ASSERT_TRUE(cli::ReadMessage("assistant=1 + 1 = 2", &request).ok());
  EXPECT_EQ(request.chat().messages(0).role(), CHAT_ROLE_ASSISTANT);
  EXPECT_EQ(request.chat().messages(0).content(), "1 + 1 = 2");
  for (const char* text : {"", "user", "tool=x", " user=x", "=x"}) {
    EXPECT_EQ(ReasonOf(cli::ReadMessage(text, &request)), reasons::kUsage) << text;
  }
}

}  // namespace
}  // namespace ruvd::api
