// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// ruvd.admin.v1 of a node whose parts do not answer or are busy.

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
#include <vector>

#include "base/mutex.h"
#include "base/reasons.h"
#include "base/status.h"
#include "base/thread_pool.h"
#include "node/actors/federation_actor.h"
#include "node/api/rpc_status.h"
#include "node/api/server.h"
#include "node/api/services.h"
#include "node/reasons.h"
#include "ruvd/admin/v1/admin.grpc.pb.h"
#include "tests/node/database_fixture.h"

namespace ruvd::actors {
namespace {

using namespace admin::v1;  // NOLINT(google-build-using-namespace): all messages of one package
using testing::HasSubstr;

// An actor that failed too often and was stopped.
class StoppedFederation final : public sharing::FederationActor {
 public:
  federation::LinkId OpenLink(std::shared_ptr<sharing::LinkSink>, std::string,
                              federation::LinkChannel) override {
    return 1;
  }
  void OnDialFailed(std::string) override {}
  bool OnFrame(federation::LinkId, std::shared_ptr<const federation::v1::WireFrame>) override {
    return false;
  }
  void OnClosed(federation::LinkId) override {}
  void Leave(Duration) override {}
  void SetRevocations(privacy::RevocationList) override {}
  void LearnIssuer(privacy::IssuerCert) override {}
  void SetCertificate(privacy::AdmissionCert) override {}
  void OnPatternStored(const storage::PatternId&) override {}
  void OnLessonsWithdrawn() override {}
  void OnRated(sharing::RatedUse) override {}
  void View(std::function<void(absl::StatusOr<sharing::FederationView>)> done) override {
    done(Stopped());
  }
  void SetConsent(
      privacy::ConsentTier,
      std::function<void(absl::StatusOr<admin::v1::SetConsentResponse>)> done) override {
    done(Stopped());
  }
  void OnConsentsChanged(std::function<void(absl::StatusOr<sharing::OptOutAnswer>)> done) override {
    done(Stopped());
  }
  void Preview(
      privacy::ConsentTier,
      std::function<void(absl::StatusOr<admin::v1::PreviewReleaseResponse>)> done) override {
    done(Stopped());
  }

 private:
  static absl::Status Stopped() {
    return Error(absl::StatusCode::kUnavailable, reasons::kActorStopped, "the actor has stopped");
  }
};

// Runs a callback whenever it is asked for the time of day.
class AskedClock final : public Clock {
 public:
  TimePoint Now() const override { return SystemClock().Now(); }
  int64_t WallMillis() const override {
    if (on_asked) {
      on_asked();
    }
    return SystemClock().WallMillis();
  }
  std::function<void()> on_asked;
};

class AdminServiceTest : public DatabaseTest {
 protected:
  using Stub = AdminService::Stub;

  void SetUp() override {
    DatabaseTest::SetUp();
    api::ServiceDependencies dependencies;
    dependencies.clock = &asked_clock_;
    dependencies.database = database_.get();
    dependencies.backup_dir = (folder_ / "backups").string();
    dependencies.upkeep = &pool_;
    dependencies.backups = &backup_pool_;
    dependencies.stopping = [this] { return stopping_.load(); };
    dependencies.federation = &federation_;
    dependencies.fill_status = [](GetStatusResponse* status) { status->set_patterns(7); };
    service_ = api::MakeAdminService(dependencies);
    server_ = api::StartServer({.listen = "127.0.0.1:0", .services = {service_.get()}}).value();
    stub_ = AdminService::NewStub(
        grpc::CreateChannel(server_.address, grpc::InsecureChannelCredentials()));
  }
  void TearDown() override {
    server_.Shutdown(std::chrono::system_clock::time_point::max());
    server_ = {};
    pool_.Shutdown();
    backup_pool_.Shutdown();
  }
  template <typename Request, typename Response>
  absl::Status Call(grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                    const Request& request, Response* response) {
    grpc::ClientContext context;
    return api::FromRpcStatus((*stub_.*method)(&context, request, response));
  }

