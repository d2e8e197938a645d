// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Tests the high-water mark and failures of the disk.

#include <algorithm>
#include <fstream>
#include <functional>

#include "base/bytes.h"
#include "base/file.h"
#include "storage/counters/store_incarnation.h"
#include "storage/db/high_water.h"
#include "storage/db/row_key.h"
#include "storage/db/stored_value.h"
#include "tests/campaign/full_disk_files.h"
#include "tests/storage/raw_store.h"
#include "tests/storage/store_fixture.h"

namespace ruvd::storage {
namespace {

namespace fs = std::filesystem;

absl::Status PutSynced(Database& database, std::string_view key) {
  Batch batch;
  batch.Put(ColumnFamily::kMeta, key, std::string(300, 'v'));
  return database.Write(std::move(batch), Durability::kPowerLoss);
}

class RecoveryTest : public StoreTest {
 protected:
  // Returns the logs of the closed store, oldest first.
  std::vector<fs::path> Logs() const {
    std::vector<fs::path> logs;
    for (const auto& entry : fs::directory_iterator(folder_ / "store")) {
      if (entry.path().extension() == ".log") {
        logs.push_back(entry.path());
      }
    }
    std::ranges::sort(logs);
    return logs;
  }
  fs::path Log() const { return Logs().back(); }
  void CutLog(double part) const {
    fs::resize_file(Log(), static_cast<uint64_t>(static_cast<double>(fs::file_size(Log())) * part));
  }
  // Makes a store whose rows are all in the log, and a copy of its folder.
  void MakeStoreInLog() {
    auto database = OpenStore();
    for (int i = 0; i < 50; ++i) {
      ASSERT_TRUE(PutSynced(*database, std::to_string(i)).ok());
    }
    database.reset();
    fs::copy(Options().path, folder_ / "whole", fs::copy_options::recursive);
  }
  void PutWholeStoreBack() {
    fs::remove_all(Options().path);
    fs::copy(folder_ / "whole", Options().path, fs::copy_options::recursive);
  }
  std::string Mark() const { return (folder_ / "store" / db::kHighWaterFile).string(); }
};

TEST_F(RecoveryTest, AWholeLogIsNoLoss) {
  for (int i = 0; i < 3; ++i) {
    auto database = OpenStore();
    EXPECT_FALSE(database->recovery().loss());
    EXPECT_EQ(database->Health(), StoreHealth::kOk);
    ASSERT_TRUE(PutSynced(*database, std::to_string(i)).ok());
  }
}

TEST_F(RecoveryTest, ACutLogIsReportedOnceWithTheNumberOfMissingChanges) {
  auto database = OpenStore();
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(PutSynced(*database, std::to_string(i)).ok());
  }
  database.reset();
  CutLog(0.5);
  database = OpenStore();
  const RecoveryReport& report = database->recovery();
  EXPECT_FALSE(report.mark_damaged);
  EXPECT_GT(report.missing(), 10U);
  EXPECT_LT(report.missing(), 40U);
  EXPECT_EQ(database->Health(), StoreHealth::kRecoveredWithLoss);
  EXPECT_EQ(HealthName(database->Health()), "recovered_with_loss");
  EXPECT_TRUE(report.closed);
  const uint64_t missing = report.missing();
  EXPECT_TRUE(PutSynced(*database, "after").ok());
  database.reset();
  database = OpenStore();
  EXPECT_FALSE(database->recovery().loss());
  EXPECT_TRUE(database->Get(ColumnFamily::kMeta, "after").ok());
  ASSERT_TRUE(database->recovery().last_loss.has_value());  // remembered, not repeated
  EXPECT_EQ(database->recovery().last_loss->changes, missing);
}

// A client that follows the log of changes would miss those that get the lost numbers.
TEST_F(RecoveryTest, ALossBeginsANewLife) {
  auto database = OpenStore();
  const uint64_t life = StoreIncarnation(*database).value();
  ASSERT_TRUE(PutSynced(*database, "a").ok());
  database.reset();
  database = OpenStore();
  EXPECT_EQ(StoreIncarnation(*database).value(), life);
  ASSERT_TRUE(PutSynced(*database, "b").ok());
  database.reset();
  fs::resize_file(Log(), fs::file_size(Log()) - 1);
  database = OpenStore();
  ASSERT_TRUE(database->recovery().loss());
  EXPECT_NE(StoreIncarnation(*database).value(), life);
}

// A full disk prevents recording the loss, but the lost numbers are given again all the same.
TEST_F(RecoveryTest, ALossOnAFullDiskEndsTheLifeAllTheSame) {
  auto database = OpenStore();
  const uint64_t life = StoreIncarnation(*database).value();
  ASSERT_TRUE(PutSynced(*database, "a").ok());
  database.reset();
  fs::resize_file(Log(), fs::file_size(Log()) - 1);
  free_bytes_ = 0;
  database = OpenStore();
  ASSERT_TRUE(database->recovery().loss());
  EXPECT_FALSE(database->recovery().remembered);
  EXPECT_NE(StoreIncarnation(*database).value(), life);
  database.reset();
  free_bytes_ = uint64_t{1} << 40;
  database = OpenStore();
  EXPECT_TRUE(database->recovery().loss());
  EXPECT_TRUE(database->recovery().remembered);
  EXPECT_NE(StoreIncarnation(*database).value(), life);
}

TEST_F(RecoveryTest, ADamagedLifeIsReplaced) {
  auto database = OpenStore();
  const uint64_t life = StoreIncarnation(*database).value();
  ASSERT_TRUE(PutOne(*database, ColumnFamily::kDefault, kStoreLifeRow, "short").ok());
  const uint64_t second = StoreIncarnation(*database).value();
  EXPECT_NE(second, life);
  database.reset();
  DamageRows(Options().path, {{ColumnFamily::kDefault, kStoreLifeRow}});
  database = OpenStore();
  const auto third = StoreIncarnation(*database);
  ASSERT_TRUE(third.ok()) << third.status();
  EXPECT_NE(*third, second);
  EXPECT_EQ(StoreIncarnation(*database).value(), *third);
}

TEST_F(RecoveryTest, EvenTheLastUnsyncedChangeIsMissedAfterAProperClose) {
  auto database = OpenStore();
  ASSERT_TRUE(PutSynced(*database, "a").ok());
  ASSERT_TRUE(PutOne(*database, ColumnFamily::kMeta, "b", "unsynced").ok());
  database.reset();
  fs::resize_file(Log(), fs::file_size(Log()) - 1);
  database = OpenStore();
  EXPECT_EQ(database->recovery().missing(), 1U);
}

TEST_F(RecoveryTest, ALogLostFromItsBeginningIsNotANewStore) {
  MakeStoreInLog();
  const std::vector<std::function<void()>> damages = {
      [&] { fs::resize_file(Log(), 0); }, [&] { fs::remove(Log()); },
      [&] {
        std::string bytes = ReadFile(Log(), 1 << 20).value();
        bytes[0] = static_cast<char>(bytes[0] ^ 1);
        ASSERT_TRUE(WriteFileAtomically(Log(), bytes).ok());
      }};
  for (size_t i = 0; i < damages.size(); ++i) {
    PutWholeStoreBack();
    damages[i]();
    for (int open = 0; open < 2; ++open) {  // the first one must not hide it from the second
      const auto opened = Database::Open(Options());
      EXPECT_EQ(ReasonOf(opened.status()), reasons::kStoreCorrupt) << i << " " << opened.status();
    }
  }
  PutWholeStoreBack();
  EXPECT_TRUE(OpenStore()->Get(ColumnFamily::kMeta, "49").ok());
}

TEST_F(RecoveryTest, AnOpenThatFailsLeavesTheLossToBeFound) {
  MakeStoreInLog();
  const privacy::SealKey right = key_;
  CutLog(0.5);
  key_ = privacy::SealKey::Generate();
  EXPECT_EQ(ReasonOf(Database::Open(Options()).status()), reasons::kSealBroken);
  key_ = right;
  const auto database = OpenStore();
  EXPECT_GT(database->recovery().missing(), 10U);
}

TEST_F(RecoveryTest, AnOpenThatCannotRememberALossLeavesItToTheNext) {
  MakeStoreInLog();
  CutLog(0.5);
  free_bytes_ = 0;
  auto database = OpenStore();
  const uint64_t missing = database->recovery().missing();
  EXPECT_GT(missing, 10U);
  free_bytes_ = uint64_t{1} << 40;
  clock_.Advance(std::chrono::seconds(10));  // written to before it is opened again
  ASSERT_TRUE(PutSynced(*database, "later").ok());
  database.reset();
  EXPECT_EQ(OpenStore()->recovery().missing(), missing);
  EXPECT_FALSE(OpenStore()->recovery().loss());
}

TEST_F(RecoveryTest, AMarkThatIsGoneIsStillGoneAfterAnOpenThatFailed) {
  MakeStoreInLog();
  fs::remove(Mark());
  const privacy::SealKey right = key_;
  key_ = privacy::SealKey::Generate();
  EXPECT_EQ(ReasonOf(Database::Open(Options()).status()), reasons::kSealBroken);
  key_ = right;
  EXPECT_TRUE(OpenStore()->recovery().mark_damaged);
  EXPECT_FALSE(OpenStore()->recovery().loss());
}

// The disk of a first start becomes full at some byte; what is there by then must not count as
// damage.
TEST_F(RecoveryTest, AFirstOpenThatIsInterruptedDamagesNoMark) {
  int interrupted = 0;
  for (uint64_t bytes = 100;; bytes += 3'000) {
    fs::remove_all(Options().path);
    DatabaseOptions options = Options();
    options.file_system = std::make_shared<campaign::FullDiskFiles>(bytes);
    if (Database::Open(options).ok()) {
      break;
    }
    ++interrupted;
    const auto database = OpenStore();
    ASSERT_NE(database, nullptr);
    EXPECT_FALSE(database->recovery().loss()) << bytes;
  }
  EXPECT_GE(interrupted, 3);
}

// The mark knows only how far the newest log should reach.
TEST_F(RecoveryTest, ALogThatIsGoneBeforeTheNewestIsNotPassedOver) {
  DatabaseOptions options = Options();
  options.memtable_bytes = 64 << 10;
  auto database = OpenStore(options);
  Batch batch;
  batch.Put(ColumnFamily::kVec, "first", "key made");
  ASSERT_TRUE(database->Write(std::move(batch), Durability::kPowerLoss).ok());
  ASSERT_TRUE(PutSynced(*database, "first").ok());
  ASSERT_TRUE(database->Flush().ok());
  batch = {};
  batch.Put(ColumnFamily::kVec, "row", "in the oldest log alone");
  ASSERT_TRUE(database->Write(std::move(batch), Durability::kPowerLoss).ok());
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(
        PutOne(*database, ColumnFamily::kMeta, std::to_string(i), std::string(300, 'v')).ok());
  }
  ASSERT_TRUE(PutSynced(*database, "last").ok());
  database.reset();
  ASSERT_GT(Logs().size(), 1U);
  fs::copy(options.path, folder_ / "whole", fs::copy_options::recursive);
  fs::remove(Logs().front());
  EXPECT_EQ(ReasonOf(Database::Open(options).status()), reasons::kStoreCorrupt);
  PutWholeStoreBack();
  fs::resize_file(Logs().front(), fs::file_size(Logs().front()) / 2);
  const auto shorter = Database::Open(options);
  EXPECT_TRUE(!shorter.ok() || (*shorter)->recovery().loss());
  PutWholeStoreBack();
  EXPECT_EQ(OpenStore(options)->Get(ColumnFamily::kVec, "row").value(), "in the oldest log alone");
}

