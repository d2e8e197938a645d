// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Tests data keys: scopes, rotation, erasure, and the node's key above them.

#include <thread>

#include "base/bytes.h"
#include "storage/db/key_record.h"
#include "storage/db/key_ring.h"
#include "storage/db/row_key.h"
#include "storage/db/stored_value.h"
#include "storage/reasons.h"
#include "tests/storage/hooked_files.h"
#include "tests/storage/raw_store.h"
#include "tests/storage/store_fixture.h"

namespace ruvd::storage {
namespace {

using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

class DataKeyTest : public StoreTest {
 protected:
  static absl::Status Put(Database& database, ColumnFamily family, std::string_view key,
                          std::string_view value, const KeyScope& scope) {
    Batch batch;
    batch.Put(family, key, value, 0, scope);
    return database.Write(std::move(batch), Durability::kPowerLoss);
  }
  static size_t Count(const Database& database, DataKeyInfo::State state) {
    const auto keys = database.DataKeys();
    return static_cast<size_t>(
        std::ranges::count_if(keys, [&](const DataKeyInfo& key) { return key.state == state; }));
  }
  static std::vector<std::string> Keys(const Database& database, ColumnFamily family) {
    std::vector<std::string> keys;
    EXPECT_TRUE(database
                    .Scan(family, "", "",
                          [&](const RowView& row) -> absl::StatusOr<bool> {
                            keys.emplace_back(row.key);
                            return true;
                          })
                    .ok());
    return keys;
  }
  static void Reseal(Database& database) {
    for (bool more = true; more;) {
      const auto step = database.ResealStep();
      ASSERT_TRUE(step.ok()) << step.status();
      more = *step;
    }
  }
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const ColumnFamilyInfo& info : kColumnFamilies) {
      names.emplace_back(info.name);
    }
    return names;
  }
  // Returns the stored bytes of every row of a family in the closed store.
  std::vector<std::string> StoredValues(ColumnFamily family) {
    std::vector<std::string> values;
    WithRocks(Options().path, Names(), [&](rocksdb::DB& raw, RawHandles& handles) {
      std::unique_ptr<rocksdb::Iterator> rows(
          raw.NewIterator({}, handles[static_cast<size_t>(family)]));
      for (rows->SeekToFirst(); rows->Valid(); rows->Next()) {
        values.push_back(rows->value().ToString());
      }
    });
    return values;
  }
};

TEST_F(DataKeyTest, EveryFamilyAndEveryScopeHasAKeyOfItsOwn) {
  auto database = OpenStore();
  ASSERT_TRUE(PutOne(*database, ColumnFamily::kMeta, "a", "1").ok());
  ASSERT_TRUE(PutOne(*database, ColumnFamily::kMeta, "b", "2").ok());
  ASSERT_TRUE(PutOne(*database, ColumnFamily::kItem, "a", "3").ok());
  ASSERT_TRUE(Put(*database, ColumnFamily::kMeta, "c", "4", KeyScope::User("alice")).ok());
  ASSERT_TRUE(Put(*database, ColumnFamily::kItem, "d", "5", KeyScope::User("alice")).ok());
  ASSERT_TRUE(Put(*database, ColumnFamily::kItem, "e", "6", KeyScope::Collection(7)).ok());
  std::vector<std::string> scopes;
  for (const DataKeyInfo& key : database->DataKeys()) {
    EXPECT_EQ(key.state, DataKeyInfo::State::kActive);
    scopes.push_back(key.scope);
  }
  EXPECT_THAT(scopes,
              testing::ElementsAre("family/meta", "family/item", "user/alice", "collection/7"));
  database.reset();
  database = OpenStore();
  EXPECT_THAT(database->DataKeys(), SizeIs(4));
  EXPECT_EQ(database->Get(ColumnFamily::kMeta, "c").value(), "4");
  EXPECT_EQ(database->Get(ColumnFamily::kItem, "e").value(), "6");
}

TEST_F(DataKeyTest, ThreadsThatNeedANewKeyAtOnceShareIt) {
  auto database = OpenStore();
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      EXPECT_TRUE(
          Put(*database, ColumnFamily::kMeta, std::to_string(t), "x", KeyScope::User("u")).ok());
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_THAT(database->DataKeys(), SizeIs(1));
}

