// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Tests what the HTTP API decides by the head of a request, without a node behind it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <variant>

#include "base/clock.h"
#include "base/file.h"
#include "node/api/callers.h"
#include "node/api/http/http_api.h"
#include "node/transport/api_keys.h"
#include "privacy/identity/admission.h"
#include "tests/node/holding_executor.h"
#include "tests/node/key_line.h"

namespace ruvd::api {
namespace {

using http::Admitted;
using http::Refused;
using http::RequestHead;
using ::testing::HasSubstr;

// Keeps the answer.
class KeptAnswer final : public http::Exchange {
 public:
  void Respond(http::Answer answer) override { status = answer.status; }
  void BeginStream(std::string) override {}
  bool Send(std::string) override { return true; }
  void EndStream() override {}
  void FailStream(int) override {}
  bool is_gone() const override { return false; }
  bool is_behind() const override { return false; }

  int status = 0;
};

class HttpAdmissionTest : public ::testing::Test {
 protected:
  HttpApiOptions Options() {
    return {.node = {},
            .callers = std::make_shared<const Callers>(nullptr, clock_),
            .requests = &requests_,
            .health = [this] {
              ++looks_;
              return HttpHealth{.parts = {{"inference", looks_ > 1 ? "it waits" : ""}}};
            }};
  }
  static RequestHead Get(std::string path) {
    return {.method = "GET", .path = std::move(path), .host = "localhost"};
  }
  // Returns the status of a refusal; 0 if the request is admitted.
  static int StatusOf(const http::Verdict& verdict) {
    const auto* const refused = std::get_if<Refused>(&verdict);
    return refused == nullptr ? 0 : refused->answer.status;
  }

  ManualClock clock_;
  HoldingExecutor requests_;
  int looks_ = 0;
};

TEST_F(HttpAdmissionTest, AProbeLooksAtThePartsWhereItMayWait) {
  const HttpApi api(Options());
  EXPECT_EQ(StatusOf(api.Admit(Get("/livez"))), 200) << "at once";
  for (const int expected : {200, 503}) {
    const http::Verdict verdict = api.Admit(Get("/readyz"));
    ASSERT_TRUE(std::holds_alternative<Admitted>(verdict));
    EXPECT_FALSE(std::get<Admitted>(verdict).proves);
    const auto answer = std::make_shared<KeptAnswer>();
    const int before = looks_;
    std::get<Admitted>(verdict).handle("", answer);
    EXPECT_EQ(looks_, before) << "nothing waits on the thread of the I/O";
    requests_.RunAll();
    EXPECT_EQ(answer->status, expected);
  }
}

TEST_F(HttpAdmissionTest, AHostOfElsewhereIsRefusedInBothVersions) {
  const HttpApi api(Options());
  for (const bool is_newer : {true, false}) {
    RequestHead head = Get("/v1/models");
    head.takes_chunks = is_newer;
    EXPECT_EQ(StatusOf(api.Admit(head)), 0);
    head.host = "evil.example";
    EXPECT_EQ(StatusOf(api.Admit(head)), 403);
    head.host = "";
    EXPECT_EQ(StatusOf(api.Admit(head)), is_newer ? 403 : 0) << "HTTP/1.0 need not name one";
  }
}

TEST_F(HttpAdmissionTest, APercentSignWithoutItsDigitsIsRefused) {
  const HttpApi api(Options());
  EXPECT_EQ(StatusOf(api.Admit(Get("/v1/models/a%3Ab"))), 0);
  for (const char* const bad : {"/v1/models/%", "/v1/models/a%4", "/v1/models/%zz"}) {
    EXPECT_EQ(StatusOf(api.Admit(Get(bad))), 400) << bad;
  }
}

TEST_F(HttpAdmissionTest, TheSchemeOfAKeyMayBeWrittenInAnyCase) {
  const std::string file = std::filesystem::path(::testing::TempDir()) / "http_admission_keys";
  const std::string key(40, 'k');
  ASSERT_TRUE(
      WriteFileAtomically(file, test::KeyLine("looker", privacy::roles::kObserver, key), 0600)
          .ok());
  auto keys = std::make_shared<transport::ApiKeys>(file);
  ASSERT_TRUE(keys->Reload().ok());
  HttpApiOptions options = Options();
  options.callers = std::make_shared<const Callers>(keys, clock_);
  const HttpApi api(std::move(options));
  RequestHead head = Get("/v1/models");
  for (const char* const scheme : {"Bearer ", "bearer ", "BEARER "}) {
    head.authorization = scheme + key;
    EXPECT_EQ(StatusOf(api.Admit(head)), 0) << scheme;
  }
  for (const std::string& bad : {"Basic " + key, key, "Bearer" + key, "bearer x" + key}) {
    head.authorization = bad;
    EXPECT_EQ(StatusOf(api.Admit(head)), 401) << bad;
  }
  head.authorization = std::nullopt;
  const http::Verdict none = api.Admit(head);
  ASSERT_EQ(StatusOf(none), 401);
  EXPECT_THAT(std::get<Refused>(none).answer.body, HasSubstr("Authorization: Bearer"));
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace ruvd::api
