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
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/reasons.h"
#include "base/status.h"
#include "federation/learner/contribution.h"
#include "node/sharing/masked_contributions.h"
#include "privacy/consent/withdrawal.h"
#include "privacy/release/unit_release.h"
#include "ruvd/cluster/v1/cluster.pb.h"
#include "storage/ledger/privacy_ledger_store.h"
#include "tests/federation/fixture.h"
#include "tests/federation/learner_fixture.h"
#include "tests/federation/swarm.h"
#include "tests/node/database_fixture.h"

namespace ruvd::sharing {

// Nodes that learn together by masked sums: real cores, ledgers and charges over a simulated
// network. Only their gradients are random numbers.
class MaskedContributionsTest : public ::testing::Test {
 protected:
  static constexpr int64_t kRoundMillis = 60'000;
  static constexpr Duration kStep = std::chrono::milliseconds(200);
  static constexpr double kEpsilon = 8;
  static constexpr double kDelta = 1e-6;
  static constexpr size_t kUnitsPerSampled = 4;
  static constexpr double kRate = 1.0 / kUnitsPerSampled;
  static constexpr size_t kExpected = 20;  // units of a sample without a limit

  struct Node {
    std::unique_ptr<storage::Database> database;
    std::unique_ptr<privacy::NodeKey> key;
    std::unique_ptr<storage::PrivacyLedgerStore> ledger;
    std::optional<federation::ClusterRounds> rounds;
    std::unique_ptr<MaskedContributions> masked;
    privacy::SealKey seal = privacy::SealKey::Generate();
    int64_t since_ms = 0;
    std::map<Digest, federation::Item> seen;
    // What the learning pool does: how long it takes, and why it has nothing
    Duration takes = std::chrono::seconds(2);
    absl::Status nothing;
    int64_t lessons_from_ms = 0;  // when its lessons came
    std::optional<std::pair<MaskedContributions::Work, TimePoint>> working;
    bool fails = false;                               // it makes no shares
    bool pays = true;                                 // false: it commits, and keeps its share
    std::map<uint64_t, std::vector<int32_t>> inputs;  // its shares, by round
    size_t sent = 0;                                  // charges whose share was offered
    int64_t ahead_ms = 0;                             // of its wall clock; below 0: it is behind
  };

  MaskedContributionsTest() {
    std::filesystem::remove_all(folder_);
    federation::LearnerPlan plan = test::GradientPlan();
    plan.grid = {.exponent = -7, .clip_units = 256, .sigma_units = 512};
    plan.round_ms = kRoundMillis;
    plan.window = 4;
    plan_ = std::make_shared<const federation::LearnerPlan>(plan);
    policy_ = privacy::SitePolicy::Parse(
                  "version = 1\n[scope.lab]\ntiers = [\"masked\"]\n"
                  "purposes = [\"training\", \"sharing\"]\n")
                  .value();
    EXPECT_TRUE(consents_
                    .Put({.subject = {.id = "ann"},
                          .purposes = privacy::consent_purposes::kAll,
                          .widest = privacy::ConsentTier::kMasked,
                          .granted_ms = test::kWallStart - test::kDayMillis,
                          .expires_ms = test::kWallStart + test::kDayMillis})
                    .ok());
  }
  ~MaskedContributionsTest() override {
    nodes_.clear();
    std::filesystem::remove_all(folder_);
  }

  // A lesson takes part from the round after it came on.
  bool HasLessons(const Node& node, uint64_t round) const {
    return swarm_->now().wall_ms >= node.lessons_from_ms &&
           static_cast<int64_t>(round) * kRoundMillis >= node.lessons_from_ms;
  }
  static absl::Status NoLesson() {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kConsentMissing, "no lesson");
  }

  // Sets after how many rounds a contribution is too late; call it before Start.
  void SetWindow(uint32_t rounds) {
    federation::LearnerPlan plan = *plan_;
    plan.window = rounds;
    plan_ = std::make_shared<const federation::LearnerPlan>(plan);
  }

