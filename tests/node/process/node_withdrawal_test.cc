// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Withdrawn items leave the peers of a running node, and the node drops what peers withdraw.

#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "base/clock.h"
#include "node/process/node_files.h"
#include "node/program/program.h"
#include "node/sharing/shared_items.h"
#include "ruvd/privacy/v1/privacy.pb.h"
#include "storage/lessons/lesson_store.h"
#include "tests/node/process/federated_node_fixture.h"
#include "tests/node/process/peer_config.h"
#include "tests/node/process/recording_peer.h"

namespace ruvd::node {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class NodeWithdrawalTest : public FederatedNodeTest {
 protected:
  void SetUp() override {
    FederatedNodeTest::SetUp();
    config_.federation.tls = "off";
  }
  int Run(std::vector<std::string> arguments) {
    out_.str("");
    cli::CommandContext context{.out = out_, .err = out_, .environment = {}};
    arguments.insert(arguments.end(), {"--server", node_->api_address()});
    return RunProgram(arguments, context);
  }
  federation::GossipConfig PeerConfig() const {
    return ConfigOfPeer(config_, CertificateFor(peer_key_, "peer"));
  }
  static size_t Accepted(const RecordingPeer& peer, federation::ItemKind kind) {
    return static_cast<size_t>(std::ranges::count(peer.accepted(), kind, &federation::Item::kind));
  }
  bool TakePart(RecordingPeer& peer, const std::function<bool()>& done) {
    return peer.TakePartUntil(node_->federation_address(), std::chrono::minutes(2), done);
  }

  const privacy::NodeKey peer_key_ = privacy::NodeKey::FromSeed(privacy::KeySeed{9});
  static size_t Held(RecordingPeer& peer) {
    const std::vector<federation::Item> items = peer.core().Items();
    return static_cast<size_t>(
        std::ranges::count(items, federation::ItemKind::kContribution, &federation::Item::kind));
  }
  // Shares Alice's lesson, plain, with a peer that comes and goes.
  void SharePlain() {
    Start();
    ASSERT_EQ(Run({"consent", "allow", "--user", "alice", "--tier", "public"}), 0) << out_.str();
    Teach("alice", kLesson);
    ASSERT_EQ(Run({"consent", "grant", "--tier", "public"}), 0) << out_.str();
    RecordingPeer peer(PeerConfig(), peer_key_);
    ASSERT_TRUE(
        TakePart(peer, [&] { return Accepted(peer, federation::ItemKind::kContribution) > 0; }));
  }
  // Lets a noised contribution of Alice's texts leave.
  void ShareNoised() {
    AllowReleases();
    Start();
    ASSERT_EQ(Run({"consent", "allow", "--user", "alice", "--tier", "dp"}), 0) << out_.str();
    AddManyTexts(privacy::v1::SHARING_TIER_DP, "alice");
    ASSERT_EQ(Run({"consent", "grant", "--tier", "dp"}), 0) << out_.str();
  }
  // Withdraws all texts in the store of the stopped node, as if it had crashed before it told its
  // other parts.
  void WithdrawInTheStore() {
    ASSERT_TRUE(node_->Drain(std::chrono::seconds(10)).ok());
    node_.reset();
    const auto files = OpenNodeFiles(config_, SystemClock());
    ASSERT_TRUE(files.ok()) << files.status();
    const auto database = OpenNodeStore(config_, *files->seal_source, SystemClock());
    ASSERT_TRUE(database.ok()) << database.status();
    const auto lessons = storage::LessonStore::Open(**database);
    ASSERT_TRUE(lessons.ok()) << lessons.status();
    ASSERT_TRUE((*lessons)->WithdrawUser("").ok());
  }
  void ExpectPlainItemsAreSaidToRemain() const {
    EXPECT_THAT(out_.str(), AllOf(HasSubstr("Plain items left this node"),
                                  HasSubstr("no epsilon bounds"), Not(HasSubstr("Nothing was"))));
  }

  std::ostringstream out_;
};

TEST_F(NodeWithdrawalTest, AUserWhoWithdrawsIsTakenOutOfWhatPeersHave) {
  ASSERT_NO_FATAL_FAILURE(ShareNoised());
  RecordingPeer peer(PeerConfig(), peer_key_);
  bool asked = false;
  ASSERT_TRUE(TakePart(peer, [&] {
    if (!asked && Accepted(peer, federation::ItemKind::kContribution) == 1) {
      asked = true;
      EXPECT_EQ(Held(peer), 1U);
      EXPECT_EQ(Run({"consent", "withdraw", "--user", "alice"}), 0) << out_.str();
    }
    return Accepted(peer, federation::ItemKind::kWithdrawal) > 0;
  }));
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("1 contributions, 0 patterns"),
                                HasSubstr("1 linked peer"), HasSubstr("1 noised release(s)"),
                                HasSubstr("epsilon"), HasSubstr("not given back")));
  EXPECT_EQ(Held(peer), 0U);
}

// A peer that was away receives the withdrawal from the node, or from another peer that has it,
// after a restart.
TEST_F(NodeWithdrawalTest, AnErasedUserIsTakenOutOfWhatAbsentPeersHave) {
  ASSERT_NO_FATAL_FAILURE(ShareNoised());
  RecordingPeer peer(PeerConfig(), peer_key_);
  ASSERT_TRUE(
      TakePart(peer, [&] { return Accepted(peer, federation::ItemKind::kContribution) == 1; }));
  ASSERT_EQ(Run({"store", "erase", "--running", "--user", "alice"}), 0) << out_.str();
  Restart();
  ASSERT_TRUE(
      TakePart(peer, [&] { return Accepted(peer, federation::ItemKind::kWithdrawal) > 0; }));
  EXPECT_EQ(Held(peer), 0U);
}

