// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <fcntl.h>
#include <stdio.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/file.h"
#include "base/reasons.h"
#include "base/status.h"
#include "storage/db/backup.h"
#include "storage/db/database.h"
#include "storage/db/file_hash.h"
#include "storage/db/store_folder.h"
#include "storage/reasons.h"

namespace ruvd {
namespace {

namespace fs = std::filesystem;

constexpr char kLedgerEntries[] = "e/";
constexpr uint64_t kMaxHeadBytes = 1024;
constexpr size_t kRowsPerBatch = 1000;
// Where the present counter is gone, this many starts are passed over: more than a node can have
// had since the backup.
constexpr uint64_t kBootMargin = 1'000'000;

absl::Status WouldGoBack(std::string_view cause) {
  return Error(
      absl::StatusCode::kFailedPrecondition, reasons::kLedgerWouldGoBack,
      "restoring would forget privacy budget that this node has spent: {}; restore a newer "
      "backup, or give the node a new identity and an empty data folder",
      cause);
}

// The sequence of a head, the number that its text begins with; 0 for no head.
uint64_t SequenceOf(const std::string& head) {
  uint64_t sequence = 0;
  std::from_chars(head.data(), head.data() + head.size(), sequence);
  return sequence;
}

std::string ReadHead(const std::string& store) {
  return ReadFile(store + "/ledger-head", kMaxHeadBytes).value_or("");
}

class Restore {
 public:
  explicit Restore(const RestoreOptions& options)
      : options_(options),
        staging_(options.store + ".restoring"),
        exists_(fs::exists(options.store)) {}

  absl::StatusOr<RestoreReport> Run() {
    const SealKey& backup_key = options_.backup_key ? *options_.backup_key : options_.key;
    ASSIGN_OR_RETURN(report_.manifest, VerifyBackup(options_.backup, backup_key));
    if (exists_) {
      ASSIGN_OR_RETURN(lock_, db::FolderLock::Acquire(options_.store));
    }
    RETURN_IF_ERROR(CopyToStaging());
    RETURN_IF_ERROR(KeepCounter());
    RETURN_IF_ERROR(OpenStaging(backup_key));
    RETURN_IF_ERROR(Exchange());
    return std::move(report_);
  }

 private:
  absl::Status CopyToStaging();
  absl::Status KeepCounter();
  absl::Status OpenStaging(const SealKey& backup_key);
  absl::Status KeepLedger(Database& restored);
  absl::StatusOr<std::unique_ptr<Database>> OpenPresent();
  absl::Status Exchange();

  const RestoreOptions& options_;
  const std::string staging_;
  const bool exists_;
  RestoreReport report_;
  std::unique_ptr<db::FolderLock> lock_;
};

absl::Status Restore::CopyToStaging() {
  std::error_code error;
  fs::remove_all(staging_, error);  // of an interrupted restore
  RETURN_IF_ERROR(db::CreateStoreFolder(staging_));
  const std::string from = options_.backup + "/" + kBackupStoreFolder;
  for (const BackupManifest::File& file : report_.manifest.files) {
    RETURN_IF_ERROR(db::CopyFileDurably(from + "/" + file.name, staging_ + "/" + file.name));
    // Between verifying and copying the backup may have changed.
    ASSIGN_OR_RETURN(const BackupManifest::File copied, db::HashFile(staging_, file.name));
    if (copied.blake2b != file.blake2b) {
      return Error(absl::StatusCode::kDataLoss, reasons::kBackupInvalid,
                   "{} of the backup changed while it was copied; check the disk", file.name);
    }
  }
  return absl::OkStatus();
}

absl::Status Restore::KeepCounter() {
  const uint64_t present = db::ReadBootCounter(options_.store);
  const uint64_t backed_up = report_.manifest.boot_counter;
  report_.boot_counter =
      present > 0 ? std::max(present, backed_up) : (backed_up > 0 ? backed_up + kBootMargin : 0);
  if (report_.boot_counter == 0) {
    return absl::OkStatus();
  }
  return WriteFileAtomically(staging_ + "/boot-counter", fmt::format("{}\n", report_.boot_counter),
                             0600);
}

absl::Status Restore::OpenStaging(const SealKey& backup_key) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Database> restored,
                   Database::Open({.path = staging_,
                                   .seal_key = backup_key,
                                   .soft_reserve_bytes = 0,
                                   .hard_reserve_bytes = 0}));
  if (restored->recovery().loss()) {
    return Error(absl::StatusCode::kDataLoss, reasons::kBackupInvalid,
                 "the backup lacks {} changes that it should have; take another backup",
                 restored->recovery().missing());
  }
  if (options_.backup_key) {
    RETURN_IF_ERROR(restored->ChangeSealKey(options_.key));
  }
  RETURN_IF_ERROR(KeepLedger(*restored));
  return restored->Close();
}

