// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Tests the privacy ledger's account of the whole node, and its limit.

#include <limits>

#include "base/file.h"
#include "privacy/dp/rdp_curve.h"
#include "privacy/reasons.h"
#include "storage/ledger/ledger_counter.h"
#include "storage/reasons.h"
#include "tests/storage/ledger_budget_fixture.h"

namespace ruvd::storage {
namespace {

namespace fs = std::filesystem;
using privacy::PrivacyUnit;
using privacy::dp::RdpCurve;

// Returns a charge of a unit for a round; 0 is outside rounds.
privacy::LedgerCharge RoundOfUnit(PrivacyUnit unit, uint64_t round, const RdpCurve& cost = Cost()) {
  privacy::LedgerCharge charge = RoundOf(round, 0, cost);
  charge.unit = unit;
  return charge;
}

class LedgerNodeTest : public LedgerBudgetTest {
 protected:
  void SetUp() override {
    LedgerBudgetTest::SetUp();
    SetBudget(PrivacyUnit::kLesson, 100);
    SetBudget(PrivacyUnit::kUser, 100);
    ASSERT_EQ(Reopen(), "");
  }
  void SetBudget(PrivacyUnit unit, double epsilon) {
    std::erase_if(options_.budgets, [unit](const auto& budget) { return budget.unit == unit; });
    options_.budgets.push_back({.unit = unit, .epsilon = epsilon, .delta = kDelta, .rounds = 1000});
  }
  double SpentBy(PrivacyUnit unit) const { return ledger_->LargestEpsilon(unit, kDelta).value(); }
};

// No lesson was in both rounds, but the node was.
TEST_F(LedgerNodeTest, TheNodePaysForWhatLessonsAndUsersSpent) {
  ASSERT_TRUE(ledger_->Reserve(RoundOf(1)).ok());
  ASSERT_TRUE(ledger_->Reserve(RoundOf(2, 2)).ok());
  EXPECT_EQ(SpentByLessons(), EpsilonOf(Cost()));
  ASSERT_TRUE(ledger_->Reserve(RoundOfUnit(PrivacyUnit::kUser, 2, Cost(0.05))).ok());
  ASSERT_TRUE(ledger_->Reserve(ChargeOf(9)).ok());
  RdpCurve all = Cost();
  all *= 2;
  all += Cost(0.05);
  all += Units(9);
  for (int start = 0; start < 2; ++start) {
    EXPECT_EQ(SpentBy(PrivacyUnit::kNode), EpsilonOf(all));
    EXPECT_EQ(ledger_->totals(PrivacyUnit::kNode).reservations, 0U) << "it only pays for others";
    ASSERT_EQ(Reopen(), "");
  }
}

TEST_F(LedgerNodeTest, LessonsAndUsersPayForWhatTheNodeSpent) {
  SetBudget(PrivacyUnit::kNode, 4);
  ASSERT_EQ(Reopen(), "");
  RdpCurve own;
  RdpCurve replaced;
  for (const uint64_t round : {0, 11, 12}) {
    ASSERT_TRUE(ledger_->Reserve(RoundOfUnit(PrivacyUnit::kNode, round, Cost(0.01))).ok());
    own += Cost(0.01);
    replaced += privacy::dp::ReplacementCurve(Cost(0.01));
  }
  for (int start = 0; start < 2; ++start) {
    EXPECT_EQ(SpentBy(PrivacyUnit::kNode), EpsilonOf(own));
    EXPECT_EQ(SpentBy(PrivacyUnit::kUser), EpsilonOf(replaced));
    EXPECT_EQ(SpentByLessons(), EpsilonOf(replaced)) << "without it, the node still takes part";
    EXPECT_EQ(ledger_->totals(PrivacyUnit::kNode).reservations, 3U);
    ASSERT_EQ(Reopen(), "");
  }
  // Lessons that came after round 11 did not pay for it, so they have something left.
  SetBudget(PrivacyUnit::kLesson, EpsilonOf(replaced));
  ASSERT_EQ(Reopen(), "");
  EXPECT_EQ(ledger_->OldestEligible(kLesson, 13, Cost(0.01)), 12U);
}

TEST_F(LedgerNodeTest, TheHardStopOfTheNodeIsItsBudget) {
  SetBudget(PrivacyUnit::kNode, 4);
  ASSERT_EQ(Reopen(), "");
  uint64_t round = 1;
  for (; ledger_->OldestEligible(PrivacyUnit::kNode, round, Cost()) == 0; ++round) {
    ASSERT_TRUE(ledger_->Reserve(RoundOfUnit(PrivacyUnit::kNode, round)).ok());
  }
  EXPECT_GT(round, 3U);
  EXPECT_LE(SpentBy(PrivacyUnit::kNode), 4);
  EXPECT_EQ(ReasonOf(ledger_->Reserve(RoundOfUnit(PrivacyUnit::kNode, round)).status()),
            reasons::kPrivacyBudgetSpent);
  EXPECT_EQ(ReasonOf(ledger_->Reserve(RoundOf(round, round)).status()),
            reasons::kPrivacyBudgetSpent)
      << "a release of new lessons is one of the node, too";
}

TEST_F(LedgerNodeTest, WithoutABudgetOfTheNodeOnlyItsOwnChargesAreRefused) {
  EXPECT_TRUE(ledger_->CheckNode(Cost(1000)).ok());
  EXPECT_TRUE(ledger_->Reserve(RoundOf(1, 0, Cost(5))).ok());
  EXPECT_GT(SpentBy(PrivacyUnit::kNode), 4);
  EXPECT_EQ(ReasonOf(ledger_->Reserve(RoundOfUnit(PrivacyUnit::kNode, 1)).status()),
            reasons::kPrivacyBudgetSpent);
}

TEST_F(LedgerNodeTest, ALimitOfTheNodeStopsTheChargesOfEveryUnit) {
  SetBudget(PrivacyUnit::kNode, 4);
  options_.budgets.back().key = "privacy.node_epsilon";
  ASSERT_EQ(Reopen(), "");
  uint64_t round = 1;
  for (; ledger_->CheckNode(Cost()).ok(); ++round) {
    // Each round has lessons of its own and half of them are charged to users.
    const privacy::LedgerCharge charge =
        round % 2 == 0 ? RoundOf(round, round) : RoundOfUnit(PrivacyUnit::kUser, round);
    ASSERT_TRUE(ledger_->Check(charge).ok());
    ASSERT_TRUE(ledger_->Reserve(charge).ok());
  }
  EXPECT_GT(round, 3U);
  for (int start = 0; start < 2; ++start) {
    for (const privacy::LedgerCharge& charge :
         {RoundOf(round, round), RoundOf(0), RoundOfUnit(PrivacyUnit::kUser, round)}) {
      const absl::Status refused = ledger_->Reserve(charge).status();
      EXPECT_EQ(ReasonOf(refused), reasons::kPrivacyBudgetSpent);
      EXPECT_EQ(refused, ledger_->Check(charge));
      EXPECT_THAT(MessageOf(refused),
                  testing::AllOf(testing::HasSubstr("what this node has spent from epsilon"),
                                 testing::HasSubstr("budget of 4.000"),
                                 testing::HasSubstr("privacy.node_epsilon")));
    }
    ASSERT_EQ(Reopen(), "");
  }
  EXPECT_LE(SpentBy(PrivacyUnit::kNode), 4);
}

TEST_F(LedgerNodeTest, RoundsOfTheNodeKeepItsPartsWithinTheirBudget) {
  SetBudget(PrivacyUnit::kUser, 4);
  SetBudget(PrivacyUnit::kNode, 100);
  ASSERT_EQ(Reopen(), "");
  const RdpCurve small = Cost(0.001);
  ASSERT_TRUE(ledger_->Reserve(RoundOfUnit(PrivacyUnit::kUser, 1)).ok());
  uint64_t round = 2;
  for (; ledger_->OldestEligible(PrivacyUnit::kNode, round, small) <= round; ++round) {
    ASSERT_TRUE(ledger_->Reserve(RoundOfUnit(PrivacyUnit::kNode, round, small)).ok());
  }
  EXPECT_GT(round, 2U);
  EXPECT_LE(SpentBy(PrivacyUnit::kUser), 4);
  const absl::Status refused =
      ledger_->Reserve(RoundOfUnit(PrivacyUnit::kNode, round, small)).status();
  EXPECT_EQ(ReasonOf(refused), reasons::kPrivacyBudgetSpent);
  EXPECT_THAT(MessageOf(refused), testing::HasSubstr("a user that joined in round 0"));
}

TEST_F(LedgerNodeTest, TheCounterKnowsWhatTheNodeSpent) {
  SetBudget(PrivacyUnit::kNode, 4);
  ASSERT_EQ(Reopen(), "");
  const std::string before = Counter();
  ASSERT_TRUE(ledger_->Reserve(RoundOfUnit(PrivacyUnit::kNode, 7)).ok());
  const std::string newest = Counter();
  EXPECT_THAT(newest, testing::StartsWith("lesson 0\nuser 0\nnode 7 "));
  ledger::Counter counter = ledger::ParseCounter(newest).value();
  EXPECT_EQ(counter.node.newest_round, 7U);
  EXPECT_EQ(counter.node.in_rounds, Cost());
  EXPECT_EQ(counter.node.for_all, RdpCurve());
  // The chain lacks a charge that the counter has.
  counter.Add(RoundOfUnit(PrivacyUnit::kNode, 8));
  ASSERT_TRUE(WriteFileAtomically(options_.counter_file, ledger::FormatCounter(counter)).ok());
  ASSERT_EQ(Reopen(), "");
  RdpCurve both = Cost();
  both += Cost();
  EXPECT_EQ(SpentBy(PrivacyUnit::kNode), EpsilonOf(both));
  RdpCurve replaced = privacy::dp::ReplacementCurve(Cost());
  replaced += privacy::dp::ReplacementCurve(Cost());
  EXPECT_EQ(SpentByLessons(), EpsilonOf(replaced));
  EXPECT_EQ(ledger_->counter().node.newest_round, 8U);
}

TEST_F(LedgerNodeTest, WithoutItsCounterOneReleaseOfTheNodeCountsAsSpent) {
  SetBudget(PrivacyUnit::kNode, 4);
  ASSERT_EQ(Reopen(), "");
  ASSERT_TRUE(ledger_->Reserve(RoundOfUnit(PrivacyUnit::kNode, 3, Cost(0.02))).ok());
  Close();
  fs::remove(options_.counter_file);
  for (int start = 0; start < 2; ++start) {
    ASSERT_EQ(Reopen(), "");
    EXPECT_EQ(ledger_->counter().node.for_all, Cost(0.02));
    EXPECT_EQ(ledger_->counter().node.in_rounds, Cost(0.02));
  }
}

// Found while the line of the node was added: three lines of large numbers passed the limit of two.
TEST(LedgerCounterTest, TheLargestCounterIsReadAgain) {
  ledger::Counter counter;
  for (const PrivacyUnit unit : privacy::kPrivacyUnits) {
    ledger::UnitCharges& charges = counter.Of(unit);
    charges.newest_round = std::numeric_limits<uint64_t>::max();
    charges.in_rounds = charges.for_all = Units(std::numeric_limits<uint64_t>::max());
  }
  const std::string text = ledger::FormatCounter(counter);
  EXPECT_LE(text.size(), limits::kMaxLedgerCounterBytes);
  EXPECT_EQ(ledger::ParseCounter(text).value(), counter);
}

}  // namespace
}  // namespace ruvd::storage
