// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string_view>

#include "absl/status/statusor.h"
#include "privacy/seal/seal.h"
#include "storage/db/database.h"

namespace ruvd::storage {

// A key that seals files beside the store: 32 random bytes in this row of the family `default`,
// made and fsynced the first time. It is wrapped as every value is, by a data key and that by the
// node's, so the files still open after either was changed, without being touched. `files` is what
// they are called in an error: STORE_CORRUPT, the errors of Database.
absl::StatusOr<privacy::SealKey> FileKey(Database& database, std::string_view row,
                                         std::string_view files);

}  // namespace ruvd::storage
