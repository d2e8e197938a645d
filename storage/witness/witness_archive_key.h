// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "absl/status/statusor.h"
#include "privacy/seal/seal.h"
#include "storage/db/database.h"

namespace ruvd::storage {

// The key of the archives of a store: 32 random bytes in the row `witness/archive-key` of the
// family `default`, made and fsynced the first time. It is wrapped as every value is, by a data key
// and that by the node's, so archives still open after either was changed, without being touched,
// even where they were moved elsewhere. Whoever has neither the store nor a backup of it cannot
// open them. STORE_CORRUPT, the errors of Database.
absl::StatusOr<privacy::SealKey> WitnessArchiveKey(Database& database);

}  // namespace ruvd::storage
