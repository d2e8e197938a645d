// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Tests the privacy ledger: its chain, its order, and every way to make it forget.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/file.h"
#include "base/random.h"
#include "privacy/dp/rdp_curve.h"
#include "privacy/limits.h"
#include "storage/ledger/ledger_rows.h"
#include "storage/ledger/privacy_ledger_store.h"
#include "storage/reasons.h"
#include "tests/storage/store_fixture.h"

namespace ruvd::storage {
namespace {

// A charge of all lessons of so many units at every order.
privacy::LedgerCharge MakeCharge(uint64_t units) {
  privacy::LedgerCharge charge{.unit = privacy::PrivacyUnit::kLesson,
                               .mechanism = privacy::PrivacyMechanism::kSubsampledGaussian,
                               .sigma = 1.5,
                               .sampling_rate = 0.25,
                               .steps = 10,
                               .epsilon = 2,
                               .delta = 1e-5,
                               .subject = "update"};
  charge.curve.q32.fill(units);
  return charge;
}

privacy::LedgerCharge MakeCharge(privacy::PrivacyUnit unit, uint64_t round, uint64_t oldest) {
  privacy::LedgerCharge charge = MakeCharge(0);
  charge.unit = unit;
  charge.curve = privacy::dp::SampledCurve(charge.sampling_rate, 0.2).value();
  charge.round = round;
  charge.oldest_joined = oldest;
  return charge;
}

// Budgets for tests that are not about limits.
std::vector<privacy::UnitBudget> NoLimits() {
  return {{.unit = privacy::PrivacyUnit::kLesson, .epsilon = 1e9, .delta = 1e-6},
          {.unit = privacy::PrivacyUnit::kUser, .epsilon = 1e9, .delta = 1e-6}};
}

class LedgerTest : public StoreTest {
 protected:
  void SetUp() override {
    StoreTest::SetUp();
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
  // Returns the reason of a refusal, "" if the ledger opened.
  std::string Reopen(PrivacyLedgerOptions options = {}) {
    Close();
    options.budgets = NoLimits();
    database_ = OpenStore();
    auto ledger = PrivacyLedgerStore::Open(*database_, options);
    if (ledger.ok()) {
      ledger_ = std::move(*ledger);
    }
    return ReasonOf(ledger.status());
  }
  void Write(Batch batch) {
    ASSERT_TRUE(database_->Write(std::move(batch), Durability::kPowerLoss).ok());
  }
  uint64_t Spent() const { return ledger_->counter().lessons.for_all.q32[0]; }
  std::string HeadFile() const { return (folder_ / "store" / "ledger-head").string(); }
  std::vector<privacy::LedgerEntry> Entries() const {
    std::vector<privacy::LedgerEntry> entries;
    EXPECT_TRUE(ledger_
                    ->ForEach([&entries](const privacy::LedgerEntry& entry) {
                      entries.push_back(entry);
                      return true;
                    })
                    .ok());
    return entries;
  }

  std::unique_ptr<Database> database_;
  std::unique_ptr<PrivacyLedgerStore> ledger_;
};

TEST_F(LedgerTest, KeepsEveryEntryOverAReopen) {
  EXPECT_EQ(ledger_->Reserve(MakeCharge(7)).value(), 1U);
  ASSERT_TRUE(ledger_->Spend(1).ok());
  const privacy::LedgerCharge of_lessons = MakeCharge(privacy::PrivacyUnit::kLesson, 9, 4);
  EXPECT_EQ(ledger_->Reserve(of_lessons).value(), 3U);
  ASSERT_TRUE(ledger_->Release(1).ok());
  const privacy::LedgerHead head = ledger_->head();
  EXPECT_EQ(head.sequence, 4U);
  ASSERT_EQ(Reopen(), "");
  EXPECT_EQ(ledger_->head(), head);
  const std::vector<privacy::LedgerEntry> entries = Entries();
  ASSERT_EQ(entries.size(), 4U);
  EXPECT_EQ(entries[0].charge, MakeCharge(7));
  EXPECT_EQ(entries[0].reservation, 1U);
  EXPECT_EQ(entries[0].wall_ms, clock_.WallMillis());
  EXPECT_EQ(entries[1].kind, privacy::LedgerKind::kSpend);
  EXPECT_EQ(entries[2].charge, of_lessons);
  EXPECT_EQ(entries[3].kind, privacy::LedgerKind::kRelease);
  EXPECT_EQ(entries[3].reservation, 1U);
  EXPECT_EQ(ledger_->totals(privacy::PrivacyUnit::kLesson).reservations, 2U);
  EXPECT_EQ(ledger_->totals(privacy::PrivacyUnit::kLesson).unreleased, 1U);
  EXPECT_EQ(ledger_->totals(privacy::PrivacyUnit::kUser).reservations, 0U);
  EXPECT_EQ(Spent(), 7U);
  EXPECT_EQ(ledger_->counter().lessons.in_rounds, of_lessons.curve);
  privacy::dp::RdpCurve both = of_lessons.curve;
  both += MakeCharge(7).curve;
  EXPECT_EQ(ledger_->LargestEpsilon(privacy::PrivacyUnit::kLesson, 1e-5).value(),
            privacy::dp::EpsilonOf(both, 1e-5).value().value);
  EXPECT_EQ(ledger_->LargestEpsilon(privacy::PrivacyUnit::kUser, 1e-5).value(),
            ledger_->LargestEpsilon(privacy::PrivacyUnit::kLesson, 1e-5).value());
}

TEST_F(LedgerTest, TheOrderIsReserveSpendRelease) {
  EXPECT_EQ(ReasonOf(ledger_->Spend(1)), reasons::kNotFound);
  ASSERT_TRUE(ledger_->Reserve(MakeCharge(1)).ok());
  EXPECT_EQ(ReasonOf(ledger_->Release(1)), reasons::kInvalidArgument);
  ASSERT_TRUE(ledger_->Spend(1).ok());
  EXPECT_EQ(ReasonOf(ledger_->Spend(1)), reasons::kInvalidArgument);
  EXPECT_EQ(ReasonOf(ledger_->Spend(2)), reasons::kNotFound);  // not the number of a reservation
  ASSERT_EQ(Reopen(), "");
  ASSERT_TRUE(ledger_->Release(1).ok());
  EXPECT_EQ(ReasonOf(ledger_->Release(1)), reasons::kNotFound);
  EXPECT_EQ(ledger_->head().sequence, 3U);
}

TEST_F(LedgerTest, ChargesThatAreNoneAreRefused) {
  const auto reason = [this](const std::function<void(privacy::LedgerCharge*)>& change) {
    privacy::LedgerCharge charge = MakeCharge(1);
    change(&charge);
    return ReasonOf(ledger_->Reserve(charge).status());
  };
  EXPECT_EQ(reason([](privacy::LedgerCharge* c) { c->sigma = 0; }), reasons::kInvalidArgument);
  EXPECT_EQ(reason([](privacy::LedgerCharge* c) { c->sigma = NAN; }), reasons::kInvalidArgument);
  EXPECT_EQ(reason([](privacy::LedgerCharge* c) { c->sampling_rate = 1.5; }),
            reasons::kInvalidArgument);
  EXPECT_EQ(reason([](privacy::LedgerCharge* c) { c->steps = 0; }), reasons::kInvalidArgument);
  EXPECT_EQ(reason([](privacy::LedgerCharge* c) { c->epsilon = -1; }), reasons::kInvalidArgument);
  EXPECT_EQ(reason([](privacy::LedgerCharge* c) { c->delta = 1; }), reasons::kInvalidArgument);
  for (const int unit : {0, 1, 5, 255}) {
    EXPECT_EQ(reason([unit](privacy::LedgerCharge* c) {
                c->unit = static_cast<privacy::PrivacyUnit>(unit);
              }),
              reasons::kInvalidArgument)
        << unit;
  }
  EXPECT_EQ(reason([](privacy::LedgerCharge* c) { c->subject = std::string(1000, 'x'); }),
            reasons::kLimitExceeded);
  const auto of_units = [&reason](privacy::PrivacyUnit unit, uint64_t round, uint64_t oldest) {
    return reason([&](privacy::LedgerCharge* c) { *c = MakeCharge(unit, round, oldest); });
  };
  EXPECT_EQ(of_units(privacy::PrivacyUnit::kUser, 3, 4), reasons::kInvalidArgument);
  EXPECT_EQ(of_units(privacy::PrivacyUnit::kLesson, limits::kMaxRound, 0),
            reasons::kInvalidArgument);
  EXPECT_EQ(reason([](privacy::LedgerCharge* c) {
              *c = MakeCharge(privacy::PrivacyUnit::kLesson, 3, 3);
              c->curve = {};
            }),
            reasons::kInvalidArgument);
  EXPECT_EQ(ledger_->head().sequence, 0U);
}

// Found by review: such a charge was written, and no start could read the ledger again.
TEST_F(LedgerTest, ASubjectMayBeAnyBytes) {
  privacy::LedgerCharge charge = MakeCharge(1);
  charge.subject = "\xC3\xFF hash";
  ASSERT_TRUE(ledger_->Reserve(charge).ok());
  ASSERT_EQ(Reopen(), "");
  EXPECT_EQ(Entries()[0].charge, charge);
}

TEST_F(LedgerTest, SumsDoNotOverflow) {
  constexpr uint64_t kAlmostAll = std::numeric_limits<uint64_t>::max() - 1;
  privacy::LedgerCharge charge = MakeCharge(1);
  charge.curve.q32.back() = kAlmostAll;
  ASSERT_TRUE(ledger_->Reserve(charge).ok());
  EXPECT_EQ(ReasonOf(ledger_->Reserve(MakeCharge(5)).status()), reasons::kLimitExceeded);
  EXPECT_EQ(ledger_->counter().lessons.for_all.q32.back(), kAlmostAll);
  EXPECT_EQ(Spent(), 1U);
}

TEST_F(LedgerTest, EveryWayToCutOrAlterTheChainIsNoticed) {
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(ledger_->Reserve(MakeCharge(1)).ok());
  }
  const auto restored = [this](const std::function<void(Batch*)>& damage) {
    const std::string copy = (folder_ / "copy").string();
    Close();
    std::filesystem::copy(folder_ / "store", copy, std::filesystem::copy_options::recursive);
    database_ = OpenStore();
    Batch batch;
    damage(&batch);
    Write(std::move(batch));
    const std::string reason = Reopen();
    Close();
    std::filesystem::remove_all(folder_ / "store");
    std::filesystem::rename(copy, folder_ / "store");
    return reason;
  };
  constexpr ColumnFamily kFamily = ColumnFamily::kLedger;
  const auto row = [this](uint64_t sequence) {
    return database_->Get(kFamily, ledger::EntryKey(sequence)).value();
  };
  EXPECT_EQ(restored([](Batch* b) { b->Delete(kFamily, ledger::EntryKey(2)); }),
            reasons::kLedgerBroken);
  EXPECT_EQ(restored([](Batch* b) { b->Delete(kFamily, ledger::EntryKey(4)); }),
            reasons::kLedgerBroken);
  EXPECT_EQ(restored([](Batch* b) { b->Delete(kFamily, ledger::kHeadKey); }),
            reasons::kLedgerBroken);
  EXPECT_EQ(restored([&](Batch* b) { b->Put(kFamily, ledger::EntryKey(2), row(3)); }),
            reasons::kLedgerBroken);
  EXPECT_EQ(restored([&](Batch* b) {
              ledger::LedgerRow altered = ledger::DecodeRow(row(2)).value();
              privacy::LedgerEntry entry = ledger::DecodeEntry(altered.entry).value();
              entry.charge->curve = {};
              altered.entry = ledger::EncodeEntry(entry);
              b->Put(kFamily, ledger::EntryKey(2), ledger::EncodeRow(altered));
            }),
            reasons::kLedgerBroken);
  EXPECT_EQ(restored([&](Batch* b) { b->Put(kFamily, ledger::EntryKey(9), row(4)); }),
            reasons::kLedgerBroken);
  EXPECT_EQ(restored([](Batch* b) { b->DeleteRange(kFamily, "a", "z"); }),
            reasons::kLedgerRolledBack);
  ASSERT_EQ(Reopen(), "");
  EXPECT_EQ(Entries().size(), 4U);
}

TEST_F(LedgerTest, AnOlderStoreBesideTheNewestHeadIsRefused) {
  ASSERT_TRUE(ledger_->Reserve(MakeCharge(1)).ok());
  Close();
  std::filesystem::copy(folder_ / "store", folder_ / "old",
                        std::filesystem::copy_options::recursive);
  ASSERT_EQ(Reopen(), "");
  ASSERT_TRUE(ledger_->Spend(1).ok());
  const std::string newest = ReadFile(HeadFile(), 1000).value();
  Close();
  std::filesystem::remove_all(folder_ / "store");
  std::filesystem::rename(folder_ / "old", folder_ / "store");
  ASSERT_TRUE(WriteFileAtomically(HeadFile(), newest).ok());
  EXPECT_EQ(Reopen(), reasons::kLedgerRolledBack);
}

TEST_F(LedgerTest, AnotherHistoryIsRefused) {
  ASSERT_TRUE(ledger_->Reserve(MakeCharge(1)).ok());
  privacy::LedgerHead other = ledger_->head();
  other.hash[5] ^= 1;
  EXPECT_EQ(Reopen({.floor = other}), reasons::kLedgerRolledBack);
  ASSERT_EQ(Reopen(), "");
  ASSERT_TRUE(WriteFileAtomically(HeadFile(), ledger::FormatHead(other)).ok());
  EXPECT_EQ(Reopen(), reasons::kLedgerRolledBack);
}

TEST_F(LedgerTest, AMissingHeadNeedsAFloor) {
  ASSERT_TRUE(ledger_->Reserve(MakeCharge(1)).ok());
  const privacy::LedgerHead backup = ledger_->head();
  ASSERT_TRUE(ledger_->Spend(1).ok());
  const privacy::LedgerHead newest = ledger_->head();
  std::filesystem::remove(HeadFile());
  EXPECT_EQ(Reopen(), reasons::kLedgerBroken);
  EXPECT_EQ(Reopen({.floor = privacy::LedgerHead{3, newest.hash}}), reasons::kLedgerRolledBack);
  EXPECT_EQ(Reopen({.floor = backup}), "");  // the chain continues after it
  EXPECT_EQ(Reopen(), "");
  EXPECT_EQ(ledger::ParseHead(ReadFile(HeadFile(), 1000).value()).value(), newest);
}

// The entry is written before its head file: a crash in between leaves the file one entry behind.
TEST_F(LedgerTest, AHeadFileThatIsBehindCatchesUp) {
  ASSERT_TRUE(ledger_->Reserve(MakeCharge(1)).ok());
  const std::string behind = ReadFile(HeadFile(), 1000).value();
  ASSERT_TRUE(ledger_->Spend(1).ok());
  const std::string newest = ReadFile(HeadFile(), 1000).value();
  ASSERT_TRUE(WriteFileAtomically(HeadFile(), behind).ok());
  ASSERT_EQ(Reopen(), "");
  EXPECT_EQ(ReadFile(HeadFile(), 1000).value(), newest);
  ASSERT_TRUE(WriteFileAtomically(HeadFile(), "garbage").ok());
  EXPECT_EQ(Reopen(), reasons::kLedgerBroken);
}

// Compares random calls with counters, with reopening in between.
TEST_F(LedgerTest, AgreesWithAModel) {
  Random random(3);
  std::map<uint64_t, int> stage;  // 1 reserved, 2 spent
  uint64_t sequence = 0;
  uint64_t spent = 0;
  for (int step = 0; step < 120; ++step) {
    const uint64_t reservation = 1 + random.Below(sequence + 2);
    switch (random.Below(7)) {
      case 0:
      case 1: {
        const uint64_t charge = 1 + random.Below(1000);
        ASSERT_EQ(ledger_->Reserve(MakeCharge(charge)).value(), ++sequence);
        stage[sequence] = 1;
        spent += charge;
        break;
      }
      case 2:
      case 3: {
        const bool possible = stage.contains(reservation) && stage[reservation] == 1;
        ASSERT_EQ(ledger_->Spend(reservation).ok(), possible);
        if (possible) {
          stage[reservation] = 2;
          ++sequence;
        }
        break;
      }
      case 4:
      case 5: {
        const bool possible = stage.contains(reservation) && stage[reservation] == 2;
        ASSERT_EQ(ledger_->Release(reservation).ok(), possible);
        if (possible) {
          stage.erase(reservation);
          ++sequence;
        }
        break;
      }
      default:
        ASSERT_EQ(Reopen(), "");
    }
    ASSERT_EQ(ledger_->head().sequence, sequence);
    ASSERT_EQ(Spent(), spent);
    ASSERT_EQ(ledger_->totals(privacy::PrivacyUnit::kLesson).unreleased, stage.size());
  }
}

// BLAKE2b-256 (RFC 7693) of 32 zeros and "abc", from an implementation that shares no code with
// ours.
TEST(LedgerRowsTest, TheChainHashIsPlainBlake2b) {
  EXPECT_EQ(ToHex(ledger::ChainHash(Digest{}, "abc")),
            "5db827e5e925e6b933a86596a0446c345c0d74d77f55a751ade5d7c7162eead8");
}

TEST(LedgerRowsTest, AnEntryForAnUnknownUnitIsRefusedByName) {
  privacy::LedgerEntry entry{.sequence = 1, .reservation = 1, .charge = MakeCharge(1)};
  EXPECT_TRUE(ledger::DecodeEntry(ledger::EncodeEntry(entry)).ok());
  for (const int unit : {0, 1, 5}) {
    entry.charge->unit = static_cast<privacy::PrivacyUnit>(unit);
    const absl::Status refused = ledger::DecodeEntry(ledger::EncodeEntry(entry)).status();
    EXPECT_EQ(ReasonOf(refused), reasons::kLedgerBroken);
    EXPECT_THAT(MessageOf(refused), testing::HasSubstr(fmt::format("unknown unit {}", unit)));
  }
}

TEST(LedgerRowsTest, HeadsReadAsTheyWereWritten) {
  privacy::LedgerHead head{.sequence = 42};
  head.hash[31] = 7;
  EXPECT_EQ(ledger::ParseHead(ledger::FormatHead(head)).value(), head);
  for (const char* text : {"", "1", "1 \n", "x 00\n", "1 00\n", "-1 00\n"}) {
    EXPECT_EQ(ReasonOf(ledger::ParseHead(text).status()), reasons::kLedgerBroken) << text;
  }
}

}  // namespace
}  // namespace ruvd::storage