TEST_F(RecoveryTest, ADamagedOrMissingMarkIsReported) {
  OpenStore().reset();
  ASSERT_TRUE(WriteFileAtomically(Mark(), "not a mark").ok());
  auto database = OpenStore();
  EXPECT_TRUE(database->recovery().mark_damaged);
  EXPECT_EQ(database->Health(), StoreHealth::kRecoveredWithLoss);
  database.reset();
  EXPECT_FALSE(OpenStore()->recovery().loss());
  fs::remove(Mark());
  EXPECT_TRUE(OpenStore()->recovery().mark_damaged);
}

TEST_F(RecoveryTest, OneDamagedSlotLeavesTheOther) {
  auto database = OpenStore();
  ASSERT_TRUE(PutSynced(*database, "a").ok());
  database.reset();
  for (const size_t slot : {0U, 1U}) {
    std::string bytes = ReadFile(Mark(), 1 << 20).value();
    const auto whole = db::DecodeHighWater(bytes.substr(slot * db::kHighWaterSlotSpacing, 48));
    ASSERT_TRUE(whole.has_value()) << slot;
    bytes[slot * db::kHighWaterSlotSpacing + 20] ^= 1;
    const std::string before = ReadFile(Mark(), 1 << 20).value();
    ASSERT_TRUE(WriteFileAtomically(Mark(), bytes).ok());
    EXPECT_FALSE(OpenStore()->recovery().loss()) << slot;
    ASSERT_TRUE(WriteFileAtomically(Mark(), before).ok());
  }
}

