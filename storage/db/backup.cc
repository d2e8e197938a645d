// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Making and verifying backups; restore.cc puts them back.

#include "storage/db/backup.h"

#include <rocksdb/utilities/checkpoint.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "base/file.h"
#include "base/reasons.h"
#include "base/status.h"
#include "ruvd/storage/v1/backup.pb.h"
#include "storage/db/database_impl.h"
#include "storage/db/file_hash.h"
#include "storage/reasons.h"

namespace ruvd::storage {
namespace {

// RocksDB adds this to the name of a checkpoint's folder until the checkpoint is complete.
constexpr char kUnfinishedCheckpoint[] = ".tmp";

namespace fs = std::filesystem;

constexpr std::string_view kMagic = "RUVDBKP1";
constexpr uint64_t kMaxManifestBytes = 64 << 20;
constexpr uint64_t kMaxHeadBytes = 1024;

// No column family has this number, so no stored value can pass for a manifest.
const privacy::SealContext kManifestContext{
    .column_family = privacy::kMaxSealColumnFamilies - 1, .key = "backup.manifest", .schema = 1};

template <typename... Args>
absl::Status Invalid(fmt::format_string<Args...> format, Args&&... args) {
  return Error(absl::StatusCode::kDataLoss, reasons::kBackupInvalid, "{}",
               fmt::format(format, std::forward<Args>(args)...));
}

// Changes "a/b/" to "a/b".
std::string WithoutSlash(const std::string& folder) {
  const fs::path path = fs::path(folder).lexically_normal();
  return path.has_filename() ? path : path.parent_path();
}

absl::Status MakeFolder(const std::string& folder) {
  std::error_code error;
  fs::create_directories(fs::path(folder).parent_path(), error);
  if (::mkdir(folder.c_str(), S_IRWXU) != 0) {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kFileUnwritable,
                 "cannot make the folder {} for the backup: {}; name one that does not exist yet",
                 folder, std::strerror(errno));
  }
  return absl::OkStatus();
}

// Removes the folder of a backup that failed: without its manifest it is not a backup and would
// only block the next one.
class UnfinishedBackup {
 public:
  explicit UnfinishedBackup(std::string folder) : folder_(std::move(folder)) {}
  ~UnfinishedBackup() {
    if (!folder_.empty()) {
      std::error_code ignored;
      fs::remove_all(folder_, ignored);
    }
  }
  UnfinishedBackup(const UnfinishedBackup&) = delete;
  UnfinishedBackup& operator=(const UnfinishedBackup&) = delete;
  void Keep() { folder_.clear(); }

 private:
  std::string folder_;
};

absl::Status CompareFile(const std::string& folder, const BackupManifest::File& expected) {
  const absl::StatusOr<BackupManifest::File> found = db::HashFile(folder, expected.name);
  if (!found.ok()) {
    return Invalid("{} of the backup cannot be read; take another backup", expected.name);
  }
  if (found->size != expected.size || found->blake2b != expected.blake2b) {
    return Invalid(
        "{} of the backup has {} bytes and differs from its manifest ({} bytes); "
        "take another backup",
        expected.name, found->size, expected.size);
  }
  return absl::OkStatus();
}

}  // namespace

std::string EncodeBackupManifest(const BackupManifest& manifest, const privacy::SealKey& key) {
  v1::BackupManifest message;
  message.set_schema(manifest.schema);
  message.set_store_id(manifest.store_id);
  message.set_created_ms(manifest.created_ms);
  message.set_sequence(manifest.sequence);
  message.set_boot_counter(manifest.boot_counter);
  message.set_ledger_head(manifest.ledger_head);
  for (const BackupManifest::File& file : manifest.files) {
    v1::BackupFile& entry = *message.add_files();
    entry.set_name(file.name);
    entry.set_size(file.size);
    entry.set_blake2b(std::string(AsText(file.blake2b)));
  }
  return std::string(kMagic) + key.Seal(kManifestContext, message.SerializeAsString());
}

absl::StatusOr<BackupManifest> DecodeBackupManifest(std::string_view bytes,
                                                    const privacy::SealKey& key) {
  if (!bytes.starts_with(kMagic)) {
    return Invalid("backup.manifest is not a manifest; name the folder that the backup made");
  }
  const auto plaintext = key.Open(kManifestContext, bytes.substr(kMagic.size()));
  if (!plaintext.ok()) {
    return Invalid(
        "backup.manifest does not open with this seal key; give the key file that the "
        "node had when the backup was made, or take another backup");
  }
  v1::BackupManifest message;
  if (!message.ParseFromString(*plaintext)) {
    return Invalid("backup.manifest does not decode; take another backup");
  }
  if (message.schema() != kSchemaVersion) {
    return Invalid(
        "the backup is of a store with schema {}, and this ruvd reads schema {} only; restore it "
        "with the ruvd that made it",
        message.schema(), kSchemaVersion);
  }
  BackupManifest manifest{.schema = message.schema(),
                          .store_id = message.store_id(),
                          .created_ms = message.created_ms(),
                          .sequence = message.sequence(),
                          .boot_counter = message.boot_counter(),
                          .ledger_head = message.ledger_head(),
                          .files = {}};
  for (const v1::BackupFile& entry : message.files()) {
    BackupManifest::File file{.name = entry.name(), .size = entry.size()};
    if (entry.blake2b().size() != file.blake2b.size() || file.name.empty() ||
        file.name.find('/') != std::string::npos || file.name == "..") {
      return Invalid("backup.manifest names an impossible file; take another backup");
    }
    std::ranges::copy(AsBytes(entry.blake2b()), file.blake2b.begin());
    manifest.files.push_back(std::move(file));
  }
  return manifest;
}

