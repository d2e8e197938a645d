// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/db/database.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <rocksdb/db.h>
#include <sys/stat.h>

#include <fstream>
#include <sstream>
#include <thread>

#include "ruvd/storage/v1/storage.pb.h"
#include "storage/db/row_key.h"
#include "storage/db/row_sweep.h"
#include "storage/reasons.h"
#include "tests/storage/store_fixture.h"

namespace ruvd::storage {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class DatabaseTest : public StoreTest {
 protected:
  static std::vector<std::string> Keys(const Database& database, ColumnFamily family,
                                       std::string_view start = "", std::string_view end = "",
                                       size_t limit = 1000) {
    std::vector<std::string> keys;
    const absl::Status status =
        database.Scan(family, start, end, [&](const RowView& row) -> absl::StatusOr<bool> {
          keys.emplace_back(row.key);
          return keys.size() < limit;
        });
    EXPECT_TRUE(status.ok()) << status;
    return keys;
  }

  // Opens the closed store with RocksDB itself, as an attacker or another program would.
  void WithRawStore(
      const std::function<void(rocksdb::DB&, std::vector<rocksdb::ColumnFamilyHandle*>&)>& body) {
    const std::string path = Options().path;
    std::vector<std::string> names;
    ASSERT_TRUE(rocksdb::DB::ListColumnFamilies({}, path, &names).ok());
    std::vector<rocksdb::ColumnFamilyDescriptor> descriptors;
    for (const ColumnFamilyInfo& info : kColumnFamilies) {
      descriptors.emplace_back(std::string(info.name), rocksdb::ColumnFamilyOptions());
    }
    ASSERT_EQ(names.size(), descriptors.size());
    std::vector<rocksdb::ColumnFamilyHandle*> handles;
    rocksdb::DB* raw = nullptr;
    ASSERT_TRUE(rocksdb::DB::Open({}, path, descriptors, &handles, &raw).ok());
    std::unique_ptr<rocksdb::DB> database(raw);
    body(*database, handles);
    for (auto* handle : handles) {
      ASSERT_TRUE(database->DestroyColumnFamilyHandle(handle).ok());
    }
    ASSERT_TRUE(database->Close().ok());
  }
};

TEST_F(DatabaseTest, KeepsRowsOverACloseAndReopen) {
  auto database = OpenStore();
  ASSERT_TRUE(PutOne(*database, ColumnFamily::kMeta, "a", "one", 3).ok());
  ASSERT_TRUE(PutOne(*database, ColumnFamily::kItem, "a", std::string(5000, 'x')).ok());
  ASSERT_TRUE(database->Close().ok());
  database = OpenStore();
  EXPECT_EQ(database->Get(ColumnFamily::kMeta, "a", 3).value(), "one");
  EXPECT_EQ(database->Get(ColumnFamily::kItem, "a").value(), std::string(5000, 'x'));
  EXPECT_EQ(ReasonOf(database->Get(ColumnFamily::kMeta, "b").status()), reasons::kNotFound);
  EXPECT_EQ(ReasonOf(database->Get(ColumnFamily::kSlot, "a").status()), reasons::kNotFound);
}

TEST_F(DatabaseTest, FolderIsForItsOwnerOnly) {
  auto database = OpenStore();
  struct stat info = {};
  ASSERT_EQ(::stat(database->path().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700);
}

TEST_F(DatabaseTest, ABatchDeletesAndPutsTogether) {
  auto database = OpenStore();
  ASSERT_TRUE(PutOne(*database, ColumnFamily::kMeta, "old", "1").ok());
  Batch batch;
  EXPECT_TRUE(batch.empty());
  batch.Delete(ColumnFamily::kMeta, "old");
  batch.Put(ColumnFamily::kMeta, "new", "2");
  batch.Put(ColumnFamily::kOplog, RowKey().U64(1).Take(), "moved");
  ASSERT_TRUE(database->Write(std::move(batch), Durability::kPowerLoss).ok());
  EXPECT_THAT(Keys(*database, ColumnFamily::kMeta), ElementsAre("new"));
  EXPECT_THAT(Keys(*database, ColumnFamily::kOplog), ElementsAre(RowKey().U64(1).Take()));
}

TEST_F(DatabaseTest, ARangeIsDeletedInTheOrderOfItsBatch) {
  auto database = OpenStore();
  for (const char* key : {"a", "b", "c", "d"}) {
    ASSERT_TRUE(PutOne(*database, ColumnFamily::kWitness, key, key).ok());
  }
  ASSERT_TRUE(PutOne(*database, ColumnFamily::kEdge, "b", "b").ok());
  Batch batch;
  batch.DeleteRange(ColumnFamily::kWitness, "b", "d");
  batch.Put(ColumnFamily::kWitness, "c", "again");
  ASSERT_TRUE(database->Write(std::move(batch), Durability::kPowerLoss).ok());
  database.reset();
  database = OpenStore();
  EXPECT_THAT(Keys(*database, ColumnFamily::kWitness), ElementsAre("a", "c", "d"));
  EXPECT_EQ(database->Get(ColumnFamily::kWitness, "c").value(), "again");
  EXPECT_THAT(Keys(*database, ColumnFamily::kEdge), ElementsAre("b"));
}

TEST_F(DatabaseTest, AStoreFromBeforeAFamilyGetsIt) {
  ASSERT_TRUE(PutOne(*OpenStore(), ColumnFamily::kMeta, "a", "1").ok());
  WithRawStore([](rocksdb::DB& raw, std::vector<rocksdb::ColumnFamilyHandle*>& handles) {
    for (const ColumnFamily family : {ColumnFamily::kPolicy, ColumnFamily::kLedger}) {
      ASSERT_TRUE(raw.DropColumnFamily(handles[static_cast<size_t>(family)]).ok());
    }
  });
  auto database = OpenStore();
  ASSERT_TRUE(PutOne(*database, ColumnFamily::kLedger, "a", "2").ok());
  database.reset();
  database = OpenStore();
  EXPECT_EQ(database->Get(ColumnFamily::kMeta, "a").value(), "1");
  EXPECT_EQ(database->Get(ColumnFamily::kLedger, "a").value(), "2");
}

TEST_F(DatabaseTest, ScansARangeInOrderAndStopsWhenTold) {
  auto database = OpenStore();
  for (const char* key : {"d", "a", "c", "b"}) {
    ASSERT_TRUE(PutOne(*database, ColumnFamily::kPeers, key, key).ok());
  }
  EXPECT_THAT(Keys(*database, ColumnFamily::kPeers), ElementsAre("a", "b", "c", "d"));
  EXPECT_THAT(Keys(*database, ColumnFamily::kPeers, "b", "d"), ElementsAre("b", "c"));
  EXPECT_THAT(Keys(*database, ColumnFamily::kPeers, "", "", 2), ElementsAre("a", "b"));
  std::string backward;
  const auto note = [&backward](const RowView& row) -> absl::StatusOr<bool> {
    backward += row.value;
    return backward.size() < 3;
  };
  ASSERT_TRUE(database->ScanBackward(ColumnFamily::kPeers, "b", "d", note).ok());
  EXPECT_EQ(backward, "cb");
  ASSERT_TRUE(database->ScanBackward(ColumnFamily::kPeers, "", "", note).ok());
  EXPECT_EQ(backward, "cbd");
  const absl::Status status = database->Scan(
      ColumnFamily::kPeers, "", "",
      [](const RowView&) -> absl::StatusOr<bool> { return absl::AbortedError("enough"); });
  EXPECT_EQ(status.code(), absl::StatusCode::kAborted);
}

TEST_F(DatabaseTest, SecondOpenOfTheSameFolderIsLocked) {
  auto database = OpenStore();
  EXPECT_EQ(ReasonOf(Database::Open(Options()).status()), reasons::kStoreLocked);
  database.reset();
  EXPECT_TRUE(Database::Open(Options()).ok());
}

TEST_F(DatabaseTest, RefusesAnotherSealKey) {
  OpenStore().reset();
  key_ = privacy::SealKey::Generate();
  const auto reopened = Database::Open(Options());
  EXPECT_EQ(ReasonOf(reopened.status()), reasons::kSealBroken);
  EXPECT_THAT(MessageOf(reopened.status()), HasSubstr("key file"));
}

TEST_F(DatabaseTest, IsBoundToTheModelOfItsFirstOpen) {
  DatabaseOptions options = Options();
  options.model_hash = Sha256("model a");
  OpenStore(options).reset();
  OpenStore(options).reset();
  OpenStore(Options()).reset();  // tools that only look need no model
  options.model_hash = Sha256("model b");
  EXPECT_EQ(ReasonOf(Database::Open(options).status()), reasons::kStoreForOtherModel);
}

TEST_F(DatabaseTest, RefusesEveryOtherSchema) {
  OpenStore().reset();
  WithRawStore([](rocksdb::DB& raw, auto&) {
    v1::StoreFormat format;
    format.set_schema(kSchemaVersion + 1);
    ASSERT_TRUE(raw.Put({}, kFormatRow, format.SerializeAsString()).ok());
  });
  const auto refused = Database::Open(Options());
  EXPECT_EQ(ReasonOf(refused.status()), reasons::kSchemaTooNew);
  EXPECT_THAT(MessageOf(refused.status()), HasSubstr("has schema 2"));
}

// ruvd 0.1 named its schema in the row "schema", as a protobuf with fields 1 and 2: "08 02 10 02".
TEST_F(DatabaseTest, RefusesAStoreOfVersion01AndSaysWhatToDo) {
  OpenStore().reset();
  WithRawStore([](rocksdb::DB& raw, auto&) {
    ASSERT_TRUE(raw.Delete({}, kFormatRow).ok());
    ASSERT_TRUE(raw.Put({}, "schema", "\x08\x02\x10\x02").ok());
  });
  const auto refused = Database::Open(Options());
  EXPECT_EQ(ReasonOf(refused.status()), reasons::kSchemaTooOld);
  EXPECT_THAT(MessageOf(refused.status()), HasSubstr("was written by ruvd 0.1"));
  EXPECT_THAT(MessageOf(refused.status()), HasSubstr("an empty data folder"));
}

TEST_F(DatabaseTest, RefusesADamagedOrMissingFormatRow) {
  OpenStore().reset();
  WithRawStore([](rocksdb::DB& raw, auto&) { ASSERT_TRUE(raw.Put({}, kFormatRow, "\xFF").ok()); });
  EXPECT_EQ(ReasonOf(Database::Open(Options()).status()), reasons::kStoreCorrupt);
  WithRawStore([](rocksdb::DB& raw, auto&) { ASSERT_TRUE(raw.Delete({}, kFormatRow).ok()); });
  EXPECT_EQ(ReasonOf(Database::Open(Options()).status()), reasons::kStoreCorrupt);
}

TEST_F(DatabaseTest, AlteredMovedOrOldValuesAreNeverReturned) {
  auto database = OpenStore();
  ASSERT_TRUE(PutOne(*database, ColumnFamily::kMeta, "flip", "value").ok());
  ASSERT_TRUE(PutOne(*database, ColumnFamily::kMeta, "from", "value").ok());
  ASSERT_TRUE(PutOne(*database, ColumnFamily::kMeta, "old", "first", 1).ok());
  database.reset();
  const auto meta = static_cast<size_t>(ColumnFamily::kMeta);
  std::string old_value;
  WithRawStore([&](rocksdb::DB& raw, auto& handles) {
    std::string value;
    ASSERT_TRUE(raw.Get({}, handles[meta], "flip", &value).ok());
    value.back() = static_cast<char>(value.back() ^ 1);
    ASSERT_TRUE(raw.Put({}, handles[meta], "flip", value).ok());
    ASSERT_TRUE(raw.Get({}, handles[meta], "from", &value).ok());
    ASSERT_TRUE(raw.Put({}, handles[meta], "moved", value).ok());
    ASSERT_TRUE(raw.Put({}, handles[meta], "short", "\x01").ok());
    ASSERT_TRUE(raw.Get({}, handles[meta], "old", &old_value).ok());
  });
  database = OpenStore();
  ASSERT_TRUE(PutOne(*database, ColumnFamily::kMeta, "old", "second", 2).ok());
  database.reset();
  WithRawStore([&](rocksdb::DB& raw, auto& handles) {
    ASSERT_TRUE(raw.Put({}, handles[meta], "old", old_value).ok());
  });
  database = OpenStore();
  for (const char* key : {"flip", "moved", "short"}) {
    EXPECT_EQ(ReasonOf(database->Get(ColumnFamily::kMeta, key).status()), reasons::kSealBroken);
  }
  EXPECT_EQ(ReasonOf(database->Get(ColumnFamily::kMeta, "old", 2).status()), reasons::kSealBroken);
  EXPECT_EQ(database->Get(ColumnFamily::kMeta, "from").value(), "value");
  const absl::Status scan =
      database->Scan(ColumnFamily::kMeta, "", "", [](const RowView&) { return true; });
  EXPECT_EQ(ReasonOf(scan), reasons::kSealBroken);
}

TEST_F(DatabaseTest, NoPlaintextReachesTheDisk) {
  constexpr char kCanary[] = "CANARY-the-users-own-words";
  auto database = OpenStore();
  for (const ColumnFamilyInfo& info : kColumnFamilies) {
    if (info.family != ColumnFamily::kDefault && info.family != ColumnFamily::kKey) {
      ASSERT_TRUE(PutOne(*database, info.family, "k",
                         std::string(kCanary) + std::string(3000, 'z') + kCanary)
                      .ok());
    }
  }
  ASSERT_TRUE(database->Flush().ok());
  ASSERT_TRUE(PutOne(*database, ColumnFamily::kTrajectory, "log only", kCanary).ok());
  database.reset();
  size_t bytes = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_)) {
    if (!entry.is_regular_file()) {
      continue;
    }
    std::stringstream contents;
    contents << std::ifstream(entry.path(), std::ios::binary).rdbuf();
    bytes += contents.str().size();
    EXPECT_EQ(contents.str().find("CANARY"), std::string::npos) << entry.path();
    EXPECT_EQ(contents.str().find(std::string(64, 'z')), std::string::npos) << entry.path();
  }
  EXPECT_GT(bytes, 30000U);  // the values are there, sealed
}

