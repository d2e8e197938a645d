// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <fcntl.h>
#include <stdio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/reasons.h"
#include "base/status.h"
#include "ruvd/storage/v1/state.pb.h"
#include "storage/counters/store_incarnation.h"
#include "storage/db/backup.h"
#include "storage/db/database.h"
#include "storage/db/file_hash.h"
#include "storage/db/store_folder.h"
#include "storage/erasure/erasure_notes.h"
#include "storage/ledger/ledger_rows.h"
#include "storage/reasons.h"
#include "storage/restore/consents.h"
#include "storage/state/state_store.h"

namespace ruvd::storage {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMaxHeadBytes = 1024;
constexpr size_t kRowsPerBatch = 1000;
// If the present counter is unknown, this many starts are skipped: more than a node can have had
// since the backup.
constexpr uint64_t kBootMargin = 1'000'000;

absl::Status WouldGoBack(std::string_view cause) {
  return Error(absl::StatusCode::kFailedPrecondition, reasons::kLedgerWouldGoBack,
               "the restore might forget privacy budget that this node has spent: {}; restore a "
               "newer backup, or give the node a new identity and an empty data folder",
               cause);
}

absl::Status NothingToCompare(std::string_view cause, const ledger::Chain& backup) {
  return Error(
      absl::StatusCode::kFailedPrecondition, reasons::kLedgerWouldGoBack,
      "the restore might forget privacy budget that this node has spent: {}, and the backup's "
      "ledger "
      "ends at entry {}; restore a newer backup, or give the node a new identity and an empty data "
      "folder. If you know that the backup is as new as the store was, restore with "
      "--accept-older-ledger",
      cause, backup.head.sequence);
}

// Returns whether a folder contains only the file that locks it.
bool IsEmptyStore(const std::string& store) {
  std::error_code error;
  for (fs::directory_iterator entries(store, error), end; !error && entries != end;
       entries.increment(error)) {
    if (entries->path().filename() != db::kLockFile) {
      return false;
    }
  }
  return !error;
}

// Returns the head in a store's file; nullopt when it is missing or damaged.
std::optional<privacy::LedgerHead> ReadHeadFile(const std::string& store) {
  const absl::StatusOr<std::string> text = ReadFile(store + "/ledger-head", kMaxHeadBytes);
  if (!text.ok()) {
    return std::nullopt;
  }
  const absl::StatusOr<privacy::LedgerHead> head = ledger::ParseHead(*text);
  return head.ok() ? std::optional(*head) : std::nullopt;
}

// The facts about the present store and its ledger.
struct PresentLedger {
  bool exists = false;  // the store: its folder exists and is not empty
  std::optional<privacy::LedgerHead> filed;
  absl::Status opened;  // the result of opening the store
  // The store opened, and it is the store that was backed up, not one that was started anew.
  bool same_store = false;
  // The store opened, and nothing shows that it ever lost changes. Opening a store settles a loss.
  bool complete = false;
  ledger::Chain chain;

