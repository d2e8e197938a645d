// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "absl/status/statusor.h"
#include "privacy/seal/seal.h"
#include "storage/db/database.h"

namespace ruvd::storage {

// Returns the key of a store's archives: 32 random bytes in the row `witness/archive-key` of the
// family `default`, made and fsynced on the first call. The row is sealed like every value, by a
// data key that the node's key wraps. So archives still open, unchanged and wherever they were
// moved, after either key was replaced. Without the store or a backup of it nothing can open them.
// Returns STORE_CORRUPT or an error of Database.
absl::StatusOr<privacy::SealKey> WitnessArchiveKey(Database& database);

}  // namespace ruvd::storage