  // Starts nodes, of which the first `members` consent to the tier masked.
  void Start(size_t nodes, size_t members) {
    swarm_ = std::make_unique<test::Swarm>(test::SwarmOptions{
        .nodes = nodes,
        .configure = [this](size_t, federation::GossipConfig& config) { config.plan = plan_; }});
    nodes_.resize(nodes);
    for (size_t i = 0; i < nodes; ++i) {
      Node& node = nodes_[i];
      node.database = storage::Database::Open({.path = (folder_ / fmt::format("{}", i)).string(),
                                               .seal_key = node.seal,
                                               .clock = &clock_,
                                               .soft_reserve_bytes = 0,
                                               .hard_reserve_bytes = 0})
                          .value();
      node.key = std::make_unique<privacy::NodeKey>(privacy::NodeKey::FromSeed(test::SeedOf(i)));
      node.ledger =
          storage::PrivacyLedgerStore::Open(
              *node.database, {.budgets = {privacy::UnitBudget::Within(
                                               privacy::PrivacyUnit::kLesson, kEpsilon, kDelta)
                                               .value()},
                               .key = node.key.get()})
              .value();
      Restart(i);
      if (i < members) {
        SetTier(i, privacy::ConsentTier::kMasked);
      }
    }
  }
  // Makes what a process holds in memory anew; items and the ledger stay.
  void Restart(size_t i) {
    Node& node = nodes_[i];
    absl::Status unused;
    auto rounds = federation::ClusterRounds::Create({.plan = *plan_, .self = swarm_->id(i)}, "",
                                                    swarm_->now().wall_ms, &unused);
    ASSERT_TRUE(rounds.ok() && unused.ok());
    node.rounds.emplace(*std::move(rounds));
    node.masked = std::make_unique<MaskedContributions>(MaskedContributionsOptions{
        .plan = plan_,
        .cluster = test::Authority().cluster_id(),
        .self = swarm_->id(i),
        .noise = [this, i](
                     const PreparedSum& sum,
                     const privacy::masking::Clique& clique) { return Noise(i, sum, clique); },
        .pay = [this, i](const PreparedSum& sum,
                         const privacy::LedgerCharge& charge) { return Pay(i, sum, charge); },
        .sent =
            [this, i](uint64_t reservation) {
              ++nodes_[i].sent;
              EXPECT_TRUE(nodes_[i].ledger->Release(reservation).ok());
            },
        .last_reservation = [this, i] { return nodes_[i].ledger->head().sequence; },
        .random = test::EntropyOf(++seed_)});
    node.working.reset();
    node.seen.clear();
  }
  void SetTier(size_t i, privacy::ConsentTier tier) {
    const federation::Instant now = swarm_->now();
    auto changed = swarm_->core(i).SetConsent(
        privacy::ConsentRecord::Sign(tier, now.wall_ms, *nodes_[i].key), now);
    ASSERT_TRUE(changed.ok()) << changed.status();
    swarm_->Apply(i, *std::move(changed));
    nodes_[i].since_ms = now.wall_ms;
  }
  // A node's operator leaves the tier masked, and the node says that these items are withdrawn.
  void TakeBack(size_t i, const std::vector<Digest>& items) {
    SetTier(i, privacy::ConsentTier::kPrivate);
    const federation::Instant now = swarm_->now();
    auto taken_back =
        privacy::Withdrawal::Sign(items, /*everything=*/false, now.wall_ms, *nodes_[i].key);
    ASSERT_TRUE(taken_back.ok()) << taken_back.status();
    auto offered = swarm_->core(i).OfferWithdrawal(*taken_back, now);
    ASSERT_TRUE(offered.ok()) << offered.status();
    swarm_->Apply(i, *std::move(offered));
  }

  void Step() {
    swarm_->Run(kStep);
    clock_.Advance(kStep);
    for (size_t i = 0; i < nodes_.size(); ++i) {
      Turn(i);
    }
  }
  void RunToRound(int64_t number) {
    while (swarm_->now().wall_ms < test::kWallStart + number * kRoundMillis) {
      Step();
    }
  }
  void RunUntilShare(size_t i, size_t count) {
    while (Count(i, federation::ItemKind::kMaskShare) < count) {
      Step();
    }
  }
  // The number of the round that begins at a multiple of the period after the start.
  static uint64_t RoundOf(int64_t number) {
    return static_cast<uint64_t>(test::kWallStart / kRoundMillis + number);
  }
  size_t Count(size_t i, federation::ItemKind kind) const {
    return static_cast<size_t>(std::ranges::count_if(said_, [&](const auto& entry) {
      return entry.second.kind == kind && entry.second.origin == swarm_->id(i);
    }));
  }
  size_t Charges(size_t i) const {
    return nodes_[i].ledger->totals(privacy::PrivacyUnit::kLesson).reservations;
  }
  cluster::v1::RoundsStatus View(size_t i) const {
    cluster::v1::RoundsStatus view;
    nodes_[i].masked->Write(&view);
    return view;
  }

