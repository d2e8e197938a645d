// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Requests of a running node that are more than a prompt.

#include <gmock/gmock.h>

#include "tests/node/node_fixture.h"

namespace ruvd::node {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using NodeChatTest = NodeTest;

void Say(inference::v1::ChatRole role, const std::string& content,
         inference::v1::GenerateRequest* request) {
  auto* message = request->mutable_chat()->add_messages();
  message->set_role(role);
  message->set_content(content);
}

// The test model was never taught to chat.
TEST_F(NodeChatTest, AModelWithoutTemplateNamesWhatIsMissing) {
  Start();
  auto request = Request("", 4);
  Say(inference::v1::CHAT_ROLE_USER, "Hello", &request);
  const absl::Status status = Generate(request).status;
  EXPECT_EQ(ReasonOf(status), reasons::kModelUnsupported);
  EXPECT_THAT(MessageOf(status), AllOf(HasSubstr("tokenizer.chat_template"),
                                       HasSubstr("name the chat format"), HasSubstr("chatml")));
}

TEST_F(NodeChatTest, ANamedFormatIsUsedAndItsPromptIsLearnedFrom) {
  Start();
  auto request = Request("", 8);
  request.mutable_sampling()->set_mode(inference::v1::DECODING_MODE_AUTOREGRESSIVE);
  auto plain = request;
  plain.set_prompt("Be kind.\n\nHello");
  Say(inference::v1::CHAT_ROLE_SYSTEM, "Be kind.", &request);
  Say(inference::v1::CHAT_ROLE_USER, "Hello", &request);
  request.mutable_chat()->set_format("plain");
  const Completion answer = Generate(request);
  ASSERT_TRUE(answer.status.ok()) << answer.status;
  const Completion same = Generate(plain);
  EXPECT_EQ(answer.started.prompt_tokens(), same.started.prompt_tokens());
  EXPECT_EQ(answer.text, same.text);
  learning::v1::SubmitFeedbackRequest feedback;
  feedback.set_response_id(answer.finished.response_id());
  feedback.set_edited_text(" Good day to you.");
  learning::v1::SubmitFeedbackResponse response;
  EXPECT_TRUE(Rate(feedback, &response).ok());
}

TEST_F(NodeChatTest, AConversationWithoutAMessageIsOneError) {
  Start();
  auto request = Request("", 4);
  request.mutable_chat()->set_format("plain");
  const absl::Status status = Generate(request).status;
  EXPECT_EQ(ReasonOf(status), reasons::kInvalidArgument);
  EXPECT_THAT(MessageOf(status), HasSubstr("no message"));
}

TEST_F(NodeChatTest, TheApproximateCacheIsForDiffusionOnly) {
  Start();
  auto request = Request("The old man walked", 24);
  request.mutable_sampling()->set_approximate_cache_steps(4);
  for (const auto mode :
       {inference::v1::DECODING_MODE_BLOCK, inference::v1::DECODING_MODE_AUTOREGRESSIVE}) {
    request.mutable_sampling()->set_mode(mode);
    const absl::Status status = Generate(request).status;
    EXPECT_EQ(ReasonOf(status), reasons::kInvalidArgument);
    EXPECT_THAT(MessageOf(status), HasSubstr("approximate_cache_steps"));
  }
  request.mutable_sampling()->set_mode(inference::v1::DECODING_MODE_DIFFUSION);
  const Completion completion = Generate(request);
  ASSERT_TRUE(completion.status.ok()) << completion.status;
  EXPECT_FALSE(completion.text.empty());
}

}  // namespace
}  // namespace ruvd::node
