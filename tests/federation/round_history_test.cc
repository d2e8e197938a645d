// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/learner/round_history.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>

#include "base/reasons.h"
#include "base/status.h"
#include "federation/learner/rounds.h"
#include "federation/limits.h"
#include "federation/reasons.h"
#include "tests/federation/learner_fixture.h"

namespace ruvd::test {
namespace {

using federation::EmptyState;
using federation::GlobalState;
using federation::LearnerPlan;
using federation::RoundContribution;
using federation::RoundHistory;
using federation::RoundVerdict;
using federation::Strategy;

RoundHistory HistoryOf(const LearnerPlan& plan) {
  auto history = RoundHistory::Create(plan, EmptyState(plan, 1));
  RUVD_CHECK(history.ok());
  return *std::move(history);
}

GlobalState Whole(const LearnerPlan& plan, uint64_t until,
                  const std::vector<RoundContribution>& set,
                  const std::vector<RoundVerdict>& verdicts = {}) {
  const auto state = ApplyRounds(plan, EmptyState(plan, 1), SetOf(set, verdicts), until);
  RUVD_CHECK(state.ok());
  return *state;
}

void AddTo(RoundHistory* history, const RoundContribution& one) {
  const auto added = history->Add(one);
  RUVD_CHECK(added.ok() && *added);
}

LearnerPlan SmallPlan(bool delta) {
  LearnerPlan plan = delta ? DeltaPlan() : GradientPlan();
  plan.values_per_bank = 5;
  plan.window = 4;
  return plan;
}

// ---- Properties

// What a node's history goes through, beside a model of what it should hold.
class Walk {
 public:
  Walk(LearnerPlan plan, uint64_t seed)
      : plan_(std::move(plan)), random_(seed), history_(HistoryOf(plan_)) {}

  void Step() {
    switch (random_.Below(8)) {
      case 0:
        now_ += random_.Below(3);
        break;
      case 1:
        RC_ASSERT(history_.StateBefore(1 + random_.Below(now_ + 2)).round <= now_ + 1);
        break;
      case 2:
        Remove();
        break;
      case 3:
        RemoveMember();
        break;
      case 4:
        history_.Seal(1 + random_.Below(now_ + 1));
        break;
      default:
        Add();
    }
  }

  void Compare() {
    const uint64_t before = std::max(now_ + 2, history_.checkpoint().round + 1);
    const GlobalState expected = Whole(plan_, before - 1, Held(), verdicts_);
    RC_ASSERT(history_.StateBefore(before) == expected);
    RC_ASSERT(history_.StateBefore(before).DigestOf(plan_) == expected.DigestOf(plan_));
    RC_ASSERT(!history_.changed_from().has_value());
  }

 private:
  std::vector<RoundContribution> Held() const {
    std::vector<RoundContribution> held;
    for (const auto& [id, one] : held_) {
      held.push_back(one);
    }
    return held;
  }

  void Add() {
    const uint64_t round = 1 + random_.Below(now_);
    const size_t node = random_.Below(6);
    const bool sum = plan_.kind == federation::ContributionKind::kGradient && node == 5;
    const RoundContribution one =
        sum ? SomeSum(plan_, round, random_.Below(3), 6, random_.Below(2), random_)
            : SomeContribution(plan_, round, node, random_.Bernoulli(0.8) ? "a" : "b", random_);
    const auto added = history_.Add(one);
    RC_ASSERT(added.ok() == (round > history_.checkpoint().round));
    if (added.ok()) {
      RC_ASSERT(*added == held_.emplace(one.id, one).second);
    }
    if (CountsQuality(plan_.strategy)) {
      Judge(one);
    }
  }

