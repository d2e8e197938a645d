// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Tests nodes that take part in masked rounds: real cores, ledgers and consents, over a simulated
// network.

#include "node/sharing/masked_sharing.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/reasons.h"
#include "base/status.h"
#include "privacy/reasons.h"
#include "ruvd/admin/v1/admin.pb.h"
#include "tests/federation/fixture.h"
#include "tests/federation/swarm.h"
#include "tests/node/database_fixture.h"

namespace ruvd::sharing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::IsEmpty;

constexpr Duration kPeriod = seconds(60);
constexpr Duration kStep = milliseconds(200);
constexpr char kMaskedPolicy[] =
    "version = 1\n[scope.lab]\ntiers = [\"masked\"]\npurposes = [\"training\", \"sharing\"]\n";
constexpr double kEpsilon = 2000;  // little noise, so that different means can be told apart
constexpr double kPlenty = 1'000'000;
// A sum of five costs rho 512 on this coarse grid, a sum of four 171: this budget is rho 600.
constexpr double kOneShareOfFive = 782;

class MaskedSharingTest : public ::testing::Test {
 protected:
  struct Node {
    std::unique_ptr<storage::Database> database;
    std::unique_ptr<storage::StateStore> state;
    std::unique_ptr<storage::UserConsentStore> store;
    std::unique_ptr<privacy::NodeKey> key;
    std::unique_ptr<storage::ConsentBook> book;
    std::unique_ptr<storage::PrivacyLedgerStore> ledger;
    std::unique_ptr<DpRelease> release;
    std::unique_ptr<MaskedSharing> sharing;
    privacy::SealKey seal = privacy::SealKey::Generate();
    privacy::ConsentTier tier = privacy::ConsentTier::kPrivate;
    int64_t since_ms = 0;
    int64_t version = 1;  // version of its pattern
    std::set<Digest> seen;
    size_t changes = 0;  // changes of its means
  };

  MaskedSharingTest() {
    std::filesystem::remove_all(folder_);
    frame_.id.fill(0x22);
    frame_.target = test::kTarget;
    frame_.rank = 2;
  }
  ~MaskedSharingTest() override {
    nodes_.clear();
    std::filesystem::remove_all(folder_);
  }

