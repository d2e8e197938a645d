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
#include "inference/adapter/frame.h"
#include "inference/adapter/talora.h"
#include "inference/model/model.h"
#include "node/serving/pattern_payload.h"
#include "node/serving/pattern_walk.h"
#include "node/sharing/update_layout.h"
#include "privacy/consent/user_consent.h"
#include "privacy/identity/admission.h"
#include "storage/items/item_store.h"
#include "storage/patterns/pattern_store.h"

// Between what nodes exchange and what a node stores and serves.
namespace ruvd::sharing {

// What of a pattern may travel: its centroid and its core, never text. FAILED_PRECONDITION if it
// has no core in this frame, or a client made it private.
absl::StatusOr<federation::SharedPattern> ShareablePattern(const storage::Pattern& pattern,
                                                           const inference::Frame& frame);

// A peer's pattern as a row of ours: its core becomes an adapter in the frame. `version` numbers
// the adapter.
absl::StatusOr<storage::Pattern> PatternFromShared(const federation::SharedPattern& shared,
                                                   const privacy::NodeId& origin,
                                                   const inference::Frame& frame, uint32_t version);

// The mean of this node's cores, and whose they are.
struct OwnCores {
  federation::AdapterUpdate update;                // no banks: there are no cores
  std::map<storage::PatternId, int64_t> patterns;  // that it is made of, with their updated_ms
  std::vector<privacy::Contributor> contributors;  // whose lessons they were trained on, each once
  size_t left_out = 0;                             // patterns with a core that `may_share` refused
};

// Whether those whose lessons a pattern's core was trained on let it leave.
using MaySharePattern = std::function<bool(const serving::PatternPayload&)>;

// The node's own update: the mean of its patterns' cores by bank, weighted by their examples.
// Exact, because a core is linear in its frame; cores of other banks are aligned. No banks if the
// node has learned nothing it can share. Passes over patterns that are damaged. `may_share` may be
// null: all of them may.
absl::StatusOr<OwnCores> OwnUpdate(storage::PatternStore& patterns, const privacy::NodeId& self,
                                   const UpdateLayout& layout,
                                   const MaySharePattern& may_share = nullptr);

// What is served of a global adapter: its values by bank as an adapter in the frame.
// UPDATE_INVALID for other sizes and values that are not finite.
absl::StatusOr<std::shared_ptr<const inference::Talora>> FederatedAdapter(
    const federation::BankedValues& values, const UpdateLayout& layout, uint32_t version);

// ROLE_MISSING where a node with this certificate may not offer updates: peers would refuse them.
absl::Status CheckMayContribute(const privacy::AdmissionCert& certificate);

storage::FederatedItem ToStored(const federation::Item& item, int64_t received_ms);
absl::StatusOr<federation::Item> FromStored(const storage::FederatedItem& stored);
// All that can be read. The others are logged, and damaged rows deleted: peers have them again.
absl::StatusOr<std::vector<federation::Item>> LoadItems(storage::ItemStore& store);

}  // namespace ruvd::sharing
