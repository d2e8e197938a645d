// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "node/config/config.h"
#include "privacy/seal/seal_key_source.h"
#include "storage/db/backup.h"

namespace ruvd::node {

// A backup, and the key file or passphrase that opens it if the node's own keys do not.
struct BackupAccess {
  std::string folder;
  std::string key_file;  // seal key file from the time of the backup
  std::string
      passphrase_file;  // or the passphrase from that time; its parameters are in the backup
};

// The key that opens a backup, and the keys of the node.
struct RestoreKeys {
  privacy::SealKey backup;
  std::optional<privacy::SealKeys> present;  // nullopt: the node has no key yet
  // Set if the node's passphrase opens the backup under the backup's parameters; a node without
  // parameters adopts these.
  std::string adopt;
};

// Finds the key of a backup: the given key, or else the node's present key, the key of an
// interrupted change, or the node's passphrase under the backup's parameters. It creates nothing.
// Returns BACKUP_INVALID if no key opens the backup, FILE_NOT_FOUND, and the errors of
// SealKeySource.
absl::StatusOr<RestoreKeys> FindRestoreKeys(const privacy::SealKeySource& source,
                                            const BackupAccess& access);

// Sets the keys of `options` for a restore. A node without a key gets one in its data folder at the
// point of the restore where it is needed. `source` must outlive `options`. Returns FILE_NOT_FOUND
// if there is a store whose key is missing.
absl::Status ChooseRestoreKeys(const RestoreKeys& keys, const config::NodeConfig& config,
                               privacy::SealKeySource& source, storage::RestoreOptions* options);

}  // namespace ruvd::node