TEST_F(DatabaseTest, SoftReserveStopsBulkDataOnlyAndRecoversByItself) {
  auto database = OpenStore();
  free_bytes_ = 1900;
  clock_.Advance(limits::kReserveProbeInterval);
  const absl::Status refused = PutOne(*database, ColumnFamily::kVec, "v", "x");
  EXPECT_EQ(ReasonOf(refused), reasons::kDiskFull);
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(database->Health(), StoreHealth::kPatternsStopped);
  EXPECT_TRUE(PutOne(*database, ColumnFamily::kConsent, "c", "x").ok());
  Batch erase;  // deleting frees space
  erase.Delete(ColumnFamily::kVec, "v");
  EXPECT_TRUE(database->Write(std::move(erase), Durability::kProcessCrash).ok());
  free_bytes_ = 1 << 20;
  clock_.Advance(limits::kReserveProbeInterval);
  EXPECT_TRUE(PutOne(*database, ColumnFamily::kVec, "v", "x").ok());
  EXPECT_EQ(database->Health(), StoreHealth::kOk);
}

TEST_F(DatabaseTest, HardReserveRefusesEveryWriteButServesReads) {
  auto database = OpenStore();
  ASSERT_TRUE(PutOne(*database, ColumnFamily::kConsent, "c", "kept").ok());
  free_bytes_ = 999;
  clock_.Advance(limits::kReserveProbeInterval);
  EXPECT_EQ(ReasonOf(PutOne(*database, ColumnFamily::kConsent, "c", "x")), reasons::kStoreReadOnly);
  EXPECT_EQ(database->Health(), StoreHealth::kReadOnly);
  EXPECT_EQ(HealthName(database->Health()), "read_only");
  EXPECT_EQ(database->Get(ColumnFamily::kConsent, "c").value(), "kept");
  EXPECT_TRUE(database->failure().ok());
  free_bytes_ = 1 << 20;
  clock_.Advance(limits::kReserveProbeInterval);
  EXPECT_TRUE(PutOne(*database, ColumnFamily::kConsent, "c", "x").ok());
}

