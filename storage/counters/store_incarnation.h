// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "storage/db/database.h"

namespace ruvd::storage {

// Returns the number of this life of the store. It is random and made on the first call. It changes
// when numbers of the log of changes may be given again: after a restore, after an open that found
// a loss (RecoveryReport; while a full disk keeps the loss from being noted, every call returns
// another number), after the erasure of a collection, and when its row is damaged. Numbers of
// changes can be compared within one life only. Returns an error of Database.
absl::StatusOr<uint64_t> StoreIncarnation(Database& database);

// Begins a new life. A restore calls it before the store is used.
absl::Status BeginStoreIncarnation(Database& database);

}  // namespace ruvd::storage