  // Verdicts may come before what they judge.
  void Judge(const RoundContribution& one) {
    RoundVerdict verdict =
        SomeVerdict(plan_, one, 20 + random_.Below(4), static_cast<float>(random_.Below(9)) - 2);
    for (const auto& [id, other] : held_) {
      if (other.contribution.round == one.contribution.round && random_.Bernoulli(0.7)) {
        test::Add(plan_, other, static_cast<float>(random_.Below(9)) - 2, &verdict);
      }
    }
    if (random_.Bernoulli(0.1)) {
      verdict.verdict.gains[Digest{1}] = std::vector<float>(plan_.banks(), 1);  // of nothing here
    }
    if (random_.Bernoulli(0.2)) {
      verdict.verdict.round = 1 + random_.Below(now_);
    }
    const auto added = history_.AddVerdict(verdict);
    RC_ASSERT(added.ok() == (verdict.verdict.round > history_.checkpoint().round));
    if (added.ok() && *added) {
      verdicts_.push_back(verdict);
    }
  }

  void Remove() {
    if (held_.empty()) {
      return;
    }
    const auto one =
        std::next(held_.begin(), static_cast<std::ptrdiff_t>(random_.Below(held_.size())));
    const auto removed = history_.Remove(one->first, one->second.contribution.round);
    if (one->second.contribution.round <= history_.checkpoint().round) {
      RC_ASSERT(ReasonOf(removed.status()) == reasons::kRoundSealed);
    } else {
      RC_ASSERT(removed.ok() && *removed);
      held_.erase(one);
    }
  }

  void RemoveMember() {
    const privacy::NodeId member = LearnerNode(random_.Below(24));
    const uint64_t sealed = history_.checkpoint().round;
    const bool within = history_.checkpoint().last_part.contains(member);
    RC_ASSERT(history_.RemoveMember(member).ok() != within);
    std::erase_if(held_, [&](const auto& entry) {
      const RoundContribution& one = entry.second;
      return one.contribution.round > sealed &&
             (one.origin == member || std::ranges::binary_search(one.members, member));
    });
    std::erase_if(verdicts_, [&](const RoundVerdict& verdict) {
      return verdict.verdict.round > sealed && verdict.judge == member;
    });
  }

