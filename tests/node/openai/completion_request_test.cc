// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/openai/completion_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "base/error_details.h"
#include "base/reasons.h"
#include "base/status.h"
#include "node/openai/api_error.h"
#include "node/openai/embeddings.h"
#include "node/openai/feedback.h"
#include "node/openai/reasons.h"

namespace ruvd::openai {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

// Returns a chat request with more fields.
std::string Chat(const std::string& more) {
  return R"({"model":"m","messages":[{"role":"user","content":"Hi"}])" + more + "}";
}

TEST(CompletionRequestTest, LogProbabilitiesAreAskedForAsOpenAiDoes) {
  const auto chat = ReadChatRequest(Chat(R"(,"logprobs":true,"top_logprobs":3)"), "m").value();
  EXPECT_TRUE(chat.has_logprobs);
  EXPECT_EQ(chat.generate.sampling().logprobs(), 3U);
  const auto own = ReadChatRequest(Chat(R"(,"logprobs":true)"), "m").value();
  EXPECT_TRUE(own.generate.sampling().has_logprobs());
  EXPECT_FALSE(ReadChatRequest(Chat(R"(,"logprobs":false)"), "m")->has_logprobs);
  EXPECT_EQ(FieldOf(ReadChatRequest(Chat(R"(,"top_logprobs":3)"), "m").status()), "top_logprobs");
  const auto text = ReadTextRequest(R"({"prompt":"a","logprobs":2})", "m").value();
  EXPECT_TRUE(text.has_logprobs);
  EXPECT_EQ(text.generate.sampling().logprobs(), 2U);
  EXPECT_EQ(FieldOf(ReadTextRequest(R"({"prompt":"a","logprobs":true})", "m").status()),
            "logprobs");
}

TEST(CompletionRequestTest, ASchemaKeepsTheOrderOfItsNames) {
  const auto request = ReadChatRequest(
      Chat(R"(,"response_format":{"type":"json_schema","json_schema":{"name":"n","strict":true,
           "schema":{"type":"object","properties":{"z":{"type":"null"},"a":{"type":"null"}}}}})"),
      "m");
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_EQ(request->generate.json_schema(),
            R"({"type":"object","properties":{"z":{"type":"null"},"a":{"type":"null"}}})");
  const auto object = ReadChatRequest(Chat(R"(,"response_format":{"type":"json_object"})"), "m");
  ASSERT_TRUE(object.ok()) << object.status();
  EXPECT_TRUE(object->generate.json_object());
  for (const char* bad : {R"({"type":"json_schema"})", R"({"type":"json_schema","json_schema":1})",
                          R"({"type":"json_schema","json_schema":{"name":"n"}})",
                          R"({"type":"json_schema","json_schema":{"schema":"x"}})", R"({})", "1"}) {
    const auto refused =
        ReadChatRequest(Chat(std::string(R"(,"response_format":)") + bad), "m").status();
    EXPECT_THAT(FieldOf(refused), ::testing::StartsWith("response_format")) << bad;
  }
}

TEST(CompletionRequestTest, ReadsEveryFieldOfAChat) {
  const auto request = ReadChatRequest(
      R"({"model":"m","messages":[{"role":"developer","content":"Be short."},
          {"role":"user","content":[{"type":"text","text":"Hel"},{"type":"text","text":"lo"}]}],
          "max_completion_tokens":7,"temperature":0.5,"top_p":0.9,"seed":18446744073709551615,
          "stop":["a","b"],"n":1,"user":"u1","metadata":{"session_id":"s1","team":"x"},
          "chat_format":"chatml","stream":true,"stream_options":{"include_usage":true},"presence_penalty":0.25,
          "frequency_penalty":0.5,"logprobs":false,"response_format":{"type":"text"},
          "diffusion":{"steps":4,"block_length":8,"sampler":"threshold","threshold":0.75,
                       "stream":"steps"}})",
      "m");
  ASSERT_TRUE(request.ok()) << request.status();
  const inference::v1::GenerateRequest& generate = request->generate;
  const inference::v1::Chat& chat = generate.chat();
  ASSERT_EQ(chat.messages_size(), 2);
  EXPECT_EQ(chat.messages(0).role(), inference::v1::CHAT_ROLE_SYSTEM)
      << "the older name of developer";
  EXPECT_EQ(chat.messages(1).content(), "Hello");
  const inference::v1::SamplingOptions& sampling = generate.sampling();
  EXPECT_EQ(sampling.max_tokens(), 7);
  EXPECT_FLOAT_EQ(sampling.temperature(), 0.5);
  EXPECT_FLOAT_EQ(sampling.top_p(), 0.9F);
  EXPECT_EQ(sampling.seed(), UINT64_MAX);
  EXPECT_THAT(sampling.stop(), ElementsAre("a", "b"));
  EXPECT_FLOAT_EQ(sampling.presence_penalty(), 0.25);
  EXPECT_FLOAT_EQ(sampling.frequency_penalty(), 0.5);
  EXPECT_EQ(sampling.steps(), 4);
  EXPECT_EQ(sampling.block_length(), 8);
  EXPECT_EQ(sampling.sampler(), "threshold");
  EXPECT_FLOAT_EQ(sampling.confidence_threshold(), 0.75);
  EXPECT_EQ(chat.format(), "chatml");
  EXPECT_EQ(generate.user_id(), "u1");
  EXPECT_EQ(generate.session_id(), "s1");
  EXPECT_TRUE(generate.stream_frames());
  EXPECT_TRUE(request->streams && request->includes_usage && request->shows_frames);
  EXPECT_THAT(request->metadata, ElementsAre(Pair("session_id", "s1"), Pair("team", "x")));
}