  // Starts nodes with these tiers; those in `budgets` may spend that epsilon in total.
  void Start(const std::vector<privacy::ConsentTier>& tiers,
             const std::map<size_t, double>& budgets = {}) {
    swarm_ = std::make_unique<test::Swarm>(test::SwarmOptions{.nodes = tiers.size()});
    nodes_.resize(tiers.size());
    for (size_t i = 0; i < tiers.size(); ++i) {
      Node& node = nodes_[i];
      auto database =
          storage::Database::Open({.path = (folder_ / fmt::format("store-{}", i)).string(),
                                   .seal_key = node.seal,
                                   .clock = &clock_,
                                   .soft_reserve_bytes = 0,
                                   .hard_reserve_bytes = 0});
      ASSERT_TRUE(database.ok()) << database.status();
      node.database = *std::move(database);
      node.state = std::make_unique<storage::StateStore>(*node.database);
      node.store = std::make_unique<storage::UserConsentStore>(*node.database);
      node.key = std::make_unique<privacy::NodeKey>(privacy::NodeKey::FromSeed(test::SeedOf(i)));
      node.book = storage::ConsentBook::Open(*node.store, *node.key).value();
      Say(i, privacy::ConsentTier::kMasked);
      OpenRelease(i, budgets.contains(i) ? budgets.at(i) : kPlenty);
      node.sharing = std::make_unique<MaskedSharing>(OptionsOf(i));
      SetTier(i, tiers[i]);
    }
  }
  static std::vector<privacy::ConsentTier> Masked(size_t nodes) {
    return std::vector<privacy::ConsentTier>(nodes, privacy::ConsentTier::kMasked);
  }
  UpdateLayout Layout() const { return {.frame = &frame_, .model_hash = {0x11}}; }
  void OpenRelease(size_t i, double epsilon) {
    Node& node = nodes_[i];
    DpReleaseOptions options{.policy = privacy::SitePolicy::Parse(kMaskedPolicy).value(),
                             .scope = "lab",
                             .epsilon = kEpsilon,
                             .signal = 1,
                             .interval = seconds(1),
                             .layout = Layout(),
                             .random = test::EntropyOf(i + 1),
                             .clock = &clock_};
    options.budget =
        privacy::PrivacyBudget::Within(privacy::PrivacyUnit::kNode, epsilon, options.delta).value();
    node.ledger = storage::PrivacyLedgerStore::Open(
                      *node.database, {.budgets = {options.budget}, .key = node.key.get()})
                      .value();
    options.ledger = node.ledger.get();
    node.release = DpRelease::Create(options);
  }
  MaskedSharingOptions OptionsOf(size_t i) {
    return {.period = kPeriod,
            .cluster = test::Authority().cluster_id(),
            .self = swarm_->id(i),
            .layout = Layout(),
            .next_update = [this, i](federation::Instant now) { return UpdateOf(i, now); },
            .release = nodes_[i].release.get(),
            .consents = nodes_[i].book.get(),
            .state = nodes_[i].state.get(),
            .random = test::EntropyOf(100 + i)};
  }
  // Returns the update of one pattern that Alice taught, as OwnPatterns would make it.
  absl::StatusOr<OwnCores> UpdateOf(size_t i, federation::Instant now) {
    OwnCores own;
    own.contributors = {nodes_[i].book->ContributorOf({.user_id = "alice"})};
    if (!nodes_[i].book->MayShare(own.contributors, privacy::ConsentTier::kMasked, now.wall_ms)) {
      return OwnCores{.left_out = 1};
    }
    own.patterns[storage::PatternId{static_cast<uint8_t>(i)}] = nodes_[i].version;
    own.update = UpdateOfBanks(Layout(), {{ValueOf(i), 0.25F, 0, -0.125F}}, 1);
    return own;
  }
  static float ValueOf(size_t i) { return 0.1F * static_cast<float>(i); }
  // Sets the widest tier that Alice agrees to; private means that she agrees to nothing.
  void Say(size_t i, privacy::ConsentTier widest) {
    const bool withdrawn = widest == privacy::ConsentTier::kPrivate;
    ASSERT_TRUE(nodes_[i]
                    .book
                    ->Record({.subject = {.id = "alice"},
                              .purposes = withdrawn ? uint8_t{0} : privacy::consent_purposes::kAll,
                              .widest = widest,
                              .expires_ms = test::kDayMillis},
                             swarm_->now().wall_ms)
                    .ok());
  }
  void SetTier(size_t i, privacy::ConsentTier tier) {
    const federation::Instant now = swarm_->now();
    auto changed = swarm_->core(i).SetConsent(
        privacy::ConsentRecord::Sign(tier, now.wall_ms, *nodes_[i].key), now);
    ASSERT_TRUE(changed.ok()) << changed.status();
    swarm_->Apply(i, *std::move(changed));
    nodes_[i].tier = tier;
    nodes_[i].since_ms = now.wall_ms;
  }

