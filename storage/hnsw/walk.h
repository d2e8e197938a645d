// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "storage/hnsw/distances.h"
#include "storage/hnsw/index_core.h"
#include "storage/hnsw/search_pool.h"
#include "storage/hnsw/search_scratch.h"

namespace ruvd::storage::hnsw {

// These say which nodes may be results of a walk.
struct AcceptAll {
  bool operator()(uint32_t) const { return true; }
};
struct AcceptLive {
  const BitSet& live;
  bool operator()(uint32_t node) const { return live.Get(node); }
};
struct AcceptMatches {
  std::span<const uint64_t> words;
  bool operator()(uint32_t node) const {
    return node / kWordBits < words.size() &&
           ((words[node / kWordBits] >> (node % kWordBits)) & 1U) != 0;
  }
};

struct WalkOptions {
  size_t level = 0;
  size_t ef = 0;
  // Skip nodes that are not accepted: go to their neighbours at once and measure accepted nodes
  // only (ACORN-1: Patel et al., "ACORN: performant and predicate-agnostic search over vector
  // embeddings and structured data", SIGMOD 2024).
  bool two_hop = false;
  // The walk gives up above this much work: a distance is one unit, a look at a link an eighth.
  size_t budget = std::numeric_limits<size_t>::max();
  // How many candidates are kept, accepted or not; farther ones are not visited.
  size_t pool_limit = std::numeric_limits<size_t>::max();
};

// Best-first walks over one bank's graph (algorithm 2 of Malkov and Yashunin, "Efficient and robust
// approximate nearest neighbor search using hierarchical navigable small world graphs", TPAMI
// 2018). The caller is the writer or holds a pin.
class Walker {
 public:
  Walker(const IndexCore& core, const EncodedQuery& query, SearchScratch& scratch)
      : core_(core), scratch_(scratch), distances_(core.nodes, query, scratch.buffers) {}

  // Returns the nearest node to the query on `level` that greedy steps from the entry point reach.
  Candidate Descend(const EntryPoint& entry, size_t level);

  // Fills scratch.walk, starting from `entries`. Returns false when it gave up.
  template <typename Accept>
  bool Walk(std::span<const Candidate> entries, const WalkOptions& options, const Accept& accept);

  const Distances& distances() const { return distances_; }
  // Distances measured so far, coarse ones included.
  size_t measured() const { return measured_; }

 private:
  template <typename Accept>
  size_t Gather(uint32_t node, const WalkOptions& options, const Accept& accept) const;

  const IndexCore& core_;
  SearchScratch& scratch_;
  const Distances distances_;
  size_t measured_ = 0;
};

}  // namespace ruvd::storage::hnsw
