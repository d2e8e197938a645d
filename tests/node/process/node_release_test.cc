// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Tests the sharing tiers of a running node: what its operator may choose, what a release costs,
// what users are told.

#include <gmock/gmock.h>

#include <chrono>
#include <sstream>
#include <string>
#include <vector>

#include "node/client/client.h"
#include "node/process/privacy_counter.h"
#include "node/program/program.h"
#include "privacy/reasons.h"
#include "ruvd/privacy/v1/privacy.pb.h"
#include "tests/node/process/federated_node_fixture.h"
#include "tests/node/process/peer_config.h"
#include "tests/node/process/recording_peer.h"

namespace ruvd::node {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class NodeReleaseTest : public FederatedNodeTest {
 protected:
  int Run(std::vector<std::string> arguments) {
    out_.str("");
    err_.str("");
    cli::CommandContext context{.out = out_, .err = err_, .environment = {}};
    arguments.insert(arguments.end(), {"--server", node_->api_address()});
    return RunProgram(arguments, context);
  }

  std::ostringstream out_;
  std::ostringstream err_;
};

TEST_F(NodeReleaseTest, AReleaseIsChargedOnceAndTheChargeOutlivesTheNode) {
  AllowReleases();
  Start();
  AddManyTexts(privacy::v1::SHARING_TIER_DP);
  ASSERT_EQ(Run({"consent", "grant", "--tier", "dp"}), 0) << err_.str();
  ASSERT_TRUE(WaitUntil([&] { return Status().rounds().own_contributions() == 1; }))
      << Status().rounds().DebugString();
  const double spent = Release().spent_epsilon();
  EXPECT_GT(spent, 1);
  EXPECT_LE(spent, 8);
  EXPECT_EQ(Release().releases(), 1U);
  EXPECT_TRUE(fs::exists(PrivacyCounterFileOf(config_)));
  Restart();
  EXPECT_EQ(Release().releases(), 1U) << "what was paid for is offered again, for nothing";
  EXPECT_EQ(Release().spent_epsilon(), spent);
  ASSERT_TRUE(WaitUntil([&] { return !Status().rounds().refusal().empty(); }));
  EXPECT_EQ(Release().releases(), 1U) << "each lesson had its one round";
  ASSERT_EQ(Run({"status"}), 0) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("by any one lesson, in 1 release(s)"));
  ASSERT_EQ(Run({"round"}), 0) << err_.str();
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("plan"), HasSubstr("not settled"),
                                HasSubstr("no state compared yet")));
  EXPECT_EQ(Run({"consent", "revoke"}), 0) << err_.str();
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("sharing is off"), HasSubstr("epsilon")));
}

TEST_F(NodeReleaseTest, MoreNoiseThanSignalIsRefusedInThePreviewAlready) {
  AllowReleases();
  config_.federation.rank = 8;
  Start();
  AddText(node_->api_address(), kDocument, kGiven, privacy::v1::SHARING_TIER_DP);
  ASSERT_TRUE(WaitUntil([&] {
    EXPECT_EQ(Run({"privacy", "preview", "--tier", "dp"}), 0) << err_.str();
    return out_.str().find(reasons::kSignalTooWeak) != std::string::npos;
  })) << out_.str();
  EXPECT_THAT(out_.str(),
              AllOf(HasSubstr("no: the predicted signal"), HasSubstr("no epsilon suffices")));
  EXPECT_EQ(Release().spent_epsilon(), 0);
  EXPECT_TRUE(Generate(Request("The lighthouse", 4)).status.ok());
}

TEST_F(NodeReleaseTest, AShareOfAMaskedSumIsPreviewedAndNothingIsCharged) {
  AllowReleases();
  Start();
  AddManyTexts(privacy::v1::SHARING_TIER_MASKED);
  ASSERT_EQ(Run({"consent", "grant", "--tier", "masked"}), 0) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("tier masked: 0 items"));
  ASSERT_TRUE(WaitUntil([&] {
    EXPECT_EQ(Run({"privacy", "preview"}), 0) << err_.str();
    return out_.str().find("would leave  yes") != std::string::npos;
  })) << out_.str();
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("a share of"), HasSubstr("each lesson clipped to 1"),
                                HasSubstr("Nothing was charged")));
  EXPECT_EQ(Release().releases(), 0U) << "a node alone adds up nothing";
  Restart();
  EXPECT_EQ(Consent().tier(), privacy::v1::SHARING_TIER_MASKED);
}

