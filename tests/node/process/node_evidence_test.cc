// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Tests that a node remembers which peers equivocated, and which it keeps out for their conduct.

#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "federation/events/outbox.h"
#include "federation/gossip/manifest.h"
#include "federation/gossip/merkle.h"
#include "federation/local_node.h"
#include "federation/membership/evidence.h"
#include "federation/reasons.h"
#include "federation/sealer.h"
#include "privacy/reasons.h"
#include "ruvd/cluster/v1/cluster.grpc.pb.h"
#include "tests/node/process/federated_node_fixture.h"
#include "tests/node/process/peer_config.h"
#include "tests/node/process/recording_peer.h"

namespace ruvd::node {
namespace {

class NodeEvidenceTest : public FederatedNodeTest {
 protected:
  void SetUp() override {
    FederatedNodeTest::SetUp();
    config_.federation.tls = "off";
    Start();
  }
  federation::GossipConfig LiarConfig(uint64_t boot) const {
    federation::GossipConfig config = ConfigOfPeer(config_, CertificateFor(liar_key_, "liar"));
    config.boot_counter = boot;
    return config;
  }
  // Returns two manifests of the liar under one number.
  std::vector<federation::v1::WireFrame> TwoTales(const federation::GossipConfig& config) const {
    federation::LocalNode local;
    local.key = &liar_key_;
    local.certificate = config.certificate;
    local.cluster_id = authority_.cluster_id();
    local.boot_counter = 77;
    federation::Sealer sealer(local, privacy::SecureRandomBytes);
    const int64_t now_ms = SystemClock().WallMillis();
    std::vector<federation::v1::WireFrame> frames;
    std::string header;
    for (const char* payload : {"one", "two"}) {
      federation::Manifest manifest;
      manifest.certificate = config.certificate;
      manifest.kind = federation::ItemKind::kPattern;
      manifest.payload_bytes = 3;
      manifest.payload_root = federation::MerkleTree(payload).root();
      manifest.model_hash = config.model_hash;
      manifest.frame_id = config.frame_id;
      const std::string body = federation::EncodeManifest(manifest);
      privacy::Envelope envelope =
          sealer
              .Seal(federation::PurposeOf(manifest.kind), federation::kBodyManifest, 1, body,
                    now_ms, now_ms + 600'000)
              .value();
      if (!header.empty()) {
        envelope =
            privacy::SealEnvelope(privacy::ParseHeader(AsBytes(header)).value(), body, liar_key_)
                .value();
      }
      header = envelope.header;
      *frames.emplace_back().mutable_push()->mutable_envelope() = federation::ToProto(envelope);
    }
    return frames;
  }

  bool Excludes(const std::string& name) {
    const cluster::v1::ListMembersResponse response = Members();
    return std::ranges::any_of(response.members(), [&name](const auto& member) {
      return member.name() == name && member.state() == cluster::v1::MEMBER_STATE_EXCLUDED;
    });
  }
  cluster::v1::ListMembersResponse Members() {
    cluster::v1::ListMembersResponse members;
    grpc::ClientContext context;
    EXPECT_TRUE(cluster::v1::ClusterService::NewStub(channel_)
                    ->ListMembers(&context, cluster::v1::ListMembersRequest(), &members)
                    .ok());
    return members;
  }

  const privacy::NodeKey liar_key_ = privacy::NodeKey::FromSeed(privacy::KeySeed{9});
};

// Regression test: the evidence was forgotten with the process, so a node that started again linked
// to a peer that had lied to it.
TEST_F(NodeEvidenceTest, AnEquivocatorIsKeptOutAlsoAfterARestart) {
  {
    const federation::GossipConfig config = LiarConfig(1);
    RecordingPeer liar(config, liar_key_);
    bool told = false;
    EXPECT_TRUE(liar.TakePartUntil(node_->federation_address(), std::chrono::minutes(1), [&] {
      if (liar.core().active_links() > 0 && !std::exchange(told, true)) {
        for (const federation::v1::WireFrame& frame : TwoTales(config)) {
          liar.Say(frame);
        }
      }
      return told && Excludes("liar");
    }));
  }
  Restart();
  RecordingPeer liar(LiarConfig(2), liar_key_);
  EXPECT_TRUE(liar.TakePartUntil(node_->federation_address(), std::chrono::minutes(1), [&] {
    return liar.received().find(reasons::kGraylisted) != std::string::npos;
  }));
}

// Regression test: scores were forgotten with the process.
TEST_F(NodeEvidenceTest, AForgerIsKeptOutAlsoAfterARestart) {
  {
    const federation::GossipConfig config = LiarConfig(1);
    federation::v1::WireFrame forged = TwoTales(config).front();
    forged.mutable_push()->mutable_envelope()->mutable_signature()->front() ^= 1;
    RecordingPeer liar(config, liar_key_);
    bool told = false;
    EXPECT_TRUE(liar.TakePartUntil(node_->federation_address(), std::chrono::minutes(1), [&] {
      if (liar.core().active_links() > 0 && !std::exchange(told, true)) {
        for (int i = 0; i < 12; ++i) {
          liar.Say(forged);
        }
      }
      return liar.received().find(reasons::kGraylisted) != std::string::npos;
    }));
  }
  Restart();
  RecordingPeer liar(LiarConfig(2), liar_key_);
  EXPECT_TRUE(liar.TakePartUntil(node_->federation_address(), std::chrono::minutes(1), [&] {
    return liar.received().find(reasons::kGraylisted) != std::string::npos;
  }));
}

// Regression test: what the liar gave stayed part of what is served when nothing else came.
TEST_F(NodeEvidenceTest, WhatAnEquivocatorGaveIsServedNoMore) {
  const federation::GossipConfig config = LiarConfig(1);
  RecordingPeer liar(config, liar_key_);
  const federation::Instant now = RecordingPeer::Now();
  ASSERT_TRUE(liar.core()
                  .SetConsent(privacy::ConsentRecord::Sign(privacy::ConsentTier::kPublic,
                                                           now.wall_ms, liar_key_),
                              now)
                  .ok());
  int step = 0;
  EXPECT_TRUE(liar.TakePartUntil(
      node_->federation_address(), std::chrono::minutes(2),
      [&] {
        if (step == 0 && liar.core().active_links() > 0) {
          step = 1;
          const uint64_t round = RoundAt(*config.plan, RecordingPeer::Now().wall_ms);
          liar.Perform(liar.core()
                           .OfferContribution(round, SmallContribution(*config.plan, round),
                                              RecordingPeer::Now(),
                                              privacy::ShareableKind::kContribution)
                           .value());
        } else if (step == 1 && Status().rounds().served_version() > 0) {
          step = 2;
          for (const federation::v1::WireFrame& tale : TwoTales(config)) {
            liar.Say(tale);
          }
        }
        return step == 2 && Status().rounds().served_version() == 0;
      }))
      << "at step " << step;
  const cluster::v1::ListMembersResponse members = Members();
  for (const auto& member : members.members()) {
    EXPECT_THAT(member.state(),
                testing::AnyOf(cluster::v1::MEMBER_STATE_SELF, cluster::v1::MEMBER_STATE_EXCLUDED))
        << member.name();
  }
  EXPECT_EQ(members.members_size(), 2);
  EXPECT_EQ(Status().cluster().members_alive(), 1u);
}

}  // namespace
}  // namespace ruvd::node
