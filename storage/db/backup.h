// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/bytes.h"
#include "privacy/seal/seal.h"

namespace ruvd::storage {

// The description of a backup. It is sealed in the file "backup.manifest", which is written last: a
// folder without that file is not a backup.
struct BackupManifest {
  struct File {
    std::string name;
    uint64_t size = 0;
    Digest blake2b = {};
  };
  uint32_t schema = 0;
  std::string store_id;  // 16 bytes
  int64_t created_ms = 0;
  uint64_t sequence = 0;      // every change up to this number is certainly in the backup
  uint64_t boot_counter = 0;  // 0 when the node never counted
  std::string ledger_head;  // the content of the file "ledger-head"; "" when there was no such file
  std::vector<File> files;
};

inline constexpr char kBackupManifestFile[] = "backup.manifest";
inline constexpr char kBackupStoreFolder[] = "store";
// The data that turns a passphrase into the backup's key (SealKey::derivation), not encrypted. Only
// backups of stores whose key comes from a passphrase have this file.
inline constexpr char kBackupDerivationFile[] = "seal.kdf";

// Returns "RUVDBKP1" | sealed protobuf (subkey 31 of the node's key).
std::string EncodeBackupManifest(const BackupManifest& manifest, const privacy::SealKey& key);
// Returns BACKUP_INVALID for bytes that EncodeBackupManifest did not make with this key.
absl::StatusOr<BackupManifest> DecodeBackupManifest(std::string_view bytes,
                                                    const privacy::SealKey& key);

// Returns the manifest of the backup in a folder, without checking its files. Returns
// BACKUP_INVALID, or FILE_NOT_FOUND when the folder has no manifest.
absl::StatusOr<BackupManifest> ReadBackupManifest(const std::string& folder,
                                                  const privacy::SealKey& key);

// Compares every file of a backup with its manifest and changes nothing. Returns BACKUP_INVALID for
// a missing, additional or changed file, and FILE_NOT_FOUND when there is no manifest.
absl::StatusOr<BackupManifest> VerifyBackup(const std::string& folder, const privacy::SealKey& key);

// Removes the folders below `parent` that an interrupted Database::Backup left: they have a store
// but no manifest. Such folders are not backups; they keep old tables on disk and hold wrapped keys
// that an erasure cannot reach. Returns how many were removed; a folder that cannot be removed
// stays. Must not run while a backup is made below `parent`.
size_t RemoveUnfinishedBackups(const std::string& parent);

struct RestoreOptions {
  std::string backup;    // the folder that Database::Backup made
  std::string store;     // the store's folder; may be missing or damaged
  privacy::SealKey key;  // the node's key, which will open the restored store
  // The other key of an interrupted key change; the present store may be sealed with it.
  std::optional<privacy::SealKey> other_key = std::nullopt;
  // The node key at the time of the backup, if it was a different one.
  std::optional<privacy::SealKey> backup_key = std::nullopt;
  // For a node that has no key yet: makes the key when nothing can refuse the restore any more. The
  // restored store then opens with that key, and `key` opens only the backup.
  std::function<absl::StatusOr<privacy::SealKey>()> make_key = nullptr;
  // Accepts the backup's privacy ledger even if the present store cannot show what was spent after
  // the backup, because it is missing, was started anew, or neither opens nor has a readable
  // ledger-head. The spending after the backup is then forgotten.
  bool accept_older_ledger = false;
};

struct RestoreReport {
  BackupManifest manifest;
  uint64_t boot_counter = 0;         // its value after the restore; never less than before
  uint64_t ledger_rows_carried = 0;  // entries newer than the backup that were kept
  uint64_t ledger_entries = 0;       // number of entries after the restore
  // Whether all withdrawals and erasures of the present store are in the restored one. If not, it
  // is unknown what was withdrawn after the backup, and nothing is shared until the operator's
  // consent is given anew.
  bool consents_carried = false;
  uint64_t erased_again = 0;  // users erased after the backup, who were erased in it, too
};

// Replaces a store by a backup. The backup is verified and copied beside the store, opened there,
// and given what must not go back: the greater boot counter, every entry of the privacy ledger that
// only the present store has, its consents and its erasures of users. Then the two folders change
// places in one step, so an interrupted restore leaves the old store as it was. Returns
// BACKUP_INVALID; LEDGER_WOULD_GO_BACK when the present store's ledger is newer and cannot be read,
// when neither ledger continues the other, when the present one may have lost its end, or when
// there is nothing to compare the backup's ledger with (see accept_older_ledger); STORE_LOCKED
// while a node is running; or an error of Database::Open.
absl::StatusOr<RestoreReport> RestoreBackup(const RestoreOptions& options);

}  // namespace ruvd::storage