absl::StatusOr<BackupManifest> ReadBackupManifest(const std::string& folder,
                                                  const privacy::SealKey& key) {
  ASSIGN_OR_RETURN(const std::string bytes,
                   ReadFile(folder + "/" + kBackupManifestFile, kMaxManifestBytes));
  return DecodeBackupManifest(bytes, key);
}

absl::StatusOr<BackupManifest> VerifyBackup(const std::string& folder,
                                            const privacy::SealKey& key) {
  ASSIGN_OR_RETURN(BackupManifest manifest, ReadBackupManifest(folder, key));
  const std::string store = folder + "/" + kBackupStoreFolder;
  std::error_code error;
  size_t present = 0;
  for (fs::directory_iterator entries(store, error), end; !error && entries != end;
       entries.increment(error)) {
    ++present;
  }
  if (error || present != manifest.files.size()) {
    return Invalid("the backup has {} files, but its manifest names {}; take another backup",
                   present, manifest.files.size());
  }
  for (const BackupManifest::File& file : manifest.files) {
    RETURN_IF_ERROR(CompareFile(store, file));
  }
  return manifest;
}

absl::StatusOr<BackupManifest> Database::Impl::CopyStore(const std::string& store) {
  BackupManifest manifest{
      .schema = kSchemaVersion, .store_id = store_id_, .created_ms = options_.clock->WallMillis()};
  // These are read before the checkpoint, so that it certainly contains what they name.
  manifest.sequence = db_->GetLatestSequenceNumber();
  manifest.boot_counter = db::ReadBootCounter(options_.path).value_or(0);
  if (const auto head = ReadFile(options_.path + "/ledger-head", kMaxHeadBytes); head.ok()) {
    manifest.ledger_head = *head;
  }
  rocksdb::Checkpoint* raw = nullptr;
  rocksdb::Status status = rocksdb::Checkpoint::Create(db_.get(), &raw);
  const std::unique_ptr<rocksdb::Checkpoint> checkpoint(raw);
  if (status.ok()) {
    status = checkpoint->CreateCheckpoint(store);
  }
  RETURN_IF_ERROR(db::FromRocks(status, "a backup"));
  ASSIGN_OR_RETURN(const auto mark,
                   db::HighWaterFile::Create(*rocksdb::FileSystem::Default(), store));
  RETURN_IF_ERROR(mark->Write(manifest.sequence, /*clean=*/false, /*sync=*/true));
  return manifest;
}

absl::StatusOr<BackupManifest> Database::Impl::Backup(
    const std::string& name, const std::function<bool()>& cancelled,
    const std::function<void(size_t, size_t)>& on_file) {
  const std::string folder = WithoutSlash(name);
  RETURN_IF_ERROR(CheckNotFailed());
  RETURN_IF_ERROR(MakeFolder(folder));
  UnfinishedBackup unfinished(folder);
  const std::string store = fs::absolute(folder) / kBackupStoreFolder;
  std::optional<privacy::SealKey> key;
  BackupManifest manifest;
  {
    // The manifest is sealed with the key that opens the copied store. After this block the copy
    // does not depend on the store.
    const MutexLock maintenance(maintenance_);
    key = node_key();
    ASSIGN_OR_RETURN(manifest, CopyStore(store));
  }
  ASSIGN_OR_RETURN(const std::vector<std::string> names, db::StoreFiles(store));
  for (const std::string& file_name : names) {
    if (cancelled && cancelled()) {
      return Error(absl::StatusCode::kCancelled, reasons::kCancelled,
                   "the backup in {} was cancelled after {} of {} files; make another one", folder,
                   manifest.files.size(), names.size());
    }
    if (on_file) {
      on_file(manifest.files.size(), names.size());
    }
    ASSIGN_OR_RETURN(BackupManifest::File file, db::HashFile(store, file_name));
    manifest.files.push_back(std::move(file));
  }
  RETURN_IF_ERROR(CheckNotFailed());
  if (!key->derivation().empty()) {
    RETURN_IF_ERROR(
        WriteFileAtomically(folder + "/" + kBackupDerivationFile, key->derivation(), 0600));
  }
  RETURN_IF_ERROR(WriteFileAtomically(folder + "/" + kBackupManifestFile,
                                      EncodeBackupManifest(manifest, *key), 0600));
  RETURN_IF_ERROR(db::SyncFolder(fs::absolute(folder).parent_path()));
  unfinished.Keep();
  return manifest;
}

size_t RemoveUnfinishedBackups(const std::string& parent) {
  std::error_code error;
  std::vector<fs::path> unfinished;
  for (fs::directory_iterator entries(parent, error), end; !error && entries != end;
       entries.increment(error)) {
    std::error_code ignored;
    const fs::path& folder = entries->path();
    const bool has_store =
        fs::is_directory(folder / kBackupStoreFolder, ignored) ||
        fs::is_directory(folder / (std::string(kBackupStoreFolder) + kUnfinishedCheckpoint),
                         ignored);
    if (!fs::is_symlink(folder, ignored) && has_store &&
        !fs::exists(folder / kBackupManifestFile, ignored) && !ignored) {
      unfinished.push_back(folder);
    }
  }
  size_t removed = 0;
  for (const fs::path& folder : unfinished) {
    std::error_code failed;
    fs::remove_all(folder, failed);
    removed += failed ? 0 : 1;
  }
  return removed;
}

}  // namespace ruvd::storage
