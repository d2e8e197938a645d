// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "storage/hnsw/index_core.h"
#include "storage/hnsw/linker.h"

namespace ruvd::storage::hnsw {

// Unlinks removed nodes from the graphs, in passes of small steps:
//   1. every node with a link to a removed one chooses its links anew among its own and the removed
//      one's (Singh et al., "FreshDiskANN", 2021, algorithm 4);
//   2. banks whose entry point was removed get another one;
//   3. live nodes that no link leads to any more are orphans, which are linked again.
// After a pass no link leads to the nodes that were removed when it began. Only the writer calls
// it.
class Repairer {
 public:
  Repairer(IndexCore& core, Linker& linker) : core_(core), linker_(linker) {}

  void AddRemoved(uint32_t node) { removed_.push_back(node); }
  // Must be called after a node was linked: the node may have a number that the pass counted as
  // free, and link lists that the pass has already followed do not lead to it.
  void Linked(uint32_t node);
  // Returns how many removed nodes are still in their graphs.
  size_t waiting() const { return removed_.size() + doomed_.size(); }
  bool in_pass() const { return phase_ != Phase::kIdle; }
  // Begins a pass over the nodes removed so far. Without any, it only looks for orphans.
  void Begin();

  struct Outcome {
    bool finished = false;           // the pass has ended
    std::vector<uint32_t> unlinked;  // nodes that no link leads to any more
    std::vector<uint32_t> orphans;   // live nodes to link again
  };
  // Continues the pass for about `nodes` nodes.
  Outcome Step(size_t nodes);

 private:
  enum class Phase { kIdle, kRelink, kReach };

  bool IsDoomed(uint32_t node) const { return node < doomed_mark_.size() && doomed_mark_[node]; }
  void RelinkAround(uint32_t node);
  void RelinkAround(uint32_t node, size_t level);
  void ReplaceEntries();
  void BeginReachability();
  // Follows the links of up to `nodes` reached nodes. Returns true when none are left.
  bool ExpandReachable(size_t nodes);
  std::vector<uint32_t> Orphans() const;

  IndexCore& core_;
  Linker& linker_;
  Phase phase_ = Phase::kIdle;
  std::vector<uint32_t> removed_;  // since the pass began
  std::vector<uint32_t> doomed_;   // the removed nodes that this pass unlinks
  std::vector<bool> doomed_mark_;
  uint32_t cursor_ = 0;
  std::vector<bool> reached_;
  std::vector<uint32_t> frontier_;
  std::vector<uint32_t> links_;
  std::vector<uint32_t> candidates_;
};

}  // namespace ruvd::storage::hnsw