// Names of users are free text from clients, and every user takes a key.
TEST_F(DataKeyTest, UsersTakeNoKeysThatFamiliesAndCollectionsNeed) {
  DatabaseOptions options = Options();
  options.max_user_keys = 3;
  auto database = OpenStore(options);
  for (int n = 0; n < 3; ++n) {
    ASSERT_TRUE(database->EnsureKey(KeyScope::User(std::to_string(n))).ok());
  }
  EXPECT_EQ(ReasonOf(database->EnsureKey(KeyScope::User("one more"))), reasons::kLimitExceeded);
  EXPECT_EQ(ReasonOf(Put(*database, ColumnFamily::kMeta, "a", "x", KeyScope::User("one more"))),
            reasons::kLimitExceeded);
  EXPECT_TRUE(Put(*database, ColumnFamily::kMeta, "a", "x", KeyScope::User("0")).ok());
  EXPECT_TRUE(Put(*database, ColumnFamily::kMeta, "b", "x", KeyScope::Collection(1)).ok());
  EXPECT_TRUE(PutOne(*database, ColumnFamily::kItem, "c", "x").ok());
}

// After a rotation there are twice as many keys until the values are sealed again.
TEST_F(DataKeyTest, RetiredKeysTakeNoRoomFromNewOnes) {
  DatabaseOptions options = Options();
  options.max_user_keys = 3;
  auto database = OpenStore(options);
  for (const char* user : {"a", "b"}) {
    ASSERT_TRUE(Put(*database, ColumnFamily::kMeta, user, "x", KeyScope::User(user)).ok());
  }
  ASSERT_TRUE(database->RotateDataKeys("").ok());
  EXPECT_TRUE(database->EnsureKey(KeyScope::User("c")).ok());
  EXPECT_EQ(ReasonOf(database->EnsureKey(KeyScope::User("d"))), reasons::kLimitExceeded);
  Reseal(*database);
  EXPECT_EQ(database->Get(ColumnFamily::kMeta, "b").value(), "x");
}

TEST_F(DataKeyTest, ErasingAUserLeavesTheOthersAndSaysWhy) {
  auto database = OpenStore();
  const KeyScope alice = KeyScope::User("alice");
  ASSERT_TRUE(Put(*database, ColumnFamily::kMeta, "a", "hers", alice).ok());
  ASSERT_TRUE(Put(*database, ColumnFamily::kTrajectory, "b", "hers too", alice).ok());
  ASSERT_TRUE(Put(*database, ColumnFamily::kMeta, "c", "his", KeyScope::User("bob")).ok());
  ASSERT_TRUE(database->Erase(alice).ok());
  ASSERT_TRUE(database->Erase(alice).ok());  // as after an interruption
  const auto erased = database->Get(ColumnFamily::kMeta, "a");
  EXPECT_EQ(ReasonOf(erased.status()), reasons::kKeyDestroyed);
  EXPECT_TRUE(absl::IsNotFound(erased.status()));
  EXPECT_THAT(MessageOf(erased.status()), testing::HasSubstr("user/alice"));
  EXPECT_FALSE(database->Contains(ColumnFamily::kTrajectory, "b").value());
  EXPECT_THAT(Keys(*database, ColumnFamily::kMeta), testing::ElementsAre("c"));
  // The user may come back, under another key.
  ASSERT_TRUE(Put(*database, ColumnFamily::kMeta, "d", "new", alice).ok());
  database.reset();
  database = OpenStore();
  EXPECT_EQ(ReasonOf(database->Get(ColumnFamily::kMeta, "a").status()), reasons::kKeyDestroyed);
  EXPECT_EQ(database->Get(ColumnFamily::kMeta, "c").value(), "his");
  EXPECT_EQ(database->Get(ColumnFamily::kMeta, "d").value(), "new");
  ASSERT_TRUE(database->Compact().ok());
  EXPECT_EQ(ReasonOf(database->Get(ColumnFamily::kMeta, "a").status()), reasons::kNotFound);
  EXPECT_EQ(Count(*database, DataKeyInfo::State::kDestroyed), 0U);
  // A misspelt name must not look like success.
  EXPECT_EQ(ReasonOf(database->Erase(KeyScope::User("nobody"))), reasons::kNotFound);
  EXPECT_EQ(ReasonOf(database->Erase(KeyScope()).code() == absl::StatusCode::kInvalidArgument
                         ? database->Erase(KeyScope())
                         : absl::OkStatus()),
            reasons::kInvalidArgument);
}