TEST(HighWaterTest, TheBytesOfASlot) {
  const std::string slot = db::EncodeHighWater({.counter = 7, .sequence = 258, .clean = true});
  EXPECT_EQ(ToHex(AsBytes(slot)),
            "5255564448574d31070000000000000002010000000000000100000000000000"
            "a5dcb8770c6ec716779ff08dc12f8dc2");
  for (size_t bit = 0; bit < slot.size() * 8; ++bit) {
    std::string altered = slot;
    altered[bit / 8] = static_cast<char>(altered[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_EQ(db::DecodeHighWater(altered), std::nullopt);
  }
}

TEST_F(RecoveryTest, AMarkIsWholeFromTheMomentItHasItsName) {
  fs::create_directories(folder_ / "store");
  rocksdb::FileSystem& files = *rocksdb::FileSystem::Default();
  EXPECT_EQ(db::HighWaterFile::Open(files, Options().path)->file, nullptr);
  ASSERT_TRUE(db::HighWaterFile::Create(files, Options().path).ok());
  const auto opened = db::HighWaterFile::Open(files, Options().path);
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_EQ(opened->mark, (db::HighWater{.counter = 1, .sequence = 0, .clean = false}));
}

TEST_F(RecoveryTest, AFullDiskRefusesWritesServesReadsAndComesBackWhenReopened) {
  int filled = 0;
  for (uint64_t bytes = 500'000; bytes < 3'000'000; bytes += 300'000) {
    auto disk = std::make_shared<campaign::FullDiskFiles>(bytes);
    DatabaseOptions options = Options();
    options.file_system = disk;
    options.memtable_bytes = 64 << 10;
    fs::remove_all(options.path);
    auto opened = Database::Open(options);
    if (!opened.ok()) {
      continue;  // even a new store does not fit
    }
    ++filled;
    int acknowledged = 0;
    while (PutSynced(**opened, std::to_string(acknowledged)).ok()) {
      ++acknowledged;
    }
    EXPECT_EQ((*opened)->Health(), StoreHealth::kFailed);
    for (int i = 0; i < acknowledged; ++i) {
      EXPECT_TRUE((*opened)->Get(ColumnFamily::kMeta, std::to_string(i)).ok()) << i;
    }
    disk->Free();  // space alone does not repair it: RocksDB may have lost the end of its log
    EXPECT_FALSE(PutSynced(**opened, "late").ok());
    opened->reset();
    auto database = OpenStore(options);
    ASSERT_NE(database, nullptr);
    for (int i = 0; i < acknowledged; ++i) {
      EXPECT_TRUE(database->Get(ColumnFamily::kMeta, std::to_string(i)).ok()) << i;
    }
    EXPECT_TRUE(PutSynced(*database, "late").ok());
  }
  EXPECT_GE(filled, 3);
}

}  // namespace
}  // namespace ruvd::storage