  // Returns whether its boot counter continues that of the backup.
  bool counts() const {
    return opened.ok() ? same_store : filed.has_value() && filed->sequence > 0;
  }
  bool HasEntries() const {
    return filed.value_or(privacy::LedgerHead{}).sequence > 0 || !chain.hashes.empty() ||
           chain.head_row.value_or(privacy::LedgerHead{}).sequence > 0;
  }
  // Returns why it does not tell what was spent since the backup, or an empty text when it does. A
  // lost store is often replaced by an empty one, which a start makes, before the operator
  // restores.
  std::string Silence() const {
    if (!exists) {
      return "there is no store whose ledger could be compared";
    }
    if (!opened.ok() && !filed) {
      return "the present store has no readable ledger-head and does not open (" +
             MessageOf(opened) + ")";
    }
    return !(opened.ok() && same_store) && !HasEntries()
               ? "the present store was started anew and has no ledger to compare"
               : "";
  }
};

// Returns why the backup's ledger cannot follow the present one, or OK when it can.
absl::Status CheckContinues(const PresentLedger& present, const ledger::Chain& backup) {
  if (!present.filed && !present.complete) {
    return WouldGoBack("the present store lost its last changes and has no readable ledger-head");
  }
  std::vector<privacy::LedgerHead> known;
  for (const auto& [sequence, hash] : present.chain.hashes) {
    known.push_back({sequence, hash});
  }
  known.push_back(present.filed.value_or(privacy::LedgerHead{}));
  known.push_back(present.chain.head_row.value_or(privacy::LedgerHead{}));
  for (const privacy::LedgerHead& head : known) {
    if (!backup.Contains(head)) {
      return WouldGoBack(
          fmt::format("entry {} of the present ledger is not in the backup, which ends at entry {}",
                      head.sequence, backup.head.sequence));
    }
  }
  return absl::OkStatus();
}

// Returns whether the present chain is certainly complete and continues the backup's chain.
bool GoesOn(const PresentLedger& present, const ledger::Chain& backup) {
  const ledger::Chain& chain = present.chain;
  return present.opened.ok() && (present.filed || present.complete) && chain.intact &&
         chain.head.sequence > backup.head.sequence &&
         chain.Contains(present.filed.value_or(privacy::LedgerHead{})) &&
         std::all_of(backup.hashes.begin(), backup.hashes.end(), [&chain](const auto& entry) {
           return chain.Contains({entry.first, entry.second});
         });
}

// Returns whether a backup's ledger ever had an entry.
bool HasEntries(const ledger::Chain& chain, const BackupManifest& manifest) {
  const absl::StatusOr<privacy::LedgerHead> filed = ledger::ParseHead(manifest.ledger_head);
  const bool head_says = filed.ok() ? filed->sequence > 0 : !manifest.ledger_head.empty();
  return head_says || !chain.hashes.empty() ||
         chain.head_row.value_or(privacy::LedgerHead{}).sequence > 0;
}

class Restore {
 public:
  explicit Restore(const RestoreOptions& options)
      : options_(options), staging_(options.store + ".restoring") {}
  // A restore that was refused leaves nothing behind.
  ~Restore() {
    if (remove_staging_) {
      std::error_code error;
      fs::remove_all(staging_, error);
    }
  }
  Restore(const Restore&) = delete;
  Restore& operator=(const Restore&) = delete;

  absl::StatusOr<RestoreReport> Run() {
    const privacy::SealKey& backup_key = options_.backup_key ? *options_.backup_key : options_.key;
    ASSIGN_OR_RETURN(report_.manifest, VerifyBackup(options_.backup, backup_key));
    RETURN_IF_ERROR(LockPresent());
    ASSIGN_OR_RETURN(const PresentLedger present, ReadPresent());
    RETURN_IF_ERROR(CopyToStaging());
    RETURN_IF_ERROR(KeepCounter(present));
    RETURN_IF_ERROR(OpenStaging(backup_key, present));
    RETURN_IF_ERROR(Exchange());
    return std::move(report_);
  }

 private:
  absl::Status LockPresent();
  absl::Status CopyToStaging();
  absl::Status KeepCounter(const PresentLedger& present);
  absl::Status OpenStaging(const privacy::SealKey& backup_key, const PresentLedger& present);
  absl::Status KeepLedger(Database& restored, const PresentLedger& present);
  absl::Status KeepState(Database& restored, const PresentLedger& present) const;
  absl::Status KeepPromises(Database& restored, const PresentLedger& present);
  absl::StatusOr<PresentLedger> ReadPresent();
  absl::Status ClosePresent();
  absl::Status CarryForward(Database& restored, const ledger::Chain& backup);
  absl::Status WriteHead(const ledger::Chain& chain) const;
  absl::Status Exchange();

  const RestoreOptions& options_;
  const std::string staging_;
  bool exists_ = false;  // whether there is a present store
  bool remove_staging_ = false;
  RestoreReport report_;
  std::unique_ptr<db::FolderLock> lock_;
  std::unique_ptr<Database> present_;  // open while its ledger is read
};

absl::Status Restore::LockPresent() {
  std::error_code error;
  exists_ = fs::exists(options_.store, error);
  if (error) {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kFileUnreadable,
                 "cannot check the store in {}: {}; check the data folder's permissions",
                 options_.store, error.message());
  }
  if (exists_) {
    ASSIGN_OR_RETURN(lock_, db::FolderLock::Acquire(options_.store));
  }
  return absl::OkStatus();
}

