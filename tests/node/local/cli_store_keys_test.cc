// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Tests keys of a stopped node's store: rotation, passphrases, restores under other keys.

#include "base/bytes.h"
#include "storage/db/key_record.h"
#include "storage/db/stored_value.h"
#include "tests/node/local/cli_store_fixture.h"

namespace ruvd::cli {
namespace {

class CliStoreKeysTest : public CliStoreTest {
 protected:
  void UsePassphrase(const std::string& passphrase) {
    config_.storage.seal_key = "passphrase";
    config_.storage.passphrase_file = PassphraseFile("passphrase", passphrase);
  }
  std::string PassphraseFile(const std::string& name, const std::string& passphrase) {
    const std::string path = (folder_ / name).string();
    EXPECT_TRUE(WriteFileAtomically(path, passphrase + "\n", 0600).ok());
    return path;
  }
  std::string Backup() {
    const std::string folder = (folder_ / "backup").string();
    EXPECT_EQ(Run({"store", "backup", "--out", folder}), 0) << err_.str();
    return folder;
  }
  // Interrupts a rotation after the store has taken the next key.
  void InterruptRotation() {
    auto source = node::MakeSealKeySource(config_).value();
    auto database = node::OpenNodeStore(config_, *source, SystemClock()).value();
    ASSERT_TRUE(database->ChangeSealKey(source->StartRotation("").value()).ok());
  }
  // Returns how many data keys in any file of the store the key unwraps.
  size_t Unwrapped(const privacy::SealKey& key) const {
    const std::string start =
        ByteWriter().Write(uint8_t{1}).Write(storage::kSchemaVersion).Write(0U).Take();
    size_t found = 0;
    for (const auto& entry : fs::directory_iterator(fs::path(config_.node.data_dir) / "store")) {
      const std::string bytes = ReadFile(entry.path(), 1 << 30).value_or("");
      for (size_t at = bytes.find(start); at != std::string::npos; at = bytes.find(start, at + 1)) {
        for (uint64_t id = 1; id < 10; ++id) {
          for (size_t scope = 4; scope < 32; ++scope) {
            const std::string value =
                bytes.substr(at, storage::kNodeSealedHeaderBytes + privacy::kSealOverheadBytes +
                                     12 + scope + privacy::kSealKeyBytes);
            found += storage::DecodeStoredValue(&key, nullptr, storage::ColumnFamily::kKey,
                                                storage::KeyRowKey(id), value)
                             .ok()
                         ? 1
                         : 0;
          }
        }
      }
    }
    return found;
  }
};

TEST_F(CliStoreKeysTest, DataKeysMadeByARotationAreNeverWrappedByTheOldKey) {
  Put("a", "1");
  const privacy::SealKey before =
      privacy::SealKey::LoadOrCreate(fs::path(config_.node.data_dir) / "seal.key").value();
  ASSERT_GT(Unwrapped(before), 0U);
  ASSERT_EQ(Run({"store", "rotate", "--data-keys"}), 0) << err_.str();
  const privacy::SealKey after =
      privacy::SealKey::LoadOrCreate(fs::path(config_.node.data_dir) / "seal.key").value();
  EXPECT_GT(Unwrapped(after), 0U);
  EXPECT_EQ(Unwrapped(before), 0U);
}

// Regression test: an unset variable of a script destroyed the only key of all earlier backups.
TEST_F(CliStoreKeysTest, AnEmptyNameForTheOldKeyIsNotTakenAsNone) {
  Put("a", "1");
  const fs::path key = fs::path(config_.node.data_dir) / "seal.key";
  const std::string before = ReadFile(key, 1000).value();
  EXPECT_EQ(Run({"store", "rotate", "--keep-old-key", ""}), 2);
  EXPECT_EQ(Run({"store", "rotate", "--new-passphrase-file", ""}), 2);
  // Regression test: the rotation overwrote this file, moved it, and then recommended it for
  // backups.
  const std::string next = (fs::path(config_.node.data_dir) / "." / "seal.key.next").string();
  EXPECT_EQ(Run({"store", "rotate", "--keep-old-key", next}), 2);
  EXPECT_THAT(err_.str(), HasSubstr("of the rotation itself"));
  EXPECT_EQ(ReadFile(key, 1000).value(), before);
}

TEST_F(CliStoreKeysTest, ARotationThatWasInterruptedIsSettledAtTheNextOpen) {
  Put("a", "1");
  const fs::path data = config_.node.data_dir;
  {
    // This rotation was killed after the store took the next key.
    auto source = node::MakeSealKeySource(config_).value();
    auto database = node::OpenNodeStore(config_, *source, SystemClock()).value();
    const privacy::SealKey next = source->StartRotation("").value();
    ASSERT_TRUE(database->ChangeSealKey(next).ok());
  }
  EXPECT_TRUE(fs::exists(data / "seal.key.next"));
  EXPECT_EQ(Open()->Get(storage::ColumnFamily::kMeta, "a").value(), "1");
  EXPECT_FALSE(fs::exists(data / "seal.key.next"));
  {
    // This rotation was killed before that.
    auto source = node::MakeSealKeySource(config_).value();
    ASSERT_TRUE(source->StartRotation("").ok());
  }
  EXPECT_EQ(Open()->Get(storage::ColumnFamily::kMeta, "a").value(), "1");
  EXPECT_FALSE(fs::exists(data / "seal.key.next"));
}

TEST_F(CliStoreKeysTest, APassphraseOpensTheStore) {
  config_.storage.seal_key = "passphrase";
  config_.storage.passphrase_file = (folder_ / "passphrase").string();
  ASSERT_TRUE(
      WriteFileAtomically(config_.storage.passphrase_file, "a long enough phrase\n", 0600).ok());
  Put("a", "1");
  EXPECT_EQ(RunJson({"store", "status"})["health"], "ok");
  const std::string other = (folder_ / "other").string();
  ASSERT_TRUE(WriteFileAtomically(other, "another phrase\n", 0600).ok());
  EXPECT_EQ(Run({"store", "rotate", "--new-passphrase-file", other}), 0) << err_.str();
  EXPECT_NE(Run({"store", "status"}), 0);
  EXPECT_THAT(err_.str(), HasSubstr("SEAL_BROKEN"));
  config_.storage.passphrase_file = other;
  EXPECT_EQ(Open()->Get(storage::ColumnFamily::kMeta, "a").value(), "1");
}

TEST_F(CliStoreKeysTest, AStoreThatIsNotMountedDoesNotCostItsOnlyKey) {
  Put("a", "1");
  InterruptRotation();
  const fs::path data = config_.node.data_dir;
  fs::rename(data / "store", folder_ / "elsewhere");
  const auto source = node::MakeSealKeySource(config_).value();
  const auto opened = node::OpenNodeStore(config_, *source, SystemClock());
  EXPECT_EQ(ReasonOf(opened.status()), reasons::kFileNotFound);
  EXPECT_TRUE(fs::exists(data / "seal.key.next"));
  fs::remove_all(data / "store");
  fs::rename(folder_ / "elsewhere", data / "store");
  EXPECT_EQ(Open()->Get(storage::ColumnFamily::kMeta, "a").value(), "1");
  EXPECT_FALSE(fs::exists(data / "seal.key.next"));
}

TEST_F(CliStoreKeysTest, ARestoreDuringAChangeOfTheKeyTriesBoth) {
  Put("a", "before");
  const std::string backup = Backup();
  Put("a", "after");
  InterruptRotation();
  ASSERT_EQ(Run({"store", "restore", "--from", backup}), 0) << err_.str();
  EXPECT_EQ(Open()->Get(storage::ColumnFamily::kMeta, "a").value(), "before");
  // This backup can only be opened with the next key.
  fs::remove_all(backup);
  {
    auto source = node::MakeSealKeySource(config_).value();
    auto database = node::OpenNodeStore(config_, *source, SystemClock()).value();
    ASSERT_TRUE(database->ChangeSealKey(source->StartRotation("").value()).ok());
    ASSERT_TRUE(database->Backup(backup).ok());
  }
  ASSERT_EQ(Run({"store", "restore", "--from", backup}), 0) << err_.str();
  EXPECT_EQ(Open()->Get(storage::ColumnFamily::kMeta, "a").value(), "before");
}

TEST_F(CliStoreKeysTest, APassphraseAloneRestoresABackupOnAnotherMachine) {
  UsePassphrase("a long enough phrase");
  Put("a", "1");
  const std::string backup = Backup();
  fs::remove_all(config_.node.data_dir);
  EXPECT_EQ(Run({"store", "restore", "--verify", "--from", backup}), 0) << err_.str();
  EXPECT_FALSE(fs::exists(config_.node.data_dir));
  ASSERT_EQ(Run({"store", "restore", "--from", backup}), 0) << err_.str();
  EXPECT_EQ(Open()->Get(storage::ColumnFamily::kMeta, "a").value(), "1");
}

TEST_F(CliStoreKeysTest, ABackupOfAPassphraseIsRestoredAcrossARotation) {
  UsePassphrase("the first passphrase");
  Put("a", "1");
  const std::string backup = Backup();
  const std::string first = PassphraseFile("first", "the first passphrase");
  ASSERT_EQ(Run({"store", "rotate"}), 0) << err_.str();  // an equal passphrase with another salt
  ASSERT_EQ(Run({"store", "restore", "--from", backup}), 0) << err_.str();
  EXPECT_EQ(Open()->Get(storage::ColumnFamily::kMeta, "a").value(), "1");
  const std::string second = PassphraseFile("second", "the second passphrase");
  ASSERT_EQ(Run({"store", "rotate", "--new-passphrase-file", second}), 0) << err_.str();
  config_.storage.passphrase_file = second;
  EXPECT_NE(Run({"store", "restore", "--from", backup}), 0);
  EXPECT_THAT(err_.str(), HasSubstr("--backup-passphrase-file"));
  ASSERT_EQ(Run({"store", "restore", "--from", backup, "--backup-passphrase-file", first}), 0)
      << err_.str();
  EXPECT_EQ(Open()->Get(storage::ColumnFamily::kMeta, "a").value(), "1");
}

TEST_F(CliStoreKeysTest, ARestoreMakesAKeyOnlyWhenItNeedsOne) {
  Put("a", "1");
  const std::string backup = Backup();
  const std::string key_file = (folder_ / "kept.key").string();
  fs::copy(fs::path(config_.node.data_dir) / "seal.key", key_file);
  fs::remove_all(config_.node.data_dir);
  EXPECT_NE(Run({"store", "restore", "--from", backup}), 0);
  EXPECT_THAT(err_.str(), HasSubstr("--backup-key"));
  EXPECT_FALSE(fs::exists(config_.node.data_dir));
  ASSERT_EQ(Run({"store", "restore", "--from", backup, "--backup-key", key_file}), 0) << err_.str();
  EXPECT_EQ(Open()->Get(storage::ColumnFamily::kMeta, "a").value(), "1");
}

// A key that was made needlessly prevents the right one from being used.
TEST_F(CliStoreKeysTest, ARefusedRestoreMakesNoKey) {
  Put("a", "1");
  const std::string backup = Backup();
  const fs::path data = config_.node.data_dir;
  const std::string key_file = (folder_ / "kept.key").string();
  fs::copy(data / "seal.key", key_file);
  const std::vector<std::string> restore = {"store", "restore",      "--from",
                                            backup,  "--backup-key", key_file};
  fs::remove(data / "seal.key");
  EXPECT_NE(Run(restore), 0);
  EXPECT_THAT(err_.str(), AllOf(HasSubstr("FILE_NOT_FOUND"), HasSubstr("seal.key is missing")));
  EXPECT_FALSE(fs::exists(data / "seal.key"));
  fs::remove_all(data);
  fs::rename(fs::path(backup) / "store" / "CURRENT", folder_ / "CURRENT");
  EXPECT_NE(Run(restore), 0);
  EXPECT_FALSE(fs::exists(data));
  fs::rename(folder_ / "CURRENT", fs::path(backup) / "store" / "CURRENT");
  ASSERT_EQ(Run(restore), 0) << err_.str();
  EXPECT_EQ(Open()->Get(storage::ColumnFamily::kMeta, "a").value(), "1");
}

// Regression test: the only key of every earlier backup was overwritten without a warning.
TEST_F(CliStoreKeysTest, ARotationKeepsTheOldKeyOrSaysThatItIsGone) {
  Put("a", "1");
  const std::string backup = Backup();
  const std::string kept = (folder_ / "old.key").string();
  ASSERT_EQ(Run({"store", "rotate", "--keep-old-key", kept}), 0) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("--backup-key " + kept));
  EXPECT_EQ(fs::status(kept).permissions() & fs::perms::all,
            fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_NE(Run({"store", "restore", "--from", backup}), 0);
  ASSERT_EQ(Run({"store", "restore", "--from", backup, "--backup-key", kept}), 0) << err_.str();
  EXPECT_EQ(Open()->Get(storage::ColumnFamily::kMeta, "a").value(), "1");
  EXPECT_EQ(Run({"store", "rotate", "--keep-old-key", kept}), 2);
  EXPECT_THAT(err_.str(), HasSubstr("exists already"));
  ASSERT_EQ(Run({"store", "rotate"}), 0) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("the former key, which is gone"));
}

// Regression test: the operator believed that the passphrase protects the key.
TEST_F(CliStoreKeysTest, APassphraseForAKeyFileIsRefused) {
  Put("a", "1");
  const std::string before = ReadFile(fs::path(config_.node.data_dir) / "seal.key", 64).value();
  const std::string phrase = PassphraseFile("phrase", "a long enough phrase");
  EXPECT_EQ(Run({"store", "rotate", "--new-passphrase-file", phrase}), 2);
  EXPECT_THAT(err_.str(), HasSubstr("storage.seal_key is passphrase"));
  EXPECT_EQ(ReadFile(fs::path(config_.node.data_dir) / "seal.key", 64).value(), before);
}

TEST_F(CliStoreKeysTest, ANewPassphraseIsToBePutIntoTheConfiguration) {
  UsePassphrase("the first passphrase");
  Put("a", "1");
  const std::string second = PassphraseFile("second", "the second passphrase");
  EXPECT_EQ(Run({"store", "rotate", "--keep-old-key", (folder_ / "k").string()}), 2);
  ASSERT_EQ(Run({"store", "rotate", "--new-passphrase-file", second}), 0) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("put the new passphrase into storage.passphrase_file"));
}

