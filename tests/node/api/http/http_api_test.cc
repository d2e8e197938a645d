// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Tests the HTTP API of a running node over real sockets.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/file.h"
#include "node/http/limits.h"
#include "node/transport/listeners.h"
#include "node/transport/tls.h"
#include "ruvd/node/v1/node.pb.h"
#include "tests/node/http_caller.h"
#include "tests/node/node_fixture.h"
#include "tests/node/wait_until.h"

namespace ruvd::api {
namespace {

using nlohmann::json;
using test::HttpAnswer;
using test::HttpCaller;
using test::WaitUntil;
using ::testing::HasSubstr;

constexpr char kChat[] = "/v1/chat/completions";
constexpr char kModel[] = "ruvdllm-5m";

class HttpApiTest : public NodeTest {
 protected:
  void SetUp() override {
    NodeTest::SetUp();
    config_.api.http_listen = "127.0.0.1:0";
  }
  std::unique_ptr<HttpCaller> Caller() const {
    return std::make_unique<HttpCaller>(node_->http_address());
  }
  HttpAnswer Post(const std::string& path, const std::string& body) const {
    const auto caller = Caller();
    caller->Post(path, body);
    return caller->Read();
  }
  HttpAnswer Get(const std::string& path) const {
    const auto caller = Caller();
    caller->Get(path);
    return caller->Read();
  }
  // Returns a request for a chat with more fields.
  static json Chat(const std::string& text, int tokens, json more = json::object()) {
    more["messages"] = json::array({{{"role", "user"}, {"content", text}}});
    more["max_tokens"] = tokens;
    return more;
  }
  // Returns how many connections of HTTP ended for a reason.
  uint64_t Ended(const std::string& reason) {
    const node::v1::GetStatusResponse status = Status();
    for (const node::v1::PortStatus& port : status.ports()) {
      if (port.name() == "http") {
        const auto found = port.ended().find(reason);
        return found == port.ended().end() ? 0 : found->second;
      }
    }
    return 0;
  }
};

// Returns the values of a stream's events; [DONE] becomes null.
std::vector<json> EventsOf(const std::string& stream) {
  std::vector<json> events;
  for (size_t at = 0; at < stream.size();) {
    const size_t end = stream.find("\n\n", at);
    const std::string line = stream.substr(at, end - at);
    if (line.starts_with("data: ")) {
      events.push_back(line == "data: [DONE]" ? json(nullptr) : json::parse(line.substr(6)));
    }
    at = end + 2;
  }
  return events;
}
std::string TextOf(const std::vector<json>& events) {
  std::string text;
  for (const json& event : events) {
    if (event.is_object() && !event["choices"].empty()) {
      text += event["choices"][0]["delta"].value("content", "");
    }
  }
  return text;
}

TEST_F(HttpApiTest, AChatIsAnsweredAsOverGrpcWithTheSameSeed) {
  Start();
  inference::v1::GenerateRequest request;
  auto* const message = request.mutable_chat()->add_messages();
  message->set_role(inference::v1::CHAT_ROLE_USER);
  message->set_content("The little boat");
  request.set_user_id("ann");
  // Over HTTP this is the default of a model without a template.
  request.mutable_chat()->set_format("plain");
  request.mutable_sampling()->set_max_tokens(24);
  request.mutable_sampling()->set_temperature(0.8F);
  request.mutable_sampling()->set_seed(11);
  const Completion grpc = Generate(request);
  ASSERT_TRUE(grpc.status.ok()) << grpc.status;
  const HttpAnswer http =
      Post(kChat, Chat("The little boat", 24,
                       {{"model", kModel}, {"temperature", 0.8}, {"seed", 11}, {"user", "ann"}})
                      .dump());
  ASSERT_EQ(http.status, 200) << http.body;
  const json answer = json::parse(http.body);
  EXPECT_EQ(answer["choices"][0]["message"]["content"], grpc.text);
  EXPECT_EQ(answer["model"], kModel);
  EXPECT_EQ(answer["usage"]["prompt_tokens"], grpc.finished.usage().prompt_tokens());
  EXPECT_EQ(answer["usage"]["completion_tokens"], grpc.finished.usage().completion_tokens());
  EXPECT_EQ(answer["ruvd"]["seed"], 11);
}

TEST_F(HttpApiTest, ThePiecesOfAStreamAreTheWholeAnswer) {
  Start();
  json request = Chat("The little boat", 24, {{"temperature", 0.9}, {"seed", 3}});
  const json whole = json::parse(Post(kChat, request.dump()).body);
  request["stream"] = true;
  request["stream_options"] = {{"include_usage", true}};
  const HttpAnswer stream = Post(kChat, request.dump());
  ASSERT_EQ(stream.status, 200) << stream.body;
  EXPECT_EQ(stream.fields.at("content-type"), "text/event-stream");
  EXPECT_TRUE(stream.is_whole);
  const std::vector<json> events = EventsOf(stream.body);
  ASSERT_GE(events.size(), 5);
  EXPECT_EQ(whole["choices"][0]["message"]["content"], TextOf(events));
  EXPECT_EQ(events.front()["choices"][0]["delta"]["role"], "assistant");
  EXPECT_TRUE(events.back().is_null()) << "[DONE]";
  EXPECT_EQ(events[events.size() - 2]["usage"], whole["usage"]);
  EXPECT_EQ(events[events.size() - 3]["choices"][0]["finish_reason"],
            whole["choices"][0]["finish_reason"]);
  for (const json& event : events) {
    EXPECT_TRUE(event.is_null() || !event.contains("diffusion")) << "frames were not asked for";
  }
}

TEST_F(HttpApiTest, FramesComeBesideAnEmptyDeltaAndShowEveryCommit) {
  Start();
  const json request =
      Chat("The little boat", 16,
           {{"stream", true}, {"seed", 1}, {"diffusion", {{"steps", 8}, {"stream", "steps"}}}});
  const HttpAnswer stream = Post(kChat, request.dump());
  ASSERT_EQ(stream.status, 200) << stream.body;
  std::set<int> positions;
  for (const json& event : EventsOf(stream.body)) {
    if (event.is_object() && event.contains("diffusion")) {
      EXPECT_EQ(event["choices"][0]["delta"], json::object());
      for (const json& commit : event["diffusion"]["commits"]) {
        positions.insert(commit[0].get<int>());
      }
    }
  }
  EXPECT_EQ(positions.size(), 16) << "frames that were left out are merged into later ones";
}

TEST_F(HttpApiTest, ACompletionFillsTheGapBeforeItsSuffix) {
  Start();
  const Completion grpc = Generate(Infilling("The little", 8, " on the sea."));
  ASSERT_TRUE(grpc.status.ok()) << grpc.status;
  const HttpAnswer http =
      Post("/v1/completions",
           json({{"prompt", "The little"}, {"suffix", " on the sea."}, {"max_tokens", 8}}).dump());
  ASSERT_EQ(http.status, 200) << http.body;
  EXPECT_EQ(json::parse(http.body)["choices"][0]["text"], grpc.text);
}

TEST_F(HttpApiTest, ModelsAreListedAndFoundByName) {
  Start();
  const json models = json::parse(Get("/v1/models").body);
  EXPECT_EQ(models["data"][0]["id"], kModel);
  EXPECT_GT(models["data"][0]["context_length"], 0);
  EXPECT_EQ(json::parse(Get(std::string("/v1/models/") + kModel).body), models["data"][0]);
  EXPECT_EQ(Get("/v1/models/ruvdllm%2D5m").status, 200) << "as JavaScript writes a name in a path";
  EXPECT_EQ(Get("/v1/models/%").status, 400);
  EXPECT_EQ(Get("/v1/models/a%zz").status, 400);
  const HttpAnswer unknown = Get("/v1/models/gpt-4o");
  EXPECT_EQ(unknown.status, 404);
  EXPECT_EQ(json::parse(unknown.body)["error"]["code"], "model_not_found");
}

TEST_F(HttpApiTest, EmbeddingsAreThoseOfGrpc) {
  Start();
  const auto embedded = Embed({"a boat", "the sea"});
  ASSERT_TRUE(embedded.ok()) << embedded.status();
  std::vector<std::vector<float>> expected;
  for (const inference::v1::TextEmbedding& one : embedded->embeddings()) {
    expected.emplace_back(one.values().begin(), one.values().end());
  }
  ASSERT_EQ(expected.size(), 2U);
  const json answer = json::parse(Post("/v1/embeddings", R"({"input":["a boat","the sea"]})").body);
  ASSERT_EQ(answer["data"].size(), 2);
  EXPECT_EQ(answer["data"][0]["embedding"].get<std::vector<float>>(), expected[0]);
  EXPECT_EQ(answer["data"][1]["embedding"].get<std::vector<float>>(), expected[1]);
  EXPECT_GT(answer["usage"]["prompt_tokens"], 0);
  const json packed =
      json::parse(Post("/v1/embeddings", R"({"input":"a boat","encoding_format":"base64"})").body);
  EXPECT_EQ(packed["data"][0]["embedding"].get<std::string>().size(),
            (expected[0].size() * 4 + 2) / 3 * 4);
}

TEST_F(HttpApiTest, FeedbackFindsTheCompletionByItsId) {
  Start();
  const json answer = json::parse(Post(kChat, Chat("The little boat", 8).dump()).body);
  const HttpAnswer rated =
      Post("/v1/feedback", json({{"id", answer["id"]}, {"rating", 0.0}}).dump());
  ASSERT_EQ(rated.status, 200) << rated.body;
  EXPECT_EQ(json::parse(rated.body)["object"], "feedback");
  const HttpAnswer unknown = Post("/v1/feedback", R"({"id":"chatcmpl-none","rating":1})");
  EXPECT_EQ(unknown.status, 404) << unknown.body;
}

TEST_F(HttpApiTest, BadInputGetsOneClearAnswer) {
  Start();
  struct Case {
    std::string path;
    std::string body;
    int status;
    std::string code;
    std::string param;
  };
  const std::string deep = std::string(1000, '[') + std::string(1000, ']');
  const std::string long_text(20'000, 'a');
  const std::vector<Case> cases = {
      {kChat, Chat("x", 4, {{"logit_bias", json::object()}}).dump(), 400, "unsupported_parameter",
       "logit_bias"},
      {kChat, Chat("x", 4, {{"audio", json::object()}}).dump(), 400, "unsupported_parameter",
       "audio"},
      {kChat, deep, 400, "invalid_json", "[0]"},
      {kChat, R"({"messages":[{"role":"user","content":"x"}],"temperature":NaN})", 400,
       "invalid_json", "temperature"},
      {kChat, R"({"model":"a","model":"b"})", 400, "invalid_json", "model"},
      {kChat, "{\"messages\":\"\xff\"}", 400, "invalid_json", "messages"},
      {kChat, Chat("x", 4, {{"stop", 5}}).dump(), 400, "invalid_argument", "stop"},
      {kChat, Chat("x", 4, {{"temperature", -1}}).dump(), 400, "invalid_argument", ""},
      {kChat, Chat("x", 4, {{"model", "gpt-4o"}}).dump(), 404, "model_not_found", "model"},
      {kChat, Chat("x", 4, {{"model", "ruvdllm-5m:none"}}).dump(), 404, "model_not_found", "model"},
      {kChat, Chat(long_text, 4).dump(), 400, "context_length_exceeded", ""},
      {"/v1/completions", json({{"prompt", long_text}}).dump(), 400, "context_length_exceeded", ""},
      {"/v1/embeddings", json({{"input", "x"}, {"user", "u"}}).dump(), 400, "unsupported_parameter",
       "user"},
      {"/v1/responses", "{}", 404, "unknown_url", ""},
  };
  for (const Case& one : cases) {
    const HttpAnswer answer = Post(one.path, one.body);
    EXPECT_EQ(answer.status, one.status) << one.body.substr(0, 80) << answer.body;
    const json error = json::parse(answer.body)["error"];
    EXPECT_EQ(error["code"], one.code) << answer.body;
    if (!one.param.empty()) {
      EXPECT_TRUE(error["param"].is_string()) << answer.body;
      EXPECT_THAT(error["param"].dump(), HasSubstr(one.param));
    }
    EXPECT_FALSE(error["message"].get<std::string>().empty());
    EXPECT_TRUE(error["type"].is_string());
  }
  const HttpAnswer large = Post(kChat, std::string(limits::kMaxHttpBodyBytes + 1, ' '));
  EXPECT_EQ(large.status, 413);
  EXPECT_EQ(json::parse(large.body)["error"]["code"], "request_too_large");
  const HttpAnswer method = Get(kChat);
  EXPECT_EQ(method.status, 405);
  EXPECT_EQ(method.fields.at("allow"), "POST");
  EXPECT_EQ(Status().serving().requests_running(), 0);
}

TEST_F(HttpApiTest, AWebPageElsewhereGetsNothing) {
  Start();
  const std::string body = Chat("x", 4).dump();
  const std::string length = "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  // A page may send this type to any server without asking it.
  const auto simple = Caller();
  simple->Send(
      "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
      "text/plain\r\n" +
      length);
  EXPECT_EQ(simple->Read().status, 415);
  // A name of elsewhere that leads to this machine
  const auto rebound = Caller();
  rebound->Send(
      "POST /v1/chat/completions HTTP/1.1\r\nHost: evil.example:7422\r\nContent-Type: "
      "application/json\r\n" +
      length);
  EXPECT_EQ(rebound->Read().status, 403);
  for (const char* host : {"127.0.0.1:1", "[::1]:80", "localhost", "127.0.0.1"}) {
    const auto caller = Caller();
    caller->Send("GET /v1/models HTTP/1.1\r\nHost: " + std::string(host) + "\r\n\r\n");
    EXPECT_EQ(caller->Read().status, 200) << host;
  }
}

TEST_F(HttpApiTest, TheWorkEndsWhenTheCallerLeaves) {
  Start();
  const auto caller = Caller();
  caller->Post(kChat, Chat("The little boat", 400, {{"stream", true}}).dump());
  ASSERT_EQ(caller->ReadHead().status, 200);
  EXPECT_EQ(Status().serving().requests_running(), 1);
  caller->Leave();
  EXPECT_TRUE(WaitUntil([&] { return Status().serving().requests_running() == 0; }));
  EXPECT_EQ(Ended("caller_left"), 1);
  // One that waits for a whole answer is noticed, too.
  const auto silent = Caller();
  silent->Post(kChat, Chat("The little boat", 400).dump());
  EXPECT_TRUE(WaitUntil([&] { return Status().serving().requests_running() == 1; }));
  silent->Leave();
  EXPECT_TRUE(WaitUntil([&] { return Status().serving().requests_running() == 0; }));
  EXPECT_EQ(Status().store().trajectories(), 0) << "an unfinished completion is not a trajectory";
}

TEST_F(HttpApiTest, SmuggledAndBrokenRequestsEndTheirConnectionOnly) {
  Start();
  const auto good = Caller();
  good->Get("/health");
  EXPECT_EQ(good->Read().status, 200);
  const std::string head =
      "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n"
      "Content-Type: application/json\r\n";
  std::string many = head;
  for (int i = 0; i < 10'000; ++i) {
    many += "X: y\r\n";
  }
  for (const auto& [bytes, status] : std::vector<std::pair<std::string, int>>{
           {head + "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", 400},
           {head + "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
           {head + "Transfer-Encoding: chunked\r\n\r\nzz\r\n", 400},
           {head + "X: " + std::string(40'000, 'x') + "\r\n\r\n", 431},
           {many + "\r\n", 431},
           {"\x16\x03\x01\x02\x03 tls \r\n\r\n", 400}}) {
    const auto caller = Caller();
    caller->Send(bytes);
    EXPECT_EQ(caller->Read().status, status) << bytes.substr(90, 60);
    EXPECT_TRUE(caller->IsEnded());
  }
  EXPECT_EQ(Ended("malformed_request"), 6);
  good->Get("/health");
  EXPECT_EQ(good->Read().status, 200);
}

TEST_F(HttpApiTest, SixtyFourStreamsEndWithoutAnErrorBesideProbes) {
  Start();
  std::vector<std::unique_ptr<HttpCaller>> callers;
  for (int i = 0; i < 64; ++i) {
    callers.push_back(Caller());
    callers.back()->Post(kChat, Chat("The little boat", 8, {{"stream", true}, {"seed", i}}).dump());
  }
  EXPECT_EQ(Get("/health").status, 200);
  for (const auto& caller : callers) {
    const HttpAnswer answer = caller->Read();
    EXPECT_EQ(answer.status, 200) << answer.body;
    EXPECT_TRUE(answer.is_whole && answer.body.ends_with("data: [DONE]\n\n"));
  }
}

TEST_F(HttpApiTest, AFullQueueIsRefusedWithATimeToTryAgain) {
  config_.inference.queue = 1;
  Start();
  const auto first = Caller();
  first->Post(kChat, Chat("The little boat", 300, {{"stream", true}}).dump());
  ASSERT_EQ(first->ReadHead().status, 200);
  const HttpAnswer second = Post(kChat, Chat("x", 4).dump());
  EXPECT_EQ(second.status, 429) << second.body;
  EXPECT_EQ(second.fields.at("retry-after"), "1");
  EXPECT_EQ(json::parse(second.body)["error"]["type"], "rate_limit_error");
}

TEST_F(HttpApiTest, ADrainFinishesStreamsAndRefusesWhatComes) {
  Start();
  EXPECT_EQ(json::parse(Get("/readyz").body)["status"], "ok");
  const auto stream = Caller();
  stream->Post(kChat, Chat("The little boat", 300, {{"stream", true}}).dump());
  ASSERT_EQ(stream->ReadHead().status, 200);
  const auto late = Caller();  // the port accepts nothing at the end
  std::thread drain([this] { EXPECT_TRUE(node_->Drain(kDrain).ok()); });
  EXPECT_TRUE(WaitUntil([&] {
    late->Get("/readyz");
    return late->Read().status == 503;
  }));
  late->Post(kChat, Chat("x", 4).dump());
  const HttpAnswer refused = late->Read();
  EXPECT_EQ(refused.status, 503) << refused.body;
  EXPECT_TRUE(refused.fields.contains("retry-after"));
  late->Get("/livez");
  EXPECT_EQ(late->Read().status, 200);
  std::string last;
  for (std::string piece = stream->ReadChunk(); !piece.empty(); piece = stream->ReadChunk()) {
    last = piece;
  }
  EXPECT_TRUE(last.ends_with("data: [DONE]\n\n"));
  drain.join();
}

TEST_F(HttpApiTest, AnAnswerSaysItsLogProbabilities) {
  Start();
  const HttpAnswer answer =
      Post(kChat, Chat("The boat", 5, {{"logprobs", true}, {"top_logprobs", 2}}).dump());
  ASSERT_EQ(answer.status, 200) << answer.body;
  const json choice = json::parse(answer.body)["choices"][0];
  std::string text;
  for (const json& token : choice["logprobs"]["content"]) {
    text += token["token"];
    EXPECT_LE(token["logprob"], 0);
    EXPECT_EQ(token["top_logprobs"].size(), 2U);
  }
  EXPECT_EQ(choice["message"]["content"], text);
}

TEST_F(HttpApiTest, AChatIsHeldToASchema) {
  Start();
  const json schema = {{"type", "object"},
                       {"properties",
                        {{"name", {{"type", "string"}, {"maxLength", 8}}},
                         {"age", {{"type", "integer"}, {"minimum", 0}}}}},
                       {"required", {"name", "age"}},
                       {"additionalProperties", false}};
  const json format = {{"type", "json_schema"},
                       {"json_schema", {{"name", "person"}, {"schema", schema}}}};
  for (const int seed : {1, 2, 3}) {
    const HttpAnswer answer = Post(
        kChat,
        Chat("Who came?", 80, {{"response_format", format}, {"temperature", 1}, {"seed", seed}})
            .dump());
    ASSERT_EQ(answer.status, 200) << answer.body;
    const json choice = json::parse(answer.body)["choices"][0];
    EXPECT_EQ(choice["finish_reason"], "stop") << choice;
    const json person = json::parse(std::string(choice["message"]["content"]));
    EXPECT_TRUE(person["name"].is_string() && person["age"].is_number_unsigned()) << person;
    EXPECT_EQ(person.size(), 2U);
  }
  const HttpAnswer refused = Post(
      kChat, Chat("x", 8,
                  {{"response_format",
                    {{"type", "json_schema"},
                     {"json_schema",
                      {{"name", "n"}, {"schema", {{"type", "array"}, {"uniqueItems", true}}}}}}}})
                 .dump());
  EXPECT_EQ(refused.status, 400);
  EXPECT_THAT(refused.body, HasSubstr("uniqueItems"));
}

TEST_F(HttpApiTest, ATakenPortIsAnErrorUnlessItIsTheDefault) {
  const auto taken = transport::ListenOnTcp("127.0.0.1:0");
  ASSERT_TRUE(taken.ok());
  config_.api.http_listen = taken->address;
  const auto refused = node::Node::StartTuned(config_, tuning_);
  EXPECT_THAT(MessageOf(refused.status()), HasSubstr(taken->address));
  // It is taken now, by this program or by another one.
  const auto usual = transport::ListenOnTcp(std::string(config::kHttpListen));
  config_.api.http_listen = std::string(config::kHttpListen);
  Start();
  EXPECT_EQ(node_->http_address(), "");
}

}  // namespace
}  // namespace ruvd::api