  // Every node has the state that follows from the plain sums of what these members put in, by
  // round.
  void ExpectStates(const std::map<uint64_t, std::set<size_t>>& sums,
                    const std::set<size_t>& nodes) {
    std::vector<federation::RoundContribution> expected;
    for (const auto& [round, members] : sums) {
      federation::RoundContribution& sum = expected.emplace_back();
      std::vector<int32_t> units(federation::LayoutOfSums(*plan_).Values());
      for (const size_t member : members) {
        const std::vector<int32_t>& input = nodes_[member].inputs.at(round);
        std::ranges::transform(units, input, units.begin(), std::plus<>());
        sum.members.push_back(swarm_->id(member));
      }
      std::ranges::sort(sum.members);
      sum.id = sum.origin = Sha256(fmt::format("sum of {}", round));
      sum.contribution =
          federation::ContributionOfSum(*plan_, round, units, static_cast<uint32_t>(members.size()))
              .value();
    }
    const uint64_t now = RoundAt(*plan_, swarm_->now().wall_ms);
    const federation::GlobalState state =
        ApplyRounds(*plan_, federation::EmptyState(*plan_, RoundOf(0)), test::SetOf(expected),
                    now - 1)
            .value();
    for (const size_t i : nodes) {
      const federation::GlobalState& own = nodes_[i].rounds->StateBefore(now);
      EXPECT_EQ(own.values, state.values) << "node " << i;
      EXPECT_EQ(own.last_part, state.last_part) << "node " << i;
    }
  }
  // No member gave two shares in a round, or two versions of one statement; every share was paid,
  // and no lesson spent more than its budget.
  void ExpectPaidOnce() {
    std::set<std::pair<privacy::NodeId, uint64_t>> shares;
    for (const auto& [id, item] : said_) {
      if (item.kind == federation::ItemKind::kMaskShare) {
        EXPECT_TRUE(shares.emplace(item.origin, item.round).second)
            << "node " << swarm_->index(item.origin) << " in round " << item.round;
      }
    }
    for (size_t i = 0; i < nodes_.size(); ++i) {
      EXPECT_EQ(Count(i, federation::ItemKind::kMaskShare), Charges(i)) << "node " << i;
      EXPECT_EQ(nodes_[i].sent, Charges(i)) << "node " << i;
      EXPECT_LE(nodes_[i].ledger->LargestEpsilon(privacy::PrivacyUnit::kLesson, kDelta).value(),
                kEpsilon);
    }
  }

  const std::filesystem::path folder_ =
      std::filesystem::path(::testing::TempDir()) /
      fmt::format("masked-contributions-{}-{}",
                  ::testing::UnitTest::GetInstance()->current_test_info()->name(), ::getpid());
  ManualClock clock_{test::kWallStart};
  std::shared_ptr<const federation::LearnerPlan> plan_;
  privacy::SitePolicy policy_;
  privacy::ConsentRegister consents_;
  std::unique_ptr<test::Swarm> swarm_;
  std::vector<Node> nodes_;
  std::map<Digest, federation::Item> said_;