// Regression test: a new key was made in place of the missing one, and the error said that the
// store does not open.
TEST_F(CliStoreKeysTest, AStoreWhoseKeyIsMissingGetsNoNewOne) {
  Put("a", "1");
  const fs::path key = fs::path(config_.node.data_dir) / "seal.key";
  fs::rename(key, folder_ / "elsewhere");
  for (const char* verb : {"status", "verify", "compact"}) {
    EXPECT_NE(Run({"store", verb}), 0);
    EXPECT_THAT(err_.str(), AllOf(HasSubstr("FILE_NOT_FOUND"), HasSubstr("seal.key is missing")));
    EXPECT_FALSE(fs::exists(key));
  }
  fs::rename(folder_ / "elsewhere", key);
  EXPECT_EQ(Open()->Get(storage::ColumnFamily::kMeta, "a").value(), "1");
}

TEST_F(CliStoreKeysTest, AWrongPathOfABackupKeyIsNamed) {
  Put("a", "1");
  const std::string backup = Backup();
  EXPECT_NE(
      Run({"store", "restore", "--from", backup, "--backup-key", (folder_ / "none").string()}), 0);
  EXPECT_THAT(err_.str(),
              AllOf(HasSubstr("none does not exist"), testing::Not(HasSubstr("service manager"))));
}

// Names of folders need not be UTF-8; the JSON library ended the process.
TEST_F(CliStoreKeysTest, AFolderThatIsNotUtf8IsShownAllTheSame) {
  config_.node.data_dir = (folder_ / "d\xFFta").string();
  Put("a", "1");
  EXPECT_THAT(RunJson({"store", "status"})["path"].get<std::string>(), HasSubstr("\uFFFDta"));
}

}  // namespace
}  // namespace ruvd::cli