// Regression test: a user who withdrew was told that nothing was released: after a revocation,
// under another tier, after a restart, and when asking once more.
TEST_F(NodeWithdrawalTest, ThatPlainItemsLeftIsSaidForEver) {
  AllowReleases();
  ASSERT_NO_FATAL_FAILURE(SharePlain());
  ASSERT_EQ(Run({"consent", "grant", "--tier", "dp"}), 0) << out_.str();
  ASSERT_EQ(Run({"consent", "withdraw", "--user", "alice"}), 0) << out_.str();
  ExpectPlainItemsAreSaidToRemain();
  ASSERT_EQ(Run({"consent", "revoke"}), 0) << out_.str();
  Restart();
  for (int again = 0; again < 2; ++again) {
    ASSERT_EQ(Run({"consent", "withdraw", "--user", "alice"}), 0) << out_.str();
    ExpectPlainItemsAreSaidToRemain();
  }
}

// A mark that claims too much would be no better.
TEST_F(NodeWithdrawalTest, AWithdrawalBeforeACrashTakesContributionsBackAfterIt) {
  Start();
  AddText(node_->api_address(), kDocument, kGiven, privacy::v1::SHARING_TIER_PUBLIC);
  Grant(privacy::v1::SHARING_TIER_PUBLIC);
  RecordingPeer peer(PeerConfig(), peer_key_);
  ASSERT_TRUE(
      TakePart(peer, [&] { return Accepted(peer, federation::ItemKind::kContribution) > 0; }));
  ASSERT_GT(Held(peer), 0U);
  ASSERT_NO_FATAL_FAILURE(WithdrawInTheStore());
  Start();
  EXPECT_TRUE(
      TakePart(peer, [&] { return Accepted(peer, federation::ItemKind::kWithdrawal) > 0; }));
  EXPECT_EQ(Held(peer), 0U);
}

TEST_F(NodeWithdrawalTest, WhereNothingLeftNothingIsSaidToRemain) {
  Start();
  ASSERT_EQ(Run({"consent", "grant", "--tier", "public"}), 0) << out_.str();
  ASSERT_EQ(Run({"consent", "revoke"}), 0) << out_.str();
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("and 0 items are no longer"),
                                HasSubstr("Nothing was released, so nothing remains")));
  ASSERT_EQ(Run({"consent", "withdraw", "--user", "alice"}), 0) << out_.str();
  EXPECT_THAT(out_.str(), HasSubstr("Nothing was released, so nothing remains"));
}

TEST_F(NodeWithdrawalTest, ARevocationSaysWhatRemainsAndThatPeersDropTheItems) {
  ASSERT_NO_FATAL_FAILURE(SharePlain());
  ASSERT_EQ(Run({"consent", "revoke"}), 0) << out_.str();
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("sharing is off"), HasSubstr("deletes these items")));
  ExpectPlainItemsAreSaidToRemain();
}

// Regression test: the count began at the start of the node.
TEST_F(NodeWithdrawalTest, HowMuchHasLeftIsKeptOverARestart) {
  ASSERT_NO_FATAL_FAILURE(SharePlain());
  const uint64_t shared = Consent().bytes_shared();
  EXPECT_GT(shared, 0u);
  Restart();
  EXPECT_EQ(Consent().bytes_shared(), shared);
  ASSERT_EQ(Run({"consent", "revoke"}), 0) << out_.str();
  Restart();
  EXPECT_GE(Consent().bytes_shared(), shared) << "a new record of consent keeps it";
}

TEST_F(NodeWithdrawalTest, WhatAPeerTakesBackIsNeitherKeptNorServed) {
  Start();
  RecordingPeer peer(PeerConfig(), peer_key_);
  const federation::Instant now = RecordingPeer::Now();
  ASSERT_TRUE(peer.core()
                  .SetConsent(privacy::ConsentRecord::Sign(privacy::ConsentTier::kPublic,
                                                           now.wall_ms, peer_key_),
                              now)
                  .ok());
  const std::shared_ptr<const federation::LearnerPlan> plan = PeerConfig().plan;
  federation::SharedPattern pattern{
      .id = {7}, .quality = 1, .examples = 10, .created_ms = now.wall_ms};
  pattern.centroid.assign(PeerConfig().pattern_rules.dimension, 0);
  pattern.centroid[0] = 1;
  int step = 0;
  EXPECT_TRUE(TakePart(
      peer,
      [&] {
        if (step == 0 && peer.core().active_links() == 1) {
          step = 1;
          const uint64_t round = RoundAt(*plan, RecordingPeer::Now().wall_ms);
          peer.Perform(peer.core()
                           .OfferContribution(round, SmallContribution(*plan, round),
                                              RecordingPeer::Now(),
                                              privacy::ShareableKind::kContribution)
                           .value());
          peer.Perform(peer.core().OfferPattern(pattern, RecordingPeer::Now()).value());
        } else if (step == 1 && Status().patterns().stored() == 1 &&
                   Status().rounds().served_version() > 0) {
          step = 2;
          const auto sent = std::ranges::find(peer.accepted(), federation::ItemKind::kContribution,
                                              &federation::Item::kind);
          const auto record = privacy::Withdrawal::Sign({sent->id}, /*everything=*/false,
                                                        now.wall_ms, peer_key_, {pattern.id});
          peer.Perform(peer.core().OfferWithdrawal(record.value(), RecordingPeer::Now()).value());
        }
        return step == 2 && Status().patterns().stored() == 0 &&
               Status().rounds().served_version() == 0;
      }))
      << "at step " << step;
}

}  // namespace
}  // namespace ruvd::node
