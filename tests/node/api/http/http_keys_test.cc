// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Tests the HTTP API of a running node that asks for keys.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "base/file.h"
#include "node/transport/tls.h"
#include "privacy/identity/admission.h"
#include "tests/node/http_caller.h"
#include "tests/node/key_line.h"
#include "tests/node/node_fixture.h"

namespace ruvd::api {
namespace {

using nlohmann::json;
using test::HttpAnswer;
using test::HttpCaller;
using ::testing::HasSubstr;

class HttpKeysTest : public NodeTest {
 protected:
  void SetUp() override {
    NodeTest::SetUp();
    config_.api.http_listen = "127.0.0.1:0";
    const auto pair = transport::MakeSelfSignedCertificate("IP:127.0.0.1").value();
    config_.api.tls_cert = Write("cert.pem", pair.certificate);
    config_.api.tls_key = Write("key.pem", pair.private_key);
    config_.api.key_file = Write(
        "keys",
        test::KeyLine("looker", privacy::roles::kObserver, kObserver) +
            test::KeyLine("app", privacy::roles::kContributor, kContributor) +
            test::KeyLine("rare", privacy::roles::kContributor, kRare, {.requests_per_minute = 1}));
    Start();
  }
  std::string Write(const std::string& name, const std::string& text) {
    EXPECT_TRUE(WriteFileAtomically(folder_ / name, text, 0600).ok());
    return folder_ / name;
  }
  // Returns the answer to a chat with this field Authorization.
  HttpAnswer ChatWith(const std::string& authorization) const {
    HttpCaller caller(node_->http_address(), /*tls=*/true);
    const json chat = {{"messages", {{{"role", "user"}, {"content", "x"}}}}, {"max_tokens", 4}};
    caller.Post("/v1/chat/completions", chat.dump(),
                authorization.empty() ? "" : "Authorization: " + authorization + "\r\n");
    return caller.Read();
  }
  static json ErrorOf(const HttpAnswer& answer) { return json::parse(answer.body)["error"]; }

  const std::string kObserver = std::string(40, 'o');
  const std::string kContributor = std::string(40, 'c');
  const std::string kRare = std::string(40, 'r');
};

TEST_F(HttpKeysTest, AKeyThatUsedWhatItMayIsToldWhenToComeAgain) {
  EXPECT_EQ(ChatWith("Bearer " + kRare).status, 200);
  const HttpAnswer refused = ChatWith("Bearer " + kRare);
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(ErrorOf(refused)["code"], "rate_limit_exceeded");
  EXPECT_THAT(std::string(ErrorOf(refused)["message"]), HasSubstr("1 requests a minute"));
  const int seconds = std::stoi(refused.fields.at("retry-after"));
  EXPECT_GT(seconds, 30);
  EXPECT_LE(seconds, 60);
  EXPECT_EQ(ChatWith("Bearer " + kContributor).status, 200);
}

TEST_F(HttpKeysTest, AKeyOpensWhatItsRoleAllows) {
  EXPECT_EQ(ChatWith("Bearer " + kContributor).status, 200);
  const HttpAnswer none = ChatWith("");
  EXPECT_EQ(none.status, 401);
  EXPECT_EQ(none.fields.at("www-authenticate"), "Bearer");
  EXPECT_EQ(ErrorOf(none)["code"], "invalid_api_key");
  EXPECT_EQ(ChatWith("Bearer " + std::string(40, 'x')).status, 401);
  EXPECT_EQ(ChatWith("Basic " + kContributor).status, 401);
  const HttpAnswer small = ChatWith("Bearer " + kObserver);
  EXPECT_EQ(small.status, 403);
  EXPECT_EQ(ErrorOf(small)["code"], "insufficient_permissions");
  HttpCaller caller(node_->http_address(), /*tls=*/true);
  caller.Get("/v1/models", "Authorization: Bearer " + kObserver + "\r\n");
  EXPECT_EQ(caller.Read().status, 200);
  caller.Get("/readyz");
  EXPECT_EQ(caller.Read().status, 200) << "probes need no key";
}

TEST_F(HttpKeysTest, ARevokedKeyIsOverOnOpenConnections) {
  HttpCaller caller(node_->http_address(), /*tls=*/true);
  const std::string key = "Authorization: Bearer " + kContributor + "\r\n";
  caller.Get("/v1/models", key);
  EXPECT_EQ(caller.Read().status, 200);
  Write("keys", test::KeyLine("looker", privacy::roles::kObserver, kObserver));
  ASSERT_TRUE(node_->ReloadCredentials().ok());
  caller.Get("/v1/models", key);
  EXPECT_EQ(caller.Read().status, 401);
}

TEST_F(HttpKeysTest, PlainBytesGetNoAnswer) {
  HttpCaller plain(node_->http_address());
  plain.Get("/v1/models");
  EXPECT_EQ(plain.Read().status, 0);
}

}  // namespace
}  // namespace ruvd::api