  AskedClock asked_clock_;
  StoppedFederation federation_;
  ThreadPool pool_{{.name = "upkeep"}};
  ThreadPool backup_pool_{{.name = "backup"}};
  std::atomic<bool> stopping_{false};
  std::unique_ptr<grpc::Service> service_;
  api::RunningServer server_;
  std::unique_ptr<Stub> stub_;
};

// Regression test: the operator of a node that shares was shown "private, since always" and no
// members.
TEST_F(AdminServiceTest, AFederationThatDoesNotAnswerIsNoPrivateOne) {
  GetConsentResponse consent;
  EXPECT_EQ(ReasonOf(Call(&Stub::GetConsent, GetConsentRequest(), &consent)),
            reasons::kActorStopped);
  ListMembersResponse members;
  EXPECT_EQ(ReasonOf(Call(&Stub::ListMembers, ListMembersRequest(), &members)),
            reasons::kActorStopped);
  GetStatusResponse status;
  EXPECT_TRUE(Call(&Stub::GetStatus, GetStatusRequest(), &status).ok());
  EXPECT_EQ(status.patterns(), 7u);
}

// Regression test: each retry of an impatient client queued one more copy of the whole store.
TEST_F(AdminServiceTest, ASecondBackupIsRefusedWhileOneRuns) {
  absl::Status second;
  std::atomic<bool> asked{false};
  asked_clock_.on_asked = [&] {
    if (!asked.exchange(true)) {
      BackUpStoreResponse response;
      second = Call(&Stub::BackUpStore, BackUpStoreRequest(), &response);
    }
  };
  BackUpStoreRequest request;
  request.set_name("first");
  BackUpStoreResponse response;
  ASSERT_TRUE(Call(&Stub::BackUpStore, request, &response).ok());
  EXPECT_EQ(ReasonOf(second), reasons::kBackupRunning);
  EXPECT_THAT(MessageOf(second), HasSubstr("(first)"));
  EXPECT_TRUE(Call(&Stub::BackUpStore, BackUpStoreRequest(), &response).ok());
}

// Regression test: while one backup waited for its thread, others queued behind it, each to copy
// the store once more.
TEST_F(AdminServiceTest, ASecondBackupIsRefusedWhileOneWaits) {
  Mutex mutex;
  CondVar changed;
  bool free = false;
  std::vector<absl::Status> ended;
  backup_pool_.Post([&] {  // an errand before them
    const MutexLock lock(mutex);
    while (!free) {
      changed.Wait(mutex);
    }
  });
  std::vector<std::jthread> callers;
  for (const char* name : {"one", "other"}) {
    callers.emplace_back([&, name] {
      BackUpStoreRequest request;
      request.set_name(name);
      BackUpStoreResponse response;
      const absl::Status status = Call(&Stub::BackUpStore, request, &response);
      const MutexLock lock(mutex);
      ended.push_back(status);
      changed.NotifyAll();
    });
  }
  {
    const MutexLock lock(mutex);
    while (ended.empty()) {
      changed.Wait(mutex);
    }
    EXPECT_EQ(ReasonOf(ended[0]), reasons::kBackupRunning);
    free = true;
    changed.NotifyAll();
  }
  callers.clear();
  ASSERT_EQ(ended.size(), 2u);
  EXPECT_TRUE(ended[1].ok()) << ended[1];
  BackUpStoreResponse response;
  EXPECT_TRUE(Call(&Stub::BackUpStore, BackUpStoreRequest(), &response).ok());
}

// Regression test: a stop waited until the whole store was read.
TEST_F(AdminServiceTest, AStopEndsABackup) {
  stopping_.store(true);
  BackUpStoreRequest request;
  request.set_name("late");
  BackUpStoreResponse response;
  const absl::Status status = Call(&Stub::BackUpStore, request, &response);
  EXPECT_EQ(ReasonOf(status), reasons::kCancelled) << status;
  EXPECT_FALSE(std::filesystem::exists(folder_ / "backups" / "late"));
}

}  // namespace
}  // namespace ruvd::actors
