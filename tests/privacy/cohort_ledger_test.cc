// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "privacy/ledger/cohort_ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/reasons.h"
#include "base/status.h"
#include "privacy/limits.h"
#include "privacy/reasons.h"

namespace ruvd::privacy {
namespace {

using dp::RdpCurve;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr double kDelta = 1e-5;

UnitBudget Budget(double epsilon, uint32_t rounds = 1000) {
  return {.unit = PrivacyUnit::kLesson, .epsilon = epsilon, .delta = kDelta, .rounds = rounds};
}
RdpCurve Cost(double rho = 0.05) {
  return dp::ZcdpCurve(rho).value();
}
double Epsilon(RdpCurve curve, uint64_t times = 1) {
  curve *= times;
  return dp::EpsilonOf(curve, kDelta).value().value;
}

// The units themselves, each with its own sum, as a ledger of units would keep them.
class Units {
 public:
  explicit Units(uint64_t cohorts) : spent_(cohorts), rounds_(cohorts) {}
  void Add(uint64_t round, uint64_t oldest, const RdpCurve& cost) {
    for (uint64_t joined = oldest; joined <= std::min(round, spent_.size() - 1); ++joined) {
      spent_[joined] += cost;
      rounds_[joined].insert(round);
    }
  }
  void AddForAll(const RdpCurve& cost) {
    for (RdpCurve& spent : spent_) {
      spent += cost;
    }
  }
  double EpsilonOf(uint64_t joined) const { return Epsilon(spent_[joined]); }
  double Largest() const {
    double largest = 0;
    for (const RdpCurve& spent : spent_) {
      largest = std::max(largest, Epsilon(spent));
    }
    return largest;
  }
  size_t RoundsOf(uint64_t joined) const { return rounds_[joined].size(); }

