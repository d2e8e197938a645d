// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "federation/daf/reputation.h"
#include "storage/state/state_store.h"

namespace ruvd::sharing {

// A node's verdicts on its peers, in the node's state. Without it a harmful peer would start again
// with a clean record after a restart.

// The stored form. FromStored returns INVALID_ARGUMENT for a message with too many peers or ids of
// another length. ReputationTable::Restore checks the values.
storage::v1::PeerReputations ToStored(std::span<const federation::ReputationTable::Known> known);
absl::StatusOr<std::vector<federation::ReputationTable::Known>> FromStored(
    const storage::v1::PeerReputations& stored);

// Returns an empty list if no list is stored, and the errors of StateStore::Get and FromStored.
absl::StatusOr<std::vector<federation::ReputationTable::Known>> LoadReputations(
    const storage::StateStore& state);
// Replaces the list. Returns the errors of StateStore::Put.
absl::Status StoreReputations(storage::StateStore& state,
                              std::span<const federation::ReputationTable::Known> known);

}  // namespace ruvd::sharing
