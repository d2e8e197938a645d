// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Tests the queue of a whole node.

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <thread>

#include "node/limits.h"
#include "tests/node/node_fixture.h"

namespace ruvd::node {
namespace {

class NodeQueueTest : public NodeTest {
 protected:
  struct Call {
    grpc::ClientContext context;
    std::unique_ptr<inference::v1::InferenceService::Stub> stub;
    std::unique_ptr<grpc::ClientReader<inference::v1::GenerateResponse>> reader;
  };
  Call& Begin(const inference::v1::GenerateRequest& request) {
    Call& call = calls_.emplace_back();
    call.stub = inference::v1::InferenceService::NewStub(channel_);
    call.reader = call.stub->Generate(&call.context, request);
    return call;
  }
  void AwaitRunning(uint64_t count) {
    while (Status().requests_running() != count) {
      std::this_thread::yield();
    }
  }

  std::deque<Call> calls_;
};

// Found by review: a cancelled request kept its place until its turn came, so a full queue refused
// others.
TEST_F(NodeQueueTest, ACancelledRequestGivesItsPlaceToOthers) {
  config_.inference.queue = limits::kMaxRunningGenerations + 1;
  Start();
  auto request = Request("A long story about", 400);
  request.mutable_sampling()->set_ignore_end_of_text(true);
  for (size_t i = 0; i < limits::kMaxRunningGenerations; ++i) {
    inference::v1::GenerateResponse started;
    ASSERT_TRUE(Begin(request).reader->Read(&started));
  }
  Call& waiting = Begin(request);
  AwaitRunning(limits::kMaxRunningGenerations + 1);
  waiting.context.TryCancel();
  AwaitRunning(limits::kMaxRunningGenerations);
  EXPECT_EQ(Status().trajectories(), 0U) << "no other one had to end for it";
  for (Call& call : calls_) {
    call.context.TryCancel();
    inference::v1::GenerateResponse rest;
    while (call.reader->Read(&rest)) {
    }
    EXPECT_EQ(call.reader->Finish().error_code(), grpc::StatusCode::CANCELLED);
  }
}

}  // namespace
}  // namespace ruvd::node
