// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Tests that what clients send without a value is no option: null counts as absent everywhere.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "base/error_details.h"
#include "base/reasons.h"
#include "base/status.h"
#include "node/openai/api_error.h"
#include "node/openai/completion_answer.h"
#include "node/openai/completion_request.h"
#include "node/openai/reasons.h"

namespace ruvd::openai {
namespace {

using nlohmann::json;

TEST(NullFieldsTest, AnAnswerGoesBackAsAMessageOfTheNextRequest) {
  inference::v1::Started started;
  started.set_response_id("ab");
  const json answer =
      json::parse(WholeAnswer({.is_chat = true, .includes_usage = true, .created = 5, .model = "m"},
                              started, inference::v1::Finished(), "Hello"));
  // OpenAI's libraries append the message of an answer to the conversation as it is.
  const json next = {{"messages",
                      {{{"role", "user"}, {"content", "Hi"}},
                       answer["choices"][0]["message"],
                       {{"role", "user"}, {"content", "And then?"}}}}};
  const auto request = ReadChatRequest(next.dump(), "m");
  ASSERT_TRUE(request.ok()) << request.status();
  const inference::v1::Chat& read = request->generate.chat();
  ASSERT_EQ(read.messages_size(), 3);
  EXPECT_EQ(read.messages(1).role(), inference::v1::CHAT_ROLE_ASSISTANT);
  EXPECT_EQ(read.messages(1).content(), "Hello");
}

TEST(NullFieldsTest, OptionsThatAreLeftOpenAreNotRefused) {
  const std::string chat = R"({"messages":[{"role":"user","content":"Hi","tool_calls":null}],)";
  EXPECT_TRUE(ReadChatRequest(chat + R"("tools":null,"logit_bias":null,"top_p":null})", "m").ok());
  const absl::Status refused = ReadChatRequest(chat + R"("tools":[]})", "m").status();
  EXPECT_EQ(ReasonOf(refused), reasons::kUnsupportedParameter) << "a value is still refused";
  EXPECT_EQ(FieldOf(refused), "tools");
}

}  // namespace
}  // namespace ruvd::openai
