// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Scores with many samples, beside other requests.

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "base/reasons.h"
#include "base/status.h"
#include "node/api/rpc_status.h"
#include "node/limits.h"
#include "ruvd/inference/v1/inference.grpc.pb.h"
#include "tests/node/node_fixture.h"
#include "tests/node/wait_until.h"

namespace ruvd::node {
namespace {

class NodeScoreTest : public NodeTest {
 protected:
  // A score that is computed while the test goes on.
  struct Running {
    std::shared_ptr<grpc::ClientContext> context;
    std::future<absl::Status> status;
    bool ended(std::chrono::milliseconds wait = std::chrono::milliseconds(0)) {
      return status.wait_for(wait) == std::future_status::ready;
    }
  };
  // Begins to score a long completion.
  Running Begin(uint32_t samples) {
    inference::v1::ScoreRequest request;
    request.set_prompt("The");
    for (int i = 0; i < 400; ++i) {
      request.set_completion(request.completion() + " house");
    }
    request.set_samples(samples);
    auto context = std::make_shared<grpc::ClientContext>();
    return {.context = context,
            .status = std::async(std::launch::async, [this, context, request] {
              inference::v1::ScoreResponse response;
              return api::FromRpcStatus(inference::v1::InferenceService::NewStub(channel_)->Score(
                  context.get(), request, &response));
            })};
  }
  void WaitUntilRunning(uint64_t requests) {
    ASSERT_TRUE(test::WaitUntil([&] { return Status().serving().requests_running() == requests; }));
  }
};

// Regression test: a score ran to its end whatever its deadline was, for minutes on a busy machine.
TEST_F(NodeScoreTest, ALongScoreKeptTheNodeFromEnding) {
  Start();
  Running score = Begin(limits::kMaxScoreSamplesPerRequest);
  WaitUntilRunning(1);
  EXPECT_FALSE(node_->Drain(Duration::zero()).ok());  // it was accepted and not finished
  EXPECT_EQ(ReasonOf(score.status.get()), reasons::kNodeDraining);
}

// Found by a hostile review: one score of 128 samples held the model until its end, so that another
// request began after 8.4 s instead of 7 ms.
TEST_F(NodeScoreTest, ScoreDoesNotHoldUpCompletions) {
  Start();
  std::vector<Running> scores;
  for (size_t i = 0; i <= limits::kMaxRunningGenerations; ++i) {
    scores.push_back(Begin(limits::kMaxScoreSamplesPerRequest));
  }
  WaitUntilRunning(scores.size());
  const Completion completion = Generate(Request("The old man walked", 4));
  EXPECT_TRUE(completion.status.ok()) << completion.status;
  for (Running& score : scores) {
    EXPECT_FALSE(score.ended());
    score.context->TryCancel();
  }
}

TEST_F(NodeScoreTest, ACancelledScoreEndsBeforeAShorterOneThatGoesOn) {
  Start();
  Running cancelled = Begin(limits::kMaxScoreSamplesPerRequest);
  WaitUntilRunning(1);
  Running shorter = Begin(limits::kMaxScoreSamplesPerRequest / 2);
  WaitUntilRunning(2);
  cancelled.context->TryCancel();
  EXPECT_EQ(cancelled.status.get().code(), absl::StatusCode::kCancelled);
  WaitUntilRunning(1);
  EXPECT_FALSE(shorter.ended(std::chrono::milliseconds(100)));
  shorter.context->TryCancel();
}

TEST_F(NodeScoreTest, AScoreBeyondTheContextIsRefusedByName) {
  Start();
  std::string completion;
  for (int i = 0; i < 100'000; ++i) {
    completion += " house";
  }
  inference::v1::ScoreRequest request;
  request.set_prompt("The");
  request.set_completion(completion);
  request.set_samples(128);  // 100 million masked positions, if they were drawn first
  inference::v1::ScoreResponse response;
  grpc::ClientContext context;
  EXPECT_EQ(ReasonOf(api::FromRpcStatus(inference::v1::InferenceService::NewStub(channel_)->Score(
                &context, request, &response))),
            reasons::kContextTooLong);
}

}  // namespace
}  // namespace ruvd::node
