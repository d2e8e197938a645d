// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Tests what the holders of keys may use.

#include "node/api/callers.h"

#include <gmock/gmock.h>
#include <google/rpc/error_details.pb.h>
#include <google/rpc/status.pb.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/file.h"
#include "base/reasons.h"
#include "base/retry_delay.h"
#include "base/status.h"
#include "node/api/charged_listener.h"
#include "node/api/rpc_status.h"
#include "node/reasons.h"
#include "privacy/identity/admission.h"
#include "tests/node/key_line.h"

namespace ruvd::api {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;
using Call = std::shared_ptr<const AdmittedCall>;

class CallersTest : public ::testing::Test {
 protected:
  void SetUp() override { Use({}); }
  void TearDown() override { fs::remove(file_); }
  // The keys are web, with these limits, and boss, an admin's without any.
  void Use(const transport::KeyLimits& limits) {
    ASSERT_TRUE(
        WriteFileAtomically(file_,
                            test::KeyLine("web", privacy::roles::kContributor, "web", limits) +
                                test::KeyLine("boss", privacy::roles::kAdmin, "boss"),
                            0600)
            .ok());
    ASSERT_TRUE(keys_->Reload().ok());
  }
  absl::StatusOr<Call> Admit(const std::string& secret = "web") const {
    return callers_.Admit("Bearer " + secret, "");
  }

  // Tests run side by side, so each has a file of its own.
  const std::string file_ = fs::path(::testing::TempDir()) /
                            ::testing::UnitTest::GetInstance()->current_test_info()->name();
  ManualClock clock_;
  const std::shared_ptr<transport::ApiKeys> keys_ = std::make_shared<transport::ApiKeys>(file_);
  const Callers callers_{keys_, clock_};
};

TEST_F(CallersTest, AKeyNamesItsHolderAndAnAdminOwnsEverything) {
  EXPECT_EQ((*Admit())->caller().name, "key:web");
  EXPECT_EQ((*Admit())->caller().owner, "web");
  EXPECT_EQ((*Admit("boss"))->caller().name, "key:boss");
  EXPECT_EQ((*Admit("boss"))->caller().owner, "");
  EXPECT_EQ(ReasonOf(Admit("other").status()), reasons::kCallerUnknown) << "revoked meanwhile";
  const Callers open(nullptr, clock_);
  EXPECT_EQ((*open.Admit(std::nullopt, "http:1"))->caller().name, "http:1");
}

TEST_F(CallersTest, RequestsComeBackAtTheirRate) {
  Use({.requests_per_minute = 3});
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(Admit().ok());
  }
  const absl::Status refused = Admit().status();
  EXPECT_EQ(ReasonOf(refused), reasons::kKeyLimit);
  EXPECT_THAT(MessageOf(refused), HasSubstr("web may use 3 requests a minute"));
  const milliseconds delay = RetryDelayOf(refused).value();
  EXPECT_GT(delay, seconds(19));
  clock_.Advance(delay - milliseconds(10));
  EXPECT_FALSE(Admit().ok());
  clock_.Advance(milliseconds(10));
  EXPECT_TRUE(Admit().ok());
  EXPECT_FALSE(Admit().ok());
  EXPECT_TRUE(Admit("boss").ok()) << "the limits of one key are not those of another";
}

TEST_F(CallersTest, RunningRequestsCountUntilTheyEnd) {
  Use({.running = 2});
  Call first = *Admit();
  const Call second = *Admit();
  EXPECT_THAT(MessageOf(Admit().status()), HasSubstr("2 requests at a time"));
  first.reset();
  EXPECT_TRUE(Admit().ok());
}

TEST_F(CallersTest, TokensAreOwedUntilTimePaysThem) {
  Use({.tokens_per_minute = 60});
  const Call call = *Admit();
  call->Charge(100);
  const absl::Status refused = Admit().status();
  EXPECT_THAT(MessageOf(refused), HasSubstr("60 tokens a minute"));
  EXPECT_GT(RetryDelayOf(refused).value(), seconds(40)) << "40 are owed, and one is needed";
  clock_.Advance(seconds(42));
  EXPECT_TRUE(Admit().ok());
}

TEST_F(CallersTest, LimitsThatChangeHoldFromTheNextCallOn) {
  Use({.requests_per_minute = 1});
  const Call running = *Admit();
  EXPECT_FALSE(Admit().ok());
  Use({.requests_per_minute = 2, .running = 1});
  EXPECT_THAT(MessageOf(Admit().status()), HasSubstr("1 requests at a time"))
      << "what runs still counts";
  Use({});
  EXPECT_TRUE(Admit().ok());
}

TEST_F(CallersTest, AReachedLimitHasItsDetails) {
  Use({.requests_per_minute = 1});
  ASSERT_TRUE(Admit().ok());
  const grpc::Status refused = ToRpcStatus(Admit().status());
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  google::rpc::Status details;
  ASSERT_TRUE(details.ParseFromString(refused.error_details()));
  google::rpc::RetryInfo retry;
  google::rpc::QuotaFailure quota;
  for (const auto& detail : details.details()) {
    detail.UnpackTo(&retry);
    detail.UnpackTo(&quota);
  }
  EXPECT_EQ(retry.retry_delay().seconds(), 60);
  ASSERT_EQ(quota.violations_size(), 1);
  EXPECT_THAT(quota.violations(0).description(), HasSubstr("requests a minute"));
}

// Hears events and counts them.
class Listener final : public serving::GenerationListener {
 public:
  void OnStarted(const serving::GenerationStarted&) override { ++events; }
  void OnStep(const inference::StepResult&) override { ++events; }
  void OnEnd(const absl::StatusOr<serving::GenerationFinished>&) override { ++events; }
  bool cancelled() const override { return events > 1; }
  int events = 0;
};

TEST_F(CallersTest, AGenerationIsChargedByTheStepAndRunsUntilItsEnd) {
  Use({.tokens_per_minute = 60, .running = 1});
  const auto heard = std::make_shared<Listener>();
  ChargedListener charged(heard, *Admit());
  charged.OnStarted({.prompt_tokens = 20});
  EXPECT_FALSE(charged.cancelled());
  charged.OnStep({.commits = std::vector<inference::Commit>(30)});
  EXPECT_TRUE(charged.cancelled());
  EXPECT_FALSE(Admit().ok()) << "it runs";
  charged.OnEnd(absl::CancelledError("its caller left"));
  EXPECT_EQ(heard->events, 3);
  (*Admit())->Charge(10);
  EXPECT_THAT(MessageOf(Admit().status()), HasSubstr("60 tokens a minute"));
}

}  // namespace
}  // namespace ruvd::api
