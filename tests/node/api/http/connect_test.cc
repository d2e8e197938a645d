// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Tests the Connect protocol of a running node over real sockets.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/file.h"
#include "node/api/authorization.h"
#include "node/api/http/connect_codec.h"
#include "node/transport/tls.h"
#include "privacy/identity/admission.h"
#include "tests/node/http_caller.h"
#include "tests/node/key_line.h"
#include "tests/node/node_fixture.h"
#include "tests/node/wait_until.h"

namespace ruvd::api {
namespace {

using nlohmann::json;
using test::HttpAnswer;
using test::HttpCaller;
using test::WaitUntil;
using ::testing::HasSubstr;

constexpr char kGenerate[] = "/ruvd.inference.v1.InferenceService/Generate";
constexpr char kEmbed[] = "/ruvd.inference.v1.InferenceService/Embed";
constexpr char kStatus[] = "/ruvd.node.v1.NodeService/GetStatus";
constexpr char kFeedback[] = "/ruvd.learning.v1.LearningService/SubmitFeedback";

// The envelopes of a stream: flags and messages.
std::vector<std::pair<int, json>> EnvelopesOf(std::string_view body) {
  std::vector<std::pair<int, json>> envelopes;
  while (body.size() >= 5) {
    size_t size = 0;
    for (const char byte : body.substr(1, 4)) {
      size = size << 8 | static_cast<uint8_t>(byte);
    }
    envelopes.emplace_back(body[0], json::parse(body.substr(5, size)));
    body.remove_prefix(std::min(5 + size, body.size()));
  }
  EXPECT_TRUE(body.empty());
  return envelopes;
}

std::string TextOf(const std::vector<std::pair<int, json>>& envelopes) {
  std::string text;
  for (const auto& [flags, message] : envelopes) {
    if (message.contains("textDelta")) {
      text += message["textDelta"].value("text", "");
    }
  }
  return text;
}

class ConnectTest : public NodeTest {
 protected:
  void SetUp() override {
    NodeTest::SetUp();
    config_.api.http_listen = "127.0.0.1:0";
  }
  void Send(HttpCaller& caller, const std::string& path, const std::string& type,
            const std::string& body, const std::string& more = "") const {
    caller.Send("POST " + path + " HTTP/1.1\r\nHost: localhost\r\nContent-Type: " + type + "\r\n" +
                more + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
  }
  HttpAnswer Post(const std::string& path, const json& message,
                  const std::string& more = "") const {
    HttpCaller caller(node_->http_address(), /*tls=*/!config_.api.tls_cert.empty());
    Send(caller, path, "application/json", message.dump(), more);
    return caller.Read();
  }
  HttpAnswer PostStream(const std::string& path, const json& message,
                        const std::string& more = "") const {
    HttpCaller caller(node_->http_address(), /*tls=*/!config_.api.tls_cert.empty());
    Send(caller, path, "application/connect+json", Envelope(message.dump()), more);
    return caller.Read();
  }
  HttpAnswer Get(const std::string& target) const {
    HttpCaller caller(node_->http_address());
    caller.Get(target);
    return caller.Read();
  }
  static std::string CodeOf(const HttpAnswer& answer) {
    return json::parse(answer.body).value("code", "");
  }
};

TEST_F(ConnectTest, AnAnswerIsThatOfGrpc) {
  Start();
  const HttpAnswer answer = Post(kEmbed, {{"texts", {"the river", "a bridge"}}});
  ASSERT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(answer.fields.at("content-type"), "application/json");
  const auto grpc = NodeTest::Embed({"the river", "a bridge"});
  const json read = json::parse(answer.body);
  ASSERT_EQ(read["embeddings"].size(), 2u);
  EXPECT_EQ(read["modelPackage"], grpc->model_package());
  EXPECT_FLOAT_EQ(read["embeddings"][1]["values"][7].get<float>(), grpc->embeddings(1).values(7));
}

TEST_F(ConnectTest, ABinaryAnswerIsThatOfGrpc) {
  Start();
  inference::v1::EmbedRequest request;
  request.add_texts("the river");
  HttpCaller caller(node_->http_address());
  Send(caller, kEmbed, "application/proto", request.SerializeAsString());
  const HttpAnswer answer = caller.Read();
  EXPECT_EQ(answer.fields.at("content-type"), "application/proto");
  EXPECT_EQ(answer.body, NodeTest::Embed({"the river"})->SerializeAsString());
}

TEST_F(ConnectTest, AStreamHasTheTextOfGrpcWithTheSameSeed) {
  Start();
  auto request = Request("The river runs", 24);
  request.mutable_sampling()->set_temperature(0.8F);
  request.mutable_sampling()->set_seed(11);
  const HttpAnswer answer = PostStream(
      kGenerate, {{"prompt", "The river runs"},
                  {"sampling", {{"maxTokens", 24}, {"temperature", 0.8}, {"seed", "11"}}}});
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.fields.at("content-type"), "application/connect+json");
  const auto envelopes = EnvelopesOf(answer.body);
  ASSERT_GE(envelopes.size(), 4u);
  EXPECT_TRUE(envelopes.front().second.contains("started"));
  EXPECT_TRUE(envelopes[envelopes.size() - 2].second.contains("finished"));
  EXPECT_EQ(envelopes.back().first, 2);
  EXPECT_EQ(envelopes.back().second, json::object());
  EXPECT_EQ(TextOf(envelopes), Generate(request).text);
}

TEST_F(ConnectTest, ReadsMayBeAskedByGet) {
  Start();
  const HttpAnswer answer = Get(std::string(kStatus) + "?connect=v1&encoding=json&message=%7B%7D");
  ASSERT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(json::parse(answer.body)["node"]["state"], "NODE_STATE_SERVING");
  for (const auto& [site, status] : {std::pair("cross-site", 403), std::pair("same-site", 403),
                                     std::pair("same-origin", 200), std::pair("none", 200)}) {
    HttpCaller caller(node_->http_address());
    caller.Get(std::string(kStatus) + "?encoding=json&message=%7B%7D",
               std::string("Sec-Fetch-Site: ") + site + "\r\n");
    EXPECT_EQ(caller.Read().status, status) << site;
  }
  const HttpAnswer change = Get(std::string(kFeedback) + "?encoding=json&message=%7B%7D");
  EXPECT_EQ(change.status, 405);
  EXPECT_EQ(change.fields.at("allow"), "POST");
  EXPECT_EQ(CodeOf(Get(std::string(kStatus) + "?encoding=xml")), "invalid_argument");
}

// No method that clients have over gRPC is missing here, whatever it says to an empty request.
TEST_F(ConnectTest, EveryMethodIsReached) {
  Start();
  for (const RpcRule& rule : RpcRules()) {
    const std::string path(rule.method);
    const auto* const method = FindApiMethod(path);
    if (method == nullptr || path.find("Authority") != std::string::npos ||
        path.find("WatchPatterns") != std::string::npos) {
      continue;  // only the authority's node has the one, and the other ends with the caller
    }
    const HttpAnswer answer =
        method->server_streaming() ? PostStream(path, json::object()) : Post(path, json::object());
    if (method->client_streaming()) {
      EXPECT_EQ(answer.status, 501) << path;
      continue;
    }
    EXPECT_NE(answer.status, 0) << path;
    EXPECT_THAT(answer.body, ::testing::Not(HasSubstr("unimplemented"))) << path;
  }
}

TEST_F(ConnectTest, ErrorsSayCodeAndDetails) {
  Start();
  const HttpAnswer unknown = Post(kEmbed, {{"model", "gpt-4"}, {"texts", {"x"}}});
  EXPECT_EQ(unknown.status, 404);
  const json error = json::parse(unknown.body);
  EXPECT_EQ(error["code"], "not_found");
  EXPECT_THAT(std::string(error["message"]), HasSubstr("gpt-4"));
  EXPECT_EQ(error["details"][0]["type"], "google.rpc.ErrorInfo");
  EXPECT_EQ(CodeOf(Post(kEmbed, {{"textz", {"x"}}})), "invalid_argument");
  const auto end = EnvelopesOf(PostStream(kGenerate, {{"model", "gpt-4"}}).body);
  ASSERT_EQ(end.size(), 1u);
  EXPECT_EQ(end[0].second["error"]["code"], "not_found");
  HttpCaller caller(node_->http_address());
  Send(caller, kEmbed, "text/plain", "{}");
  EXPECT_EQ(caller.Read().status, 415);
  HttpCaller one(node_->http_address());
  Send(one, kGenerate, "application/json", "{}");
  const HttpAnswer wrong = one.Read();
  EXPECT_EQ(wrong.status, 415);
  EXPECT_THAT(wrong.body, HasSubstr("application/connect+json"));
  const HttpAnswer missing = Post("/ruvd.node.v1.NodeService/Nothing", json::object());
  EXPECT_EQ(missing.status, 404);
  EXPECT_EQ(CodeOf(missing), "unimplemented");
  const HttpAnswer packed = Post(kEmbed, {{"texts", {"x"}}}, "Content-Encoding: gzip\r\n");
  EXPECT_EQ(packed.status, 501);
  EXPECT_EQ(CodeOf(packed), "unimplemented");
  const HttpAnswer large = Post(kEmbed, {{"texts", {std::string(2 << 20, 'x')}}});
  EXPECT_EQ(large.status, 413);
  EXPECT_EQ(CodeOf(large), "resource_exhausted");
}

TEST_F(ConnectTest, ATimeoutEndsTheCall) {
  Start();
  const json slow = {{"prompt", "x"}, {"completion", std::string(200, 'y')}, {"samples", 128}};
  const std::string path = "/ruvd.inference.v1.InferenceService/Score";
  const HttpAnswer late = Post(path, slow, "Connect-Timeout-Ms: 5\r\n");
  EXPECT_EQ(late.status, 504);
  EXPECT_EQ(CodeOf(late), "deadline_exceeded");
  for (const char* const odd : {"", "-1", "5.0", "12345678901", "x"}) {
    const HttpAnswer refused = Post(path, slow, std::string("Connect-Timeout-Ms: ") + odd + "\r\n");
    EXPECT_EQ(refused.status, 400) << odd;
  }
}

TEST_F(ConnectTest, LeavingEndsTheWork) {
  Start();
  {
    HttpCaller caller(node_->http_address());
    json request = {{"prompt", "The river"}, {"streamFrames", true}};
    request["sampling"] = {{"maxTokens", 480}, {"ignoreEndOfText", true}};
    Send(caller, kGenerate, "application/connect+json", Envelope(request.dump()));
    EXPECT_EQ(caller.ReadHead().status, 200);
    EXPECT_FALSE(caller.ReadChunk().empty());
  }
  EXPECT_TRUE(WaitUntil([this] { return Status().serving().requests_running() == 0; }));
  // The log says how the request ended: by itself, or because its caller left.
  EXPECT_TRUE(WaitUntil([this] {
    const HttpAnswer stats = Post("/ruvd.witness.v1.WitnessService/GetStats", json::object());
    return json::parse(stats.body)["byError"].contains("CANCELLED");
  }));
}

// gRPC ends the process when it is given such bytes as metadata.
TEST_F(ConnectTest, AuthorizationOfOddBytesIsRefused) {
  Start();
  for (const char* const odd : {"\xFF", "Bearer a\tb", "Bearer \x80"}) {
    const HttpAnswer answer =
        Post(kStatus, json::object(), std::string("Authorization: ") + odd + "\r\n");
    EXPECT_EQ(answer.status, 400) << odd;
  }
  EXPECT_EQ(Post(kStatus, json::object(), "Authorization: Bearer anything\r\n").status, 200)
      << "without keys a key is not asked for";
}

class ConnectKeysTest : public ConnectTest {
 protected:
  void SetUp() override {
    ConnectTest::SetUp();
    const auto pair = transport::MakeSelfSignedCertificate("IP:127.0.0.1").value();
    config_.api.tls_cert = Write("cert.pem", pair.certificate);
    config_.api.tls_key = Write("key.pem", pair.private_key);
    config_.api.key_file = Write(
        "keys", test::KeyLine("looker", privacy::roles::kObserver, std::string(40, 'o')) +
                    test::KeyLine("lab", privacy::roles::kContributor, std::string(40, 'l')) +
                    test::KeyLine("ward", privacy::roles::kContributor, std::string(40, 'w')) +
                    test::KeyLine("rare", privacy::roles::kContributor, std::string(40, 'r'),
                                  {.requests_per_minute = 1}));
    Start();
  }
  std::string Write(const std::string& name, const std::string& text) {
    EXPECT_TRUE(WriteFileAtomically(folder_ / name, text, 0600).ok());
    return folder_ / name;
  }
  static std::string Key(char letter) {
    return "Authorization: Bearer " + std::string(40, letter) + "\r\n";
  }
};

TEST_F(ConnectKeysTest, AKeyOpensWhatItsRoleAllows) {
  const json texts = {{"texts", {"x"}}};
  EXPECT_EQ(Post(kEmbed, texts, Key('l')).status, 200);
  const HttpAnswer none = Post(kEmbed, texts);
  EXPECT_EQ(none.status, 401);
  EXPECT_EQ(CodeOf(none), "unauthenticated");
  EXPECT_EQ(none.fields.at("www-authenticate"), "Bearer");
  EXPECT_EQ(Post(kEmbed, texts, Key('x')).status, 401);
  EXPECT_EQ(Post(kEmbed, texts, Key('o')).status, 403);
  EXPECT_EQ(Post(kStatus, json::object(), Key('o')).status, 200);
  EXPECT_EQ(Post("/ruvd.node.v1.StoreService/EraseUser", {{"userId", "ann"}}, Key('l')).status,
            403);
}

// A call that goes on inside the process must not be taken for one of the unix socket, whose
// callers own everything.
TEST_F(ConnectKeysTest, AResponseBelongsToItsKey) {
  const auto envelopes = EnvelopesOf(
      PostStream(kGenerate, {{"prompt", "x"}, {"sampling", {{"maxTokens", 4}}}}, Key('l')).body);
  ASSERT_FALSE(envelopes.empty());
  const std::string id = envelopes.front().second["started"]["responseId"];
  const json rating = {{"responseId", id}, {"rating", 1}};
  const HttpAnswer foreign = Post(kFeedback, rating, Key('w'));
  EXPECT_EQ(foreign.status, 404) << foreign.body;
  EXPECT_EQ(Post(kFeedback, rating, Key('l')).status, 200);
}

TEST_F(ConnectKeysTest, AKeyThatUsedWhatItMayIsToldWhenToComeAgain) {
  EXPECT_EQ(Post(kEmbed, {{"texts", {"x"}}}, Key('r')).status, 200) << "it is counted once";
  const HttpAnswer refused = Post(kEmbed, {{"texts", {"x"}}}, Key('r'));
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(CodeOf(refused), "resource_exhausted");
  EXPECT_GT(std::stoi(refused.fields.at("retry-after")), 30);
}

}  // namespace
}  // namespace ruvd::api
