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

// This header is internal to storage/db: it handles the files of a backup.
namespace ruvd::storage::db {

// Returns name, size and BLAKE2b-256 of a file, which is read in pieces. Returns FILE_UNREADABLE on
// failure.
absl::StatusOr<BackupManifest::File> HashFile(const std::string& folder, const std::string& name);

// Returns the sorted names of the files in a folder that belong to a store, without its lock and
// RocksDB's own text log. Returns FILE_UNREADABLE on failure.
absl::StatusOr<std::vector<std::string>> StoreFiles(const std::string& folder);

// Copies a file and fsyncs the copy. Returns FILE_UNREADABLE, FILE_UNWRITABLE or DISK_FULL on
// failure.
absl::Status CopyFileDurably(const std::string& from, const std::string& to);

// Fsyncs a folder, so that the names in it are durable. Returns FILE_UNWRITABLE on failure.
absl::Status SyncFolder(const std::string& folder);

// Returns the number in a store's file "boot-counter", or nullopt when it is missing or damaged.
std::optional<uint64_t> ReadBootCounter(const std::string& store);

}  // namespace ruvd::storage::db
