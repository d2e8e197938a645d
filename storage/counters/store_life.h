// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "storage/db/database.h"

namespace ruvd::storage {

// The number of this life of the store: random, made when it is first asked for, and new where
// numbers of the log of changes may be given again: after a restore, after an open that found a
// loss (RecoveryReport; another one at every call while a full disk keeps it from being noted),
// after the erasure of a collection, and where its row is damaged. Numbers
// of changes are comparable within one life only. The errors of Database.
absl::StatusOr<uint64_t> StoreLife(Database& database);

// Begins a new one: a restore calls it before anybody sees the store.
absl::Status BeginStoreLife(Database& database);

}  // namespace ruvd::storage
