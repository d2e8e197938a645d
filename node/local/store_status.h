// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "node/terminal/command.h"
#include "storage/db/database.h"

namespace ruvd::cli {

// What `ruvd store status` says: health, size, collections of patterns and data keys.
absl::Status PrintStoreStatus(CommandContext& context, const storage::Database& database);

// Of the files in a folder, without folders in it; a file that vanishes meanwhile counts 0.
uint64_t BytesOfFolder(const std::string& folder);

}  // namespace ruvd::cli
