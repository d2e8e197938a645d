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

// Which backup, and with what it opens where the node's own keys do not.
struct BackupAccess {
  std::string folder;
  std::string key_file;         // the seal key file of the backup's time
  std::string passphrase_file;  // or the passphrase of then; its parameters are in the backup
};

// The key that opens a backup, and those that the node has.
struct RestoreKeys {
  privacy::SealKey backup;
  std::optional<privacy::SealKeys> present;  // none: a node that has no key yet
  // The node's passphrase opens the backup under the backup's parameters, which become its own
  // where it has none.
  std::string adopt;
};

// Finds the key of a backup: the given one, else the node's present one, that of a change which was
// interrupted, or its passphrase under the backup's parameters. Creates nothing. BACKUP_INVALID
// where none opens it, FILE_NOT_FOUND, the errors of SealKeySource.
absl::StatusOr<RestoreKeys> FindRestoreKeys(const privacy::SealKeySource& source,
                                            const BackupAccess& access);

// The keys of `options` for a restore. A node without a key gets one, in its data folder, once the
// restore comes that far; `source` outlives `options`. FILE_NOT_FOUND where there is a store whose
// key is missing.
absl::Status ChooseRestoreKeys(const RestoreKeys& keys, const config::NodeConfig& config,
                               privacy::SealKeySource& source, storage::RestoreOptions* options);

}  // namespace ruvd::node
