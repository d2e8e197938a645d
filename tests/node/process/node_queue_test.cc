// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Tests the queue of a whole node.

#include <gtest/gtest.h>

#include <cstdlib>
#include <deque>
#include <memory>
#include <string>
#include <thread>

#include "base/reasons.h"
#include "base/status.h"
#include "node/limits.h"
#include "node/socket_file.h"
#include "tests/node/node_fixture.h"
#include "tests/node/scraped_metrics.h"

namespace ruvd::node {
namespace {

class NodeQueueTest : public NodeTest {
 protected:
  using Reader = grpc::ClientReader<inference::v1::GenerateResponse>;
  struct Call {
    grpc::ClientContext context;
    std::unique_ptr<inference::v1::InferenceService::Stub> stub;
    std::unique_ptr<Reader> reader;
  };
  void TearDown() override {
    for (Call& call : calls_) {
      call.context.TryCancel();
      Drain(*call.reader);
      call.reader->Finish();
    }
    NodeTest::TearDown();
  }
  static void Drain(Reader& reader) {
    inference::v1::GenerateResponse rest;
    while (reader.Read(&rest)) {
    }
  }
  Call& Begin(const inference::v1::GenerateRequest& request) {
    Call& call = calls_.emplace_back();
    call.stub = inference::v1::InferenceService::NewStub(channel_);
    call.reader = call.stub->Generate(&call.context, request);
    return call;
  }
  // Begins a completion that runs until the test ends.
  Call& BeginLong() {
    auto request = Request("A long story about", 400);
    request.mutable_sampling()->set_ignore_end_of_text(true);
    return Begin(request);
  }
  void BeginLongOnes(size_t count) {
    for (size_t i = 0; i < count; ++i) {
      inference::v1::GenerateResponse started;
      ASSERT_TRUE(BeginLong().reader->Read(&started));
    }
  }
  void AwaitRunning(uint64_t count) {
    while (Status().serving().requests_running() != count) {
      std::this_thread::yield();
    }
  }
  // Returns a channel of another caller: without tokens, those of one transport are one.
  std::shared_ptr<grpc::Channel> AnotherCaller() {
    return grpc::CreateChannel("unix:" + std::string(config_.node.data_dir) + "/" + kSocketFile,
                               grpc::InsecureChannelCredentials());
  }
  double RequestsEnded(const std::string& endpoint, const std::string& code) {
    const std::string text = test::ScrapeMetrics(node_->metrics_address());
    const std::string line =
        "\nruvd_requests_total{code=\"" + code + "\",endpoint=\"" + endpoint + "\"} ";
    const size_t found = text.find(line);
    return found == std::string::npos ? 0 : std::strtod(&text[found + line.size()], nullptr);
  }

  std::deque<Call> calls_;
};

// Found by review: a cancelled request kept its place until its turn came, so a full queue refused
// others.
TEST_F(NodeQueueTest, ACancelledRequestGivesItsPlaceToOthers) {
  config_.inference.queue = 2 * limits::kMaxRunningGenerations;
  Start();
  BeginLongOnes(limits::kMaxRunningGenerations);
  Call& waiting = BeginLong();
  AwaitRunning(limits::kMaxRunningGenerations + 1);
  waiting.context.TryCancel();
  AwaitRunning(limits::kMaxRunningGenerations);
  EXPECT_EQ(Status().store().trajectories(), 0U) << "no other one had to end for it";
}

// One caller's requests made all others wait until theirs had ended.
TEST_F(NodeQueueTest, ManyRequestsOfOneCallerHoldUpNoOtherCaller) {
  Start();
  BeginLongOnes(limits::kMaxRunningGenerations);
  for (int i = 0; i < 20; ++i) {
    BeginLong();
  }
  AwaitRunning(limits::kMaxRunningGenerations + 20);
  channel_ = AnotherCaller();
  const Completion other = Generate(Request("The old man walked", 4));
  EXPECT_TRUE(other.status.ok()) << other.status;
  // A completion counts until its call has ended, which is a moment after its last answer came.
  while (Status().serving().requests_running() > limits::kMaxRunningGenerations + 20) {
    std::this_thread::yield();
  }
  EXPECT_EQ(Status().serving().requests_running(), limits::kMaxRunningGenerations + 20)
      << "no other one had to end for it";
}

TEST_F(NodeQueueTest, OneCallerLeavesPlacesOfTheQueueToOthers) {
  config_.inference.queue = 10;
  Start();
  BeginLongOnes(limits::kMaxRunningGenerations);
  const absl::Status ninth = Generate(Request("Another", 4)).status;
  EXPECT_EQ(ninth.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(ReasonOf(ninth), reasons::kMailboxFull);
  EXPECT_NE(ninth.message().find("their share of the 10 places"), std::string::npos) << ninth;
  channel_ = AnotherCaller();
  EXPECT_TRUE(Generate(Request("Another", 4)).status.ok());
}

// Found by review: of 90 requests the 26 that a full queue refused were in no metric.
TEST_F(NodeQueueTest, RefusalsAreCounted) {
  config_.inference.queue = 1;
  config_.metrics.listen = "127.0.0.1:0";
  Start();
  BeginLongOnes(1);
  EXPECT_EQ(ReasonOf(Generate(Request("Another", 4)).status), reasons::kMailboxFull);
  EXPECT_FALSE(Embed({"house"}).ok());
  auto wrong = Request("Another", 4);
  wrong.mutable_sampling()->set_temperature(-1);
  const absl::Status invalid = Generate(wrong).status;
  EXPECT_EQ(RequestsEnded("generate", reasons::kMailboxFull), 1);
  EXPECT_EQ(RequestsEnded("embed", reasons::kMailboxFull), 1);
  EXPECT_EQ(RequestsEnded("generate", ReasonOf(invalid)), 1) << invalid;
  EXPECT_EQ(RequestsEnded("generate", "OK"), 0);
}

}  // namespace
}  // namespace ruvd::node