  void Step() {
    swarm_->Run(kStep);
    clock_.Advance(kStep);
    for (size_t i = 0; i < nodes_.size(); ++i) {
      Node& node = nodes_[i];
      for (const federation::Item& item : swarm_->core(i).Items()) {
        EXPECT_TRUE(federation::IsMaskItem(item.kind)) << "only items of masked rounds leave";
        if (node.seen.insert(item.id).second) {
          said_.insert_or_assign(item.id, item);
          node.sharing->OnItem(item);
        }
      }
      swarm_->Apply(i, node.sharing->OnTick(swarm_->core(i), node.since_ms, swarm_->now()));
      node.changes += node.sharing->TakeChanged() ? 1 : 0;
    }
  }
  // Runs until the masked round of this number begins, counted from the first one, and all keys of
  // its members are given.
  void RunToRound(int64_t number) {
    const int64_t begin_ms = test::kWallStart + number * kPeriodMillis;
    while (swarm_->now().wall_ms < begin_ms) {
      Step();
    }
  }
  void RunFor(Duration duration) {
    for (Duration ran{}; ran < duration; ran += kStep) {
      Step();
    }
  }
  size_t Count(size_t i, federation::ItemKind kind) const {
    return static_cast<size_t>(std::ranges::count_if(said_, [&](const auto& entry) {
      return entry.second.kind == kind && entry.second.origin == swarm_->id(i);
    }));
  }
  uint64_t Charges(size_t i) const {
    return nodes_[i].ledger->totals(privacy::PrivacyUnit::kNode).reservations;
  }
  // Every node holds one mean, equal on all nodes, of these members and close to the mean of their
  // updates.
  void ExpectMean(const std::set<size_t>& members) {
    ASSERT_FALSE(nodes_[0].sharing->means().empty());
    const MaskedMean& first = *nodes_[0].sharing->means().front();
    double value = 0;
    std::vector<privacy::NodeId> ids;
    for (const size_t i : members) {
      ids.push_back(swarm_->id(i));
      value += ValueOf(i) / static_cast<double>(members.size());
    }
    std::ranges::sort(ids);
    for (Node& node : nodes_) {
      ASSERT_EQ(node.sharing->means().size(), 1u);
      const MaskedMean& mean = *node.sharing->means().front();
      EXPECT_EQ(mean.members, ids);
      EXPECT_EQ(mean.name, first.name);
      EXPECT_EQ(mean.update, first.update);
    }
    ASSERT_EQ(first.update.banks.size(), 1u);
    EXPECT_NEAR(first.update.banks[0].values[0], value, 0.08);
    EXPECT_NEAR(first.update.banks[0].values[1], 0.25, 0.08);
    EXPECT_EQ(first.update.examples, 0u);
  }
  // No member sent two versions of one message, and every share has a charge.
  void ExpectNothingTwice() {
    std::set<std::tuple<privacy::NodeId, federation::ItemKind, uint64_t, uint8_t>> said;
    for (const auto& [id, item] : said_) {
      const auto attempt = static_cast<uint8_t>((*item.payload)[0]);
      EXPECT_TRUE(said.emplace(item.origin, item.kind, item.round, attempt).second)
          << federation::ItemKindName(item.kind) << " of node " << swarm_->index(item.origin);
    }
    for (size_t i = 0; i < nodes_.size(); ++i) {
      EXPECT_EQ(Count(i, federation::ItemKind::kMaskShare), Charges(i)) << "node " << i;
    }
  }

  static constexpr int64_t kPeriodMillis = 60'000;
  const std::filesystem::path folder_ =
      std::filesystem::path(::testing::TempDir()) /
      fmt::format("masked-sharing-{}-{}",
                  ::testing::UnitTest::GetInstance()->current_test_info()->name(), ::getpid());
  ManualClock clock_{test::kWallStart};
  inference::ProjectionFrame frame_;
  std::unique_ptr<test::Swarm> swarm_;
  std::vector<Node> nodes_;
  std::map<Digest, federation::Item> said_;
};

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

TEST_F(MaskedSharingTest, ANodeThatCannotPayGivesNothingAndSaysSoOnce) {
  Start(Masked(5), {{3, 1}});
  RunToRound(2);
  ExpectMean({0, 1, 2, 4});
  EXPECT_EQ(Count(3, federation::ItemKind::kMaskKey), 0u);
  EXPECT_EQ(Charges(3), 0u);
  const admin::v1::ReleaseStatus view = nodes_[3].release->View(privacy::ConsentTier::kMasked);
  EXPECT_EQ(view.refusals(), 1u);
  EXPECT_EQ(view.refusal_reason(), reasons::kPrivacyBudgetSpent);
  EXPECT_EQ(nodes_[3].sharing->View().waits_reason(), reasons::kPrivacyBudgetSpent);
}

// The earlier sum is charged; the next one would exceed the limit.
TEST_F(MaskedSharingTest, AtTheLimitANodeIsLeftOutOfTheNextSum) {
  Start(Masked(5), {{3, kOneShareOfFive}});
  RunToRound(2);
  ExpectMean({0, 1, 2, 3, 4});
  for (Node& node : nodes_) {
    ++node.version;
  }
  RunToRound(5);
  ExpectMean({0, 1, 2, 4});
  ExpectNothingTwice();
  EXPECT_EQ(Charges(3), 1u);
  EXPECT_EQ(nodes_[3].release->View(privacy::ConsentTier::kMasked).refusal_reason(),
            reasons::kPrivacyBudgetSpent);
}

