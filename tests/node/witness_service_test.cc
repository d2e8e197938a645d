// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Queries of the witness log that wait for one another.

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <thread>
#include <vector>

#include "base/reasons.h"
#include "base/status.h"
#include "node/api/rpc_status.h"
#include "node/api/server.h"
#include "node/api/services.h"
#include "node/limits.h"
#include "ruvd/witness/v1/witness.grpc.pb.h"

namespace ruvd {
namespace {

// Holds what is posted until it is told to run it.
class HoldingExecutor final : public Executor {
 public:
  void Post(Task task, Priority /*priority*/) override {
    const std::unique_lock lock(mutex_);
    tasks_.push_back(std::move(task));
    changed_.notify_all();
  }
  TimerHandle PostAt(TimePoint /*when*/, Task /*task*/) override { return {}; }
  const Clock& clock() const override { return SystemClock(); }

  void WaitFor(size_t tasks) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return tasks_.size() >= tasks; });
  }
  void RunAll() {
    std::vector<Task> tasks;
    {
      const std::unique_lock lock(mutex_);
      tasks.swap(tasks_);
    }
    for (const Task& task : tasks) {
      task();
    }
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Task> tasks_;
};

// One call, whose end can be waited for.
struct Call {
  grpc::ClientContext context;
  witness::v1::GetStatsRequest request;
  witness::v1::GetStatsResponse response;
  std::mutex mutex;
  std::condition_variable ended;
  bool done = false;
  grpc::Status status;

  std::string Reason() {
    std::unique_lock lock(mutex);
    ended.wait(lock, [this] { return done; });
    return ReasonOf(FromRpcStatus(status));
  }
};

class WitnessServiceTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) /
              ("witness_service_" + std::to_string(::getpid()));
    std::filesystem::remove_all(folder_);
    database_ = Database::Open({.path = folder_.string(),
                                .seal_key = SealKey::Generate(),
                                .soft_reserve_bytes = 0,
                                .hard_reserve_bytes = 0})
                    .value();
    log_ = WitnessLog::Open(*database_).value();
    ServiceDependencies dependencies;
    dependencies.witness = log_.get();
    dependencies.queries = &queries_;
    service_ = MakeWitnessService(dependencies);
    server_ = StartServer("127.0.0.1:0", 1 << 20, {service_.get()}).value();
    stub_ = witness::v1::WitnessService::NewStub(
        grpc::CreateChannel(server_.address, grpc::InsecureChannelCredentials()));
  }
  void TearDown() override {
    server_.server.reset();
    log_.reset();
    database_.reset();
    std::filesystem::remove_all(folder_);
  }
  std::unique_ptr<Call> Ask() {
    auto call = std::make_unique<Call>();
    stub_->async()->GetStats(&call->context, &call->request, &call->response,
                             [held = call.get()](const grpc::Status& status) {
                               const std::unique_lock lock(held->mutex);
                               held->status = status;
                               held->done = true;
                               held->ended.notify_all();
                             });
    return call;
  }

  std::filesystem::path folder_;
  std::unique_ptr<Database> database_;
  std::unique_ptr<WitnessLog> log_;
  HoldingExecutor queries_;
  std::unique_ptr<grpc::Service> service_;
  RunningServer server_;
  std::unique_ptr<witness::v1::WitnessService::Stub> stub_;
};

// Found by review: queries piled up without a bound.
TEST_F(WitnessServiceTest, OneQueryTooManyIsRefusedAtOnce) {
  std::vector<std::unique_ptr<Call>> calls;
  for (size_t i = 0; i < limits::kMaxWaitingQueries; ++i) {
    calls.push_back(Ask());
  }
  queries_.WaitFor(limits::kMaxWaitingQueries);
  EXPECT_EQ(Ask()->Reason(), reasons::kMailboxFull);
  queries_.RunAll();
  for (const auto& call : calls) {
    EXPECT_EQ(call->Reason(), "");
  }
  const auto again = Ask();
  queries_.WaitFor(1);
  queries_.RunAll();
  EXPECT_EQ(again->Reason(), "");
}

// Found by review: a stop waited for every query that anybody had asked.
TEST_F(WitnessServiceTest, AStopCancelsTheQueriesThatWait) {
  std::vector<std::unique_ptr<Call>> calls;
  for (int i = 0; i < 30; ++i) {
    calls.push_back(Ask());
  }
  queries_.WaitFor(30);
  // The deadline has passed already: what still runs is cancelled.
  std::thread stop([this] { server_.server->Shutdown(std::chrono::system_clock::now()); });
  for (const auto& call : calls) {
    call->Reason();  // waits
    EXPECT_FALSE(call->status.ok());
  }
  queries_.RunAll();
  stop.join();
}

}  // namespace
}  // namespace ruvd