TEST_F(DataKeyTest, AnErasedKeyIsInNoFile) {
  auto database = OpenStore();
  ASSERT_TRUE(Put(*database, ColumnFamily::kMeta, "a", "hers", KeyScope::User("alice")).ok());
  ASSERT_TRUE(PutOne(*database, ColumnFamily::kMeta, "b", "other").ok());
  database.reset();
  const std::vector<std::string> wrapped = StoredValues(ColumnFamily::kKey);
  ASSERT_THAT(wrapped, SizeIs(2));
  const std::string& hers = wrapped[0];
  ASSERT_THAT(FilesContaining(folder_, hers), Not(IsEmpty()));
  database = OpenStore();
  ASSERT_TRUE(database->Erase(KeyScope::User("alice")).ok());
  EXPECT_THAT(FilesContaining(folder_, hers), IsEmpty());
  database.reset();
  EXPECT_THAT(FilesContaining(folder_, hers), IsEmpty());
}

// The erasure is refused or killed between the fsync of the destroyed key and the rewriting of the
// files.
TEST_F(DataKeyTest, AnInterruptedErasureIsDoneWhenCalledAgain) {
  auto database = OpenStore();
  ASSERT_TRUE(Put(*database, ColumnFamily::kMeta, "a", "hers", KeyScope::User("alice")).ok());
  ASSERT_TRUE(PutOne(*database, ColumnFamily::kMeta, "b", "other").ok());
  database.reset();
  const std::string hers = StoredValues(ColumnFamily::kKey).at(0);
  DatabaseOptions options = Options();
  int probes_left = -1;  // successful probes until the disk is full; negative: it is never full
  options.free_bytes = [&](const std::string&) -> absl::StatusOr<uint64_t> {
    return probes_left < 0 || probes_left-- > 0 ? free_bytes_ : 0;
  };
  database = OpenStore(options);
  ASSERT_TRUE(PutOne(*database, ColumnFamily::kMeta, "c", std::string(500, 'c')).ok());
  probes_left = 1;
  EXPECT_EQ(ReasonOf(database->Erase(KeyScope::User("alice"))), reasons::kStoreReadOnly);
  EXPECT_EQ(ReasonOf(database->Get(ColumnFamily::kMeta, "a").status()), reasons::kKeyDestroyed);
  database.reset();
  EXPECT_THAT(FilesContaining(folder_, hers), Not(IsEmpty()));
  database = OpenStore();
  ASSERT_TRUE(database->Erase(KeyScope::User("alice")).ok());
  EXPECT_THAT(FilesContaining(folder_, hers), IsEmpty());
}

// The rows of the keys are gone, but the tables that still hold them were not rewritten.
TEST_F(DataKeyTest, AnInterruptedRotationIsForgottenByTheNextStart) {
  auto database = OpenStore();
  ASSERT_TRUE(PutOne(*database, ColumnFamily::kMeta, "a", "1").ok());
  database.reset();
  const std::string wrapped = StoredValues(ColumnFamily::kKey).at(0);
  const auto files = std::make_shared<HookedFiles>();
  files->before_new = [](const std::string& name) {
    return name.ends_with(".sst") ? rocksdb::IOStatus::IOError("the power is gone")
                                  : rocksdb::IOStatus::OK();
  };
  DatabaseOptions options = Options();
  options.file_system = files;
  database = OpenStore(options);
  ASSERT_TRUE(database->RotateDataKeys("family/meta").ok());
  absl::StatusOr<bool> step = true;
  while (step.ok() && *step) {
    step = database->ResealStep();
  }
  EXPECT_FALSE(step.ok());
  EXPECT_EQ(Count(*database, DataKeyInfo::State::kRetired), 0U);
  database.reset();
  ASSERT_THAT(FilesContaining(folder_, wrapped), Not(IsEmpty()));
  database = OpenStore();
  EXPECT_THAT(FilesContaining(folder_, wrapped), IsEmpty());
  EXPECT_EQ(database->Get(ColumnFamily::kMeta, "a").value(), "1");
  EXPECT_FALSE(database->Contains(ColumnFamily::kDefault, "sweep/forget-keys").value());
}

TEST_F(DataKeyTest, ANumberOfAKeyIsNotGivenAgainWhileAReaderMayHoldIt) {
  KeyRing ring;
  ring.Set(1, {.scope = "family/meta", .key = privacy::DataKey::Generate()});
  ring.Set(2, {.scope = "user/u", .key = privacy::DataKey::Generate()});
  const uint64_t two = 2;
  ring.Remove({&two, 1});
  EXPECT_EQ(ring.NextId(), 3U);
}