// Alice withdraws her consent between her node's key and its share.
TEST_F(MaskedSharingTest, AConsentThatIsTakenBackDuringARoundKeepsTheShareHere) {
  Start(Masked(5));
  RunToRound(1);
  while (Count(2, federation::ItemKind::kMaskKey) < 2) {
    Step();
  }
  ASSERT_EQ(Count(2, federation::ItemKind::kMaskShare), 0u);
  Say(2, privacy::ConsentTier::kPrivate);
  RunToRound(2);
  ExpectMean({0, 1, 3, 4});
  ExpectNothingTwice();
  EXPECT_EQ(Charges(2), 0u);
  EXPECT_EQ(Charges(0), 2u) << "one share for each set";
  EXPECT_EQ(nodes_[2].release->View(privacy::ConsentTier::kMasked).refusal_reason(),
            reasons::kConsentMissing);
  EXPECT_EQ(nodes_[0].sharing->View().last_attempt(), 2u);
}

TEST_F(MaskedSharingTest, WhatNobodyAgreedToIsNotAnnounced) {
  Start(Masked(5));
  Say(2, privacy::ConsentTier::kPrivate);
  RunToRound(2);
  ExpectMean({0, 1, 3, 4});
  EXPECT_EQ(Count(2, federation::ItemKind::kMaskKey), 0u);
}

// Under another tier nothing more leaves at once, and nothing leaves again in this round.
TEST_F(MaskedSharingTest, AChangeOfTierDuringARoundKeepsTheShareHere) {
  Start(Masked(5));
  RunToRound(1);
  while (Count(2, federation::ItemKind::kMaskKey) < 2) {
    Step();
  }
  SetTier(2, privacy::ConsentTier::kPrivate);
  SetTier(2, privacy::ConsentTier::kMasked);
  RunFor(seconds(50));
  EXPECT_EQ(Count(2, federation::ItemKind::kMaskShare), 0u);
  EXPECT_EQ(Charges(2), 0u);
  ExpectMean({0, 1, 3, 4});
  ++nodes_[0].version;
  ++nodes_[1].version;
  ++nodes_[3].version;
  RunToRound(4);
  EXPECT_EQ(Charges(2), 1u);
  EXPECT_EQ(nodes_[2].sharing->means().front()->members.size(), 4u);
  EXPECT_TRUE(nodes_[2].sharing->View().last_own());
}

TEST_F(MaskedSharingTest, WhoIsOfAnotherTierFollowsAndGivesNothing) {
  Start({privacy::ConsentTier::kMasked, privacy::ConsentTier::kMasked,
         privacy::ConsentTier::kPrivate, privacy::ConsentTier::kMasked,
         privacy::ConsentTier::kMasked});
  RunToRound(2);
  ExpectMean({0, 1, 3, 4});
  EXPECT_EQ(Count(2, federation::ItemKind::kMaskKey), 0u);
  EXPECT_EQ(Charges(2), 0u);
  const admin::v1::MaskedStatus view = nodes_[2].sharing->View();
  EXPECT_EQ(view.last_members(), 4u);
  EXPECT_FALSE(view.last_own());
}

TEST_F(MaskedSharingTest, ThreeNodesWaitForAFourth) {
  Start({privacy::ConsentTier::kMasked, privacy::ConsentTier::kMasked,
         privacy::ConsentTier::kMasked, privacy::ConsentTier::kPrivate});
  RunToRound(3);
  for (const Node& node : nodes_) {
    EXPECT_THAT(node.sharing->means(), IsEmpty());
  }
  EXPECT_EQ(Charges(0), 0u);
  SetTier(3, privacy::ConsentTier::kMasked);
  RunToRound(5);
  ExpectMean({0, 1, 2, 3});
}

// Regression test: the nodes waited silently; the reason for the missing sum was in the debug log
// only.
TEST_F(MaskedSharingTest, NodesThatAreTooFewForASumSaySo) {
  Start({privacy::ConsentTier::kMasked, privacy::ConsentTier::kMasked,
         privacy::ConsentTier::kMasked, privacy::ConsentTier::kPrivate});
  RunToRound(3);
  Step();
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_THAT(nodes_[i].sharing->View().waits(),
                testing::HasSubstr("needs 4 nodes, but 3 announced"))
        << i;
  }
  EXPECT_THAT(nodes_[3].sharing->View().waits(), testing::HasSubstr("tier is not masked"));
  SetTier(3, privacy::ConsentTier::kMasked);
  RunToRound(5);
  EXPECT_THAT(nodes_[0].sharing->View().waits(), testing::HasSubstr("same patterns"));
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
        privacy::PrivacyBudget::Within(privacy::PrivacyUnit::kNode, 10, options.delta).value();
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
