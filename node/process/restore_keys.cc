// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/process/restore_keys.h"

#include <filesystem>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/file.h"
#include "base/limits.h"
#include "base/reasons.h"
#include "base/status.h"
#include "node/admission/identity.h"
#include "node/process/node_files.h"
#include "privacy/seal/secret_file.h"
#include "privacy/sodium.h"
#include "storage/reasons.h"

namespace ruvd::node {
namespace {

// Returns the parameters of the backup's passphrase; empty if its key does not come from a
// passphrase.
absl::StatusOr<std::string> DerivationOf(const std::string& folder) {
  const auto bytes =
      ReadFile(folder + "/" + storage::kBackupDerivationFile, limits::kMaxKeyFileBytes);
  return absl::IsNotFound(bytes.status()) ? absl::StatusOr<std::string>("") : bytes;
}

bool Opens(const std::string& folder, const privacy::SealKey& key) {
  return storage::ReadBackupManifest(folder, key).ok();
}

absl::StatusOr<privacy::SealKey> ReadKeyFile(const std::string& path) {
  ASSIGN_OR_RETURN(std::string bytes, privacy::ReadSecretFile(path, "seal key file"));
  const absl::StatusOr<privacy::SealKey> key = privacy::SealKey::FromBytes(AsBytes(bytes));
  privacy::SecureWipe({reinterpret_cast<uint8_t*>(bytes.data()), bytes.size()});
  return key.ok() ? key : Annotate(key.status(), "seal key file " + path);
}

absl::StatusOr<privacy::SealKey> KeyOfThen(const BackupAccess& access) {
  if (!access.key_file.empty()) {
    return ReadKeyFile(access.key_file);
  }
  ASSIGN_OR_RETURN(const std::string derivation, DerivationOf(access.folder));
  if (derivation.empty()) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "the backup in {} does not use a passphrase; give its key file with --backup-key",
                 access.folder);
  }
  ASSIGN_OR_RETURN(std::string passphrase, ReadPassphraseFile(access.passphrase_file));
  const privacy::SealKeySource source({.kind = privacy::SealKeySource::Kind::kPassphrase,
                                       .path = "",
                                       .passphrase = std::move(passphrase)});
  return source.DeriveWith(derivation);
}

absl::Status NoneOpens(const BackupAccess& access) {
  // If the manifest is missing or malformed, that error is returned.
  const absl::Status any =
      storage::ReadBackupManifest(access.folder, privacy::SealKey::Generate()).status();
  if (ReasonOf(any) != reasons::kBackupInvalid) {
    return any;
  }
  return Error(absl::StatusCode::kDataLoss, reasons::kBackupInvalid,
               "the backup in {} does not open with the node's seal key; give the key file or the "
               "passphrase that the node had when the backup was made (--backup-key, "
               "--backup-passphrase-file), or use another backup",
               access.folder);
}

}  // namespace

absl::StatusOr<RestoreKeys> FindRestoreKeys(const privacy::SealKeySource& source,
                                            const BackupAccess& access) {
  ASSIGN_OR_RETURN(const std::optional<privacy::SealKeys> present, source.LoadExisting());
  if (!access.key_file.empty() || !access.passphrase_file.empty()) {
    ASSIGN_OR_RETURN(privacy::SealKey then, KeyOfThen(access));
    RETURN_IF_ERROR(storage::ReadBackupManifest(access.folder, then).status());
    return RestoreKeys{.backup = std::move(then), .present = present, .adopt = {}};
  }
  if (present && Opens(access.folder, present->current)) {
    return RestoreKeys{.backup = present->current, .present = present, .adopt = {}};
  }
  if (present && present->next && Opens(access.folder, *present->next)) {
    return RestoreKeys{.backup = *present->next, .present = present, .adopt = {}};
  }
  ASSIGN_OR_RETURN(std::string derivation, DerivationOf(access.folder));
  if (source.kind() == privacy::SealKeySource::Kind::kPassphrase && !derivation.empty()) {
    ASSIGN_OR_RETURN(privacy::SealKey derived, source.DeriveWith(derivation));
    if (Opens(access.folder, derived)) {
      return RestoreKeys{
          .backup = std::move(derived), .present = present, .adopt = std::move(derivation)};
    }
  }
  return NoneOpens(access);
}

absl::Status ChooseRestoreKeys(const RestoreKeys& keys, const config::NodeConfig& config,
                               privacy::SealKeySource& source, storage::RestoreOptions* options) {
  const std::optional<privacy::SealKeys>& present = keys.present;
  if (!present) {
    ASSIGN_OR_RETURN(const std::string store, StorePathOf(config));
    RETURN_IF_ERROR(CheckKeyIsThere(store, source));
    RETURN_IF_ERROR(MakeDataFolder(config.node.data_dir));
    options->key = keys.backup;
    options->make_key = [&source, adopt = keys.adopt]() -> absl::StatusOr<privacy::SealKey> {
      if (!adopt.empty()) {
        RETURN_IF_ERROR(source.Adopt(adopt));
      }
      ASSIGN_OR_RETURN(const privacy::SealKeys made, source.Load());
      return made.current;
    };
    return absl::OkStatus();
  }
  // The next start tries both keys of an interrupted change, so the restored store may stay sealed
  // with the one that opens the backup. A backup under any other key is sealed with the present
  // key.
  options->key = present->current;
  options->other_key = present->next;
  if (Opens(options->backup, present->current)) {
    return absl::OkStatus();
  }
  if (present->next && Opens(options->backup, *present->next)) {
    options->key = *present->next;
    options->other_key = present->current;
    return absl::OkStatus();
  }
  options->backup_key = keys.backup;
  return absl::OkStatus();
}

}  // namespace ruvd::node
