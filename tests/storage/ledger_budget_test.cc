// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Tests the privacy ledger's limit, its signatures, the counter outside the store, and every moment
// at which a reservation may be interrupted.

#include <cmath>
#include <limits>

#include "base/file.h"
#include "base/random.h"
#include "privacy/dp/rdp_curve.h"
#include "privacy/dp/zcdp.h"
#include "privacy/reasons.h"
#include "storage/db/backup.h"
#include "storage/ledger/ledger_counter.h"
#include "storage/ledger/privacy_ledger_store.h"
#include "storage/limits.h"
#include "storage/reasons.h"
#include "tests/campaign/power_cut_files.h"
#include "tests/storage/store_fixture.h"

namespace ruvd::storage {
namespace {

namespace fs = std::filesystem;

constexpr double kDelta = 1e-6;
constexpr privacy::PrivacyUnit kLesson = privacy::PrivacyUnit::kLesson;

// A curve of so many units at every order.
privacy::dp::RdpCurve Units(uint64_t units) {
  privacy::dp::RdpCurve curve;
  curve.q32.fill(units);
  return curve;
}

// A charge of all lessons, outside rounds.
privacy::LedgerCharge ChargeOf(uint64_t units) {
  return {.unit = kLesson,
          .mechanism = privacy::PrivacyMechanism::kDiscreteGaussian,
          .sigma = 1,
          .curve = Units(units),
          .subject = "update"};
}

// The counter file after such charges.
std::string CounterOf(uint64_t units) {
  ledger::Counter counter;
  counter.Add(ChargeOf(units));
  return FormatCounter(counter);
}

privacy::dp::RdpCurve Cost(double rho = 0.1) {
  return privacy::dp::SampledCurve(0.3, rho).value();
}
double EpsilonOf(const privacy::dp::RdpCurve& curve) {
  return privacy::dp::EpsilonOf(curve, kDelta).value().value;
}

// A charge of lessons; round 0 is outside rounds.
privacy::LedgerCharge RoundOf(uint64_t round, uint64_t oldest = 0,
                              const privacy::dp::RdpCurve& cost = Cost()) {
  return {.unit = kLesson,
          .mechanism = privacy::PrivacyMechanism::kSubsampledGaussian,
          .sigma = 1,
          .sampling_rate = 0.3,
          .curve = cost,
          .round = round,
          .oldest_joined = oldest,
          .subject = "round"};
}

class LedgerBudgetTest : public StoreTest {
 protected:
  void SetUp() override {
    StoreTest::SetUp();
    options_ = {.budgets = {{.unit = kLesson, .epsilon = 4, .delta = kDelta}},
                .key = &node_,
                .counter_file = (folder_ / "privacy-counter").string()};
    ASSERT_EQ(Reopen(), "");
  }
  void TearDown() override {
    Close();
    StoreTest::TearDown();
  }
  void Close() {
    ledger_.reset();
    database_.reset();
  }
  std::string Reopen() {
    Close();
    database_ = OpenStore();
    auto ledger = PrivacyLedgerStore::Open(*database_, options_);
    if (ledger.ok()) {
      ledger_ = std::move(*ledger);
    }
    return ReasonOf(ledger.status());
  }
  // Opens the ledger with a budget for so many units.
  std::string ReopenWithin(uint64_t units) {
    options_.budgets[0].epsilon = EpsilonOf(Units(units));
    return Reopen();
  }
  uint64_t Spent() const { return ledger_->counter().lessons.for_all.q32[0]; }
  double SpentByLessons() const { return ledger_->LargestEpsilon(kLesson, kDelta).value(); }
  std::string Counter() const {
    return ReadFile(options_.counter_file, limits::kMaxLedgerCounterBytes).value_or("");
  }