 private:
  std::vector<RdpCurve> spent_;
  std::vector<std::set<uint64_t>> rounds_;
};

TEST(CohortLedger, ChargesThoseWhoHadJoined) {
  CohortLedger ledger(Budget(8));
  ASSERT_TRUE(ledger.Add(5, 3, Cost()).ok());
  ASSERT_TRUE(ledger.Add(6, 3, Cost()).ok());
  EXPECT_EQ(ledger.EpsilonOfCohort(2, kDelta).value(), 0);
  EXPECT_EQ(ledger.EpsilonOfCohort(3, kDelta).value(), Epsilon(Cost(), 2));
  EXPECT_EQ(ledger.EpsilonOfCohort(5, kDelta).value(), Epsilon(Cost(), 2));
  EXPECT_EQ(ledger.EpsilonOfCohort(6, kDelta).value(), Epsilon(Cost()));
  EXPECT_EQ(ledger.EpsilonOfCohort(7, kDelta).value(), 0);
  EXPECT_EQ(ledger.RoundsTaken(4), 2U);
  EXPECT_EQ(ledger.RoundsTaken(7), 0U);
  EXPECT_EQ(ledger.LargestEpsilon(kDelta).value(), Epsilon(Cost(), 2));
  EXPECT_EQ(ledger.newest_round(), 6U);
}

TEST(CohortLedger, AReleaseBesidesTheRoundsCostsAndIsNone) {
  CohortLedger ledger(Budget(8, 1));
  ASSERT_TRUE(ledger.Add(5, 3, Cost()).ok());
  ledger.AddBesides(4, Cost());
  EXPECT_EQ(ledger.EpsilonOfCohort(0, kDelta).value(), Epsilon(Cost()));
  EXPECT_EQ(ledger.EpsilonOfCohort(4, kDelta).value(), Epsilon(Cost(), 2));
  EXPECT_EQ(ledger.EpsilonOfCohort(5, kDelta).value(), Epsilon(Cost()));
  EXPECT_EQ(ledger.RoundsTaken(4), 1U);
  EXPECT_EQ(ledger.newest_round(), 5U);
  EXPECT_EQ(ledger.OldestEligible(5, Cost()), 3U) << "units are not retired by it";
}

TEST(CohortLedger, AnotherAttemptCostsButIsNoFurtherRound) {
  CohortLedger ledger(Budget(8, 2));
  ASSERT_TRUE(ledger.Add(5, 0, Cost()).ok());
  ASSERT_TRUE(ledger.Add(5, 0, Cost()).ok());
  EXPECT_EQ(ledger.RoundsTaken(0), 1U);
  EXPECT_EQ(ledger.EpsilonOfCohort(0, kDelta).value(), Epsilon(Cost(), 2));
  EXPECT_EQ(ledger.OldestEligible(5, Cost()), 0U);
  ASSERT_TRUE(ledger.Add(6, 0, Cost()).ok());
  EXPECT_EQ(ledger.OldestEligible(6, Cost()), 0U) << "an attempt in the last round";
  EXPECT_EQ(ledger.OldestEligible(7, Cost()), 6U) << "units of round 6 had one of two rounds";
}

TEST(CohortLedger, UnitsRetireAfterTheirRoundsAndStayRetired) {
  CohortLedger ledger(Budget(100, 3));
  for (uint64_t round = 10; round < 20; ++round) {
    const uint64_t oldest = ledger.OldestEligible(round, Cost());
    EXPECT_EQ(oldest, round < 13 ? 0 : round - 2);
    ASSERT_TRUE(ledger.Check(round, oldest, Cost()).ok());
    ASSERT_TRUE(ledger.Add(round, oldest, Cost()).ok());
  }
  CohortLedger dear(Budget(3));
  ASSERT_TRUE(dear.Add(1, 0, Cost(0.1)).ok());
  ASSERT_EQ(dear.OldestEligible(2, Cost(0.2)), 2U);
  ASSERT_TRUE(dear.Add(2, 2, Cost(0.2)).ok());
  EXPECT_EQ(dear.OldestEligible(3, Cost(1e-6)), 2U) << "a cheap round does not bring them back";
  EXPECT_EQ(dear.OldestEligible(3, Cost(10)), 4U) << "too dear for all";
}

TEST(CohortLedger, ARefusalHasTheFigures) {
  CohortLedger ledger(Budget(2));
  ASSERT_TRUE(ledger.Add(4, 2, Cost()).ok());
  const absl::Status refused = ledger.Check(5, 2, Cost(0.1));
  EXPECT_EQ(ReasonOf(refused), reasons::kPrivacyBudgetSpent);
  EXPECT_THAT(MessageOf(refused), HasSubstr("a lesson that joined in round 2"));
  EXPECT_THAT(MessageOf(refused), HasSubstr("budget of 2.000"));
  EXPECT_TRUE(ledger.Check(5, 5, Cost(0.05)).ok()) << "new units have spent nothing";
  EXPECT_EQ(ReasonOf(ledger.CheckForAll(Cost(0.1))), reasons::kPrivacyBudgetSpent);
  EXPECT_TRUE(ledger.CheckForAll(Cost(1e-6)).ok());
}

TEST(CohortLedger, ARefusalOfTheNodeNamesItsKeyAndNoRound) {
  UnitBudget budget = Budget(2);
  budget.unit = PrivacyUnit::kNode;
  budget.key = "privacy.node_epsilon";
  CohortLedger ledger(budget);
  ledger.AddForAll(Cost());
  const absl::Status refused = ledger.CheckForAll(Cost(0.1));
  EXPECT_EQ(ReasonOf(refused), reasons::kPrivacyBudgetSpent);
  EXPECT_THAT(MessageOf(refused),
              HasSubstr(fmt::format("what this node has spent from epsilon {:.3f} to {:.3f}",
                                    Epsilon(Cost()), Epsilon(Cost(0.15)))));
  EXPECT_THAT(MessageOf(refused), HasSubstr("budget of 2.000"));
  EXPECT_THAT(MessageOf(refused), HasSubstr("set a larger privacy.node_epsilon"));
  EXPECT_THAT(MessageOf(refused), Not(HasSubstr("joined")));
  EXPECT_THAT(MessageOf(CohortLedger(Budget(2)).CheckForAll(Cost(1))),
              HasSubstr("leave out units that joined earlier, add noise, or set a larger "
                        "privacy.epsilon"));
}

TEST(PrivacyUnits, AreFoundByTheirNames) {
  for (const PrivacyUnit unit : kPrivacyUnits) {
    EXPECT_EQ(UnitByName(UnitName(unit)), unit);
  }
  EXPECT_EQ(UnitName(PrivacyUnit::kNode), "node");
  EXPECT_EQ(static_cast<int>(PrivacyUnit::kNode), 4) << "the number is stored and hashed";
  for (const char* other : {"", "unknown", "nodes", "Node"}) {
    EXPECT_EQ(UnitByName(other), std::nullopt) << other;
  }
}

TEST(CohortLedger, RoundsComeInTheirOrder) {
  CohortLedger ledger(Budget(8));
  ASSERT_TRUE(ledger.Add(5, 5, Cost()).ok());
  for (const auto& [round, oldest] :
       {std::pair<uint64_t, uint64_t>(4, 0), {0, 0}, {6, 7}, {limits::kMaxRound, 0}}) {
    EXPECT_EQ(ReasonOf(ledger.Add(round, oldest, Cost())), reasons::kInvalidArgument) << round;
    EXPECT_EQ(ReasonOf(ledger.Check(round, oldest, Cost())), reasons::kInvalidArgument) << round;
  }
  EXPECT_EQ(ledger.LargestEpsilon(kDelta).value(), Epsilon(Cost()));
  EXPECT_TRUE(ledger.Add(limits::kMaxRound - 1, 0, Cost()).ok());
  EXPECT_EQ(ReasonOf(ledger.LargestEpsilon(1).status()), reasons::kInvalidArgument);
}

RC_GTEST_PROP(CohortLedgerProperty, CountsAsEveryUnitWould, ()) {
  constexpr uint64_t kCohorts = 24;
  CohortLedger ledger(Budget(1000));
  Units units(kCohorts);
  uint64_t round = 1;
  for (int i = *rc::gen::inRange(0, 30); i > 0; --i) {
    const RdpCurve cost = Cost(1e-3 * *rc::gen::inRange(1, 100));
    if (*rc::gen::inRange(0, 8) == 0) {
      ledger.AddForAll(cost);
      units.AddForAll(cost);
      continue;
    }
    round += *rc::gen::inRange<uint64_t>(0, 3);
    const auto oldest = *rc::gen::inRange<uint64_t>(0, round + 1);
    RC_ASSERT(ledger.Add(round, oldest, cost).ok());
    units.Add(round, oldest, cost);
  }
  double largest = 0;
  for (uint64_t joined = 0; joined < kCohorts; ++joined) {
    RC_ASSERT(ledger.EpsilonOfCohort(joined, kDelta).value() == units.EpsilonOf(joined));
    RC_ASSERT(ledger.RoundsTaken(joined) == units.RoundsOf(joined));
    largest = std::max(largest, units.EpsilonOf(joined));
  }
  if (round < kCohorts) {
    RC_ASSERT(ledger.LargestEpsilon(kDelta).value() == largest);
  } else {
    RC_ASSERT(ledger.LargestEpsilon(kDelta).value() >= largest);
  }
}

// Whatever is asked for, what the ledger lets pass never takes a unit above its epsilon or, where
// its answer about the oldest units is followed, above its rounds.
RC_GTEST_PROP(CohortLedgerProperty, NoUnitExceedsItsBudgetWhateverIsAsked, ()) {
  constexpr uint64_t kCohorts = 80;
  const double epsilon = 0.1 * *rc::gen::inRange(1, 100);
  const auto most_rounds = *rc::gen::inRange<uint32_t>(1, 12);
  const bool follows = *rc::gen::arbitrary<bool>();
  CohortLedger ledger(Budget(epsilon, most_rounds));
  Units units(kCohorts);
  uint64_t round = 1;
  for (int i = *rc::gen::inRange(1, 40); i > 0; --i) {
    const double rho = 1e-4 * *rc::gen::inRange(1, 2000);
    const RdpCurve cost = dp::SampledCurve(0.01 * *rc::gen::inRange(1, 101), rho).value();
    if (*rc::gen::inRange(0, 10) == 0) {
      if (ledger.CheckForAll(cost).ok()) {
        ledger.AddForAll(cost);
        units.AddForAll(cost);
      }
      continue;
    }
    round += *rc::gen::inRange<uint64_t>(0, 3);
    const uint64_t oldest =
        follows ? ledger.OldestEligible(round, cost) : *rc::gen::inRange<uint64_t>(0, round + 1);
    if (oldest > round) {
      continue;
    }
    const absl::Status allowed = ledger.Check(round, oldest, cost);
    RC_ASSERT(!follows || allowed.ok());
    if (allowed.ok()) {
      RC_ASSERT(ledger.Add(round, oldest, cost).ok());
      units.Add(round, oldest, cost);
    }
    RC_ASSERT(units.Largest() <= epsilon);
    for (uint64_t joined = 0; follows && joined < kCohorts; ++joined) {
      RC_ASSERT(units.RoundsOf(joined) <= most_rounds);
    }
  }
}

}  // namespace
}  // namespace ruvd::privacy