absl::StatusOr<std::unique_ptr<Database>> Restore::OpenPresent() {
  lock_.reset();  // the database takes it itself
  return Database::Open({.path = options_.store,
                         .seal_key = options_.key,
                         .soft_reserve_bytes = 0,
                         .hard_reserve_bytes = 0});
}

// Every entry of the backup must be in the present ledger; then the present one is carried forward.
absl::Status Restore::KeepLedger(Database& restored) {
  const std::string present_head = exists_ ? ReadHead(options_.store) : "";
  const std::string& backup_head = report_.manifest.ledger_head;
  if (SequenceOf(present_head) < SequenceOf(backup_head) || present_head == backup_head) {
    // The backup's own, or none at all. A present one that is behind belongs to a store that was
    // put back by other means.
    return backup_head.empty() ? absl::OkStatus()
                               : WriteFileAtomically(staging_ + "/ledger-head", backup_head, 0600);
  }
  const auto present = OpenPresent();
  if (!present.ok()) {
    return WouldGoBack(
        "the ledger of the present store is newer than the backup's and cannot be "
        "read (" +
        MessageOf(present.status()) + ")");
  }
  RETURN_IF_ERROR(
      restored.Scan(ColumnFamily::kLedger, "", "", [&](const RowView& row) -> absl::StatusOr<bool> {
        const auto same = (*present)->Get(ColumnFamily::kLedger, row.key);
        if (row.key.starts_with(kLedgerEntries) && (!same.ok() || *same != row.value)) {
          return WouldGoBack(
              "the ledger of the present store is not a continuation of the backup's");
        }
        return true;
      }));
  Batch batch;
  size_t rows = 0;
  const absl::Status carried = (*present)->Scan(
      ColumnFamily::kLedger, "", "", [&](const RowView& row) -> absl::StatusOr<bool> {
        ASSIGN_OR_RETURN(const bool there, restored.Contains(ColumnFamily::kLedger, row.key));
        report_.ledger_rows_carried += !there && row.key.starts_with(kLedgerEntries) ? 1 : 0;
        batch.Put(ColumnFamily::kLedger, row.key, row.value, row.generation);
        if (++rows % kRowsPerBatch == 0) {
          RETURN_IF_ERROR(restored.Write(std::exchange(batch, {}), Durability::kProcessCrash));
        }
        return true;
      });
  RETURN_IF_ERROR(carried);
  RETURN_IF_ERROR(restored.Write(std::move(batch), Durability::kPowerLoss));
  RETURN_IF_ERROR((*present)->Close());
  ASSIGN_OR_RETURN(lock_, db::FolderLock::Acquire(options_.store));
  return WriteFileAtomically(staging_ + "/ledger-head", present_head, 0600);
}

// One system call: at every moment the store's name is that of a whole store.
absl::Status Restore::Exchange() {
  const unsigned flags = exists_ ? RENAME_EXCHANGE : RENAME_NOREPLACE;
  if (::renameat2(AT_FDCWD, staging_.c_str(), AT_FDCWD, options_.store.c_str(), flags) != 0) {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kFileUnwritable,
                 "cannot exchange {} and {}: {}; the restored store is whole, exchange the two "
                 "folders yourself",
                 staging_, options_.store, std::strerror(errno));
  }
  RETURN_IF_ERROR(db::SyncFolder(fs::absolute(options_.store).parent_path()));
  lock_.reset();
  std::error_code error;
  fs::remove_all(staging_, error);  // the old store; a rest of it is removed next time
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<RestoreReport> RestoreBackup(const RestoreOptions& options) {
  return Restore(options).Run();
}

}  // namespace ruvd