  privacy::NodeKey node_ = privacy::NodeKey::FromSeed(privacy::KeySeed{3});
  PrivacyLedgerOptions options_;
  std::unique_ptr<Database> database_;
  std::unique_ptr<PrivacyLedgerStore> ledger_;
};

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
                                     testing::EndsWith(" 100 100\nuser 0\n")));
  ASSERT_TRUE(WriteFileAtomically(options_.counter_file, CounterOf(10)).ok());
  ASSERT_EQ(Reopen(), "");
  EXPECT_EQ(Counter(), newest);
  for (const char* text : {"", "lesson 0", "lesson 0\n", "lesson 0\nuser 0", "0 0\n",
                           "lesson x\nuser 0\n", "lesson -1\nuser 0\n", "lesson 0\nuser 0\n\n",
                           "lesson 007\nuser 0\n", "user 0\nlesson 0\n", "lesson 1 2 3\nuser 0\n",
                           "node 0\nlesson 0\nuser 0\n", "lesson 18446744073709551616\nuser 0\n"}) {
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

// The process ends before the counter, between counter and entry, between entry and head, and after
// the head.
TEST_F(LedgerBudgetTest, KilledBetweenAnyTwoStepsAChargeIsNeitherLostNorDoubled) {
  uint64_t before = 0;
  for (const int kill_at : {0, 1}) {
    for (const bool after_write : {false, true}) {
      SCOPED_TRACE(fmt::format("{} {}", kill_at, after_write));
      int steps = -1;  // not counted while the ledger opens
      options_.write_file = [&](const std::string& path,
                                std::string_view contents) -> absl::Status {
        const int step = steps < 0 ? -1 : steps++;
        if (step > kill_at || (step == kill_at && !after_write)) {
          return absl::InternalError("killed");
        }
        const absl::Status written = WriteFileAtomically(path, contents, 0600);
        return step == kill_at ? absl::InternalError("killed") : written;
      };
      ASSERT_EQ(Reopen(), "");
      steps = 0;
      EXPECT_FALSE(ledger_->Reserve(ChargeOf(10)).ok());
      options_.write_file = {};
      ASSERT_EQ(Reopen(), "");
      before += kill_at > 0 || after_write ? 10 : 0;
      EXPECT_EQ(Spent(), before);
      EXPECT_EQ(Counter(), before == 0 ? "" : CounterOf(before));
    }
  }
}

// Wherever the process ends between a reserve and the end of its release, the round counts, for all
// lessons that had joined by then, and other lessons do not pay.
TEST_F(LedgerBudgetTest, ARoundThatACrashInterruptedCounts) {
  ASSERT_TRUE(ledger_->Reserve(RoundOf(5, 4)).ok());
  double before = SpentByLessons();
  uint64_t round = 5;
  for (const int kill_at : {0, 1, 2}) {
    for (const bool after_write : {false, true}) {
      SCOPED_TRACE(fmt::format("{} {}", kill_at, after_write));
      int steps = -1;  // not counted while the ledger opens
      options_.write_file = [&](const std::string& path,
                                std::string_view contents) -> absl::Status {
        const int step = steps < 0 ? -1 : steps++;
        if (step > kill_at || (step == kill_at && !after_write)) {
          return absl::InternalError("killed");
        }
        const absl::Status written = WriteFileAtomically(path, contents, 0600);
        return step == kill_at ? absl::InternalError("killed") : written;
      };
      ASSERT_EQ(Reopen(), "");
      steps = 0;
      const absl::StatusOr<uint64_t> reserved = ledger_->Reserve(RoundOf(++round, 4, Cost(0.01)));
      EXPECT_EQ(reserved.ok(), kill_at == 2);
      if (reserved.ok()) {  // the bytes may have left, whatever the ledger could write of it
        EXPECT_FALSE(ledger_->Spend(*reserved).ok());
      }
      options_.write_file = {};
      ASSERT_EQ(Reopen(), "");
      const bool begun = kill_at > 0 || after_write;
      EXPECT_EQ(SpentByLessons() > before, begun);
      EXPECT_TRUE(ledger_->Check(RoundOf(round + 1, round + 1, Cost(0.3))).ok());
      before = SpentByLessons();
    }
  }
}

// After an error the running ledger continues, and a doubtful charge counts.
TEST_F(LedgerBudgetTest, ADiskThatIsFullForAWhileCostsOneCharge) {
  ASSERT_TRUE(ledger_->Reserve(ChargeOf(100)).ok());
  free_bytes_ = 0;
  clock_.Advance(limits::kReserveProbeInterval);
  for (int i = 0; i < 5; ++i) {
    EXPECT_FALSE(ledger_->Reserve(ChargeOf(100)).ok());
  }
  free_bytes_ = uint64_t{1} << 40;
  clock_.Advance(limits::kReserveProbeInterval);
  ASSERT_TRUE(ledger_->Reserve(ChargeOf(1)).ok());
  EXPECT_LE(Spent(), 201U);
  const uint64_t spent = Spent();
  ASSERT_EQ(Reopen(), "");
  EXPECT_EQ(Spent(), spent);
}

// Makes one store with a charge of 5, then charges of 7 and 11 on a disk whose power is cut at the
// n-th write, fsync, rename or removal; then the disk shows what it may. Returns whether there was
// a cut.
class LedgerPowerTest : public LedgerBudgetTest {
 protected:
  bool CutAt(uint64_t operation) {
    SCOPED_TRACE(operation);
    MakeStore();
    const auto files = std::make_shared<campaign::PowerCutFiles>(
        (folder_ / "store").string(), (folder_ / "trash").string(), operation);
    const uint64_t promised = 5 + ChargeOn(files);
    const bool cut = files->dead();
    Random random(operation);
    files->Apply(random);
    options_.write_file = {};
    EXPECT_EQ(Reopen(), "");
    if (ledger_ != nullptr) {
      EXPECT_GE(Spent(), promised);
      EXPECT_LE(Spent(), 23U);
    }
    return cut;
  }

 private:
  void MakeStore() {
    Close();
    fs::remove_all(folder_ / "store");
    fs::remove_all(folder_ / "trash");
    fs::create_directories(folder_ / "trash");
    fs::remove(options_.counter_file);
    options_.write_file = {};
    ASSERT_EQ(Reopen(), "");
    ASSERT_TRUE(ledger_->Reserve(ChargeOf(5)).ok());
    Close();
  }
  // Returns what was charged with the answer OK while there was power.
  uint64_t ChargeOn(const std::shared_ptr<campaign::PowerCutFiles>& files) {
    DatabaseOptions store = Options();
    store.file_system = files;
    auto database = Database::Open(store);
    options_.write_file = [&files](const std::string& path, std::string_view contents) {
      return files->dead() ? absl::InternalError("no power")
                           : WriteFileAtomically(path, contents, 0600);
    };
    if (!database.ok()) {
      return 0;
    }
    auto ledger = PrivacyLedgerStore::Open(**database, options_);
    uint64_t promised = 0;
    for (const uint64_t cost : {7, 11}) {
      const bool reserved = ledger.ok() && (*ledger)->Reserve(ChargeOf(cost)).ok();
      promised += reserved && !files->dead() ? cost : 0;
    }
    return promised;
  }
};

TEST_F(LedgerPowerTest, NoCutLosesACharge) {
  // Finds the first operation after the last one by halving.
  uint64_t low = 1;
  uint64_t high = 512;
  ASSERT_FALSE(CutAt(high));
  while (low + 1 < high) {
    const uint64_t middle = (low + high) / 2;
    (CutAt(middle) ? low : high) = middle;
  }
  // The last operations are those of the charges and of closing the store.
  for (uint64_t operation = low > 24 ? low - 24 : 1; operation <= low; ++operation) {
    EXPECT_TRUE(CutAt(operation));
  }
}

}  // namespace
}  // namespace ruvd::storage