// Otherwise a full disk could never be emptied through the store.
TEST_F(DatabaseTest, DeletionsAreWrittenBelowTheHardReserve) {
  auto database = OpenStore();
  ASSERT_TRUE(PutOne(*database, ColumnFamily::kState, "a", "x").ok());
  free_bytes_ = 0;
  clock_.Advance(limits::kReserveProbeInterval);
  Batch mixed;
  mixed.MarkFreesSpace();
  mixed.Delete(ColumnFamily::kState, "a");
  mixed.Put(ColumnFamily::kState, "b", "x");
  EXPECT_EQ(ReasonOf(database->Write(std::move(mixed), Durability::kPowerLoss)),
            reasons::kStoreReadOnly);
  Batch deletions;
  deletions.MarkFreesSpace();
  deletions.Delete(ColumnFamily::kState, "a");
  deletions.DeleteRange(ColumnFamily::kState, "b", "c");
  EXPECT_TRUE(database->Write(std::move(deletions), Durability::kPowerLoss).ok());
  EXPECT_FALSE(database->Contains(ColumnFamily::kState, "a").value());
}

TEST_F(DatabaseTest, AFullDiskAtOpenStillServesReads) {
  auto database = OpenStore();
  ASSERT_TRUE(PutOne(*database, ColumnFamily::kConsent, "c", "kept").ok());
  database.reset();
  free_bytes_ = 0;
  database = OpenStore();
  EXPECT_EQ(database->Get(ColumnFamily::kConsent, "c").value(), "kept");
  EXPECT_EQ(ReasonOf(PutOne(*database, ColumnFamily::kConsent, "c", "x")), reasons::kStoreReadOnly);
}

