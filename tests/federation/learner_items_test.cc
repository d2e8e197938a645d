// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Contributions and checkpoints of rounds in gossip: who takes them, and for how long.

#include "federation/gossip/learner_items.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "base/reasons.h"
#include "base/status.h"
#include "federation/learner/contribution.h"
#include "federation/learner/global_state.h"
#include "federation/limits.h"
#include "federation/masked/messages.h"
#include "federation/reasons.h"
#include "tests/federation/fixture.h"
#include "tests/federation/learner_fixture.h"
#include "tests/federation/swarm.h"

namespace ruvd::test {
namespace {

using federation::Item;
using federation::ItemKind;
using federation::LearnerPlan;
using testing::HasSubstr;

constexpr int64_t kWallMillis = 1'800'000'000'000;

LearnerPlan ShortPlan() {
  LearnerPlan plan = DeltaPlan();
  plan.window = 4;
  return plan;
}

absl::Status Check(const std::string& payload, uint64_t round, const LearnerPlan* plan) {
  return federation::CheckLearnerItem(ItemKind::kContribution, payload, round, plan, kWallMillis);
}

TEST(LearnerItems, ARoundMayLieAheadByTheDifferenceOfClocksAndNoFurther) {
  const LearnerPlan plan = ShortPlan();
  const uint64_t now = RoundAt(plan, kWallMillis);
  EXPECT_TRUE(Check(ContributionPayload(plan, now), now, &plan).ok());
  LearnerPlan quick = plan;
  quick.round_ms = 60'000;
  const uint64_t quick_now = RoundAt(quick, kWallMillis);
  EXPECT_TRUE(Check(ContributionPayload(quick, quick_now + 2), quick_now + 2, &quick).ok());
  const absl::Status ahead =
      Check(ContributionPayload(quick, quick_now + 4), quick_now + 4, &quick);
  EXPECT_EQ(ReasonOf(ahead), reasons::kUpdateInvalid);
}

TEST(LearnerItems, AnotherPlanIsRefusedByName) {
  const LearnerPlan plan = ShortPlan();
  LearnerPlan other = plan;
  other.max_norm = 1;
  const uint64_t now = RoundAt(plan, kWallMillis);
  EXPECT_EQ(ReasonOf(Check(ContributionPayload(other, now), now, &plan)), reasons::kPlanMismatch);
  const absl::Status none = Check(ContributionPayload(plan, now), now, nullptr);
  EXPECT_EQ(ReasonOf(none), reasons::kPlanMismatch);
  EXPECT_THAT(std::string(MessageOf(none)), HasSubstr("ruvd model frame"));
}

std::string KeyPayload(const Digest& layout, uint64_t round) {
  federation::MaskKeyItem key;
  key.offer.round = round;
  key.offer.layout = layout;
  return federation::EncodeMaskKey(key);
}

TEST(LearnerItems, MaskItemsAreOfThePlansSumsAndOfRoundsThatHaveBegun) {
  const LearnerPlan plan = GradientPlan();
  const uint64_t now = RoundAt(plan, kWallMillis);
  const Digest layout = federation::LayoutOfSums(plan).Hash();
  const auto check = [&](const Digest& of, uint64_t round) {
    return federation::CheckMaskItemOfPlan(ItemKind::kMaskKey, KeyPayload(of, round), round, plan,
                                           kWallMillis);
  };
  EXPECT_TRUE(check(layout, now).ok());
  EXPECT_EQ(ReasonOf(check(layout, now + 2)), reasons::kUpdateInvalid);
  LearnerPlan other = plan;
  other.values_per_bank += 1;
  EXPECT_EQ(ReasonOf(check(federation::LayoutOfSums(other).Hash(), now)), reasons::kPlanMismatch);
}

// A share of 4 MiB was fetched for sums of a few values.
TEST(LearnerItems, AShareIsAsLargeAsThePlansSums) {
  const LearnerPlan plan = GradientPlan();
  const size_t values = federation::LayoutOfSums(plan).Values();
  federation::MaskShareItem share;
  share.update.layout = federation::LayoutOfSums(plan).Hash();
  share.update.values.resize(values);
  EXPECT_EQ(federation::EncodeMaskShare(share).size(),
            federation::MaxLearnerPayloadBytes(ItemKind::kMaskShare, &plan));
}

TEST(LearnerItems, TheEnvelopeMustNameTheRoundOfTheContribution) {
  const LearnerPlan plan = ShortPlan();
  const uint64_t now = RoundAt(plan, kWallMillis);
  EXPECT_EQ(ReasonOf(Check(ContributionPayload(plan, now - 1), now, &plan)),
            reasons::kUpdateInvalid);
}

TEST(LearnerItems, ASumHasNoSender) {
  const LearnerPlan plan = GradientPlan();
  const uint64_t now = RoundAt(plan, kWallMillis);
  Random random(1);
  const auto sum = SomeSum(plan, now, 0, 4, 0, random);
  const absl::Status refused = Check(EncodeContribution(sum.contribution, plan), now, &plan);
  EXPECT_EQ(ReasonOf(refused), reasons::kUpdateInvalid);
}

TEST(LearnerItems, ACheckpointIsOfARoundOfCheckpoints) {
  const LearnerPlan plan = ShortPlan();
  const uint64_t round = CheckpointRound(plan, RoundAt(plan, kWallMillis));
  EXPECT_EQ(round % plan.window, 0U);
  const auto check = [&](uint64_t of) {
    return federation::CheckLearnerItem(ItemKind::kCheckpoint,
                                        EncodeState(federation::EmptyState(plan, of + 1), plan), of,
                                        &plan, kWallMillis);
  };
  EXPECT_TRUE(check(round).ok());
  EXPECT_EQ(ReasonOf(check(round + 1)), reasons::kUpdateInvalid);
}

TEST(LearnerItems, ThereIsRoomForTheLargestPayloads) {
  const LearnerPlan plan = GradientPlan();
  Random random(1);
  auto one = SomeContribution(plan, 1000, 0, "", random).contribution;
  one.units.assign(one.units.size(), 1 << 20);
  EXPECT_LE(EncodeContribution(one, plan).size(),
            MaxLearnerPayloadBytes(ItemKind::kContribution, &plan));
  federation::GlobalState state = federation::EmptyState(plan, 1000);
  for (size_t i = 0; i < limits::kMaxParticipants; ++i) {
    state.last_part[LearnerNode(i)] = 1;
  }
  for (auto& nodes : state.running_means) {
    for (size_t i = 0; i < limits::kMaxRunningMeans; ++i) {
      nodes[LearnerNode(i)].Add(1, std::vector<float>(plan.RunningMeanValues(), 1));
    }
  }
  EXPECT_LE(EncodeState(state, plan).size(), MaxLearnerPayloadBytes(ItemKind::kCheckpoint, &plan));
}

// All contributions behind a checkpoint live until the next one is offered.
TEST(LearnerItems, ContributionsOutliveTheirCheckpoint) {
  LearnerPlan plan = ShortPlan();
  for (uint64_t now = 100; now < 120; ++now) {
    const uint64_t checkpoint = CheckpointRound(plan, now);
    EXPECT_GT(now, checkpoint + plan.window);
    EXPECT_GE(static_cast<int64_t>(checkpoint + 1) * plan.round_ms + LearnerLifeMillis(plan),
              static_cast<int64_t>(now + 1) * plan.round_ms);
  }
  EXPECT_EQ(CheckpointRound(plan, plan.window), 0U);
}

// ---- Real cores

std::shared_ptr<const LearnerPlan> PlanOfSwarm() {
  LearnerPlan plan = ShortPlan();
  plan.round_ms = 10'000;
  return std::make_shared<const LearnerPlan>(plan);
}

size_t CountOf(Swarm& swarm, size_t node, ItemKind kind) {
  size_t count = 0;
  for (const Item& item : swarm.core(node).Items()) {
    count += item.kind == kind ? 1 : 0;
  }
  return count;
}

TEST(LearnerItems, AContributionReachesAllMembersAndIsWithdrawnFromThem) {
  const auto plan = PlanOfSwarm();
  Swarm swarm({.nodes = 3,
               .configure = [&](size_t, federation::GossipConfig& config) { config.plan = plan; }});
  swarm.Run(std::chrono::seconds(3));
  swarm.Share(0);
  const uint64_t round = RoundAt(*plan, swarm.now().wall_ms);
  auto offered = swarm.core(0).OfferContribution(
      round, ContributionPayload(*plan, round), swarm.now(), privacy::ShareableKind::kContribution);
  ASSERT_TRUE(offered.ok()) << offered.status();
  swarm.Apply(0, *std::move(offered));
  ASSERT_TRUE(swarm.RunUntil(
      [&] {
        return CountOf(swarm, 1, ItemKind::kContribution) == 1 &&
               CountOf(swarm, 2, ItemKind::kContribution) == 1;
      },
      std::chrono::seconds(10)));
  EXPECT_EQ(swarm.core(1).counters().accepted_items.at("contribution"), 1U);
  swarm.Apply(0, swarm.core(0).WithdrawContributions());
  EXPECT_EQ(CountOf(swarm, 0, ItemKind::kContribution), 0U);
}

TEST(LearnerItems, NothingLeavesWithoutConsent) {
  const auto plan = PlanOfSwarm();
  Swarm swarm({.nodes = 2,
               .configure = [&](size_t, federation::GossipConfig& config) { config.plan = plan; }});
  const uint64_t round = RoundAt(*plan, swarm.now().wall_ms);
  const auto offered = swarm.core(0).OfferContribution(
      round, ContributionPayload(*plan, round), swarm.now(), privacy::ShareableKind::kContribution);
  EXPECT_EQ(ReasonOf(offered.status()), "CONSENT_MISSING");
}

TEST(LearnerItems, NodesWithOtherPlansAreToldOfEachOtherAndStayLinked) {
  Swarm swarm({.nodes = 2, .configure = [&](size_t node, federation::GossipConfig& config) {
                 LearnerPlan plan = *PlanOfSwarm();
                 plan.max_norm = node == 0 ? 16 : 8;
                 config.plan = std::make_shared<const LearnerPlan>(plan);
               }});
  ASSERT_TRUE(
      swarm.RunUntil([&] { return swarm.core(0).active_links() == 1; }, std::chrono::seconds(10)));
  swarm.Run(std::chrono::seconds(1));
  for (const size_t node : {0, 1}) {
    EXPECT_GE(swarm.core(node).counters().refused.at(reasons::kPlanMismatch), 1U);
    EXPECT_EQ(swarm.core(node).active_links(), 1U);
  }
  swarm.Share(0);
  const uint64_t round = RoundAt(*PlanOfSwarm(), swarm.now().wall_ms);
  auto offered =
      swarm.core(0).OfferContribution(round, ContributionPayload(*PlanOfSwarm(), round),
                                      swarm.now(), privacy::ShareableKind::kContribution);
  ASSERT_TRUE(offered.ok()) << offered.status();
  swarm.Apply(0, *std::move(offered));
  swarm.Run(std::chrono::seconds(5));
  EXPECT_EQ(CountOf(swarm, 1, ItemKind::kContribution), 0U);
  EXPECT_EQ(swarm.core(1).active_links(), 1U);  // a plan is no offence
}

// A node that was away needs the sums of the rounds that it missed as well as contributions.
TEST(LearnerItems, ItemsOfMaskedSumsLiveAsLongAsContributions) {
  LearnerPlan plan = *PlanOfSwarm();
  plan.round_ms = 3'600'000;
  Swarm swarm({.nodes = 2, .configure = [&](size_t node, federation::GossipConfig& config) {
                 if (node == 0) {
                   config.plan = std::make_shared<const LearnerPlan>(plan);
                 }
               }});
  for (const size_t node : {0, 1}) {
    const privacy::NodeKey key = privacy::NodeKey::FromSeed(SeedOf(node));
    ASSERT_TRUE(swarm.core(node)
                    .SetConsent(privacy::ConsentRecord::Sign(privacy::ConsentTier::kMasked,
                                                             swarm.now().wall_ms, key),
                                swarm.now())
                    .ok());
    const federation::MaskKeyItem said{.attempt = 0,
                                       .offer = {.round = 1,
                                                 .layout = federation::LayoutOfSums(plan).Hash(),
                                                 .key = {static_cast<uint8_t>(node)}}};
    auto offered = swarm.core(node).OfferMasked(ItemKind::kMaskKey, 1,
                                                federation::EncodeMaskKey(said), swarm.now());
    ASSERT_TRUE(offered.ok()) << offered.status();
    const std::vector<Item> items = swarm.core(node).Items();
    ASSERT_EQ(items.size(), 1U);
    EXPECT_EQ(items[0].expires_ms - swarm.now().wall_ms,
              node == 0 ? LearnerLifeMillis(plan) : limits::kMaskItemLifeMillis);
  }
  EXPECT_GT(LearnerLifeMillis(plan), limits::kMaskItemLifeMillis);
}

}  // namespace
}  // namespace ruvd::test
