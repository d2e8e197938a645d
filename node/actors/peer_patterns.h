// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <map>

#include "absl/status/status.h"
#include "federation/patterns/shared_pattern.h"
#include "inference/adapter/frame.h"
#include "storage/patterns/pattern_store.h"

namespace ruvd {

// What peers' shared patterns become in this node's store: at most kMaxPatternsPerOrigin rows of
// one origin, the newest version of each, none that this node's operator has deleted. For one
// thread.
class PeerPatterns {
 public:
  // `patterns` and `frame` are borrowed.
  PeerPatterns(PatternStore& patterns, const Frame& frame, const NodeId& self)
      : patterns_(patterns), frame_(frame), self_(self) {}

  // Reads which rows of which peers are stored. Before the first Store.
  absl::Status Load();

  // Stores a checked pattern of `origin`. The operator's expiry of it stays. A version older than
  // the stored one (peers pass items on in any order) and a deleted pattern change nothing. One
  // pattern more than the limit removes the origin's oldest. ALREADY_EXISTS for an id that belongs
  // to another node; the errors of PatternStore::Put.
  absl::Status Store(const SharedPattern& shared, const NodeId& origin);

 private:
  // ABORTED where the pattern changed between reading and writing.
  absl::Status StoreOnce(const SharedPattern& shared, const NodeId& origin);
  absl::Status Trim(const NodeId& origin);

  PatternStore& patterns_;
  const Frame& frame_;
  const NodeId self_;
  std::map<NodeId, std::map<PatternId, int64_t>> held_;  // with their updated_ms
};

}  // namespace ruvd
