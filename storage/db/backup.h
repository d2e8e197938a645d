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

// What a backup says of itself; sealed in its file "backup.manifest", which is written last: a
// folder without it is no backup.
struct BackupManifest {
  struct File {
    std::string name;
    uint64_t size = 0;
    Digest blake2b = {};
  };
  uint32_t schema = 0;
  std::string store_id;  // 16 bytes
  int64_t created_ms = 0;
  uint64_t sequence = 0;      // of the last change that it surely contains
  uint64_t boot_counter = 0;  // 0 where the node never counted
  std::string ledger_head;    // the file "ledger-head" as it was, "" where there was none
  std::vector<File> files;
};

inline constexpr char kBackupManifestFile[] = "backup.manifest";
inline constexpr char kBackupStoreFolder[] = "store";
// What a passphrase needs to become the backup's key (SealKey::derivation), in clear; only in
// backups of stores whose key comes from a passphrase.
inline constexpr char kBackupDerivationFile[] = "seal.kdf";

// "RUVDBKP1" | sealed protobuf (subkey 31 of the node's key).
std::string EncodeBackupManifest(const BackupManifest& manifest, const privacy::SealKey& key);
// BACKUP_INVALID for bytes that EncodeBackupManifest did not make with this key.
absl::StatusOr<BackupManifest> DecodeBackupManifest(std::string_view bytes,
                                                    const privacy::SealKey& key);

// The manifest of the backup in a folder; its files are not looked at. BACKUP_INVALID,
// FILE_NOT_FOUND where there is none.
absl::StatusOr<BackupManifest> ReadBackupManifest(const std::string& folder,
                                                  const privacy::SealKey& key);

// Compares every file of a backup with its manifest. BACKUP_INVALID for one that is missing, too
// many or altered, FILE_NOT_FOUND where there is no manifest. Changes nothing.
absl::StatusOr<BackupManifest> VerifyBackup(const std::string& folder, const privacy::SealKey& key);

// Removes the folders below `parent` that an interrupted Database::Backup left: with a store, but
// without a manifest. They are no backups, pin tables and hold wrapped keys that an erasure does
// not reach. Says how many; one that cannot be removed stays. Not while a backup is made there.
size_t RemoveUnfinishedBackups(const std::string& parent);

struct RestoreOptions {
  std::string backup;    // the folder that Database::Backup made
  std::string store;     // the store's folder; may be missing or damaged
  privacy::SealKey key;  // the node's key, with which the restored store will open
  // The other key of an interrupted change, which the present store may be sealed with.
  std::optional<privacy::SealKey> other_key = std::nullopt;
  // The node key of the backup's time, where it was another one.
  std::optional<privacy::SealKey> backup_key = std::nullopt;
  // Of a node that has no key yet: makes it, once nothing refuses the restore any more, and the
  // restored store opens with it instead of `key`, which opens the backup then.
  std::function<absl::StatusOr<privacy::SealKey>()> make_key = nullptr;
  // Takes a backup's privacy ledger where the present store says nothing of what was spent since:
  // it is gone, was begun anew, or neither opens nor has a readable ledger-head. What was spent
  // since the backup is forgotten.
  bool accept_older_ledger = false;
};

struct RestoreReport {
  BackupManifest manifest;
  uint64_t boot_counter = 0;         // as it is now: never less than before
  uint64_t ledger_rows_carried = 0;  // entries newer than the backup, kept
  uint64_t ledger_entries = 0;       // of the ledger as it is now
};

// Puts a backup in the place of a store. The backup is verified and copied beside the store, opened
// there, and given what must not go back: the greater boot counter, and every entry of the privacy
// ledger that the present store has and the backup has not. Then the two folders change places in
// one step, so that an interrupted restore leaves the old store as it was. BACKUP_INVALID;
// LEDGER_WOULD_GO_BACK where the present store's ledger is newer and cannot be read, where neither
// of the two is a continuation of the other, where a present one may have lost its end, or where
// there is nothing to compare the backup's with (accept_older_ledger); STORE_LOCKED where a node
// runs; the errors of Database::Open.
absl::StatusOr<RestoreReport> RestoreBackup(const RestoreOptions& options);

}  // namespace ruvd::storage
