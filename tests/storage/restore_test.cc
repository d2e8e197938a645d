// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Tests backups that end early, and restores that are refused, interrupted or made under other
// keys; backup_test.cc has the rest.

#include <array>
#include <atomic>
#include <thread>

#include "base/file.h"
#include "privacy/seal/passphrase.h"
#include "ruvd/storage/v1/state.pb.h"
#include "storage/db/backup.h"
#include "storage/db/file_hash.h"
#include "storage/reasons.h"
#include "storage/state/state_store.h"
#include "tests/storage/store_fixture.h"

namespace ruvd::storage {
namespace {

namespace fs = std::filesystem;

class RestoreTest : public StoreTest {
 protected:
  std::string Folder() const { return (folder_ / "backup").string(); }
  std::string Store() const { return (folder_ / "store").string(); }
  absl::StatusOr<RestoreReport> Restore() {
    return RestoreBackup({.backup = Folder(), .store = Store(), .key = key_});
  }
  // Makes a backup of a store with one row, and closes the store.
  void BackUp() {
    auto database = OpenStore();
    ASSERT_TRUE(PutOne(*database, ColumnFamily::kMeta, "a", "before").ok());
    ASSERT_TRUE(database->Backup(Folder()).ok());
  }
};

TEST_F(RestoreTest, ABackupIsSealedByTheKeyThatItsStoreOpensWith) {
  auto database = OpenStore();
  ASSERT_TRUE(PutOne(*database, ColumnFamily::kMeta, "a", "1").ok());
  const std::array<privacy::SealKey, 2> keys = {privacy::SealKey::Generate(),
                                                privacy::SealKey::Generate()};
  std::atomic<bool> stop{false};
  std::thread changes([&] {
    for (size_t i = 0; !stop.load(); ++i) {
      EXPECT_TRUE(database->ChangeSealKey(keys[i % 2]).ok());
    }
  });
  for (int i = 0; i < 5; ++i) {
    fs::remove_all(Folder());
    fs::remove_all(folder_ / "other");
    ASSERT_TRUE(database->Backup(Folder()).ok());
    const bool first = ReadBackupManifest(Folder(), keys[0]).ok();
    const bool original = ReadBackupManifest(Folder(), key_).ok();
    const privacy::SealKey key = original ? key_ : keys[first ? 0 : 1];
    const auto restored =
        RestoreBackup({.backup = Folder(), .store = (folder_ / "other").string(), .key = key});
    EXPECT_TRUE(restored.ok()) << restored.status();
  }
  stop.store(true);
  changes.join();
}

// A stop must not wait until gigabytes are read.
TEST_F(RestoreTest, ABackupThatIsGivenUpLeavesNoFolder) {
  auto database = OpenStore();
  ASSERT_TRUE(PutOne(*database, ColumnFamily::kMeta, "a", "1").ok());
  int asked = 0;
  const auto given_up = database->Backup(Folder(), [&] { return ++asked > 1; });
  EXPECT_TRUE(absl::IsCancelled(given_up.status())) << given_up.status();
  EXPECT_EQ(asked, 2);
  EXPECT_FALSE(fs::exists(Folder()));
  EXPECT_TRUE(database->Backup(Folder(), [] { return false; }).ok());
}

// Hashing takes minutes: changing keys or erasing a user meanwhile waits for the copy only.
TEST_F(RestoreTest, KeysChangeWhileABackupReadsItsFiles) {
  auto database = OpenStore();
  ASSERT_TRUE(PutOne(*database, ColumnFamily::kMeta, "a", "1").ok());
  const privacy::SealKey old = key_;
  key_ = privacy::SealKey::Generate();
  bool changed = false;
  const auto manifest = database->Backup(Folder(), [&] {
    if (!changed) {
      changed = true;
      EXPECT_TRUE(database->ChangeSealKey(key_).ok());
      EXPECT_TRUE(PutOne(*database, ColumnFamily::kMeta, "a", "2").ok());
    }
    return false;
  });
  ASSERT_TRUE(manifest.ok()) << manifest.status();
  EXPECT_TRUE(changed);
  database.reset();
  ASSERT_TRUE(
      RestoreBackup({.backup = Folder(), .store = Store(), .key = key_, .backup_key = old}).ok());
  EXPECT_EQ(OpenStore()->Get(ColumnFamily::kMeta, "a").value(), "1");
}

// A killed backup leaves a folder that pins tables and holds wrapped keys, and that no list shows.
TEST_F(RestoreTest, WhatAnInterruptedBackupLeftIsRemoved) {
  auto database = OpenStore();
  const fs::path parent = folder_ / "backups";
  ASSERT_TRUE(database->Backup((parent / "whole").string()).ok());
  ASSERT_TRUE(database->Backup((parent / "killed").string()).ok());
  fs::remove(parent / "killed" / kBackupManifestFile);
  // A checkpoint has another name until it is whole.
  ASSERT_TRUE(database->Backup((parent / "early").string()).ok());
  fs::remove(parent / "early" / kBackupManifestFile);
  fs::rename(parent / "early" / "store", parent / "early" / "store.tmp");
  fs::create_directories(parent / "notes");
  EXPECT_EQ(RemoveUnfinishedBackups(parent.string()), 2U);
  EXPECT_FALSE(fs::exists(parent / "killed"));
  EXPECT_FALSE(fs::exists(parent / "early"));
  EXPECT_TRUE(fs::exists(parent / "notes"));
  EXPECT_TRUE(VerifyBackup((parent / "whole").string(), key_).ok());
  EXPECT_EQ(RemoveUnfinishedBackups((folder_ / "none").string()), 0U);
}

TEST_F(RestoreTest, AFolderMayBeNamedWithASlash) {
  auto database = OpenStore();
  const auto manifest = database->Backup(Folder() + "/");
  ASSERT_TRUE(manifest.ok()) << manifest.status();
  EXPECT_TRUE(VerifyBackup(Folder(), key_).ok());
}

TEST_F(RestoreTest, ABackupOfAPassphraseHasItsParameters) {
  privacy::PassphraseParameters parameters = privacy::PassphraseParameters::Generate();
  parameters.passes = limits::kMinPassphrasePasses;
  parameters.memory_bytes = limits::kMinPassphraseMemoryBytes;
  key_ = privacy::SealKeyFromPassphrase("a long enough phrase", parameters).value();
  BackUp();
  EXPECT_EQ(ReadFile(Folder() + "/seal.kdf", 100).value(), parameters.Encode());
  EXPECT_TRUE(Restore().ok());
}

TEST_F(RestoreTest, ARefusedRestoreLeavesNothingBehind) {
  BackUp();
  ASSERT_TRUE(WriteFileAtomically(Store() + "/ledger-head", "9 hash\n").ok());
  const privacy::SealKey right = key_;
  const auto refused = RestoreBackup({.backup = Folder(),
                                      .store = Store(),
                                      .key = privacy::SealKey::Generate(),
                                      .backup_key = right});
  EXPECT_EQ(ReasonOf(refused.status()), reasons::kLedgerWouldGoBack) << refused.status();
  EXPECT_FALSE(fs::exists(Store() + ".restoring"));
  EXPECT_EQ(OpenStore()->Get(ColumnFamily::kMeta, "a").value(), "before");
}

v1::EquivocationProofs Proofs(const std::string& proof) {
  v1::EquivocationProofs proofs;
  proofs.add_proofs(proof);
  return proofs;
}

TEST_F(RestoreTest, ProofsOfEquivocationsSinceTheBackupAreKept) {
  auto database = OpenStore();
  ASSERT_TRUE(StateStore(*database).Put(state::EquivocationProofs(), Proofs("old")).ok());
  ASSERT_TRUE(database->Backup(Folder()).ok());
  ASSERT_TRUE(StateStore(*database).Put(state::EquivocationProofs(), Proofs("new")).ok());
  const auto restored_proof = [&] {
    database.reset();
    EXPECT_TRUE(Restore().ok());
    database = OpenStore();
    return StateStore(*database).Get(state::EquivocationProofs()).value().value().proofs(0);
  };
  EXPECT_EQ(restored_proof(), "new");
  // A store that was begun anew belongs to another node, or knows nothing.
  database.reset();
  fs::remove_all(Store());
  database = OpenStore();
  ASSERT_TRUE(StateStore(*database).Put(state::EquivocationProofs(), Proofs("other")).ok());
  EXPECT_EQ(restored_proof(), "old");
}

TEST_F(RestoreTest, ScoresOfPeersSinceTheBackupAreKept) {
  const auto of_time = [](int64_t saved_ms) {
    v1::PeerScores scores;
    scores.set_saved_ms(saved_ms);
    return scores;
  };
  auto database = OpenStore();
  ASSERT_TRUE(StateStore(*database).Put(state::PeerScores(), of_time(1)).ok());
  ASSERT_TRUE(database->Backup(Folder()).ok());
  ASSERT_TRUE(StateStore(*database).Put(state::PeerScores(), of_time(2)).ok());
  database.reset();
  EXPECT_TRUE(Restore().ok());
  database = OpenStore();
  EXPECT_EQ(StateStore(*database).Get(state::PeerScores()).value().value().saved_ms(), 2);
}

TEST_F(RestoreTest, TheOtherKeyOfAnInterruptedChangeOpensThePresentStore) {
  BackUp();
  ASSERT_TRUE(WriteFileAtomically(Store() + "/ledger-head", "9 hash\n").ok());
  const privacy::SealKey old = key_;
  const privacy::SealKey next = privacy::SealKey::Generate();
  ASSERT_TRUE(OpenStore()->ChangeSealKey(next).ok());
  RestoreOptions options{.backup = Folder(), .store = Store(), .key = old};
  const auto without = RestoreBackup(options);
  EXPECT_THAT(MessageOf(without.status()), testing::HasSubstr("seal key"));
  options.other_key = next;
  const auto with = RestoreBackup(options);
  EXPECT_THAT(MessageOf(with.status()), testing::Not(testing::HasSubstr("seal key")));
}

TEST_F(RestoreTest, AnUnknownPresentCounterIsPassedByAMargin) {
  BackUp();  // from a node that never counted
  const std::string counter = Store() + "/boot-counter";
  for (const char* unknown : {"", "12abc", "12", "x\n"}) {
    ASSERT_TRUE(WriteFileAtomically(counter, unknown).ok());
    EXPECT_EQ(db::ReadBootCounter(Store()), std::nullopt) << unknown;
    EXPECT_EQ(Restore()->boot_counter, 1'000'000U) << unknown;
  }
  ASSERT_TRUE(WriteFileAtomically(counter, "12\n").ok());
  EXPECT_EQ(Restore()->boot_counter, 12U);
  EXPECT_EQ(db::ReadBootCounter(Store()), 12U);
}

TEST_F(RestoreTest, ANodeWithoutAKeyGetsOneOnlyWhenNothingRefuses) {
  BackUp();
  fs::remove_all(Store());
  int made = 0;
  const privacy::SealKey fresh = privacy::SealKey::Generate();
  RestoreOptions options{.backup = Folder(), .store = Store(), .key = key_, .make_key = [&] {
                           ++made;
                           return absl::StatusOr<privacy::SealKey>(fresh);
                         }};
  const std::string manifest = Folder() + "/" + kBackupManifestFile;
  const std::string bytes = ReadFile(manifest, 1 << 20).value();
  ASSERT_TRUE(WriteFileAtomically(manifest, bytes.substr(1)).ok());
  EXPECT_FALSE(RestoreBackup(options).ok());
  EXPECT_EQ(made, 0);
  ASSERT_TRUE(WriteFileAtomically(manifest, bytes).ok());
  ASSERT_TRUE(RestoreBackup(options).ok());
  EXPECT_EQ(made, 1);
  key_ = fresh;
  EXPECT_EQ(OpenStore()->Get(ColumnFamily::kMeta, "a").value(), "before");
}

TEST_F(RestoreTest, AStoreThatCannotBeLookedAtIsAnErrorAndNoException) {
  BackUp();
  const auto refused = RestoreBackup(
      {.backup = Folder(), .store = (folder_ / std::string(300, 'n')).string(), .key = key_});
  EXPECT_EQ(ReasonOf(refused.status()), reasons::kFileUnreadable) << refused.status();
}

}  // namespace
}  // namespace ruvd::storage
