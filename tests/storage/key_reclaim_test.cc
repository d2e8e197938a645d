// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Tests data keys of users whose rows have all been removed.

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "tests/storage/store_fixture.h"

namespace ruvd::storage {
namespace {

using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

class KeyReclaimTest : public StoreTest {
 protected:
  static absl::Status Put(Database& database, ColumnFamily family, std::string_view key,
                          std::string_view value, const KeyScope& scope) {
    Batch batch;
    batch.Put(family, key, value, 0, scope);
    return database.Write(std::move(batch), Durability::kPowerLoss);
  }
  static std::vector<std::string> Users(const Database& database) {
    std::vector<std::string> users;
    for (const DataKeyInfo& key : database.DataKeys()) {
      if (IsUserScope(key.scope)) {
        users.push_back(key.scope);
      }
    }
    return users;
  }
  static absl::Status Delete(Database& database, ColumnFamily family, std::string_view key) {
    Batch batch;
    batch.Delete(family, key);
    return database.Write(std::move(batch), Durability::kProcessCrash);
  }
  // Runs until a walk that is due has begun and ended.
  void Reclaim(Database& database) {
    ASSERT_FALSE(database.ReclaimKeysStep().value());
    clock_.Advance(limits::kKeyReclaimInterval);
    for (bool more = true; more;) {
      const auto step = database.ReclaimKeysStep();
      ASSERT_TRUE(step.ok()) << step.status();
      more = *step;
    }
  }
};

TEST_F(KeyReclaimTest, AUsersKeyLeavesWithTheLastRow) {
  auto database = OpenStore();
  const KeyScope alice = KeyScope::User("alice");
  ASSERT_TRUE(Put(*database, ColumnFamily::kTrajectory, "a", "hers", alice).ok());
  ASSERT_TRUE(Put(*database, ColumnFamily::kWitness, "a", "hers", alice).ok());
  ASSERT_TRUE(Put(*database, ColumnFamily::kWitness, "b", "his", KeyScope::User("bob")).ok());
  ASSERT_TRUE(Put(*database, ColumnFamily::kMeta, "c", "x", KeyScope::User("carol")).ok());
  ASSERT_TRUE(Put(*database, ColumnFamily::kMeta, "d", "x", KeyScope::Collection(0)).ok());
  ASSERT_TRUE(database->Erase(KeyScope::User("carol")).ok());
  ASSERT_TRUE(Delete(*database, ColumnFamily::kTrajectory, "a").ok());
  ASSERT_TRUE(Delete(*database, ColumnFamily::kMeta, "d").ok());
  Reclaim(*database);
  EXPECT_THAT(Users(*database), testing::ElementsAre("user/alice", "user/bob", "user/carol"));
  ASSERT_TRUE(Delete(*database, ColumnFamily::kWitness, "a").ok());
  ASSERT_TRUE(Delete(*database, ColumnFamily::kMeta, "c").ok());
  Reclaim(*database);
  for (int open = 0; open < 2; ++open) {
    EXPECT_THAT(Users(*database), testing::ElementsAre("user/bob"));
    EXPECT_THAT(database->DataKeys(), Not(IsEmpty())) << "a collection's stays";
    EXPECT_EQ(database->Get(ColumnFamily::kWitness, "b").value(), "his");
    database.reset();
    database = OpenStore();
  }
  ASSERT_TRUE(Put(*database, ColumnFamily::kWitness, "a", "again", alice).ok());
  EXPECT_EQ(database->Get(ColumnFamily::kWitness, "a").value(), "again");
}

TEST_F(KeyReclaimTest, AYoungKeyStays) {
  auto database = OpenStore();
  ASSERT_FALSE(database->ReclaimKeysStep().value());
  clock_.Advance(limits::kKeyReclaimInterval);
  ASSERT_TRUE(database->EnsureKey(KeyScope::User("alice")).ok());
  EXPECT_FALSE(database->ReclaimKeysStep().value());
  EXPECT_THAT(Users(*database), SizeIs(1));
  clock_.Advance(limits::kKeyReclaimInterval);
  EXPECT_FALSE(database->ReclaimKeysStep().value());
  EXPECT_THAT(Users(*database), IsEmpty());
}

TEST_F(KeyReclaimTest, AKeyThatIsUsedBehindTheWalkStays) {
  auto database = OpenStore();
  Batch many;
  for (int n = 0; n < 5000; ++n) {
    many.Put(ColumnFamily::kMeta, std::to_string(n), "x");
  }
  ASSERT_TRUE(database->Write(std::move(many), Durability::kProcessCrash).ok());
  for (const char* user : {"alice", "bob", "carol"}) {
    ASSERT_TRUE(database->EnsureKey(KeyScope::User(user)).ok());
  }
  ASSERT_TRUE(Put(*database, ColumnFamily::kVec, "c", "x", KeyScope::User("carol")).ok());
  ASSERT_TRUE(database->RotateDataKeys("user/carol").ok());
  ASSERT_FALSE(database->ReclaimKeysStep().value());
  clock_.Advance(limits::kKeyReclaimInterval);
  ASSERT_TRUE(database->ReclaimKeysStep().value()) << "the walk is among the rows of meta";
  ASSERT_TRUE(Put(*database, ColumnFamily::kDefault, "a", "x", KeyScope::User("alice")).ok());
  while (database->ResealStep().value()) {
  }
  while (database->ReclaimKeysStep().value()) {
  }
  EXPECT_THAT(Users(*database), testing::ElementsAre("user/alice", "user/carol"));
  EXPECT_TRUE(database->Get(ColumnFamily::kDefault, "a").ok());
  EXPECT_TRUE(database->Get(ColumnFamily::kVec, "c").ok());
}

TEST_F(KeyReclaimTest, ScarceKeysAreLookedForSooner) {
  DatabaseOptions options = Options();
  options.max_user_keys = 2;
  auto database = OpenStore(options);
  for (const char* user : {"alice", "bob"}) {
    ASSERT_TRUE(database->EnsureKey(KeyScope::User(user)).ok());
  }
  clock_.Advance(limits::kKeyReclaimAge + std::chrono::milliseconds(1));
  EXPECT_FALSE(database->EnsureKey(KeyScope::User("carol")).ok());
  EXPECT_FALSE(database->ReclaimKeysStep().value());
  EXPECT_TRUE(database->EnsureKey(KeyScope::User("carol")).ok());
}

// A row that is written with a key must be readable afterwards.
TEST_F(KeyReclaimTest, WritersAndWalksDoNotLoseARow) {
  DatabaseOptions options = Options();
  options.max_user_keys = 2;  // walks are due all the time
  auto database = OpenStore(options);
  std::atomic<bool> stop{false};
  std::thread walks([&] {
    while (!stop.load()) {
      clock_.Advance(limits::kKeyReclaimAge);
      EXPECT_TRUE(database->ReclaimKeysStep().ok());
    }
  });
  for (int n = 0; n < 300; ++n) {
    ASSERT_TRUE(Put(*database, ColumnFamily::kMeta, "a", "x", KeyScope::User("alice")).ok());
    EXPECT_TRUE(database->Get(ColumnFamily::kMeta, "a").ok()) << n;
    ASSERT_TRUE(Delete(*database, ColumnFamily::kMeta, "a").ok());
  }
  stop.store(true);
  walks.join();
}

}  // namespace
}  // namespace ruvd::storage