absl::Status Restore::CopyToStaging() {
  std::error_code error;
  fs::remove_all(staging_, error);  // the remains of an interrupted restore
  if (error) {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kFileUnwritable,
                 "cannot remove {}, which an interrupted restore left: {}; remove it yourself",
                 staging_, error.message());
  }
  remove_staging_ = true;
  RETURN_IF_ERROR(db::CreateStoreFolder(staging_));
  const std::string from = options_.backup + "/" + kBackupStoreFolder;
  for (const BackupManifest::File& file : report_.manifest.files) {
    RETURN_IF_ERROR(db::CopyFileDurably(from + "/" + file.name, staging_ + "/" + file.name));
    // The backup may have changed between verifying and copying.
    ASSIGN_OR_RETURN(const BackupManifest::File copied, db::HashFile(staging_, file.name));
    if (copied.blake2b != file.blake2b) {
      return Error(absl::StatusCode::kDataLoss, reasons::kBackupInvalid,
                   "{} of the backup changed while it was copied; check the disk", file.name);
    }
  }
  return absl::OkStatus();
}

absl::Status Restore::KeepCounter(const PresentLedger& present) {
  const std::optional<uint64_t> counted = db::ReadBootCounter(options_.store);
  const uint64_t backed_up = report_.manifest.boot_counter;
  const uint64_t last = std::max(counted.value_or(0), backed_up);
  report_.boot_counter = counted && present.counts() ? last : last + kBootMargin;
  return WriteFileAtomically(staging_ + "/boot-counter", fmt::format("{}\n", report_.boot_counter),
                             0600);
}

absl::Status Restore::OpenStaging(const privacy::SealKey& backup_key,
                                  const PresentLedger& present) {
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
  RETURN_IF_ERROR(BeginStoreIncarnation(*restored));  // numbers of changes are given again
  RETURN_IF_ERROR(KeepState(*restored, present));
  RETURN_IF_ERROR(KeepPromises(*restored, present));
  RETURN_IF_ERROR(KeepLedger(*restored, present));
  if (options_.make_key) {
    ASSIGN_OR_RETURN(const privacy::SealKey made, options_.make_key());
    RETURN_IF_ERROR(restored->ChangeSealKey(made));
  }
  return restored->Close();
}

absl::StatusOr<PresentLedger> Restore::ReadPresent() {
  PresentLedger present{.exists = exists_ && !IsEmptyStore(options_.store)};
  if (!present.exists) {
    return present;
  }
  present.filed = ReadHeadFile(options_.store);
  std::error_code error;
  if (!fs::exists(options_.store + "/CURRENT", error)) {  // opening would create a new, empty store
    present.opened =
        Error(absl::StatusCode::kDataLoss, reasons::kStoreCorrupt, "its file CURRENT is missing");
    return present;
  }
  lock_.reset();  // the database takes the lock itself
  auto database = Database::Open({.path = options_.store,
                                  .seal_key = options_.key,
                                  .next_seal_key = options_.other_key,
                                  .soft_reserve_bytes = 0,
                                  .hard_reserve_bytes = 0});
  if (!database.ok()) {
    present.opened = database.status();
    ASSIGN_OR_RETURN(lock_, db::FolderLock::Acquire(options_.store));
    return present;
  }
  present_ = *std::move(database);
  present.same_store = present_->store_id() == report_.manifest.store_id;
  present.complete = !present_->recovery().loss() && !present_->recovery().last_loss;
  present.chain = ledger::ReadChain(*present_);
  return present;
}

