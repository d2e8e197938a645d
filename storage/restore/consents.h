// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "absl/status/status.h"
#include "storage/db/database.h"

namespace ruvd::storage {

// Replaces the consents in a restored backup by those of the present store, and adds what is known
// of the items that this node has offered: what was withdrawn since the backup stays withdrawn.
// Both are open. Returns DATA_LOSS (STORE_CORRUPT) if a row of the present store does not open, or
// an error of Database.
absl::Status CarryConsents(const Database& present, Database& restored);

// Marks the operator's consent in a restored backup: until it is granted anew, nothing is shared.
absl::Status SuspendConsent(Database& restored);

}  // namespace ruvd::storage
