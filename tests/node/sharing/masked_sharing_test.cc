// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Tests the sums of masked rounds: what they cost, when another one is made, and what is left of
// them after a restart.

#include "node/sharing/masked_sharing.h"

#include <gmock/gmock.h>

#include <chrono>
#include <memory>
#include <optional>

#include "base/reasons.h"
#include "base/status.h"
#include "privacy/reasons.h"
#include "ruvd/admin/v1/admin.pb.h"
#include "tests/node/sharing/masked_sharing_fixture.h"

namespace ruvd::sharing {
namespace {

using std::chrono::seconds;
using testing::IsEmpty;

TEST_F(MaskedSharingTest, FourNodesGetOneMeanAndPayOnce) {
  Start(Masked(4));
  RunToRound(2);
  ExpectMean({0, 1, 2, 3});
  ExpectNothingTwice();
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(Charges(i), 1u);
    EXPECT_EQ(nodes_[i].changes, 1u);
    const admin::v1::MaskedStatus view = nodes_[i].sharing->View();
    EXPECT_EQ(view.last_members(), 4u);
    EXPECT_EQ(view.last_group(), 4u);
    EXPECT_EQ(view.last_attempt(), 1u);
    EXPECT_TRUE(view.last_own());
    EXPECT_TRUE(view.refusal().empty());
    EXPECT_EQ(nodes_[i].release->View(privacy::ConsentTier::kMasked).refusal(), "");
  }
}

// Regression test: a user who withdrew under another tier, or after a restart, was not told that
// the sum stays.
TEST_F(MaskedSharingTest, ThatAShareWasPaidForIsKnownAfterARestart) {
  Start(Masked(4));
  EXPECT_FALSE(nodes_[0].release->View(privacy::ConsentTier::kDp).sums());
  RunToRound(2);
  ASSERT_EQ(Charges(0), 1u);
  EXPECT_TRUE(nodes_[0].release->View(privacy::ConsentTier::kDp).sums());
  nodes_[0].sharing.reset();
  nodes_[0].release.reset();
  nodes_[0].ledger.reset();
  OpenRelease(0, kPlenty);
  EXPECT_TRUE(nodes_[0].release->View(privacy::ConsentTier::kDp).sums());
  nodes_[0].sharing = std::make_unique<MaskedSharing>(OptionsOf(0));
}

// What is in a sum is not charged again; what was learned since is.
TEST_F(MaskedSharingTest, OnlyAnotherUpdateMakesAnotherSum) {
  Start(Masked(4));
  RunToRound(5);
  EXPECT_EQ(Charges(0), 1u);
  EXPECT_EQ(nodes_[0].sharing->View().last_round() * kPeriodMillis,
            test::kWallStart + kPeriodMillis);
  EXPECT_NE(nodes_[0].sharing->View().waits(), "");
  for (Node& node : nodes_) {
    ++node.version;
  }
  RunToRound(8);
  EXPECT_EQ(Charges(0), 2u);
  ExpectMean({0, 1, 2, 3});
  ExpectNothingTwice();
}

// A node that comes back repeats no message, gets the sum of the others, and has it after the next
// restart as well.
TEST_F(MaskedSharingTest, ARestartDuringARoundContradictsNothing) {
  Start(Masked(5));
  RunToRound(1);
  while (Count(1, federation::ItemKind::kMaskKey) < 2) {
    Step();
  }
  nodes_[1].sharing = std::make_unique<MaskedSharing>(OptionsOf(1));
  RunToRound(2);
  ExpectMean({0, 2, 3, 4});
  ExpectNothingTwice();
  nodes_[1].sharing = std::make_unique<MaskedSharing>(OptionsOf(1));
  ExpectMean({0, 2, 3, 4});
  nodes_[0].sharing = std::make_unique<MaskedSharing>(OptionsOf(0));
  EXPECT_EQ(nodes_[0].sharing->means().front()->own.size(), 1u);
  RunFor(seconds(10));
  ExpectMean({0, 2, 3, 4});
}

// Regression test: such a sum could not count, and it excluded the updates that its members sent by
// themselves.
TEST_F(MaskedSharingTest, ASumOfAnotherFrameIsForgottenAtTheStart) {
  Start(Masked(4));
  RunToRound(2);
  ExpectMean({0, 1, 2, 3});
  MaskedMean other = *nodes_[0].sharing->means().front();
  other.update.frame_id.fill(0x33);
  ASSERT_TRUE(StoreMaskedMeans(*nodes_[0].state, {std::make_shared<const MaskedMean>(other)}).ok());
  nodes_[0].sharing = std::make_unique<MaskedSharing>(OptionsOf(0));
  EXPECT_THAT(nodes_[0].sharing->means(), IsEmpty());
}

TEST_F(MaskedSharingTest, ASumOfAnExpelledMemberCountsNoMoreAlsoAfterARestart) {
  Start(Masked(4));
  RunToRound(2);
  ExpectMean({0, 1, 2, 3});
  const federation::Instant now = swarm_->now();
  const auto list =
      privacy::RevokeNodes({}, {swarm_->id(3)}, now.wall_ms,
                           privacy::SigningKey::FromSeed(test::SeedOf(1000)));  // test::Authority()
  ASSERT_TRUE(list.ok()) << list.status();
  swarm_->Apply(0, swarm_->core(0).SetRevocations(*list, now).value());
  EXPECT_EQ(nodes_[0].sharing->TakeExpelled(), std::nullopt);
  Step();
  EXPECT_THAT(nodes_[0].sharing->means(), IsEmpty());
  EXPECT_EQ(nodes_[0].sharing->TakeExpelled(), swarm_->id(3));
  EXPECT_EQ(nodes_[0].sharing->TakeExpelled(), std::nullopt) << "once";
  nodes_[0].sharing = std::make_unique<MaskedSharing>(OptionsOf(0));
  EXPECT_THAT(nodes_[0].sharing->means(), IsEmpty());
}

// The node's own noise would drown its update, and even a sum of sixteen has too much noise.
TEST_F(MaskedSharingTest, ASumOfMoreNoiseThanSignalIsRefusedBeforeAnythingIsSaid) {
  Start(Masked(4));
  for (size_t i = 0; i < nodes_.size(); ++i) {
    DpReleaseOptions options{.policy = privacy::SitePolicy::Parse(kMaskedPolicy).value(),
                             .scope = "lab",
                             .epsilon = 0.2,
                             .signal = 0.5,
                             .layout = Layout(),
                             .ledger = nodes_[i].ledger.get(),
                             .random = test::EntropyOf(i + 1),
                             .clock = &clock_};
    options.budget =
        privacy::UnitBudget::Within(privacy::PrivacyUnit::kNode, 10, options.delta).value();
    nodes_[i].release = DpRelease::Create(options);
    nodes_[i].sharing = std::make_unique<MaskedSharing>(OptionsOf(i));
  }
  RunToRound(3);
  EXPECT_TRUE(said_.empty());
  const admin::v1::ReleaseStatus view = nodes_[0].release->View(privacy::ConsentTier::kMasked);
  EXPECT_EQ(view.refusal_reason(), reasons::kSignalTooWeak);
  EXPECT_LT(view.predicted_snr(), 1);
  EXPECT_EQ(view.contributors(), 4u);
  EXPECT_EQ(view.needed_contributors(), 0) << "more than a sum has";
  EXPECT_GT(view.needed_epsilon(), 0);
}

}  // namespace
}  // namespace ruvd::sharing