 private:
  void Turn(size_t i) {
    Node& node = nodes_[i];
    std::set<Digest> held;
    for (const federation::Item& item : swarm_->core(i).Items()) {
      held.insert(item.id);
      if (node.seen.emplace(item.id, item).second) {
        said_.insert_or_assign(item.id, item);
        node.masked->OnItem(item);
        (void)node.rounds->OnItem(item);
      }
    }
    std::erase_if(node.seen, [&](const auto& entry) {
      if (!held.contains(entry.first)) {
        node.masked->OnWithdrawn(entry.second);
        return true;
      }
      return false;
    });
    node.masked->CountSums(swarm_->core(i), *node.rounds);
    federation::Instant now = swarm_->now();
    now.wall_ms += node.ahead_ms;
    node.rounds->OnTime(now.wall_ms);
    swarm_->Apply(i, node.masked->OnTick(swarm_->core(i), *node.rounds, node.since_ms, now));
    Learn(i);
  }
  // The learning pool: one piece of work at a time.
  void Learn(size_t i) {
    Node& node = nodes_[i];
    if (!node.working) {
      if (const auto work = node.masked->TakeWork()) {
        node.working = {*work, swarm_->now().now + (work->sum ? TimeOf(node, *work) : Duration{})};
      }
    }
    if (!node.working || swarm_->now().now < node.working->second) {
      return;
    }
    const MaskedContributions::Work work = std::exchange(node.working, std::nullopt)->first;
    if (!work.sum) {
      node.masked->SetChecked(HasLessons(node, work.round) ? node.nothing : NoLesson());
    } else if (node.nothing.ok()) {
      node.masked->SetSum(work.round, SumOf(work), TimeOf(node, work));
    } else {
      node.masked->SetSum(work.round, node.nothing, Duration{});
    }
  }
  static size_t UnitsOf(const MaskedContributions::Work& work) {
    return work.max_batch == 0 ? kExpected : std::min(kExpected, work.max_batch);
  }
  // A smaller sample takes less time.
  static Duration TimeOf(const Node& node, const MaskedContributions::Work& work) {
    return node.takes * static_cast<int64_t>(UnitsOf(work)) / static_cast<int64_t>(kExpected);
  }
  PreparedSum SumOf(const MaskedContributions::Work& work) {
    const uint64_t round = work.round;
    const size_t values = federation::LayoutOfSums(*plan_).Values();
    PreparedSum sum{.round = round,
                    .sum = privacy::UnitSum::Create(plan_->grid, plan_->clip_norm, values).value(),
                    .sampling = {.names = {"a lesson"},
                                 .units = federation::LessonUnits(UnitsOf(work) * kUnitsPerSampled),
                                 .contributors = {{.user = "ann", .session = ""}},
                                 .rate = kRate}};
    for (size_t unit = 0; unit < UnitsOf(work); ++unit) {
      std::vector<float> gradient(values);
      for (float& value : gradient) {
        value = static_cast<float>(random_.Normal());
      }
      EXPECT_TRUE(sum.sum.Add(gradient).ok());
    }
    return sum;
  }
  privacy::UnitReleaseTerms TermsOf(const PreparedSum& sum) const {
    return {.scope = "lab",
            .grid = plan_->grid,
            .sampling_rate = sum.sampling.rate,
            .delta = kDelta,
            .round = sum.round,
            .subject = fmt::format("round {}", sum.round)};
  }
  privacy::ReleaseGuards GuardsOf(size_t i) {
    return {.policy = policy_,
            .consents = consents_,
            .node_tier = privacy::ConsentTier::kMasked,
            .ledger = *nodes_[i].ledger,
            .random = test::EntropyOf(++seed_),
            .now_ms = swarm_->now().wall_ms};
  }
  absl::StatusOr<NoisedShare> Noise(size_t i, const PreparedSum& sum,
                                    const privacy::masking::Clique& clique) {
    Node& node = nodes_[i];
    if (node.fails) {
      return Error(absl::StatusCode::kFailedPrecondition, reasons::kInvalidArgument, "no");
    }
    ASSIGN_OR_RETURN(privacy::NoisedUnitShare share,
                     NoiseUnitShare(TermsOf(sum), GuardsOf(i), sum.sum, sum.sampling.contributors,
                                    federation::LayoutOfSums(*plan_), clique));
    node.inputs[sum.round] = share.input.units;
    return NoisedShare{.input = std::move(share.input),
                       .charge = share.charge,
                       .lessons = sum.sampling.names.size()};
  }
  absl::StatusOr<uint64_t> Pay(size_t i, const PreparedSum& sum,
                               const privacy::LedgerCharge& charge) {
    if (!nodes_[i].pays) {
      return Error(absl::StatusCode::kFailedPrecondition, reasons::kInvalidArgument, "no");
    }
    return PayForUnitShare(TermsOf(sum), GuardsOf(i), sum.sum, sum.sampling.contributors, charge);
  }

  Random random_{1};
  uint64_t seed_ = 0;
};

}  // namespace ruvd::sharing
