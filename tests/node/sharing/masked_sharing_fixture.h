// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "node/sharing/masked_sharing.h"
#include "tests/federation/fixture.h"
#include "tests/federation/swarm.h"
#include "tests/node/database_fixture.h"

namespace ruvd::sharing {

// Tests nodes that take part in masked rounds: real cores, ledgers and consents, over a simulated
// network.
class MaskedSharingTest : public ::testing::Test {
 protected:
  static constexpr Duration kPeriod = std::chrono::seconds(60);
  static constexpr Duration kStep = std::chrono::milliseconds(200);
  static constexpr char kMaskedPolicy[] =
      "version = 1\n[scope.lab]\ntiers = [\"masked\"]\npurposes = [\"training\", \"sharing\"]\n";
  // With so little noise different means can be told apart.
  static constexpr double kEpsilon = 2000;
  static constexpr double kPlenty = 1'000'000;

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
                             .interval = std::chrono::seconds(1),
                             .layout = Layout(),
                             .random = test::EntropyOf(i + 1),
                             .clock = &clock_};
    options.budget =
        privacy::UnitBudget::Within(privacy::PrivacyUnit::kNode, epsilon, options.delta).value();
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

}  // namespace ruvd::sharing