TEST(CompletionRequestTest, WhatIsNotSentKeepsTheDefaultsOfGrpc) {
  const auto request = ReadChatRequest(Chat(R"(,"top_p":1,"stop":null,"seed":null)"), "m");
  ASSERT_TRUE(request.ok()) << request.status();
  inference::v1::GenerateRequest plain;
  auto* const message = plain.mutable_chat()->add_messages();
  message->set_role(inference::v1::CHAT_ROLE_USER);
  message->set_content("Hi");
  plain.mutable_sampling();
  plain.mutable_adapters();
  EXPECT_EQ(request->generate.SerializeAsString(), plain.SerializeAsString());
  EXPECT_FALSE(request->generate.sampling().has_seed()) << "the node draws one";
}

TEST(CompletionRequestTest, ReadsATextWithASuffix) {
  const auto request =
      ReadTextRequest(R"({"prompt":["Once"],"suffix":" end.","max_tokens":3,"echo":false})", "m");
  ASSERT_TRUE(request.ok()) << request.status();
  const inference::v1::Infill& infill = request->generate.infill();
  ASSERT_EQ(infill.parts_size(), 3);
  EXPECT_EQ(infill.parts(0).text(), "Once");
  EXPECT_EQ(infill.parts(1).gap(), 3U);
  EXPECT_EQ(infill.parts(2).text(), " end.");
  EXPECT_FALSE(request->generate.sampling().has_max_tokens()) << "the gap says it";
  EXPECT_FALSE(request->is_chat);
}

TEST(CompletionRequestTest, RefusesWhatItDoesNotSupportByName) {
  for (const auto& [more, param] : std::vector<std::pair<std::string, std::string>>{
           {R"(,"logit_bias":{})", "logit_bias"},
           {R"(,"audio":{"voice":"x"})", "audio"},
           {R"(,"tools":[])", "tools"},
           {R"(,"n":2)", "n"},
           {R"(,"response_format":{"type":"xml"})", "response_format.type"},
           {R"(,"response_format":{"type":"json_object","depth":1})", "response_format.depth"},
           {R"(,"diffusion":{"speed":1})", "diffusion.speed"},
           {R"(,"stream":true,"stream_options":{"x":1})", "stream_options.x"}}) {
    const absl::Status refused = ReadChatRequest(Chat(more), "m").status();
    EXPECT_EQ(ReasonOf(refused), reasons::kUnsupportedParameter) << more;
    EXPECT_EQ(FieldOf(refused), param);
    EXPECT_THAT(MessageOf(refused), HasSubstr(param));
    const ApiError error = ErrorOf(refused);
    EXPECT_EQ(error.status, 400);
    EXPECT_EQ(error.code, "unsupported_parameter");
  }
  const absl::Status image =
      ReadChatRequest(
          R"({"messages":[{"role":"user","content":[{"type":"image_url","image_url":{}}]}]})", "m")
          .status();
  EXPECT_EQ(FieldOf(image), "messages[0].content[0].type");
  EXPECT_EQ(ReasonOf(image), reasons::kUnsupportedParameter);
  EXPECT_EQ(FieldOf(ReadTextRequest(R"({"prompt":["a","b"]})", "m").status()), "prompt");
  EXPECT_EQ(FieldOf(ReadTextRequest(R"({"prompt":"a","echo":true})", "m").status()), "echo");
}

