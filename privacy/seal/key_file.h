// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "privacy/seal/seal.h"

// Internal to privacy/seal: files of 32 secret bytes.
namespace ruvd::seal {

inline constexpr uint32_t kKeyFileMode = 0600;

// As SealKey::LoadOrCreate, but FILE_NOT_FOUND where there is no such file.
absl::StatusOr<SealKey> LoadKeyFile(const std::string& path);

// Makes a new or renamed entry of the file's folder durable. FILE_UNWRITABLE.
absl::Status SyncFolderOf(const std::string& path);

}  // namespace ruvd::seal
