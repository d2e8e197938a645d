// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Tests queries of the witness log that wait for one another.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <limits>
#include <thread>
#include <vector>

#include "base/reasons.h"
#include "base/status.h"
#include "node/api/rpc_status.h"
#include "node/api/server.h"
#include "node/api/services.h"
#include "node/limits.h"
#include "node/serving/inference.h"
#include "ruvd/witness/v1/witness.grpc.pb.h"
#include "storage/witness/witness_log.h"
#include "tests/node/async_call.h"
#include "tests/node/database_fixture.h"
#include "tests/node/holding_executor.h"

namespace ruvd::api {
namespace {

using testing::HasSubstr;

using Call = AsyncCall<witness::v1::GetStatsRequest, witness::v1::GetStatsResponse>;

class WitnessServiceTest : public DatabaseTest {
 protected:
  void SetUp() override {
    DatabaseTest::SetUp();
    log_ = storage::WitnessLog::Open(*database_).value();
    ServiceDependencies dependencies;
    dependencies.witness = log_.get();
    dependencies.queries = &queries_;
    service_ = MakeWitnessService(dependencies);
    server_ = StartServer({.listen = "127.0.0.1:0", .services = {service_.get()}}).value();
    stub_ = witness::v1::WitnessService::NewStub(
        grpc::CreateChannel(server_.address, grpc::InsecureChannelCredentials()));
  }
  std::unique_ptr<Call> Ask() {
    auto call = std::make_unique<Call>();
    stub_->async()->GetStats(&call->context, &call->request, &call->response, call->OnEnd());
    return call;
  }

  std::unique_ptr<storage::WitnessLog> log_;
  HoldingExecutor queries_;
  std::unique_ptr<grpc::Service> service_;
  RunningServer server_;
  std::unique_ptr<witness::v1::WitnessService::Stub> stub_;
};

// Found by review: queries queued up without a bound.
TEST_F(WitnessServiceTest, OneQueryTooManyIsRefusedAtOnce) {
  std::vector<std::unique_ptr<Call>> calls;
  for (size_t i = 0; i < limits::kMaxWaitingQueries; ++i) {
    calls.push_back(Ask());
  }
  queries_.WaitFor(limits::kMaxWaitingQueries);
  EXPECT_EQ(ReasonOf(Ask()->End()), reasons::kMailboxFull);
  queries_.RunAll();
  for (const auto& call : calls) {
    EXPECT_TRUE(call->End().ok());
  }
  const auto again = Ask();
  queries_.WaitFor(1);
  queries_.RunAll();
  EXPECT_TRUE(again->End().ok());
}

// Found by review: a stop waited for every query that had been asked.
TEST_F(WitnessServiceTest, AStopCancelsTheQueriesThatWait) {
  std::vector<std::unique_ptr<Call>> calls;
  for (int i = 0; i < 30; ++i) {
    calls.push_back(Ask());
  }
  queries_.WaitFor(30);
  // The deadline has passed already: what still runs is cancelled.
  std::thread stop([this] { server_.Shutdown(std::chrono::system_clock::now()); });
  for (const auto& call : calls) {
    EXPECT_FALSE(call->End().ok());
  }
  queries_.RunAll();
  stop.join();
}

// Regression test: NaN met no condition, and conditions that exclude each other were ignored, so
// answers were empty without an error.
TEST_F(WitnessServiceTest, QuestionsThatMakeNoSenseAreRefusedByName) {
  const auto error = [this](auto change) {
    witness::v1::ListEntriesRequest request;
    change(&request);
    witness::v1::ListEntriesResponse response;
    grpc::ClientContext context;
    std::thread lane([this] {
      queries_.WaitFor(1);
      queries_.RunAll();
    });
    const absl::Status status = FromRpcStatus(stub_->ListEntries(&context, request, &response));
    if (status.code() != absl::StatusCode::kInvalidArgument || response.hits_size() > 0) {
      ADD_FAILURE() << status;
    }
    queries_.Post([] {}, Priority::kNormal);  // some calls never reach the lane
    lane.join();
    queries_.RunAll();
    return MessageOf(status);
  };
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(error([&](auto* r) { r->mutable_filter()->set_min_quality(nan); }),
              HasSubstr("min_quality is nan"));
  EXPECT_THAT(error([&](auto* r) { r->mutable_filter()->set_max_quality(2); }),
              HasSubstr("max_quality is 2"));
  EXPECT_THAT(error([](auto* r) { r->mutable_filter()->mutable_max_total()->set_seconds(-1); }),
              HasSubstr("max_total"));
  EXPECT_THAT(error([&](auto* r) { r->set_min_similarity(0.5F); }), HasSubstr("similar_to"));
  EXPECT_THAT(error([&](auto* r) {
                r->set_similar_to("x");
                r->set_oldest_first(true);
              }),
              HasSubstr("oldest_first"));
}

}  // namespace
}  // namespace ruvd::api
