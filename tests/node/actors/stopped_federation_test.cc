// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// What the services of a node say whose federation does not answer.

#include "tests/node/actors/stopped_federation.h"

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <vector>

#include "base/reasons.h"
#include "base/status.h"
#include "base/thread_pool.h"
#include "node/api/rpc_status.h"
#include "node/api/server.h"
#include "node/api/services.h"
#include "node/reasons.h"
#include "ruvd/cluster/v1/cluster.grpc.pb.h"
#include "ruvd/node/v1/node.grpc.pb.h"
#include "ruvd/privacy/v1/privacy.grpc.pb.h"

namespace ruvd::actors {
namespace {

class StoppedFederationTest : public ::testing::Test {
 protected:
  void SetUp() override {
    api::ServiceDependencies dependencies;
    dependencies.clock = &SystemClock();
    dependencies.upkeep = &pool_;
    dependencies.federation = &federation_;
    dependencies.fill_status = [](node::v1::GetStatusResponse* status) {
      status->mutable_patterns()->set_stored(7);
    };
    services_.push_back(api::MakeNodeService(dependencies));
    services_.push_back(api::MakeClusterService(dependencies));
    services_.push_back(api::MakePrivacyService(dependencies));
    server_ =
        api::StartServer({.listen = "127.0.0.1:0",
                          .services = {services_[0].get(), services_[1].get(), services_[2].get()}})
            .value();
    channel_ = grpc::CreateChannel(server_.address, grpc::InsecureChannelCredentials());
  }
  void TearDown() override {
    server_.Shutdown(std::chrono::system_clock::time_point::max());
    server_ = {};
    pool_.Shutdown();
  }

  StoppedFederation federation_;
  ThreadPool pool_{{.name = "upkeep"}};
  std::vector<std::unique_ptr<grpc::Service>> services_;
  api::RunningServer server_;
  std::shared_ptr<grpc::Channel> channel_;
};

// Regression test: the operator of a node that shares was shown "private, since always" and no
// members.
TEST_F(StoppedFederationTest, AFederationThatDoesNotAnswerIsNoPrivateOne) {
  privacy::v1::GetConsentResponse consent;
  grpc::ClientContext of_consent;
  EXPECT_EQ(ReasonOf(api::FromRpcStatus(privacy::v1::PrivacyService::NewStub(channel_)->GetConsent(
                &of_consent, privacy::v1::GetConsentRequest(), &consent))),
            reasons::kActorStopped);
  cluster::v1::ListMembersResponse members;
  grpc::ClientContext of_members;
  EXPECT_EQ(ReasonOf(api::FromRpcStatus(cluster::v1::ClusterService::NewStub(channel_)->ListMembers(
                &of_members, cluster::v1::ListMembersRequest(), &members))),
            reasons::kActorStopped);
  node::v1::GetStatusResponse status;
  grpc::ClientContext of_status;
  EXPECT_TRUE(node::v1::NodeService::NewStub(channel_)
                  ->GetStatus(&of_status, node::v1::GetStatusRequest(), &status)
                  .ok());
  EXPECT_EQ(status.patterns().stored(), 7u);
  EXPECT_FALSE(status.has_cluster());
}

}  // namespace
}  // namespace ruvd::actors
