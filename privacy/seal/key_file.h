// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "privacy/seal/seal.h"

// This header is internal to privacy/seal: it reads and creates files of keys and of key
// parameters.
namespace ruvd::privacy::seal {

inline constexpr uint32_t kKeyFileMode = 0600;

// Reads a key as SealKey::LoadOrCreate does, but fails with FILE_NOT_FOUND if the file does not
// exist.
absl::StatusOr<SealKey> LoadKeyFile(const std::string& path);

// Creates a complete, durable file of mode 0600 unless the file exists. If several processes create
// it at once, the first one wins; the others change nothing and succeed. Fails with FILE_UNWRITABLE
// or DISK_FULL.
absl::Status CreateIfMissing(const std::string& path, std::string_view contents);

// Makes a new or renamed entry of the file's folder durable. Fails with FILE_UNWRITABLE.
absl::Status SyncFolderOf(const std::string& path);

}  // namespace ruvd::privacy::seal