TEST_F(DataKeyTest, AScanOpensEveryRowItBeganWithWhileKeysAreReplaced) {
  auto database = OpenStore();
  ASSERT_TRUE(PutOne(*database, ColumnFamily::kMeta, "a", "1").ok());
  ASSERT_TRUE(PutOne(*database, ColumnFamily::kMeta, "b", "2").ok());
  std::vector<std::string> values;
  const absl::Status scanned =
      database->Scan(ColumnFamily::kMeta, "", "", [&](const RowView& row) -> absl::StatusOr<bool> {
        values.emplace_back(row.value);
        for (int i = 0; i < 2; ++i) {
          EXPECT_TRUE(database->RotateDataKeys("family/meta").ok());
          Reseal(*database);
        }
        return true;
      });
  EXPECT_TRUE(scanned.ok()) << scanned;
  EXPECT_THAT(values, testing::ElementsAre("1", "2"));
  EXPECT_THAT(database->DataKeys(), SizeIs(1));
}

TEST_F(DataKeyTest, AScanPassesOverWhatIsErasedAndRemovedMeanwhile) {
  auto database = OpenStore();
  const KeyScope alice = KeyScope::User("alice");
  ASSERT_TRUE(Put(*database, ColumnFamily::kMeta, "a", "1", alice).ok());
  ASSERT_TRUE(Put(*database, ColumnFamily::kMeta, "b", "2", alice).ok());
  ASSERT_TRUE(Put(*database, ColumnFamily::kMeta, "c", "3", KeyScope::User("bob")).ok());
  std::vector<std::string> values;
  const absl::Status scanned =
      database->Scan(ColumnFamily::kMeta, "", "", [&](const RowView& row) -> absl::StatusOr<bool> {
        if (values.empty()) {
          EXPECT_TRUE(database->Erase(alice).ok());
          EXPECT_TRUE(database->Compact().ok());
        }
        values.emplace_back(row.value);
        return true;
      });
  EXPECT_TRUE(scanned.ok()) << scanned;
  EXPECT_THAT(values, testing::ElementsAre("1", "3"));
}

TEST_F(DataKeyTest, KeysThatAreRemovedGoWithTheLastReader) {
  KeyRing ring;
  ring.Set(1, {.scope = "family/meta", .key = privacy::DataKey::Generate()});
  std::optional<KeyRing::View> before = ring.Hold();
  const uint8_t* secret = before->Find(1)->bytes().data();
  const uint64_t one = 1;
  ring.Remove({&one, 1});
  EXPECT_EQ(ReasonOf(ring.Hold().Find(1).status()), reasons::kSealBroken);
  ring.Set(2, {.scope = "family/meta", .key = privacy::DataKey::Generate()});
  const uint64_t two = 2;
  ring.Remove({&two, 1});  // that reader may use this key as well
  EXPECT_TRUE(before->Find(1).ok());
  EXPECT_TRUE(before->Find(2).ok());
  before.reset();
  EXPECT_THAT(std::span(secret, privacy::kSealKeyBytes), testing::Each(0));
}

TEST_F(DataKeyTest, RotationSealsEveryValueAnewInSteps) {
  auto database = OpenStore();
  constexpr int kRows = 3 * static_cast<int>(limits::kMaxSweepRows);
  for (int i = 0; i < kRows; ++i) {
    ASSERT_TRUE(PutOne(*database, ColumnFamily::kMeta,
                       RowKey().U32(static_cast<uint32_t>(i)).Take(), "value " + std::to_string(i),
                       static_cast<uint32_t>(i))
                    .ok());
  }
  ASSERT_TRUE(PutOne(*database, ColumnFamily::kItem, "other", "x").ok());
  EXPECT_EQ(ReasonOf(database->RotateDataKeys("user/nobody")), reasons::kNotFound);
  EXPECT_FALSE(database->ResealStep().value());
  ASSERT_TRUE(database->RotateDataKeys("family/meta").ok());
  EXPECT_EQ(Count(*database, DataKeyInfo::State::kRetired), 1U);
  ASSERT_TRUE(database->ResealStep().value());
  database.reset();  // in the middle
  database = OpenStore();
  EXPECT_EQ(Count(*database, DataKeyInfo::State::kRetired), 1U);
  EXPECT_EQ(database->Get(ColumnFamily::kMeta, RowKey().U32(0).Take(), 0).value(), "value 0");
  Reseal(*database);
  EXPECT_EQ(Count(*database, DataKeyInfo::State::kRetired), 0U);
  EXPECT_THAT(database->DataKeys(), SizeIs(2));
  for (int i = 0; i < kRows; ++i) {
    const auto generation = static_cast<uint32_t>(i);
    EXPECT_EQ(
        database->Get(ColumnFamily::kMeta, RowKey().U32(generation).Take(), generation).value(),
        "value " + std::to_string(i));
  }
}

