// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "federation/events/item.h"
#include "federation/patterns/shared_pattern.h"
#include "inference/adapter/projection_frame.h"
#include "privacy/identity/admission.h"
#include "storage/items/item_store.h"
#include "storage/patterns/pattern_store.h"

// Conversions between what nodes exchange and what a node stores and serves.
namespace ruvd::sharing {

// Returns the part of a pattern that may be shared: its centroid and its core, never text.
// FAILED_PRECONDITION if it has no core in this frame, or if a client made it private.
absl::StatusOr<federation::SharedPattern> ShareablePattern(const storage::Pattern& pattern,
                                                           const inference::ProjectionFrame& frame);

// Returns a peer's pattern as a row of this node's store. Its core becomes an adapter in the frame,
// with the version `version`.
absl::StatusOr<storage::Pattern> PatternFromShared(const federation::SharedPattern& shared,
                                                   const privacy::NodeId& origin,
                                                   const inference::ProjectionFrame& frame,
                                                   uint32_t version);

// Returns ROLE_MISSING if a node with this certificate may not offer contributions, because peers would
// refuse them.
absl::Status CheckMayContribute(const privacy::AdmissionCert& certificate);

storage::FederatedItem ToStored(const federation::Item& item, int64_t received_ms);
absl::StatusOr<federation::Item> FromStored(const storage::FederatedItem& stored);
// Returns all readable items. Unreadable ones are logged, and damaged rows are deleted so that they
// are fetched from peers again.
absl::StatusOr<std::vector<federation::Item>> LoadItems(storage::ItemStore& store);

}  // namespace ruvd::sharing