TEST_F(NodeReleaseTest, AScopeThatThePolicyDoesNotListSharesNothing) {
  AllowReleases();
  const std::string policy = folder_ / "policy.toml";
  ASSERT_TRUE(WriteFileAtomically(policy,
                                  "version = 1\n[scope.ward]\ntiers = [\"dp\"]\n"
                                  "purposes = [\"training\", \"sharing\"]\n")
                  .ok());
  config_.privacy.policy = policy;
  Start();
  for (const char* tier : {"dp", "public"}) {
    EXPECT_NE(Run({"consent", "grant", "--tier", tier}), 0);
    EXPECT_THAT(err_.str(), HasSubstr(reasons::kScopeUnknown));
  }
  config_.privacy.scope = "ward";
  Restart();
  EXPECT_EQ(Run({"consent", "grant", "--tier", "dp"}), 0) << err_.str();
  EXPECT_NE(Run({"consent", "grant", "--tier", "public"}), 0);
  EXPECT_THAT(err_.str(), HasSubstr(reasons::kPolicyRefuses));
  config_.privacy.policy = "/there/is/none.toml";
  Restart();
  ASSERT_EQ(Run({"consent", "status"}), 0) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("private")) << "a policy that cannot be read allows nothing";
}

TEST_F(NodeReleaseTest, APreviewOfANoisedContributionHasAllButItsValues) {
  AllowReleases();
  Start();
  AddManyTexts(privacy::v1::SHARING_TIER_DP);
  ASSERT_EQ(Run({"privacy", "preview"}), 0) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("under tier private nothing leaves"));
  ASSERT_TRUE(WaitUntil([&] {
    EXPECT_EQ(Run({"privacy", "preview", "--tier", "dp"}), 0) << err_.str();
    return out_.str().find("would leave  yes") != std::string::npos;
  })) << out_.str();
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("28 values:"), HasSubstr("default"),
                                HasSubstr("do not exist yet"), HasSubstr("payload: ")));
  EXPECT_EQ(Release().releases(), 0U);
  EXPECT_EQ(Consent().bytes_shared(), 0U);
}

TEST_F(NodeReleaseTest, APreviewShowsTheVeryBytesThatLeave) {
  config_.federation.round_seconds = 3600;  // the preview and the contribution are in one round
  config_.federation.tls = "off";
  Start();
  AddText(node_->api_address(), kDocument, kGiven, privacy::v1::SHARING_TIER_PUBLIC);
  privacy::v1::PreviewReleaseRequest request;
  request.set_tier(privacy::v1::SHARING_TIER_PUBLIC);
  const auto preview =
      client::NodeClient(node_->api_address()).Call<privacy::v1::PreviewReleaseResponse>(request);
  ASSERT_TRUE(preview.ok()) << preview.status();
  ASSERT_EQ(preview->payloads_size(), 1) << preview->DebugString();
  EXPECT_GT(preview->lessons(), 20U);
  EXPECT_EQ(Consent().bytes_shared(), 0U);
  Grant(privacy::v1::SHARING_TIER_PUBLIC);
  const privacy::NodeKey peer_key = privacy::NodeKey::FromSeed(privacy::KeySeed{9});
  RecordingPeer peer(ConfigOfPeer(config_, CertificateFor(peer_key, "peer")), peer_key);
  ASSERT_TRUE(peer.TakePartUntil(node_->federation_address(), std::chrono::minutes(2),
                                 [&peer] { return !peer.accepted().empty(); }));
  EXPECT_EQ(peer.accepted()[0].kind, federation::ItemKind::kContribution);
  EXPECT_EQ(*peer.accepted()[0].payload, preview->payloads(0));
}

TEST_F(NodeReleaseTest, WhatAUserTaughtLeavesWithConsentOnlyAndIsTakenBackWithIt) {
  Start();
  Teach("alice", kLesson);
  ASSERT_EQ(Run({"consent", "grant", "--tier", "public"}), 0) << err_.str();
  ASSERT_TRUE(WaitUntil([&] { return !Status().rounds().refusal().empty(); }));
  EXPECT_EQ(Status().rounds().refusal_reason(), reasons::kConsentMissing);
  EXPECT_EQ(Run({"consent", "allow", "--tier", "public"}), 2) << "whose?";
  ASSERT_EQ(Run({"consent", "allow", "--user", "alice", "--tier", "public", "--days", "30"}), 0)
      << err_.str();
  ASSERT_EQ(Run({"consent", "list"}), 0) << err_.str();
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("user alice"), HasSubstr("training, sharing")));
  ASSERT_TRUE(WaitUntil([&] { return Status().rounds().own_contributions() > 0; }));
  ASSERT_EQ(Run({"consent", "withdraw", "--user", "alice"}), 0) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("items are no longer offered"));
  EXPECT_EQ(Status().rounds().own_contributions(), 0U);
  ASSERT_EQ(Run({"privacy", "preview", "--tier", "public"}), 0) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("no: "));
}

}  // namespace
}  // namespace ruvd::node
