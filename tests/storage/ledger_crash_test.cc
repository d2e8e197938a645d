// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Tests the privacy ledger at every moment at which a reservation may be interrupted.

#include "base/file.h"
#include "base/random.h"
#include "storage/limits.h"
#include "tests/campaign/power_cut_files.h"
#include "tests/storage/ledger_budget_fixture.h"

namespace ruvd::storage {
namespace {

namespace fs = std::filesystem;

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
