// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Tests the privacy ledger's limit, its signatures, the counter outside the store, and every moment
// at which a reservation may be interrupted.

#include <cmath>
#include <limits>

#include "base/file.h"
#include "base/random.h"
#include "privacy/dp/zcdp.h"
#include "privacy/reasons.h"
#include "storage/db/backup.h"
#include "storage/ledger/privacy_ledger_store.h"
#include "storage/limits.h"
#include "storage/reasons.h"
#include "tests/campaign/power_cut_files.h"
#include "tests/storage/store_fixture.h"

namespace ruvd::storage {
namespace {

namespace fs = std::filesystem;

privacy::LedgerCharge ChargeOf(uint64_t rho_q32,
                               privacy::PrivacyUnit unit = privacy::PrivacyUnit::kNode) {
  return {.unit = unit,
          .mechanism = privacy::PrivacyMechanism::kDiscreteGaussian,
          .sigma = 1,
          .rho_q32 = rho_q32,
          .subject = "update"};
}

class LedgerBudgetTest : public StoreTest {
 protected:
  void SetUp() override {
    StoreTest::SetUp();
    options_ = {.budgets = {{.unit = privacy::PrivacyUnit::kNode, .delta = 1e-6, .rho_q32 = 1000},
                            {.unit = privacy::PrivacyUnit::kExample, .delta = 1e-6, .rho_q32 = 50}},
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
  uint64_t Spent(privacy::PrivacyUnit unit = privacy::PrivacyUnit::kNode) const {
    return ledger_->totals(unit).rho_q32;
  }
  std::string Counter() const { return ReadFile(options_.counter_file, 100).value_or(""); }

  privacy::NodeKey node_ = privacy::NodeKey::FromSeed(privacy::KeySeed{3});
  PrivacyLedgerOptions options_;
  std::unique_ptr<Database> database_;
  std::unique_ptr<PrivacyLedgerStore> ledger_;
};

TEST_F(LedgerBudgetTest, AReleaseAboveTheBudgetIsRefusedWithTheFigures) {
  options_.budgets = {privacy::PrivacyBudget::Within(privacy::PrivacyUnit::kNode, 2, 1e-6).value()};
  ASSERT_EQ(Reopen(), "");
  const uint64_t half = options_.budgets[0].rho_q32 / 2;
  ASSERT_TRUE(ledger_->Reserve(ChargeOf(half)).ok());
  ASSERT_TRUE(ledger_->Reserve(ChargeOf(half)).ok());
  const absl::Status refused = ledger_->Reserve(ChargeOf(half)).status();
  EXPECT_EQ(ReasonOf(refused), reasons::kPrivacyBudgetSpent);
  const std::string message = MessageOf(refused);
  EXPECT_THAT(message, testing::HasSubstr("from epsilon 2.000 to 2.495"));
  EXPECT_THAT(message, testing::HasSubstr("budget of 2.000"));
  EXPECT_THAT(message, testing::HasSubstr("masked clique"));
  EXPECT_EQ(ledger_->head().sequence, 2U);
  ASSERT_EQ(Reopen(), "");
  EXPECT_EQ(ReasonOf(ledger_->Reserve(ChargeOf(half)).status()), reasons::kPrivacyBudgetSpent);
}

// In another project's accountant, charges that were too small for its floats passed after the
// budget was exhausted.
TEST_F(LedgerBudgetTest, AfterTheLimitNothingIsSmallEnough) {
  ASSERT_TRUE(ledger_->Reserve(ChargeOf(999)).ok());
  EXPECT_EQ(ReasonOf(ledger_->Reserve(ChargeOf(2)).status()), reasons::kPrivacyBudgetSpent);
  ASSERT_TRUE(ledger_->Reserve(ChargeOf(1)).ok());
  EXPECT_EQ(ReasonOf(ledger_->Reserve(ChargeOf(1)).status()), reasons::kPrivacyBudgetSpent);
  EXPECT_EQ(ReasonOf(ledger_->Reserve(ChargeOf(0)).status()), reasons::kInvalidArgument);
  EXPECT_EQ(ReasonOf(ledger_->Reserve(ChargeOf(std::numeric_limits<uint64_t>::max())).status()),
            reasons::kPrivacyBudgetSpent);
  EXPECT_EQ(privacy::dp::FixedPointRho(std::numeric_limits<double>::denorm_min()).value(), 1U);
}

TEST_F(LedgerBudgetTest, UnitsHaveBudgetsOfTheirOwn) {
  ASSERT_TRUE(ledger_->Reserve(ChargeOf(1000)).ok());
  ASSERT_TRUE(ledger_->Reserve(ChargeOf(50, privacy::PrivacyUnit::kExample)).ok());
  EXPECT_EQ(ReasonOf(ledger_->Reserve(ChargeOf(1, privacy::PrivacyUnit::kExample)).status()),
            reasons::kPrivacyBudgetSpent);
  options_.budgets.pop_back();  // that unit has no budget any more
  ASSERT_EQ(Reopen(), "");
  EXPECT_EQ(ReasonOf(ledger_->Reserve(ChargeOf(1, privacy::PrivacyUnit::kExample)).status()),
            reasons::kPrivacyBudgetSpent);
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
  ASSERT_TRUE(ledger_->Reserve(ChargeOf(40, privacy::PrivacyUnit::kExample)).ok());
  Close();
  fs::remove_all(folder_ / "store");
  fs::rename(folder_ / "backup", folder_ / "store");
  PrivacyLedgerOptions reading = options_;
  reading.read_only = true;
  database_ = OpenStore();
  EXPECT_EQ(PrivacyLedgerStore::Open(*database_, reading)
                .value()
                ->totals(privacy::PrivacyUnit::kNode)
                .rho_q32,
            400U);
  ASSERT_EQ(Reopen(), "");
  EXPECT_EQ(Spent(), 400U);
  EXPECT_EQ(Spent(privacy::PrivacyUnit::kExample), 40U);
  EXPECT_EQ(ReasonOf(ledger_->Reserve(ChargeOf(601)).status()), reasons::kPrivacyBudgetSpent);
  ASSERT_EQ(Reopen(), "");  // charged once, not at every start
  EXPECT_EQ(Spent(), 400U);
  EXPECT_EQ(ledger_->head().sequence, 3U);
}

TEST_F(LedgerBudgetTest, AStoreBegunAnewStillOwesWhatTheCounterSays) {
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

TEST_F(LedgerBudgetTest, ACounterThatIsBehindCatchesUpAndAGarbledOneStops) {
  ASSERT_TRUE(ledger_->Reserve(ChargeOf(100)).ok());
  const std::string newest = Counter();
  EXPECT_EQ(newest, "100 0\n");
  ASSERT_TRUE(WriteFileAtomically(options_.counter_file, "10 0\n").ok());
  ASSERT_EQ(Reopen(), "");
  EXPECT_EQ(Counter(), newest);
  for (const char* text :
       {"", "100", "100 \n", "100 0", "x 0\n", "-1 0\n", "100 0\n\n", "007 0\n"}) {
    ASSERT_TRUE(WriteFileAtomically(options_.counter_file, text).ok());
    EXPECT_EQ(Reopen(), reasons::kLedgerBroken) << text;
  }
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
      EXPECT_EQ(Counter(), before == 0 ? "" : fmt::format("{} 0\n", before));
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
