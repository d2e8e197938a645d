// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/bytes.h"
#include "federation/daf/daf_round.h"
#include "privacy/identity/node_key.h"
#include "storage/state/state_store.h"

namespace ruvd::sharing {

// A node's global adapter as it is saved for a restart.
struct SavedGlobalAdapter {
  Digest model_hash{};
  Digest frame_id{};
  std::vector<float> boundaries;  // of its banks
  uint32_t served = 0;            // served version; 0: no adapter is served
  std::set<privacy::NodeId>
      contributors;  // nodes whose updates it was made of, at most kMaxRememberedContributors
  federation::GlobalAdapterState state;
  bool operator==(const SavedGlobalAdapter&) const = default;
};

// The stored form. FromStored returns INVALID_ARGUMENT for a message with lengths out of range, a
// value that is not finite or contributors that are not ascending. GlobalAdapter::Restore checks
// the rest.
storage::v1::GlobalAdapter ToStored(const SavedGlobalAdapter& saved);
absl::StatusOr<SavedGlobalAdapter> FromStored(const storage::v1::GlobalAdapter& stored);

// Replaces the adapter in the node's state. Returns LIMIT_EXCEEDED above
// limits::kMaxGlobalAdapterBytes, and the errors of StateStore::Put.
absl::Status WriteGlobalAdapter(storage::StateStore& state, const SavedGlobalAdapter& saved);
// Returns nullopt if no adapter is stored, and the errors of StateStore::Get and FromStored.
absl::StatusOr<std::optional<SavedGlobalAdapter>> ReadGlobalAdapter(
    const storage::StateStore& state);

}  // namespace ruvd::sharing
