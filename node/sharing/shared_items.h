// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "federation/events/item.h"
#include "federation/patterns/shared_pattern.h"
#include "inference/adapter/frame_set.h"
#include "privacy/identity/admission.h"
#include "storage/items/item_store.h"
#include "storage/patterns/pattern_store.h"

// Conversions between what nodes exchange and what a node stores and serves.
namespace ruvd::sharing {

// Returns the part of a pattern that may be shared: its centroid and its cores, never text.
// FAILED_PRECONDITION if it has no cores in this frame, if they were not trained for sharing, or if
// a client made the pattern private. No frame has no cores.
absl::StatusOr<federation::SharedPattern> ShareablePattern(const storage::Pattern& pattern,
                                                           const inference::FrameSet* frame);

// Returns a peer's pattern as a row of this node's store. Its cores become an adapter in the frame,
// with the version `version`; without a frame, or if it has no cores, it gets no adapter. Returns
// the errors of AdapterFromCores.
absl::StatusOr<storage::Pattern> PatternFromShared(const federation::SharedPattern& shared,
                                                   const privacy::NodeId& origin,
                                                   const inference::FrameSet* frame,
                                                   uint32_t version);

// Returns ROLE_MISSING if a node with this certificate may not offer contributions, because peers
// would refuse them.
absl::Status CheckMayContribute(const privacy::AdmissionCert& certificate);

storage::FederatedItem ToStored(const federation::Item& item, int64_t received_ms);
absl::StatusOr<federation::Item> FromStored(const storage::FederatedItem& stored);
// Returns all readable items. Unreadable ones are logged, and damaged rows are deleted so that they
// are fetched from peers again.
absl::StatusOr<std::vector<federation::Item>> LoadItems(storage::ItemStore& store);

}  // namespace ruvd::sharing