TEST_F(DatabaseTest, ReserveIsProbedByTimeAndByBytesWritten) {
  DatabaseOptions options = Options();
  options.soft_reserve_bytes = limits::kSoftReserveBytes;
  options.hard_reserve_bytes = limits::kHardReserveBytes;
  auto database = OpenStore(options);
  clock_.Advance(limits::kReserveProbeInterval);
  ASSERT_TRUE(PutOne(*database, ColumnFamily::kMeta, "a", "x").ok());
  const int before = probes_;
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(PutOne(*database, ColumnFamily::kMeta, "a", "x").ok());
  }
  EXPECT_EQ(probes_, before);
  ASSERT_TRUE(
      PutOne(*database, ColumnFamily::kMeta, "b", std::string(limits::kReserveProbeBytes, 'x'))
          .ok());
  ASSERT_TRUE(PutOne(*database, ColumnFamily::kMeta, "a", "x").ok());
  EXPECT_EQ(probes_, before + 1);
}

TEST_F(DatabaseTest, ALargeWriteMayNotJumpOverTheReserve) {
  free_bytes_ = 100'000;
  auto database = OpenStore();
  EXPECT_EQ(ReasonOf(PutOne(*database, ColumnFamily::kConsent, "c", std::string(99'500, 'x'))),
            reasons::kStoreReadOnly);
  EXPECT_TRUE(PutOne(*database, ColumnFamily::kConsent, "c", std::string(9'000, 'x')).ok());
}

TEST_F(DatabaseTest, RefusesRowsAndBatchesOverTheLimits) {
  auto database = OpenStore();
  EXPECT_EQ(ReasonOf(PutOne(*database, ColumnFamily::kMeta,
                            std::string(limits::kMaxRowKeyBytes + 1, 'k'), "x")),
            reasons::kLimitExceeded);
  EXPECT_EQ(ReasonOf(PutOne(*database, ColumnFamily::kMeta, "k",
                            std::string(limits::kMaxRowValueBytes + 1, 'v'))),
            reasons::kLimitExceeded);
  Batch batch;
  for (int i = 0; i < 5; ++i) {
    batch.Put(ColumnFamily::kMeta, std::to_string(i), std::string(limits::kMaxRowValueBytes, 'v'));
  }
  EXPECT_EQ(ReasonOf(database->Write(std::move(batch), Durability::kProcessCrash)),
            reasons::kLimitExceeded);
  EXPECT_THAT(Keys(*database, ColumnFamily::kMeta), ElementsAre());
}

TEST_F(DatabaseTest, ReportsAFolderThatCannotBeMade) {
  std::ofstream(folder_ / "file") << "x";
  DatabaseOptions options = Options();
  options.path = (folder_ / "file" / "store").string();
  EXPECT_EQ(ReasonOf(Database::Open(options).status()), reasons::kFileUnwritable);
}

TEST_F(DatabaseTest, ManyThreadsWriteAndRead) {
  auto database = OpenStore();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&database, t] {
      for (int i = 0; i < 200; ++i) {
        const std::string key = std::to_string(t) + "/" + std::to_string(i);
        EXPECT_TRUE(PutOne(*database, ColumnFamily::kPeers, key, key).ok());
        EXPECT_EQ(database->Get(ColumnFamily::kPeers, key).value(), key);
        EXPECT_EQ(database->Health(), StoreHealth::kOk);
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(Keys(*database, ColumnFamily::kPeers).size(), 800U);
}

TEST(FreeBytesTest, AsksTheFileSystem) {
  EXPECT_GT(FreeBytesOfFileSystem("/").value(), 0U);
  EXPECT_EQ(ReasonOf(FreeBytesOfFileSystem("/no/such/folder").status()), reasons::kFileUnreadable);
}

RC_GTEST_PROP(RowKeyTest, ByteOrderIsNumberOrder, (uint64_t a, uint64_t b)) {
  const std::string key_a = RowKey().U64(a).Take();
  const std::string key_b = RowKey().U64(b).Take();
  RC_ASSERT((key_a < key_b) == (a < b));
  RC_ASSERT(ReadKeyU64(key_a, 0) == a);
  RC_ASSERT(!ReadKeyU64(key_a, 1).has_value());
}

RC_GTEST_PROP(RowKeyTest, EndOfPrefixIsAfterEveryKeyOfThePrefix,
              (const std::string& prefix, const std::string& rest)) {
  const std::string end = EndOfPrefix(prefix);
  RC_ASSERT(end.empty() || prefix + rest < end);
  RC_ASSERT(end.empty() || end > prefix);
}

}  // namespace
}  // namespace ruvd::storage
