// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <vector>

#include "absl/status/status.h"
#include "storage/db/store_check.h"

namespace ruvd::storage {

// The checks of `ruvd store verify` for rows whose seals open. They report rows that do not decode,
// that are stored under a key of another value, or whose companion rows are missing. They change
// nothing and return an error only when they could not look. They skip values that do not open,
// which Database::Verify reports.
absl::Status CheckTrajectoryRows(Database& database, StoreReport* report);
// Checks the lessons, their entries and ids, and their sources.
absl::Status CheckLessonRows(Database& database, StoreReport* report);
// Checks the lessons that were read for the token memory.
absl::Status CheckObservedRows(Database& database, StoreReport* report);
absl::Status CheckWitnessRows(Database& database, StoreReport* report);
absl::Status CheckSessionRows(Database& database, StoreReport* report);
absl::Status CheckPolicyRows(Database& database, StoreReport* report);
absl::Status CheckEdgeRows(Database& database, StoreReport* report);
// Checks the log of pattern changes, and that its numbers follow each other.
absl::Status CheckOplogRows(Database& database, StoreReport* report);
// Checks the changes that learning made, and the kept patterns from before them.
absl::Status CheckChangeRows(Database& database, StoreReport* report);
// Checks the operator's consent, the users' consents and the withdrawals. It does not check
// signatures: only the node knows the key.
absl::Status CheckConsentRows(Database& database, StoreReport* report);
// Checks the values of the state, that their parts are there and are messages of the right type.
absl::Status CheckStateRows(Database& database, StoreReport* report);
// Checks the whole chain, the head's row and the head's file.
absl::Status CheckLedger(Database& database, StoreReport* report);

// Returns all of these checks.
std::vector<StoreCheck> RowChecks();

}  // namespace ruvd::storage