// The row alone fills a step, and it is the last of its family.
TEST_F(DataKeyTest, ASweepThatIsFullWithTheLastRowOfAFamilyEnds) {
  auto database = OpenStore();
  const std::string large(9 << 20, 'x');
  ASSERT_TRUE(PutOne(*database, ColumnFamily::kItem, "large", large).ok());
  ASSERT_TRUE(PutOne(*database, ColumnFamily::kMeta, "small", "1").ok());
  ASSERT_TRUE(Put(*database, ColumnFamily::kMeta, "hers", "2", KeyScope::User("u")).ok());
  ASSERT_TRUE(database->RotateDataKeys("family/meta").ok());
  int steps = 1;
  while (steps < 10 && database->ResealStep().value()) {
    ++steps;
  }
  ASSERT_LT(steps, 10);
  EXPECT_EQ(Count(*database, DataKeyInfo::State::kRetired), 0U);
  ASSERT_TRUE(database->Erase(KeyScope::User("u")).ok());
  ASSERT_TRUE(database->Compact().ok());
  EXPECT_EQ(Count(*database, DataKeyInfo::State::kDestroyed), 0U);
  EXPECT_EQ(database->Get(ColumnFamily::kItem, "large").value(), large);
  EXPECT_EQ(database->Get(ColumnFamily::kMeta, "small").value(), "1");
}

TEST_F(DataKeyTest, ARotationDuringAnotherLosesNothing) {
  auto database = OpenStore();
  constexpr uint32_t kRows = 3 * limits::kMaxSweepRows;
  for (uint32_t i = 0; i < kRows; ++i) {
    ASSERT_TRUE(PutOne(*database, ColumnFamily::kMeta, RowKey().U32(i).Take(), "v").ok());
  }
  ASSERT_TRUE(database->RotateDataKeys("").ok());
  ASSERT_TRUE(database->ResealStep().value());
  ASSERT_TRUE(database->RotateDataKeys("").ok());
  Reseal(*database);
  EXPECT_THAT(database->DataKeys(), SizeIs(1));
  for (uint32_t i = 0; i < kRows; ++i) {
    EXPECT_EQ(database->Get(ColumnFamily::kMeta, RowKey().U32(i).Take()).value(), "v") << i;
  }
}

TEST_F(DataKeyTest, WritersAndRotationsDoNotDisturbEachOther) {
  auto database = OpenStore();
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      for (uint32_t i = 0; i < 300; ++i) {
        const std::string key = RowKey().U32(t).U32(i % 20).Take();
        EXPECT_TRUE(PutOne(*database, ColumnFamily::kMeta, key, std::to_string(i)).ok());
        EXPECT_EQ(database->Get(ColumnFamily::kMeta, key).value(), std::to_string(i));
      }
    });
  }
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(database->RotateDataKeys("").ok());
    EXPECT_TRUE(database->ResealStep().ok());
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  Reseal(*database);
  for (uint32_t t = 0; t < 3; ++t) {
    for (uint32_t i = 280; i < 300; ++i) {
      EXPECT_EQ(database->Get(ColumnFamily::kMeta, RowKey().U32(t).U32(i % 20).Take()).value(),
                std::to_string(i));
    }
  }
}

TEST_F(DataKeyTest, AnotherNodeKeyTakesOver) {
  auto database = OpenStore();
  ASSERT_TRUE(PutOne(*database, ColumnFamily::kMeta, "a", "1").ok());
  ASSERT_TRUE(Put(*database, ColumnFamily::kMeta, "b", "2", KeyScope::User("u")).ok());
  const privacy::SealKey old = key_;
  const privacy::SealKey next = privacy::SealKey::Generate();
  ASSERT_TRUE(database->ChangeSealKey(next).ok());
  EXPECT_EQ(database->Get(ColumnFamily::kMeta, "a").value(), "1");
  ASSERT_TRUE(PutOne(*database, ColumnFamily::kItem, "c", "3").ok());
  database.reset();
  EXPECT_EQ(ReasonOf(Database::Open(Options()).status()), reasons::kSealBroken);
  DatabaseOptions both = Options();
  both.next_seal_key = next;
  database = OpenStore(both);
  EXPECT_TRUE(database->opened_with_next_key());
  database.reset();
  key_ = next;
  both = Options();
  both.next_seal_key = old;
  database = OpenStore(both);
  EXPECT_FALSE(database->opened_with_next_key());
  EXPECT_EQ(database->Get(ColumnFamily::kMeta, "b").value(), "2");
  EXPECT_EQ(database->Get(ColumnFamily::kItem, "c").value(), "3");
}

