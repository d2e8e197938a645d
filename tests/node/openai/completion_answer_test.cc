// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/openai/completion_answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/reasons.h"
#include "base/status.h"
#include "node/openai/api_error.h"

namespace ruvd::openai {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;

AnswerStamp Stamp(bool is_chat) {
  return {.is_chat = is_chat, .includes_usage = true, .created = 5, .model = "m"};
}
inference::v1::Started Started() {
  inference::v1::Started started;
  started.set_response_id("ab");
  started.set_prompt_tokens(3);
  started.set_window(8);
  return started;
}
inference::v1::Finished Finished() {
  inference::v1::Finished finished;
  finished.mutable_usage()->set_prompt_tokens(3);
  finished.mutable_usage()->set_completion_tokens(2);
  finished.set_seed(9);
  finished.set_reason(inference::v1::FINISH_REASON_LENGTH);
  return finished;
}

// Returns the values of a stream's events; [DONE] becomes null.
std::vector<json> Events(const std::string& text) {
  std::vector<json> events;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find("\n\n", at);
    EXPECT_EQ(text.substr(at, 6), "data: ");
    const std::string value = text.substr(at + 6, end - at - 6);
    events.push_back(value == "[DONE]" ? json(nullptr) : json::parse(value));
    at = end + 2;
  }
  return events;
}

TEST(CompletionAnswerTest, AWholeAnswerHasTheShapeOfOpenAi) {
  const json chat = json::parse(WholeAnswer(Stamp(true), Started(), Finished(), "Hello \xff"));
  EXPECT_EQ(chat["id"], "chatcmpl-ab");
  EXPECT_EQ(chat["object"], "chat.completion");
  EXPECT_EQ(chat["choices"][0]["message"]["content"], "Hello \xEF\xBF\xBD");
  EXPECT_EQ(chat["choices"][0]["finish_reason"], "length");
  EXPECT_EQ(chat["usage"]["total_tokens"], 5);
  EXPECT_EQ(chat["ruvd"]["seed"], 9);
  const json text = json::parse(WholeAnswer(Stamp(false), Started(), Finished(), "x"));
  EXPECT_EQ(text["id"], "cmpl-ab");
  EXPECT_EQ(text["choices"][0]["text"], "x");
  EXPECT_EQ(ResponseIdOf("chatcmpl-ab"), "ab");
}

TEST(CompletionAnswerTest, LogProbabilitiesHaveTheTwoShapesOfOpenAi) {
  inference::v1::Finished finished = Finished();
  finished.set_reason(inference::v1::FINISH_REASON_END_OF_TEXT);
  for (const char* text : {"ä", "\xEF\xBF\xBD", "<|end|>"}) {
    inference::v1::Commit* const token = finished.add_tokens();
    token->set_text(text);
    token->set_logprob(-0.5F);
    inference::v1::TokenLogprob* const other = token->add_likeliest();
    other->set_text("b");
    other->set_logprob(-1e30F);
  }
  AnswerStamp stamp = Stamp(true);
  EXPECT_EQ(json::parse(WholeAnswer(stamp, Started(), finished, "x"))["choices"][0]["logprobs"],
            nullptr);
  stamp.has_logprobs = true;
  const json chat = json::parse(WholeAnswer(stamp, Started(), finished, "x"))["choices"][0];
  const json content = chat["logprobs"]["content"];
  ASSERT_EQ(content.size(), 2U) << "the token that ended the text is no text";
  EXPECT_EQ(content[0]["token"], "ä");
  EXPECT_EQ(content[0]["logprob"], -0.5);
  EXPECT_EQ(content[0]["bytes"], json({0xC3, 0xA4}));
  EXPECT_EQ(content[0]["top_logprobs"][0]["logprob"], -9999);
  EXPECT_EQ(content[1]["bytes"], nullptr) << "a part of a character";
  const std::vector<json> events = Events(StreamEnd(stamp, Started(), finished));
  EXPECT_EQ(events[0]["choices"][0]["logprobs"]["content"], content);

  stamp.is_chat = false;
  const json text = json::parse(WholeAnswer(stamp, Started(), finished, "x"))["choices"][0];
  EXPECT_EQ(text["logprobs"]["tokens"], json({"ä", "\xEF\xBF\xBD"}));
  EXPECT_EQ(text["logprobs"]["token_logprobs"], json({-0.5, -0.5}));
  EXPECT_EQ(text["logprobs"]["text_offset"], json({0, 1})) << "in characters";
  EXPECT_EQ(text["logprobs"]["top_logprobs"][0]["b"], -9999);
}

