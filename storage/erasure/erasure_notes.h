// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "storage/db/database.h"

namespace ruvd::storage {

// Notes that the keys which a scope has had until now are destroyed, so that a restore of an
// earlier backup destroys them in it, too: by the time at which they were made, because numbers of
// keys are given again after a restore. Call it before Database::Erase. The note names the scope by
// a hash only. The 10,000 newest notes are kept. Thread-safe. Returns an error of StateStore.
absl::Status NoteErasure(Database& database, const KeyScope& scope);

// Destroys the keys in `restored` that `present` notes as destroyed, and joins the notes of both.
// Both are open and have the same store_id. Returns how many scopes were erased, an error of
// StateStore, or of Database::Erase.
absl::StatusOr<size_t> CarryErasures(Database& present, Database& restored);

}  // namespace ruvd::storage
