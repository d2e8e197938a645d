// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/local/store_rotation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <utility>

#include "base/file.h"
#include "base/status.h"
#include "node/process/node_files.h"
#include "node/terminal/output.h"
#include "node/terminal/terminal.h"
#include "privacy/seal/secret_file.h"
#include "privacy/sodium.h"
#include "ruvd/report/v1/report.pb.h"

namespace ruvd::cli {
namespace {

constexpr uint32_t kOwnerOnly = 0600;

void Wipe(std::string* secret) {
  privacy::SecureWipe({reinterpret_cast<uint8_t*>(secret->data()), secret->size()});
}

// Refuses a flag that has no effect with this kind of key, because it would promise something that
// is not done.
absl::Status CheckRotation(const RotationFlags& flags, const privacy::SealKeySource& source) {
  for (const auto& [flag, file] : {std::pair("--new-passphrase-file", flags.new_passphrase_file),
                                   std::pair("--keep-old-key", flags.keep_old_key)}) {
    if (file && file->empty()) {
      return UsageError(fmt::format("{} names no file; name one, or leave out the flag", flag));
    }
  }
  const privacy::SealKeySource::Kind kind = source.kind();
  if (flags.new_passphrase_file && kind != privacy::SealKeySource::Kind::kPassphrase) {
    return UsageError(
        "--new-passphrase-file is for a store whose storage.seal_key is passphrase; give "
        "--storage.seal_key passphrase or the node's configuration, or leave out the flag");
  }
  if (flags.keep_old_key && kind != privacy::SealKeySource::Kind::kFile) {
    return UsageError(
        "--keep-old-key is for a store whose storage.seal_key is file; keep an old passphrase or "
        "credential at its source instead");
  }
  // These are the files of the rotation itself: a copy of the key under such a name would be
  // overwritten or moved.
  const auto place = [](const std::string& path) {
    std::error_code error;
    return std::filesystem::weakly_canonical(std::filesystem::absolute(path, error), error);
  };
  if (flags.keep_old_key && (place(*flags.keep_old_key) == place(source.path()) ||
                             place(*flags.keep_old_key) == place(source.next_path()))) {
    return UsageError(
        fmt::format("{} is a file of the rotation itself; name another file for --keep-old-key",
                    *flags.keep_old_key));
  }
  return absl::OkStatus();
}

// Writes the copy to disk before anything is changed.
absl::Status KeepOldKey(const std::string& key_file, const std::string& copy) {
  std::error_code error;
  if (std::filesystem::exists(copy, error)) {
    return UsageError(fmt::format("{} exists already; name a new file with --keep-old-key", copy));
  }
  ASSIGN_OR_RETURN(std::string key, privacy::ReadSecretFile(key_file, "seal key file"));
  const absl::Status status = WriteFileAtomically(copy, key, kOwnerOnly);
  Wipe(&key);
  return status;
}

absl::StatusOr<privacy::SealKey> StartRotation(const RotationFlags& flags,
                                               const StoppedStore& store) {
  if (store.source->kind() != privacy::SealKeySource::Kind::kPassphrase) {
    return store.source->StartRotation("");
  }
  ASSIGN_OR_RETURN(std::string passphrase,
                   node::ReadPassphraseFile(
                       flags.new_passphrase_file.value_or(store.config.storage.passphrase_file)));
  absl::StatusOr<privacy::SealKey> next = store.source->StartRotation(passphrase);
  Wipe(&passphrase);
  return next;
}

// Says what the operator has to do now.
std::string AfterRotation(const RotationFlags& flags, privacy::SealKeySource::Kind kind) {
  if (kind == privacy::SealKeySource::Kind::kPassphrase) {
    return !flags.new_passphrase_file
               ? ""
               : "put the new passphrase into storage.passphrase_file before the next start; "
                 "earlier backups open with the former passphrase\n";
  }
  if (kind == privacy::SealKeySource::Kind::kCredential) {
    return "earlier backups open with the former credential: keep it\n";
  }
  return !flags.keep_old_key
             ? "earlier backups need the former key, which is gone: make a new backup now\n"
             : fmt::format("earlier backups open with --backup-key {}\n",
                           PrintableLine(*flags.keep_old_key));
}

// Seals the contents of the store under new data keys. The node's seal key is new already, even if
// this fails.
absl::Status RotateDataKeys(storage::Database& database) {
  absl::Status status = database.RotateDataKeys("");
  if (status.ok()) {
    status = ResealAll(database);
  }
  return Annotate(status, "the node has its new seal key, but not all data keys were replaced");
}

}  // namespace

absl::Status ResealAll(storage::Database& database) {
  for (bool more = true; more;) {
    ASSIGN_OR_RETURN(more, database.ResealStep());
  }
  return absl::OkStatus();
}

// Replaces the seal key first, so that the old key never wraps the new data keys.
absl::Status RotateSealKey(CommandContext& context, const RotationFlags& flags,
                           const StoppedStore& store) {
  RETURN_IF_ERROR(CheckRotation(flags, *store.source));
  if (flags.keep_old_key) {
    RETURN_IF_ERROR(KeepOldKey(store.source->path(), *flags.keep_old_key));
  }
  ASSIGN_OR_RETURN(const privacy::SealKey next, StartRotation(flags, store));
  RETURN_IF_ERROR(store.database->ChangeSealKey(next));
  RETURN_IF_ERROR(store.source->FinishRotation());
  // This is printed before anything else can fail: an operator who does not know it cannot start
  // the node again.
  if (!context.json) {
    context.out << "the node has a new seal key\n"
                << AfterRotation(flags, store.source->kind()) << std::flush;
  }
  const absl::Status data_keys =
      flags.data_keys ? RotateDataKeys(*store.database) : absl::OkStatus();
  const auto all = store.database->DataKeys();
  const auto keys = std::ranges::count_if(all, [](const storage::DataKeyInfo& key) {
    return key.state != storage::DataKeyInfo::State::kDestroyed;
  });
  report::v1::RotateReport report;
  report.set_data_keys(static_cast<uint32_t>(keys));
  report.set_kept_key(flags.keep_old_key.value_or(""));
  context.out << (context.json ? ToJsonLine(report) : fmt::format("it wraps {} data keys\n", keys));
  return data_keys;
}

}  // namespace ruvd::cli