TEST(CompletionAnswerTest, AStreamOfAChatBeginsWithTheRoleAndEndsWithDone) {
  const json begin = Events(StreamBegin(Stamp(true), Started())).front();
  EXPECT_EQ(begin["choices"][0]["delta"]["role"], "assistant");
  EXPECT_TRUE(begin["usage"].is_null());
  const json text = Events(StreamText(Stamp(true), Started(), "Hi")).front();
  EXPECT_EQ(text["choices"][0]["delta"], json::object({{"content", "Hi"}}));
  const std::vector<json> end = Events(StreamEnd(Stamp(true), Started(), Finished()));
  ASSERT_EQ(end.size(), 3);
  EXPECT_EQ(end[0]["choices"][0]["finish_reason"], "length");
  EXPECT_EQ(end[0]["choices"][0]["delta"], json::object());
  EXPECT_EQ(end[1]["choices"], json::array());
  EXPECT_EQ(end[1]["usage"]["completion_tokens"], 2);
  EXPECT_TRUE(end[2].is_null());
}

TEST(CompletionAnswerTest, AFrameIsAChunkThatClientsSkip) {
  inference::v1::DenoiseFrame frame;
  frame.set_step(2);
  auto* const commit = frame.add_commits();
  commit->set_position(4);
  commit->set_text("boat");
  commit->set_confidence(0.5);
  frame.add_remasked(1);
  const json chunk = Events(StreamFrame(Stamp(true), Started(), frame)).front();
  EXPECT_EQ(chunk["choices"][0]["delta"], json::object());
  EXPECT_EQ(chunk["diffusion"]["window"], 8);
  EXPECT_EQ(chunk["diffusion"]["commits"], json::parse(R"([[4,"boat",0.5]])"));
  EXPECT_EQ(chunk["diffusion"]["remasked"], json::parse("[1]"));
}

TEST(ApiErrorTest, OneTableTurnsReasonsIntoAnswers) {
  const auto error = [](absl::StatusCode code, std::string_view reason) {
    return ErrorOf(MakeError(code, reason, "why"));
  };
  const ApiError full = error(absl::StatusCode::kResourceExhausted, reasons::kMailboxFull);
  EXPECT_EQ(full.status, 429);
  EXPECT_EQ(full.type, "rate_limit_error");
  const http::Answer answer = ErrorAnswer(full);
  EXPECT_THAT(answer.fields, ::testing::Contains(::testing::Pair("Retry-After", "1")));
  EXPECT_EQ(json::parse(answer.body)["error"]["param"], nullptr);
  EXPECT_EQ(error(absl::StatusCode::kInvalidArgument, reasons::kContextTooLong).code,
            "context_length_exceeded");
  EXPECT_EQ(error(absl::StatusCode::kUnavailable, reasons::kNodeDraining).status, 503);
  EXPECT_EQ(error(absl::StatusCode::kNotFound, reasons::kUnknownResponse).status, 404);
  EXPECT_EQ(error(absl::StatusCode::kNotFound, reasons::kUnknownResponse).code, "unknown_response");
  EXPECT_EQ(error(absl::StatusCode::kInvalidArgument, reasons::kModeUnsupported).status, 400);
  EXPECT_EQ(error(absl::StatusCode::kInternal, "").code, "internal");
}

}  // namespace
}  // namespace ruvd::openai