TEST_F(DataKeyTest, WhatTheFormerNodeKeyWrappedIsInNoFile) {
  auto database = OpenStore();
  ASSERT_TRUE(PutOne(*database, ColumnFamily::kMeta, "a", "1").ok());
  database.reset();
  const std::string wrapped = StoredValues(ColumnFamily::kKey).at(0);
  database = OpenStore();
  ASSERT_THAT(FilesContaining(folder_, wrapped), Not(IsEmpty()));
  ASSERT_TRUE(database->ChangeSealKey(privacy::SealKey::Generate()).ok());
  EXPECT_THAT(FilesContaining(folder_, wrapped), IsEmpty());
}

TEST_F(DataKeyTest, NoStoreBeginsWhileItsNodeKeyIsBeingChanged) {
  DatabaseOptions options = Options();
  options.next_seal_key = privacy::SealKey::Generate();
  EXPECT_EQ(ReasonOf(Database::Open(options).status()), reasons::kFileNotFound);
  EXPECT_EQ(ReasonOf(Database::Open(options).status()), reasons::kFileNotFound);
  EXPECT_TRUE(OpenStore()->failure().ok());
  EXPECT_FALSE(OpenStore(options)->opened_with_next_key());
}

TEST_F(DataKeyTest, KeysAreNotForReading) {
  const auto database = OpenStore();
  ASSERT_TRUE(PutOne(*database, ColumnFamily::kMeta, "a", "1").ok());
  EXPECT_EQ(ReasonOf(database->Get(ColumnFamily::kKey, KeyRowKey(1)).status()),
            reasons::kInvalidArgument);
  EXPECT_EQ(ReasonOf(database->Scan(ColumnFamily::kKey, "", "",
                                    [](const RowView&) -> absl::StatusOr<bool> { return true; })),
            reasons::kInvalidArgument);
}

TEST_F(DataKeyTest, AValueUnderAnotherKeysNumberDoesNotOpen) {
  auto database = OpenStore();
  ASSERT_TRUE(PutOne(*database, ColumnFamily::kMeta, "a", "1").ok());
  ASSERT_TRUE(Put(*database, ColumnFamily::kMeta, "b", "2", KeyScope::User("u")).ok());
  database.reset();
  WithRocks(Options().path, Names(), [](rocksdb::DB& raw, RawHandles& handles) {
    auto* meta = handles[static_cast<size_t>(ColumnFamily::kMeta)];
    std::string value;
    ASSERT_TRUE(raw.Get({}, meta, "a", &value).ok());
    ASSERT_EQ(value.size(), 1 + kStoredValueOverheadBytes);
    std::string other = value;
    other[9] = 2;  // the other key
    ASSERT_TRUE(raw.Put({}, meta, "other", other).ok());
    other[9] = 9;  // no key
    ASSERT_TRUE(raw.Put({}, meta, "none", other).ok());
    other[9] = 0;
    ASSERT_TRUE(raw.Put({}, meta, "zero", other).ok());
  });
  database = OpenStore();
  for (const char* key : {"other", "none", "zero"}) {
    EXPECT_EQ(ReasonOf(database->Get(ColumnFamily::kMeta, key).status()), reasons::kSealBroken);
  }
}

TEST_F(DataKeyTest, RefusesScopesThatAreTooLong) {
  auto database = OpenStore();
  EXPECT_EQ(ReasonOf(Put(*database, ColumnFamily::kMeta, "a", "x",
                         KeyScope::User(std::string(limits::kMaxScopeNameBytes, 'u')))),
            reasons::kLimitExceeded);
  EXPECT_TRUE(Put(*database, ColumnFamily::kMeta, "a", "x",
                  KeyScope::User(std::string(limits::kMaxScopeIdBytes, 'u')))
                  .ok());
}

}  // namespace
}  // namespace ruvd::storage
