// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <gmock/gmock.h>
#include <google/protobuf/util/time_util.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "base/file.h"
#include "base/reasons.h"
#include "base/status.h"
#include "federation/reasons.h"
#include "node/admission/admission_controller.h"
#include "node/admission/authority_files.h"
#include "node/admission/identity.h"
#include "node/admission/join.h"
#include "node/admission/link_tls.h"
#include "node/admission/revocation_file.h"
#include "node/api/admission_service.h"
#include "node/program/program.h"
#include "privacy/reasons.h"
#include "ruvd/admission/v1/admission.grpc.pb.h"
#include "ruvd/cluster/v1/cluster.grpc.pb.h"
#include "ruvd/node/v1/node.grpc.pb.h"
#include "tests/node/node_fixture.h"
#include "tests/node/wait_until.h"

namespace ruvd::node {

inline constexpr int64_t kHour = 3'600'000;

class NodeJoinTest : public NodeTest {
 protected:
  void SetUp() override {
    NodeTest::SetUp();
    const std::string data = config_.node.data_dir;
    std::ostringstream out;
    cli::CommandContext context{.out = out, .err = out, .environment = {}};
    ASSERT_EQ(RunProgram({"init", "--data-dir", data, "--name", "a", "--authority"}, context), 0)
        << out.str();
    authority_ = privacy::ClusterAuthority::Load(fs::path(data) / admission::kAuthorityKeyFile)
                     .value()
                     .public_key();
    config_.federation.enabled = true;
    config_.federation.listen = "127.0.0.1:0";
    config_.federation.authority = ToHex(authority_);
  }
  void TearDown() override {
    others_.clear();
    NodeTest::TearDown();
  }

  // Runs `ruvd` against the authority's node and returns what it wrote.
  std::string Run(std::vector<std::string> arguments, int expected) {
    std::ostringstream out;
    cli::CommandContext context{.out = out, .err = out, .environment = {}};
    arguments.insert(arguments.end(), {"--server", node_->api_address()});
    EXPECT_EQ(RunProgram(arguments, context), expected) << out.str();
    return out.str();
  }
  std::string Token() {
    const std::string text =
        Run({"token", "create", "--role", "contributor", "--expires", "1h"}, 0);
    return text.substr(0, text.find('\n'));
  }
  std::string DataOf(const std::string& name) const { return folder_ / name; }
  std::string Join(const std::string& name, const std::string& token, int expected = 0) {
    return Run({"join", node_->federation_address(), "--token", token, "--data-dir", DataOf(name),
                "--name", name},
               expected);
  }
  // Returns the revocation list in the data folder of a node.
  privacy::RevocationList ListOf(const std::string& name) const {
    const auto list = admission::RevocationFile(DataOf(name)).Load(authority_);
    EXPECT_TRUE(list.ok()) << list.status();
    return list.value_or(privacy::RevocationList());
  }
  absl::StatusOr<admission::Membership> JoinBy(const std::string& address, const std::string& token,
                                               const privacy::NodeKey& key) {
    return admission::JoinCluster(address, privacy::JoinInvitation::Parse(token).value(), "x", key,
                                  SystemClock());
  }
  // Starts a node with the files that `ruvd join` made, which dials `seed`.
  Node& StartOther(const std::string& name, const std::string& seed) {
    config::NodeConfig config = config_;
    config.node.name = name;
    config.node.data_dir = DataOf(name);
    config.federation.listen = "127.0.0.1:0";
    config.federation.seeds = {seed};
    auto node = Node::Start(config);
    EXPECT_TRUE(node.ok()) << node.status();
    others_.push_back(*std::move(node));
    return *others_.back();
  }
  static node::v1::GetStatusResponse StatusOf(const Node& node) {
    node::v1::GetStatusResponse response;
    grpc::ClientContext context;
    EXPECT_TRUE(node::v1::NodeService::NewStub(
                    grpc::CreateChannel(node.api_address(), grpc::InsecureChannelCredentials()))
                    ->GetStatus(&context, node::v1::GetStatusRequest(), &response)
                    .ok());
    return response;
  }
  // Returns the end of a node's certificate in milliseconds since 1970.
  static int64_t CertificateEndOf(const Node& node) {
    return google::protobuf::util::TimeUtil::TimestampToMilliseconds(
        StatusOf(node).certificate().expire_time());
  }
  static bool AwaitAlive(const Node& node, uint32_t members) {
    return test::WaitUntil([&] { return StatusOf(node).cluster().members_alive() == members; });
  }
  static bool IsLinked(const Node& node, const std::string& id) {
    cluster::v1::ListMembersResponse response;
    grpc::ClientContext context;
    EXPECT_TRUE(cluster::v1::ClusterService::NewStub(
                    grpc::CreateChannel(node.api_address(), grpc::InsecureChannelCredentials()))
                    ->ListMembers(&context, cluster::v1::ListMembersRequest(), &response)
                    .ok());
    return std::ranges::any_of(response.members(), [&](const auto& member) {
      return member.node_id() == id && member.linked();
    });
  }
  // Waits until the port for peers of a node has refused a caller for this reason.
  static bool AwaitRefusedAtTheGate(const Node& node, std::string reason) {
    absl::AsciiStrToLower(&reason);
    return test::WaitUntil([&] { return StatusOf(node).ports(1).ended().contains(reason); });
  }
  // The cluster's authority, whose key is in a file of the first node.
  privacy::ClusterAuthority Authority() const {
    return privacy::ClusterAuthority::Load(fs::path(DataOf("data")) / admission::kAuthorityKeyFile)
        .value();
  }

  privacy::PublicKey authority_{};
  std::vector<std::unique_ptr<Node>> others_;
};

}  // namespace ruvd::node
