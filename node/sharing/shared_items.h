// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "federation/daf/adapter_update.h"
#include "federation/events/item.h"
#include "federation/patterns/shared_pattern.h"
#include "inference/adapter/projection_frame.h"
#include "inference/adapter/talora.h"
#include "inference/model/model.h"
#include "node/serving/pattern_payload.h"
#include "node/serving/pattern_walk.h"
#include "node/sharing/update_layout.h"
#include "privacy/consent/user_consent.h"
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

// The mean of this node's cores, and its sources.
struct OwnCores {
  federation::AdapterUpdate update;                // no banks if there are no cores
  std::map<storage::PatternId, int64_t> patterns;  // patterns in the mean, with their updated_ms
  std::vector<privacy::Contributor>
      contributors;     // contributors whose lessons trained the cores, each once
  size_t left_out = 0;  // patterns with a core that `may_share` refused
};

// Returns whether all contributors to a pattern's core allow it to leave.
using MaySharePattern = std::function<bool(const serving::PatternPayload&)>;

// Returns the node's own update: the mean of its patterns' cores by bank, weighted by their
// examples. The mean is exact, because a core is linear in its frame; cores with other banks are
// aligned. There are no banks if nothing can be shared. Damaged patterns are skipped. If
// `may_share` is null, all patterns may be shared.
absl::StatusOr<OwnCores> OwnUpdate(storage::PatternStore& patterns, const privacy::NodeId& self,
                                   const UpdateLayout& layout,
                                   const MaySharePattern& may_share = nullptr);

// Returns the served form of a global adapter: its values by bank as an adapter in the frame.
// UPDATE_INVALID if a size is wrong or a value is not finite.
absl::StatusOr<std::shared_ptr<const inference::Talora>> FederatedAdapter(
    const federation::BankedValues& values, const UpdateLayout& layout, uint32_t version);

// Returns ROLE_MISSING if a node with this certificate may not offer updates, because peers would
// refuse them.
absl::Status CheckMayContribute(const privacy::AdmissionCert& certificate);

storage::FederatedItem ToStored(const federation::Item& item, int64_t received_ms);
absl::StatusOr<federation::Item> FromStored(const storage::FederatedItem& stored);
// Returns all readable items. Unreadable ones are logged, and damaged rows are deleted so that they
// are fetched from peers again.
absl::StatusOr<std::vector<federation::Item>> LoadItems(storage::ItemStore& store);

}  // namespace ruvd::sharing
