// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Tests the privacy ledger's limit, its signatures, and the counter outside the store.

#include <cmath>
#include <limits>

#include "base/file.h"
#include "privacy/dp/rdp_curve.h"
#include "privacy/dp/zcdp.h"
#include "privacy/reasons.h"
#include "storage/ledger/ledger_counter.h"
#include "storage/reasons.h"
#include "tests/storage/ledger_budget_fixture.h"

namespace ruvd::storage {
namespace {

namespace fs = std::filesystem;

TEST_F(LedgerBudgetTest, AReleaseAboveTheBudgetIsRefusedWithTheFigures) {
  constexpr uint64_t kHalf = uint64_t{1} << 31;
  ASSERT_EQ(ReopenWithin(2 * kHalf), "");
  ASSERT_TRUE(ledger_->Reserve(ChargeOf(kHalf)).ok());
  ASSERT_TRUE(ledger_->Reserve(ChargeOf(kHalf)).ok());
  const absl::Status refused = ledger_->Reserve(ChargeOf(kHalf)).status();
  EXPECT_EQ(ReasonOf(refused), reasons::kPrivacyBudgetSpent);
  const double budget = EpsilonOf(Units(2 * kHalf));
  EXPECT_THAT(MessageOf(refused), testing::HasSubstr(fmt::format("from epsilon {:.3f} to {:.3f}",
                                                                 budget, budget + 0.5)));
  EXPECT_THAT(MessageOf(refused), testing::HasSubstr(fmt::format("budget of {:.3f}", budget)));
  EXPECT_THAT(MessageOf(refused), testing::HasSubstr("add noise"));
  EXPECT_EQ(ledger_->head().sequence, 2U);
  ASSERT_EQ(Reopen(), "");
  EXPECT_EQ(ReasonOf(ledger_->Reserve(ChargeOf(kHalf)).status()), reasons::kPrivacyBudgetSpent);
}

// In another project's accountant, charges that were too small for its floats passed after the
// budget was exhausted.
TEST_F(LedgerBudgetTest, AfterTheLimitNothingIsSmallEnough) {
  ASSERT_EQ(ReopenWithin(1000), "");
  ASSERT_TRUE(ledger_->Reserve(ChargeOf(999)).ok());
  EXPECT_EQ(ReasonOf(ledger_->Reserve(ChargeOf(2)).status()), reasons::kPrivacyBudgetSpent);
  ASSERT_TRUE(ledger_->Reserve(ChargeOf(1)).ok());
  EXPECT_EQ(ReasonOf(ledger_->Reserve(ChargeOf(1)).status()), reasons::kPrivacyBudgetSpent);
  EXPECT_EQ(ReasonOf(ledger_->Reserve(ChargeOf(0)).status()), reasons::kInvalidArgument);
  EXPECT_EQ(ReasonOf(ledger_->Reserve(ChargeOf(std::numeric_limits<uint64_t>::max())).status()),
            reasons::kPrivacyBudgetSpent);
  constexpr double kLeast = std::numeric_limits<double>::denorm_min();
  EXPECT_EQ(privacy::dp::ZcdpCurve(kLeast).value(), Units(1)) << "every cost is rounded up";
}

TEST_F(LedgerBudgetTest, OldUnitsAreNoLongerEligible) {
  constexpr auto kUser = privacy::PrivacyUnit::kUser;
  EXPECT_EQ(ledger_->OldestEligible(kLesson, 10, Cost()), 0U);
  EXPECT_EQ(ledger_->OldestEligible(kUser, 10, Cost()), 11U) << "users have no budget here";
  options_.budgets[0].rounds = 3;
  ASSERT_EQ(Reopen(), "");
  for (const uint64_t round : {10, 11, 12}) {
    const uint64_t oldest = ledger_->OldestEligible(kLesson, round, Cost());
    EXPECT_EQ(oldest, 0U);
    ASSERT_TRUE(ledger_->Reserve(RoundOf(round, oldest)).ok());
  }
  EXPECT_EQ(ledger_->OldestEligible(kLesson, 13, Cost()), 11U) << "others had three rounds";
  ASSERT_EQ(Reopen(), "");
  EXPECT_EQ(ledger_->OldestEligible(kLesson, 13, Cost()), 11U);
  EXPECT_EQ(ledger_->OldestEligible(kLesson, 13, Cost(100)), 14U) << "no unit can pay that";
}

TEST_F(LedgerBudgetTest, UnitsHaveBudgetsOfTheirOwn) {
  ASSERT_TRUE(ledger_->Reserve(RoundOf(1)).ok());
  privacy::LedgerCharge of_users = RoundOf(1);
  of_users.unit = privacy::PrivacyUnit::kUser;
  EXPECT_EQ(ReasonOf(ledger_->Reserve(of_users).status()), reasons::kPrivacyBudgetSpent);
  options_.budgets.clear();  // lessons have no budget any more
  ASSERT_EQ(Reopen(), "");
  EXPECT_EQ(ReasonOf(ledger_->Reserve(RoundOf(2)).status()), reasons::kPrivacyBudgetSpent);
}

TEST_F(LedgerBudgetTest, EveryLessonHasItsOwnBudget) {
  uint64_t round = 1;
  while (ledger_->Check(RoundOf(round)).ok()) {
    ASSERT_TRUE(ledger_->Reserve(RoundOf(round)).ok());
    ++round;
  }
  ASSERT_GT(round, 3U);
  EXPECT_LE(SpentByLessons(), 4);
  const absl::Status refused = ledger_->Reserve(RoundOf(round)).status();
  EXPECT_EQ(ReasonOf(refused), reasons::kPrivacyBudgetSpent);
  EXPECT_THAT(MessageOf(refused), testing::HasSubstr("a lesson that joined in round 0"));
  EXPECT_EQ(ReasonOf(ledger_->Reserve(RoundOf(0)).status()), reasons::kPrivacyBudgetSpent);
  EXPECT_EQ(ReasonOf(ledger_->Reserve(RoundOf(1, 1)).status()), reasons::kInvalidArgument)
      << "an earlier round";
  ASSERT_TRUE(ledger_->Reserve(RoundOf(round, 3)).ok()) << "newer lessons go on";
  const double spent = SpentByLessons();
  ASSERT_EQ(Reopen(), "");
  EXPECT_EQ(SpentByLessons(), spent);
  EXPECT_EQ(ReasonOf(ledger_->Reserve(RoundOf(round + 1, 0)).status()),
            reasons::kPrivacyBudgetSpent);
}

// Returns a charge of users for a round.
privacy::LedgerCharge UsersIn(uint64_t round) {
  privacy::LedgerCharge charge = RoundOf(round);
  charge.unit = privacy::PrivacyUnit::kUser;
  return charge;
}

// Found by review: what was spent under one unit did not count after a change of privacy.unit.
TEST_F(LedgerBudgetTest, AUserPaysForWhatLessonsSpent) {
  options_.budgets.push_back({.unit = privacy::PrivacyUnit::kUser, .epsilon = 4, .delta = kDelta});
  ASSERT_EQ(Reopen(), "");
  uint64_t round = 1;
  for (; ledger_->Check(RoundOf(round)).ok(); ++round) {
    ASSERT_TRUE(ledger_->Reserve(RoundOf(round)).ok());
  }
  for (int start = 0; start < 2; ++start) {
    EXPECT_EQ(ledger_->LargestEpsilon(privacy::PrivacyUnit::kUser, kDelta).value(),
              SpentByLessons());
    EXPECT_EQ(ledger_->OldestEligible(privacy::PrivacyUnit::kUser, round, Cost()), round + 1);
    EXPECT_EQ(ReasonOf(ledger_->Reserve(UsersIn(round)).status()), reasons::kPrivacyBudgetSpent);
    ASSERT_EQ(Reopen(), "");
  }
  // A user may have other lessons in later releases.
  ASSERT_TRUE(ledger_->Reserve(RoundOf(round, round)).ok());
  EXPECT_GT(ledger_->LargestEpsilon(privacy::PrivacyUnit::kUser, kDelta).value(), SpentByLessons());
}

TEST_F(LedgerBudgetTest, ALessonPaysForWhatItsUserSpent) {
  options_.budgets.push_back({.unit = privacy::PrivacyUnit::kUser, .epsilon = 4, .delta = kDelta});
  ASSERT_EQ(Reopen(), "");
  uint64_t round = 11;
  privacy::dp::RdpCurve cost;
  for (; ledger_->Check(UsersIn(round)).ok(); ++round) {
    ASSERT_TRUE(ledger_->Reserve(UsersIn(round)).ok());
    cost += privacy::dp::ReplacementCurve(Cost());
  }
  for (int start = 0; start < 2; ++start) {
    EXPECT_EQ(SpentByLessons(), EpsilonOf(cost)) << "the user may have other lessons";
    EXPECT_EQ(ReasonOf(ledger_->Reserve(RoundOf(round)).status()), reasons::kPrivacyBudgetSpent);
    ASSERT_EQ(Reopen(), "");
  }
  const uint64_t oldest = ledger_->OldestEligible(kLesson, round, Cost());
  EXPECT_GT(oldest, 11U);
  EXPECT_LE(oldest, round) << "lessons that came after these rounds may take part";
  EXPECT_TRUE(ledger_->Reserve(RoundOf(round, oldest)).ok());
}

// Found by review: rounds of users brought lessons that had spent something above their budget.
TEST_F(LedgerBudgetTest, RoundsOfUsersKeepTheirLessonsWithinTheirBudget) {
  options_.budgets.push_back(
      {.unit = privacy::PrivacyUnit::kUser, .epsilon = 100, .delta = kDelta});
  ASSERT_EQ(Reopen(), "");
  ASSERT_TRUE(ledger_->Reserve(RoundOf(1)).ok());
  uint64_t round = 2;
  const privacy::dp::RdpCurve small = Cost(0.001);
  const auto users = [&] {
    privacy::LedgerCharge charge = UsersIn(round);
    charge.curve = small;
    return charge;
  };
  for (; ledger_->Check(users()).ok(); ++round) {
    EXPECT_LE(ledger_->OldestEligible(privacy::PrivacyUnit::kUser, round, small), round);
    ASSERT_TRUE(ledger_->Reserve(users()).ok());
  }
  EXPECT_GT(round, 2U);
  EXPECT_LE(SpentByLessons(), 4);
  EXPECT_EQ(ReasonOf(ledger_->Reserve(users()).status()), reasons::kPrivacyBudgetSpent);
  EXPECT_EQ(ledger_->OldestEligible(privacy::PrivacyUnit::kUser, round, small), round + 1)
      << "so no round is begun that could not be paid";
}

TEST_F(LedgerBudgetTest, EntriesOfAnotherKeyAreRefused) {
  ASSERT_TRUE(ledger_->Reserve(ChargeOf(1)).ok());
  ASSERT_EQ(Reopen(), "");
  const privacy::NodeKey other = privacy::NodeKey::FromSeed(privacy::KeySeed{4});
  options_.key = &other;
  EXPECT_EQ(Reopen(), reasons::kLedgerBroken);
  options_.key = nullptr;
  ASSERT_EQ(Reopen(), "");
  ASSERT_TRUE(ledger_->Reserve(ChargeOf(1)).ok());  // not signed
  options_.key = &node_;
  EXPECT_EQ(Reopen(), reasons::kLedgerBroken);
}

TEST_F(LedgerBudgetTest, ARestoredBackupDoesNotRollTheLedgerBack) {
  ASSERT_TRUE(ledger_->Reserve(ChargeOf(100)).ok());
  Close();
  fs::copy(folder_ / "store", folder_ / "backup", fs::copy_options::recursive);
  ASSERT_EQ(Reopen(), "");
  ASSERT_TRUE(ledger_->Reserve(ChargeOf(300)).ok());
  ASSERT_TRUE(ledger_->Reserve(RoundOf(0)).ok());
  ASSERT_TRUE(ledger_->Reserve(RoundOf(7, 2)).ok());
  ASSERT_TRUE(ledger_->Reserve(RoundOf(8, 5)).ok());
  Close();
  fs::remove_all(folder_ / "store");
  fs::rename(folder_ / "backup", folder_ / "store");
  PrivacyLedgerOptions reading = options_;
  reading.read_only = true;
  database_ = OpenStore();
  const uint64_t outside = 400 + Cost().q32[0];
  privacy::dp::RdpCurve all = Cost();
  all *= 3;
  all += Units(400);
  {
    const auto read = PrivacyLedgerStore::Open(*database_, reading).value();
    EXPECT_EQ(read->counter().lessons.for_all.q32[0], outside);
    EXPECT_EQ(read->LargestEpsilon(kLesson, kDelta).value(), EpsilonOf(all));
  }
  ASSERT_EQ(Reopen(), "");
  EXPECT_EQ(Spent(), outside);
  EXPECT_EQ(SpentByLessons(), EpsilonOf(all));
  ASSERT_EQ(Reopen(), "");  // charged once, not at every start
  EXPECT_EQ(Spent(), outside);
  EXPECT_EQ(SpentByLessons(), EpsilonOf(all));
  EXPECT_EQ(ledger_->head().sequence, 3U) << "lost: in rounds and outside rounds";
  // Lessons that joined after the newest round of the counter did not take part in what was lost.
  EXPECT_EQ(ReasonOf(ledger_->Reserve(RoundOf(7)).status()), reasons::kInvalidArgument);
  all = Cost(0.4);
  ASSERT_TRUE(ledger_->Reserve(RoundOf(9, 9, all)).ok());
  all += Cost();
  all += Units(400);
  EXPECT_EQ(SpentByLessons(), EpsilonOf(all));
}

TEST_F(LedgerBudgetTest, AStoreBegunAnewStillOwesWhatTheCounterSays) {
  ASSERT_EQ(ReopenWithin(1000), "");
  ASSERT_TRUE(ledger_->Reserve(ChargeOf(700)).ok());
  Close();
  fs::remove_all(folder_ / "store");
  ASSERT_EQ(Reopen(), "");
  EXPECT_EQ(Spent(), 700U);
  EXPECT_EQ(ReasonOf(ledger_->Reserve(ChargeOf(301)).status()), reasons::kPrivacyBudgetSpent);
}

TEST_F(LedgerBudgetTest, WithoutItsCounterOneReleaseCountsAsSpent) {
  ASSERT_TRUE(ledger_->Reserve(ChargeOf(100)).ok());
  ASSERT_TRUE(ledger_->Reserve(ChargeOf(20)).ok());
  Close();
  fs::remove(options_.counter_file);
  ASSERT_EQ(Reopen(), "");
  EXPECT_EQ(Spent(), 220U);  // the most expensive charge counts once more
  ASSERT_EQ(Reopen(), "");
  EXPECT_EQ(Spent(), 220U);
}

// The round of the release that may be missing is unknown, so it counts for all lessons.
TEST_F(LedgerBudgetTest, WithoutItsCounterOneRoundCountsForAllLessons) {
  ASSERT_TRUE(ledger_->Reserve(RoundOf(3, 2, Cost(0.2))).ok());
  ASSERT_TRUE(ledger_->Reserve(RoundOf(4, 4, Cost(0.1))).ok());
  Close();
  fs::remove(options_.counter_file);
  for (int start = 0; start < 2; ++start) {
    ASSERT_EQ(Reopen(), "");
    privacy::dp::RdpCurve all = Cost(0.2);
    all *= 2;
    EXPECT_EQ(SpentByLessons(), EpsilonOf(all));
    EXPECT_EQ(ledger_->counter().lessons.for_all, Cost(0.2));
  }
}

TEST_F(LedgerBudgetTest, ACounterThatIsBehindCatchesUpAndAGarbledOneStops) {
  ASSERT_TRUE(ledger_->Reserve(ChargeOf(100)).ok());
  const std::string newest = Counter();
  EXPECT_EQ(newest, CounterOf(100));
  EXPECT_THAT(newest, testing::AllOf(testing::StartsWith("lesson 0 0 "),
                                     testing::EndsWith(" 100 100\nuser 0\nnode 0\n")));
  ASSERT_TRUE(WriteFileAtomically(options_.counter_file, CounterOf(10)).ok());
  ASSERT_EQ(Reopen(), "");
  EXPECT_EQ(Counter(), newest);
  for (const char* text :
       {"", "lesson 0", "lesson 0\n", "lesson 0\nuser 0\n", "lesson 0\nuser 0\nnode 0", "0 0\n",
        "lesson x\nuser 0\nnode 0\n", "lesson -1\nuser 0\nnode 0\n", "lesson 0\nuser 0\nnode 0\n\n",
        "lesson 007\nuser 0\nnode 0\n", "user 0\nlesson 0\nnode 0\n",
        "lesson 1 2 3\nuser 0\nnode 0\n", "node 0\nlesson 0\nuser 0\n",
        "lesson 18446744073709551616\nuser 0\nnode 0\n"}) {
    ASSERT_TRUE(WriteFileAtomically(options_.counter_file, text).ok());
    EXPECT_EQ(Reopen(), reasons::kLedgerBroken) << text;
  }
}

TEST_F(LedgerBudgetTest, TheCounterOfLessonsCatchesUpToo) {
  ASSERT_TRUE(ledger_->Reserve(RoundOf(3, 2)).ok());
  const std::string before = Counter();
  ASSERT_TRUE(ledger_->Reserve(RoundOf(4, 2)).ok());
  const std::string newest = Counter();
  EXPECT_THAT(newest, testing::StartsWith("lesson 4 "));
  const ledger::Counter parsed = ledger::ParseCounter(newest).value();
  privacy::dp::RdpCurve both = Cost();
  both += Cost();
  EXPECT_EQ(parsed.lessons.newest_round, 4U);
  EXPECT_EQ(parsed.lessons.in_rounds, both);
  EXPECT_EQ(parsed.lessons.for_all, privacy::dp::RdpCurve());
  ASSERT_TRUE(WriteFileAtomically(options_.counter_file, before).ok());
  ASSERT_EQ(Reopen(), "");
  EXPECT_EQ(Counter(), newest);
}

}  // namespace
}  // namespace ruvd::storage
