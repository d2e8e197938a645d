// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "storage/db/backup.h"

// Internal to storage/db: files of a backup.
namespace ruvd::storage::db {

// Name, size and BLAKE2b-256 of a file, read in pieces. FILE_UNREADABLE.
absl::StatusOr<BackupManifest::File> HashFile(const std::string& folder, const std::string& name);

// The names of the regular files of a folder that belong to a store (not its lock and RocksDB's
// diary), sorted. FILE_UNREADABLE.
absl::StatusOr<std::vector<std::string>> StoreFiles(const std::string& folder);

// Copies a file and fsyncs the copy. FILE_UNREADABLE, FILE_UNWRITABLE, DISK_FULL.
absl::Status CopyFileDurably(const std::string& from, const std::string& to);

// Fsyncs a folder, so that names in it are durable. FILE_UNWRITABLE.
absl::Status SyncFolder(const std::string& folder);

// The number in a store's file "boot-counter"; nullopt where there is none or it is damaged.
std::optional<uint64_t> ReadBootCounter(const std::string& store);

}  // namespace ruvd::storage::db