absl::Status Restore::ClosePresent() {
  if (present_ == nullptr) {
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(present_->Close());
  present_.reset();
  ASSIGN_OR_RETURN(lock_, db::FolderLock::Acquire(options_.store));
  return absl::OkStatus();
}

// What others proved since the backup must hold. The state of the rounds in the backup is older
// than that of the cluster, from which the node takes the newer one.
absl::Status Restore::KeepState(Database& restored, const PresentLedger& present) const {
  if (present_ == nullptr || !present.same_store) {
    return absl::OkStatus();
  }
  const auto proofs = StateStore(*present_).Get(state::EquivocationProofs());
  // Damaged ones are no reason to refuse: peers send them again.
  if (proofs.ok() && proofs->has_value()) {
    RETURN_IF_ERROR(StateStore(restored).Put(state::EquivocationProofs(), **proofs));
  }
  // The scores of peers in the backup are older. Damaged ones come about anew.
  const auto scores = StateStore(*present_).Get(state::PeerScores());
  return scores.ok() && scores->has_value()
             ? StateStore(restored).Put(state::PeerScores(), **scores)
             : absl::OkStatus();
}

// What users and the operator withdrew, and who was erased. A present store that may have lost its
// end may have lost a withdrawal.
absl::Status Restore::KeepPromises(Database& restored, const PresentLedger& present) {
  bool known = false;
  if (present_ != nullptr && present.same_store) {
    const absl::Status consents = CarryConsents(*present_, restored);
    const absl::StatusOr<size_t> erased = CarryErasures(*present_, restored);
    report_.erased_again = erased.value_or(0);
    known = present.complete && consents.ok() && erased.ok();
  }
  report_.consents_carried = known;
  return known ? absl::OkStatus() : SuspendConsent(restored);
}

// Every entry of the shorter ledger must be in the longer one, which is kept.
absl::Status Restore::KeepLedger(Database& restored, const PresentLedger& present) {
  const ledger::Chain backup = ledger::ReadChain(restored);
  if (const std::string silence = present.Silence(); !silence.empty()) {
    // If a store exists but does not open, it is unknown whether it had a ledger at all.
    const bool unknown = present.exists && !present.opened.ok() && !present.filed;
    if ((unknown || HasEntries(backup, report_.manifest)) && !options_.accept_older_ledger) {
      return NothingToCompare(silence, backup);
    }
    report_.ledger_entries = backup.head.sequence;
    RETURN_IF_ERROR(ClosePresent());
    return WriteHead(backup);
  }
  const bool carry = GoesOn(present, backup);
  RETURN_IF_ERROR(carry ? CarryForward(restored, backup) : CheckContinues(present, backup));
  RETURN_IF_ERROR(ClosePresent());
  report_.ledger_entries = (carry ? present.chain : backup).head.sequence;
  return WriteHead(carry ? present.chain : backup);
}

absl::Status Restore::CarryForward(Database& restored, const ledger::Chain& backup) {
  Batch batch;
  size_t rows = 0;
  const absl::Status carried = present_->Scan(
      ColumnFamily::kLedger, ledger::EntryKey(backup.head.sequence + 1), "",
      [&](const RowView& row) -> absl::StatusOr<bool> {
        report_.ledger_rows_carried += row.key.starts_with(ledger::kEntryPrefix) ? 1 : 0;
        batch.Put(ColumnFamily::kLedger, row.key, row.value, row.generation);
        if (++rows % kRowsPerBatch == 0) {
          RETURN_IF_ERROR(restored.Write(std::exchange(batch, {}), Durability::kProcessCrash));
        }
        return true;
      });
  RETURN_IF_ERROR(carried);
  return restored.Write(std::move(batch), Durability::kPowerLoss);
}

// A damaged chain keeps the head that the backup noted, so that the ledger reports the damage.
absl::Status Restore::WriteHead(const ledger::Chain& chain) const {
  const std::string head = chain.intact && chain.head.sequence > 0 ? ledger::FormatHead(chain.head)
                                                                   : report_.manifest.ledger_head;
  return head.empty() ? absl::OkStatus()
                      : WriteFileAtomically(staging_ + "/ledger-head", head, 0600);
}

// This is one system call, so the store's name is that of a complete store at every moment.
absl::Status Restore::Exchange() {
  const unsigned flags = exists_ ? RENAME_EXCHANGE : RENAME_NOREPLACE;
  if (::renameat2(AT_FDCWD, staging_.c_str(), AT_FDCWD, options_.store.c_str(), flags) != 0) {
    remove_staging_ = false;
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kFileUnwritable,
                 "cannot exchange {} and {}: {}; the restored store is complete; exchange the two "
                 "folders yourself",
                 staging_, options_.store, std::strerror(errno));
  }
  // From here on it is the old store's name; what is left of it is removed next time.
  const absl::Status synced = db::SyncFolder(fs::absolute(options_.store).parent_path());
  remove_staging_ = synced.ok();
  lock_.reset();
  return synced;
}

}  // namespace

absl::StatusOr<RestoreReport> RestoreBackup(const RestoreOptions& options) {
  return Restore(options).Run();
}

}  // namespace ruvd::storage