  LearnerPlan plan_;
  Random random_;
  RoundHistory history_;
  std::map<Digest, RoundContribution> held_;
  std::vector<RoundVerdict> verdicts_;
  uint64_t now_ = 6;
};

LearnerPlan ArbitraryPlan() {
  LearnerPlan plan = SmallPlan(*rc::gen::arbitrary<bool>());
  const bool open = plan.kind == federation::ContributionKind::kDelta;
  plan.strategy = {.strategy = *rc::gen::element(Strategy::kTimestepAligned,
                                                 Strategy::kScheduleSimilarity, Strategy::kHybrid),
                   .quality_weight = open ? 1.0 : 0.0};
  plan.outer.kind = *rc::gen::element(federation::OuterOptions::Kind::kPlain,
                                      federation::OuterOptions::Kind::kMomentum,
                                      federation::OuterOptions::Kind::kAdam);
  return plan;
}

// Whatever comes, goes, is asked for and is sealed in between, the state is that of the set.
RC_GTEST_PROP(RoundHistory, EqualsApplyRoundsOnTheSet, ()) {
  Walk walk(ArbitraryPlan(), *rc::gen::arbitrary<uint64_t>());
  for (int step = 0; step < 60; ++step) {
    walk.Step();
    if (step % 15 == 14) {
      walk.Compare();
    }
  }
}

RC_GTEST_PROP(RoundHistory, DoesNotDependOnTheOrderOfArrival, ()) {
  const LearnerPlan plan = ArbitraryPlan();
  Random random(*rc::gen::arbitrary<uint64_t>());
  std::vector<RoundContribution> set;
  for (size_t i = 0; i < 30; ++i) {
    set.push_back(
        SomeContribution(plan, 1 + random.Below(6), random.Below(8), std::to_string(i), random));
  }
  const Digest expected = Whole(plan, 7, set).DigestOf(plan);
  random.Shuffle(std::span<RoundContribution>(set));
  RoundHistory history = HistoryOf(plan);
  for (const RoundContribution& one : set) {
    AddTo(&history, one);
    if (random.Bernoulli(0.3)) {
      history.StateBefore(1 + random.Below(8));
    }
  }
  RC_ASSERT(history.StateBefore(8).DigestOf(plan) == expected);
}

// A member that was removed leaves the state as if it had never been there.
RC_GTEST_PROP(RoundHistory, ARemovedMemberLeavesNoTrace, ()) {
  const LearnerPlan plan = ArbitraryPlan();
  Random random(*rc::gen::arbitrary<uint64_t>());
  RoundHistory with = HistoryOf(plan);
  RoundHistory without = HistoryOf(plan);
  for (uint64_t round = 1; round <= 4; ++round) {
    std::vector<RoundContribution> all;
    for (size_t node = 0; node < 6; ++node) {
      all.push_back(SomeContribution(plan, round, node, "one", random));
      AddTo(&with, all.back());
      if (node != 2) {
        AddTo(&without, all.back());
      }
    }
    for (size_t judge = 1; judge < 6 && CountsQuality(plan.strategy); ++judge) {
      RoundVerdict verdict = SomeVerdict(plan, all[0], judge, static_cast<float>(random.Below(5)));
      for (const RoundContribution& one : all) {
        Add(plan, one, static_cast<float>(random.Below(5)), &verdict);
      }
      RC_ASSERT(*with.AddVerdict(verdict));
      if (judge != 2) {
        RC_ASSERT(*without.AddVerdict(verdict));
      }
    }
  }
  RC_ASSERT(with.StateBefore(5) != without.StateBefore(5));
  RC_ASSERT(*with.RemoveMember(LearnerNode(2)));
  RC_ASSERT(with.StateBefore(5) == without.StateBefore(5));
  RC_ASSERT(!*with.RemoveMember(LearnerNode(2)));
}

// ---- Examples

TEST(RoundHistory, ALateContributionComputesOnlyLaterRounds) {
  const LearnerPlan plan = SmallPlan(true);
  Random random(5);
  RoundHistory history = HistoryOf(plan);
  std::vector<RoundContribution> set;
  for (uint64_t round = 1; round <= 10; ++round) {
    for (size_t node = 0; node < 3; ++node) {
      set.push_back(SomeContribution(plan, round, node, "one", random));
      AddTo(&history, set.back());
    }
  }
  EXPECT_EQ(history.changed_from(), 1u);
  history.StateBefore(11);
  EXPECT_EQ(history.rounds_computed(), 10u);
  EXPECT_EQ(history.reports().size(), 10u);
  set.push_back(SomeContribution(plan, 8, 3, "late", random));
  AddTo(&history, set.back());
  EXPECT_EQ(history.changed_from(), 8u);
  EXPECT_EQ(history.reports().size(), 7u);
  EXPECT_EQ(history.StateBefore(11), Whole(plan, 10, set));
  EXPECT_EQ(history.rounds_computed(), 13u) << "8, 9 and 10 again";
  EXPECT_EQ(history.changed_from(), std::nullopt);
  EXPECT_FALSE(*history.Add(set.back())) << "known";
  EXPECT_EQ(history.changed_from(), std::nullopt);
  history.StateBefore(11);
  EXPECT_EQ(history.rounds_computed(), 13u);
  EXPECT_EQ(history.StateBefore(5), Whole(plan, 4, set)) << "an older state";
  EXPECT_EQ(history.rounds_computed(), 13u);
}

TEST(RoundHistory, SealsWhatIsOlderThanTheWindow) {
  const LearnerPlan plan = SmallPlan(true);  // a window of 4
  Random random(5);
  RoundHistory history = HistoryOf(plan);
  std::vector<RoundContribution> set;
  for (uint64_t round = 1; round <= 9; ++round) {
    set.push_back(SomeContribution(plan, round, round % 2, "one", random));
    AddTo(&history, set.back());
  }
  history.Seal(5);
  EXPECT_EQ(history.checkpoint(), EmptyState(plan, 1)) << "round 1 is in the window of round 5";
  history.Seal(9);
  EXPECT_EQ(history.checkpoint().round, 4u);
  EXPECT_EQ(history.size(), 5u);
  EXPECT_EQ(history.StateBefore(10), Whole(plan, 9, set));
  EXPECT_EQ(history.StateBefore(3), history.checkpoint());
  history.Seal(8);
  EXPECT_EQ(history.checkpoint().round, 4u) << "it never goes back";
  const auto late = history.Add(SomeContribution(plan, 4, 7, "late", random));
  EXPECT_EQ(ReasonOf(late.status()), reasons::kRoundSealed);
  EXPECT_EQ(ReasonOf(history.Remove(set[3].id, 4).status()), reasons::kRoundSealed);
  EXPECT_FALSE(*history.Remove(set[3].id, 5)) << "not of this round";
  EXPECT_EQ(ReasonOf(history.RemoveMember(LearnerNode(0)).status()), reasons::kRoundSealed);
  EXPECT_EQ(history.size(), 3u) << "its later parts are gone";
  history.Seal(1'000'000'000);
  EXPECT_EQ(history.checkpoint().round, 999'999'995u);
  EXPECT_EQ(history.size(), 0u);
}

TEST(RoundHistory, ANewcomerAdoptsACheckpoint) {
  const LearnerPlan plan = SmallPlan(false);
  Random random(5);
  RoundHistory old = HistoryOf(plan);
  RoundHistory newcomer = HistoryOf(plan);
  for (uint64_t round = 1; round <= 9; ++round) {
    for (size_t node = 0; node < 5; ++node) {
      const RoundContribution one = SomeContribution(plan, round, node, "one", random);
      AddTo(&old, one);
      if (round >= 4) {
        AddTo(&newcomer, one);
      }
    }
  }
  old.Seal(9);
  newcomer.StateBefore(10);
  EXPECT_NE(newcomer.StateBefore(10), old.StateBefore(10));
  ASSERT_TRUE(newcomer.Adopt(old.checkpoint()).ok());
  EXPECT_EQ(newcomer.changed_from(), 4u);
  EXPECT_EQ(newcomer.StateBefore(10), old.StateBefore(10));
  GlobalState damaged = old.checkpoint();
  damaged.values[0][0] = NAN;
  EXPECT_FALSE(newcomer.Adopt(damaged).ok());
  EXPECT_EQ(newcomer.StateBefore(10), old.StateBefore(10));
}

TEST(RoundHistory, RefusesWhatDoesNotFit) {
  const LearnerPlan plan = SmallPlan(true);
  LearnerPlan bad = plan;
  bad.window = 0;
  EXPECT_FALSE(RoundHistory::Create(bad, EmptyState(plan, 1)).ok());
  EXPECT_FALSE(RoundHistory::Create(plan, {}).ok());
  RoundHistory history = HistoryOf(plan);
  Random random(5);
  EXPECT_EQ(ReasonOf(history.Add(SomeContribution(SmallPlan(false), 1, 0, "x", random)).status()),
            reasons::kPlanMismatch);
  const RoundContribution one = SomeContribution(plan, 1, 0, "one", random);
  RoundVerdict verdict = SomeVerdict(plan, one, 1, 0.5F);
  verdict.verdict.gains.begin()->second[0] = INFINITY;
  EXPECT_EQ(ReasonOf(history.AddVerdict(verdict).status()), reasons::kUpdateInvalid);
  EXPECT_EQ(history.size(), 0u);
  EXPECT_EQ(history.changed_from(), std::nullopt);
}

TEST(RoundHistory, HasALimit) {
  LearnerPlan plan = SmallPlan(true);
  plan.values_per_bank = 1;
  Random random(5);
  RoundHistory history = HistoryOf(plan);
  RoundContribution one = SomeContribution(plan, 2, 0, "one", random);
  for (size_t i = 0; i < limits::kMaxItems; ++i) {
    one.id = Sha256(std::to_string(i));
    AddTo(&history, one);
  }
  one.id.fill(0xff);
  EXPECT_EQ(ReasonOf(history.Add(one).status()), reasons::kLimitExceeded);
  EXPECT_EQ(history.size(), limits::kMaxItems);
}

}  // namespace
}  // namespace ruvd::test
