// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string_view>

#include "absl/status/statusor.h"
#include "privacy/seal/seal.h"
#include "storage/db/database.h"

namespace ruvd::storage {

// Returns a key that seals files beside the store: 32 random bytes in this row of the family
// `default`, made and fsynced on the first call. The row is sealed like every value, by a data key
// that the node's key wraps, so the files still open, unchanged, after either key was replaced.
// `files` names the files in errors. Returns STORE_CORRUPT or an error of Database.
absl::StatusOr<privacy::SealKey> FileKey(Database& database, std::string_view row,
                                         std::string_view files);

}  // namespace ruvd::storage