TEST(CompletionRequestTest, WrongTypesAndRangesNameTheirField) {
  for (const auto& [more, param] : std::vector<std::pair<std::string, std::string>>{
           {R"(,"temperature":"hot")", "temperature"},
           {R"(,"max_tokens":0)", "max_tokens"},
           {R"(,"max_tokens":1.5)", "max_tokens"},
           {R"(,"max_tokens":3,"max_completion_tokens":4)", "max_tokens"},
           {R"(,"seed":-1)", "seed"},
           {R"(,"stop":[1])", "stop"},
           {R"(,"top_p":0)", "top_p"},
           {R"(,"stream":"yes")", "stream"},
           {R"(,"metadata":{"a":1})", "metadata"},
           {R"(,"stream_options":{})", "stream_options"},
           {R"(,"diffusion":[])", "diffusion"},
           {R"(,"diffusion":{"stream":"steps"})", "diffusion"},
           {R"(,"diffusion":{"threshold":2})", "diffusion.threshold"}}) {
    const absl::Status refused = ReadChatRequest(Chat(more), "m").status();
    EXPECT_EQ(ReasonOf(refused), reasons::kInvalidArgument) << more;
    EXPECT_EQ(FieldOf(refused), param) << more;
  }
  EXPECT_EQ(FieldOf(ReadChatRequest("{}", "m").status()), "messages");
  EXPECT_EQ(FieldOf(ReadChatRequest(R"({"messages":[7]})", "m").status()), "messages[0]");
  EXPECT_EQ(FieldOf(ReadChatRequest(R"({"messages":[{"role":"user"}]})", "m").status()),
            "messages[0].content");
  EXPECT_THAT(MessageOf(ReadChatRequest("[]", "m").status()), HasSubstr("send an object"));
}

TEST(CompletionRequestTest, AModelIsTheNodesWithOrWithoutAnAdapter) {
  const auto adapter_of = [](const std::string& name) {
    return ReadChatRequest(
        R"({"model":")" + name + R"(","messages":[{"role":"user","content":"Hi"}]})", "m");
  };
  EXPECT_EQ(adapter_of("m:sea").value().generate.adapters().chosen(0).name(), "sea");
  const auto versioned = adapter_of("m:sea@3").value().generate.adapters().chosen(0);
  EXPECT_EQ(versioned.name(), "sea");
  EXPECT_EQ(versioned.version(), 3);
  for (const char* name : {"gpt-4o", "m2", "m:sea@x", "m:sea@"}) {
    const absl::Status refused = adapter_of(name).status();
    EXPECT_EQ(ErrorOf(refused).status, 404) << name;
    EXPECT_EQ(ErrorOf(refused).code, "model_not_found");
    EXPECT_EQ(FieldOf(refused), "model");
  }
  EXPECT_THAT(MessageOf(adapter_of("gpt-4o").status()), HasSubstr("'m'"));
}

TEST(EmbeddingsRequestTest, ReadsOneTextOrAList) {
  EXPECT_THAT(ReadEmbeddingsRequest(R"({"input":"a"})", "m", 3).value().texts, ElementsAre("a"));
  const auto list = ReadEmbeddingsRequest(
      R"({"input":["a","b"],"encoding_format":"base64","dimensions":3,"model":"m"})", "m", 3);
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_TRUE(list->as_base64);
  EXPECT_EQ(EmbeddingsAnswer({.texts = {"a"}, .as_base64 = true}, "m",
                             std::vector<std::vector<float>>{{1.0F}}, 2),
            R"({"data":[{"embedding":"AACAPw==","index":0,"object":"embedding"}],"model":"m",)"
            R"("object":"list","usage":{"prompt_tokens":2,"total_tokens":2}})");
  for (const auto& [body, param] : std::vector<std::pair<std::string, std::string>>{
           {R"({"input":[]})", "input"},
           {R"({"input":[1,2]})", "input"},
           {R"({"input":"a","dimensions":4})", "dimensions"},
           {R"({"input":"a","encoding_format":"int8"})", "encoding_format"},
           {R"({"input":"a","model":"m:x"})", "model"},
           {R"({"input":"a","user":"u"})", "user"}}) {
    EXPECT_EQ(FieldOf(ReadEmbeddingsRequest(body, "m", 3).status()), param) << body;
  }
}

TEST(FeedbackRequestTest, TakesOneSignalForACompletion) {
  const auto request = ReadFeedbackRequest(
      R"({"id":"chatcmpl-ab","edited_text":"right","idempotency_key":"k","metadata":{"a":"b"}})");
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_EQ(request->response_id(), "ab");
  EXPECT_EQ(request->edited_text(), "right");
  EXPECT_EQ(request->idempotency_key(), "k");
  EXPECT_EQ(ReadFeedbackRequest(R"({"id":"cmpl-ab","rating":0.5})").value().response_id(), "ab");
  for (const char* body :
       {R"({"rating":1})", R"({"id":"a"})", R"({"id":"a","rating":1,"copied":true})",
        R"({"id":"a","rating":"good"})", R"({"id":"a","stars":5})"}) {
    EXPECT_FALSE(ReadFeedbackRequest(body).ok()) << body;
  }
}

}  // namespace
}  // namespace ruvd::openai
