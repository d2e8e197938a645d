// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "federation/core/gossip_core.h"
#include "federation/patterns/shared_pattern.h"
#include "inference/adapter/projection_frame.h"
#include "storage/patterns/pattern_store.h"

namespace ruvd::sharing {

// The least that a peer's pattern must claim. A claim is not a proof; a peer that lies is judged by
// the effect of its patterns.
struct PatternGate {
  float quality = 0;  // 0 to 1
  uint32_t examples = 1;
};

// Stores the shared patterns of peers: at most kMaxPatternsPerOrigin rows per origin and only the
// newest version of each pattern. Patterns that this node's operator deleted and patterns below the
// gate are not stored. The format, the model (which defines the embedding space) and the frame must
// have been checked before. Only one thread may use an object.
class PeerPatterns {
 public:
  // `patterns` and `frame` must outlive this object.
  PeerPatterns(storage::PatternStore& patterns, const inference::ProjectionFrame& frame,
               const privacy::NodeId& self, const PatternGate& gate = {})
      : patterns_(patterns), frame_(frame), self_(self), gate_(gate) {}

  // Reads which rows of which peers are stored. Call it before the first Store.
  absl::Status Load();

  // Stores a checked pattern of `origin`. An expiry time that the operator set is kept. A version
  // older than the stored one changes nothing (peers forward items in any order), and neither does
  // a deleted pattern. A pattern above the limit removes the origin's oldest. `withdrawn_ms` is the
  // creation time up to which the origin withdrew versions: a newer version is stored although the
  // pattern was deleted. Returns PATTERN_TOO_WEAK, PATTERN_TAKEN for an id that belongs to another
  // node, and the errors of PatternStore::Put.
  absl::Status Store(const federation::SharedPattern& shared, const privacy::NodeId& origin,
                     std::optional<int64_t> withdrawn_ms = std::nullopt);

  // Stores an item that `core` accepted. PATTERN_TOO_WEAK and PATTERN_TAKEN are counted and are not
  // errors here, because the sender may not know this node's limits.
  absl::Status Store(const federation::Item& pattern, const federation::GossipCore& core);
  // Returns the refused patterns since the start of the node, counted by reason.
  const std::map<std::string, uint64_t>& refused() const { return refused_; }

  // Removes a pattern if the stored version is the one in the item. Returns the errors of
  // PatternStore::Delete.
  absl::Status Remove(const federation::Item& pattern);
  // Removes all patterns of its sender that a checked withdrawal covers, even if their items are
  // gone. Returns the errors of PatternStore::Delete.
  absl::Status Withdraw(const federation::Item& withdrawal);

 private:
  // Returns ABORTED if the pattern changed between reading and writing.
  absl::Status StoreOnce(const federation::SharedPattern& shared, const privacy::NodeId& origin,
                         std::optional<int64_t> withdrawn_ms);
  // Removes the pattern if the stored version belongs to `origin` and was created no later than
  // `until_ms`.
  absl::Status RemoveUntil(const storage::PatternId& id, const privacy::NodeId& origin,
                           int64_t until_ms);
  absl::Status Trim(const privacy::NodeId& origin);

  storage::PatternStore& patterns_;
  const inference::ProjectionFrame& frame_;
  const privacy::NodeId self_;
  const PatternGate gate_;
  std::map<std::string, uint64_t> refused_;
  std::map<privacy::NodeId, std::map<storage::PatternId, int64_t>> held_;  // with their updated_ms
};

}  // namespace ruvd::sharing
