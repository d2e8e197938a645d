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
#include "inference/adapter/frame.h"
#include "storage/patterns/pattern_store.h"

namespace ruvd::sharing {

// What a peer's pattern must claim at least. Claims are not proofs: whoever lies about them is
// judged by what its patterns do.
struct PatternGate {
  float quality = 0;  // 0 to 1
  uint32_t examples = 1;
};

// What peers' shared patterns become in this node's store: at most kMaxPatternsPerOrigin rows of
// one origin, the newest version of each, none that this node's operator has deleted, none below
// the gate. Form, model (which names the embedding space) and frame were checked before. For one
// thread.
class PeerPatterns {
 public:
  // `patterns` and `frame` are borrowed.
  PeerPatterns(storage::PatternStore& patterns, const inference::Frame& frame,
               const privacy::NodeId& self, const PatternGate& gate = {})
      : patterns_(patterns), frame_(frame), self_(self), gate_(gate) {}

  // Reads which rows of which peers are stored. Before the first Store.
  absl::Status Load();

  // Stores a checked pattern of `origin`. The operator's expiry of it stays. A version older than
  // the stored one (peers pass items on in any order) and a deleted pattern change nothing. One
  // pattern more than the limit removes the origin's oldest. PATTERN_TOO_WEAK; PATTERN_TAKEN for an
  // id that belongs to another node; the errors of PatternStore::Put.
  // `withdrawn_ms`: until when its origin took versions back, by their creation: a newer one is
  // stored although the pattern was deleted.
  absl::Status Store(const federation::SharedPattern& shared, const privacy::NodeId& origin,
                     std::optional<int64_t> withdrawn_ms = std::nullopt);

  // The same for an item that `core` accepted. One that is too weak or taken is counted, and no
  // error: its sender may know no better.
  absl::Status Store(const federation::Item& pattern, const federation::GossipCore& core);
  // Since the start of the node, by reason.
  const std::map<std::string, uint64_t>& refused() const { return refused_; }

  // Removes the version of a pattern that an item is, if it is the one that is stored. The errors
  // of PatternStore::Delete.
  absl::Status Remove(const federation::Item& pattern);
  // Removes all versions of its sender's patterns that a checked withdrawal covers, also those
  // whose items are gone. The same errors.
  absl::Status Withdraw(const federation::Item& withdrawal);

 private:
  // ABORTED where the pattern changed between reading and writing.
  absl::Status StoreOnce(const federation::SharedPattern& shared, const privacy::NodeId& origin,
                         std::optional<int64_t> withdrawn_ms);
  // Where the stored version is of `origin` and created at `until_ms` at the latest.
  absl::Status RemoveUntil(const storage::PatternId& id, const privacy::NodeId& origin,
                           int64_t until_ms);
  absl::Status Trim(const privacy::NodeId& origin);

  storage::PatternStore& patterns_;
  const inference::Frame& frame_;
  const privacy::NodeId self_;
  const PatternGate gate_;
  std::map<std::string, uint64_t> refused_;
  std::map<privacy::NodeId, std::map<storage::PatternId, int64_t>> held_;  // with their updated_ms
};

}  // namespace ruvd::sharing
