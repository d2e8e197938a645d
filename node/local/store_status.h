// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "node/terminal/command.h"
#include "storage/db/database.h"

namespace ruvd::cli {

// Prints the output of `ruvd store status`: health, size, collections of patterns, and data keys.
absl::Status PrintStoreStatus(CommandContext& context, const storage::Database& database);

// Returns the total size in bytes of the files in a folder, without its subfolders. A file that
// vanishes meanwhile counts as 0.
uint64_t BytesOfFolder(const std::string& folder);

}  // namespace ruvd::cli
