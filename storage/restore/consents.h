// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "absl/status/status.h"
#include "storage/db/database.h"

namespace ruvd::storage {

// Gives a restored backup those consents of the present store that are newer, or as old, and what
// is known of the items that this node has offered and withdrawn: what was withdrawn since the
// backup stays withdrawn. Both are open. Returns SEAL_BROKEN, STORE_CORRUPT or CONSENT_INVALID if a
// row of the present store does not open or decode, or an error of Database.
absl::Status CarryConsents(const Database& present, Database& restored);

// Marks the operator's consent in a restored backup, or removes it if it is damaged: until it is
// granted anew, nothing is shared.
absl::Status SuspendConsent(Database& restored);

}  // namespace ruvd::storage
