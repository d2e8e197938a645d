// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Tests backups over ruvd.node.v1.StoreService that are asked for at once, and their end.

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/reasons.h"
#include "base/status.h"
#include "base/thread_pool.h"
#include "node/api/rpc_status.h"
#include "node/api/server.h"
#include "node/api/services.h"
#include "node/reasons.h"
#include "ruvd/node/v1/node.grpc.pb.h"
#include "tests/node/actors/stopped_federation.h"
#include "tests/node/database_fixture.h"
#include "tests/node/stream_result.h"

namespace ruvd::actors {
namespace {

using node::v1::BackUpResult;
using node::v1::StoreService;
using testing::HasSubstr;

class StoreServiceTest : public DatabaseTest {
 protected:
  void SetUp() override {
    DatabaseTest::SetUp();
    api::ServiceDependencies dependencies;
    dependencies.clock = &SystemClock();
    dependencies.database = database_.get();
    dependencies.backup_dir = (folder_ / "backups").string();
    dependencies.queries = &pool_;
    dependencies.upkeep = &pool_;
    dependencies.backups = &backup_pool_;
    dependencies.stopping = [this] {
      if (between_files_) {
        between_files_();
      }
      return stopping_.load();
    };
    dependencies.federation = &federation_;
    service_ = api::MakeStoreService(dependencies);
    server_ = api::StartServer({.listen = "127.0.0.1:0", .services = {service_.get()}}).value();
    stub_ = StoreService::NewStub(
        grpc::CreateChannel(server_.address, grpc::InsecureChannelCredentials()));
  }
  void TearDown() override {
    server_.Shutdown(std::chrono::system_clock::time_point::max());
    server_ = {};
    pool_.Shutdown();
    backup_pool_.Shutdown();
  }
  absl::StatusOr<BackUpResult> BackUp(const std::string& name,
                                      const std::function<void()>& on_progress = nullptr) {
    node::v1::BackUpStoreRequest request;
    request.set_name(name);
    grpc::ClientContext context;
    return test::ResultOf(stub_->BackUpStore(&context, request), on_progress);
  }
  // Keeps the thread of backups busy until Release.
  void HoldBackups() {
    backup_pool_.Post([this] {
      const MutexLock lock(mutex_);
      while (!free_) {
        changed_.Wait(mutex_);
      }
    });
  }
  void Release() {
    const MutexLock lock(mutex_);
    free_ = true;
    changed_.NotifyAll();
  }

  StoppedFederation federation_;
  ThreadPool pool_{{.name = "upkeep"}};
  ThreadPool backup_pool_{{.name = "backup"}};
  std::function<void()> between_files_;  // runs on the thread of the backup
  std::atomic<bool> stopping_{false};
  Mutex mutex_;
  CondVar changed_;
  bool free_ ABSL_GUARDED_BY(mutex_) = false;
  std::unique_ptr<grpc::Service> service_;
  api::RunningServer server_;
  std::unique_ptr<StoreService::Stub> stub_;
};

// Regression test: each retry of an impatient client queued one more copy of the whole store.
TEST_F(StoreServiceTest, ASecondBackupIsRefusedWhileOneRuns) {
  absl::Status second;
  std::atomic<bool> asked{false};
  between_files_ = [&] {
    if (!asked.exchange(true)) {
      second = BackUp("").status();
    }
  };
  ASSERT_TRUE(BackUp("first").ok());
  EXPECT_EQ(ReasonOf(second), reasons::kBackupRunning);
  EXPECT_THAT(MessageOf(second), HasSubstr("first"));
  EXPECT_TRUE(BackUp("").ok());
}

// Regression test: while one backup waited for its thread, others queued behind it, each to copy
// the store once more.
TEST_F(StoreServiceTest, ASecondBackupIsRefusedWhileOneWaits) {
  HoldBackups();
  std::vector<absl::Status> ended;
  std::vector<std::jthread> callers;
  for (const char* name : {"one", "other"}) {
    callers.emplace_back([&, name] {
      const absl::Status status = BackUp(name).status();
      const MutexLock lock(mutex_);
      ended.push_back(status);
      changed_.NotifyAll();
    });
  }
  {
    const MutexLock lock(mutex_);
    while (ended.empty()) {
      changed_.Wait(mutex_);
    }
    EXPECT_EQ(ReasonOf(ended[0]), reasons::kBackupRunning);
  }
  Release();
  callers.clear();
  ASSERT_EQ(ended.size(), 2u);
  EXPECT_TRUE(ended[1].ok()) << ended[1];
  EXPECT_TRUE(BackUp("").ok());
}

TEST_F(StoreServiceTest, CallsOfOneNameFollowOneBackup) {
  constexpr size_t kCalls = 3;
  HoldBackups();
  std::vector<absl::StatusOr<BackUpResult>> results(kCalls, absl::UnknownError("no answer"));
  std::atomic<size_t> following{0};
  std::vector<std::jthread> callers;
  for (size_t call = 0; call < kCalls; ++call) {
    callers.emplace_back([&, call] {
      bool heard = false;
      results[call] = BackUp("one", [&] {
        if (!std::exchange(heard, true) && following.fetch_add(1) + 1 == kCalls) {
          Release();  // each of them has heard how far it is
        }
      });
    });
  }
  callers.clear();
  for (const absl::StatusOr<BackUpResult>& result : results) {
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(result->folder(), (folder_ / "backups" / "one").string());
    EXPECT_EQ(result->SerializeAsString(), results[0]->SerializeAsString());
  }
}

// Regression test: a stop waited until the whole store was read.
TEST_F(StoreServiceTest, AStopEndsABackup) {
  stopping_.store(true);
  const absl::Status status = BackUp("late").status();
  EXPECT_EQ(ReasonOf(status), reasons::kCancelled) << status;
  EXPECT_FALSE(std::filesystem::exists(folder_ / "backups" / "late"));
}

}  // namespace
}  // namespace ruvd::actors
