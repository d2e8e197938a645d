// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <vector>

#include "absl/status/status.h"
#include "storage/db/store_check.h"

namespace ruvd::storage {

// What `ruvd store verify` finds in rows whose seals open: one that does not decode, that is under
// a key its value does not belong to, or whose companion is missing. Each complains in the report
// about every row that is wrong; an error is for what kept it from looking. They change nothing.
// They pass over values that do not open: Database::Verify complains of these.
absl::Status CheckTrajectoryRows(Database& database, StoreReport* report);
absl::Status CheckWitnessRows(Database& database, StoreReport* report);
absl::Status CheckSessionRows(Database& database, StoreReport* report);
absl::Status CheckPolicyRows(Database& database, StoreReport* report);
absl::Status CheckEdgeRows(Database& database, StoreReport* report);
// The log of changes of patterns, and whether its numbers follow each other.
absl::Status CheckOplogRows(Database& database, StoreReport* report);
// Changes that learning made, and what was there before them.
absl::Status CheckChangeRows(Database& database, StoreReport* report);
// The operator's consent, those of users, and what was taken back; signatures are the node's to
// check, which knows the key.
absl::Status CheckConsentRows(Database& database, StoreReport* report);
// The whole chain, its head's row and its head's file.
absl::Status CheckLedger(Database& database, StoreReport* report);

// All of them.
std::vector<StoreCheck> RowChecks();

}  // namespace ruvd::storage
