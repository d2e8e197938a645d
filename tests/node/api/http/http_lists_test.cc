// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Tests lists of texts over the HTTP API of a running node.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/node/http_caller.h"
#include "tests/node/node_fixture.h"

namespace ruvd::api {
namespace {

using nlohmann::json;
using test::HttpAnswer;
using test::HttpCaller;

class HttpListsTest : public NodeTest {
 protected:
  void SetUp() override {
    NodeTest::SetUp();
    config_.api.http_listen = "127.0.0.1:0";
  }
  HttpAnswer Embed(const json& input) const {
    HttpCaller caller(node_->http_address());
    caller.Post("/v1/embeddings", json({{"input", input}}).dump());
    return caller.Read();
  }
};

TEST_F(HttpListsTest, AListTakesOnePlaceOfTheQueue) {
  config_.inference.queue = 1;
  Start();
  const HttpAnswer answer = Embed({"a boat", "the sea", "a house"});
  ASSERT_EQ(answer.status, 200) << answer.body;
  const json data = json::parse(answer.body)["data"];
  ASSERT_EQ(data.size(), 3);
  EXPECT_NE(data[0]["embedding"], data[1]["embedding"]);
}

TEST_F(HttpListsTest, ATextThatIsTooLongIsNamedByItsNumber) {
  Start();
  std::string longer;
  for (int i = 0; i < 5'000; ++i) {
    longer += "the sea ";
  }
  const HttpAnswer answer = Embed({"a boat", longer, "a house"});
  EXPECT_EQ(answer.status, 400);
  const json error = json::parse(answer.body)["error"];
  EXPECT_EQ(error["code"], "context_length_exceeded");
  EXPECT_EQ(error["param"], "input[1]");
}

}  // namespace
}  // namespace ruvd::api
