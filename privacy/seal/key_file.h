// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "privacy/seal/seal.h"

// Internal to privacy/seal: files of keys and of what keys are made from.
namespace ruvd::privacy::seal {

inline constexpr uint32_t kKeyFileMode = 0600;

// As SealKey::LoadOrCreate, but FILE_NOT_FOUND where there is no such file.
absl::StatusOr<SealKey> LoadKeyFile(const std::string& path);

// Writes a file of mode 0600, durable and whole, unless there is one: of those that create it at
// once the first wins, the others change nothing and succeed. FILE_UNWRITABLE, DISK_FULL.
absl::Status CreateIfMissing(const std::string& path, std::string_view contents);

// Makes a new or renamed entry of the file's folder durable. FILE_UNWRITABLE.
absl::Status SyncFolderOf(const std::string& path);

}  // namespace ruvd::privacy::seal
