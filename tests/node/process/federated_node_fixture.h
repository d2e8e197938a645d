// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "federation/daf/adapter_update.h"
#include "inference/adapter/projection_frame.h"
#include "inference/package/model_package.h"
#include "node/process/limits.h"
#include "tests/node/node_fixture.h"

namespace ruvd::node {

inline constexpr char kLesson[] =
    " counted the ships every evening and wrote their names in a book.";
inline constexpr char kOtherLesson[] = " painted the tower red and sold the old lamp to a sailor.";

// A node of a cluster for which the test issues certificates, with a core of 16 values: large
// enough to learn something, small enough to be noised alone.
class FederatedNodeTest : public NodeTest {
 protected:
  void SetUp() override {
    NodeTest::SetUp();
    config_.federation.enabled = true;
    config_.federation.listen = "127.0.0.1:0";
    config_.federation.authority = ToHex(authority_.public_key());
    config_.federation.core_rank = 4;
    config_.federation.round_seconds = 1;
    Admit(config_);
  }
  // Makes the data folder of a node, with a key and a certificate for its name.
  void Admit(const config::NodeConfig& config) const {
    const fs::path data(config.node.data_dir);
    ASSERT_TRUE(MakeDataFolder(data).ok());
    const auto key = privacy::NodeKey::LoadOrCreate(data / admission::kNodeKeyFile);
    ASSERT_TRUE(key.ok()) << key.status();
    ASSERT_TRUE(WriteFileAtomically(data / admission::kNodeCertificateFile,
                                    CertificateFor(*key, config.node.name).Encode())
                    .ok());
  }
  // Starts another node of the cluster that dials the first one, or restarts it with its data.
  // `change` may be null.
  std::unique_ptr<Node> StartMember(const std::string& name,
                                    const std::function<void(config::NodeConfig&)>& change) {
    config::NodeConfig config = config_;
    config.node.name = name;
    config.node.data_dir = folder_ / name;
    config.federation.seeds = {node_->federation_address()};
    if (change != nullptr) {
      change(config);
    }
    Admit(config);
    auto member = Node::Start(config, tuning_);
    EXPECT_TRUE(member.ok()) << member.status();
    return member.ok() ? *std::move(member) : nullptr;
  }
  // Lets the node share up to a tier.
  void Grant(pattern::v1::SharingTier tier) {
    admin::v1::SetConsentRequest request;
    request.set_tier(tier);
    admin::v1::SetConsentResponse response;
    grpc::ClientContext context;
    const auto status =
        admin::v1::AdminService::NewStub(channel_)->SetConsent(&context, request, &response);
    ASSERT_TRUE(status.ok()) << status.error_message();
  }
  privacy::AdmissionCert CertificateFor(const privacy::NodeKey& key,
                                        const std::string& name) const {
    const int64_t now_ms = SystemClock().WallMillis();
    auto certificate = authority_.Issue({.node_key = key.public_key(),
                                         .name = name,
                                         .not_before_ms = now_ms - 60'000,
                                         .not_after_ms = now_ms + 3'600'000,
                                         .serial = 1});
    EXPECT_TRUE(certificate.ok()) << certificate.status();
    return *certificate;
  }
  // Sets a budget under which one node's update is more signal than noise.
  void AllowReleases() {
    config_.privacy.release_epsilon = 100;
    config_.privacy.node_epsilon = 1000;
    tuning_.release_signal = 1;
  }
  // Corrects a completion and waits until a pattern has learned it.
  void Teach(const std::string& user, const std::string& wanted) {
    auto generate = Request("The lighthouse keeper", 8);
    generate.set_user_id(user);
    const Completion completion = Generate(generate);
    ASSERT_TRUE(completion.status.ok()) << completion.status;
    learning::v1::SubmitFeedbackRequest request;
    request.set_response_id(completion.finished.response_id());
    request.set_edited_text(wanted);
    learning::v1::SubmitFeedbackResponse response;
    const absl::Status rated = Rate(request, &response);
    ASSERT_TRUE(rated.ok()) << rated;
    ASSERT_TRUE(response.learned()) << response.explanation();
  }
  // Returns an update of a peer that has almost no effect, so that every gate accepts it.
  federation::AdapterUpdate SmallDelta() const {
    const inference::ModelPackage package = inference::LoadModelPackage(config_.model.path).value();
    const inference::ProjectionFrame frame =
        inference::RandomFrame(*package.model, config_.federation.core_rank, limits::kFrameSeed)
            .value();
    const auto rank = static_cast<uint32_t>(frame.rank);
    return {.model_hash = package.id,
            .frame_id = frame.id,
            .boundaries = {},
            .modules = {{.target = frame.target, .rows = rank, .columns = rank}},
            .banks = {{.bank = 0, .values = std::vector<float>(16, 1e-3F)}}};
  }
  admin::v1::GetConsentResponse Consent() {
    admin::v1::GetConsentResponse response;
    grpc::ClientContext context;
    const auto status = admin::v1::AdminService::NewStub(channel_)->GetConsent(
        &context, admin::v1::GetConsentRequest(), &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }
  admin::v1::ReleaseStatus Release() { return Consent().release(); }

  const privacy::ClusterAuthority authority_ = privacy::ClusterAuthority::Generate();
};

}  // namespace ruvd::node
