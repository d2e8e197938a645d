// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "storage/hnsw/index_core.h"
#include "storage/hnsw/search_scratch.h"

namespace ruvd::hnsw {

// Puts nodes into their bank's graph and chooses links. The writer's.
class Linker {
 public:
  explicit Linker(IndexCore& core) : core_(core) {}

  // Links a node on its levels and makes it reachable from its neighbours; a node that was linked
  // before gets new links. It is in the graph when this returns.
  void Link(uint32_t node);

  // Chooses new links of a node on one level among `candidates` (live nodes of its bank, in any
  // order, repeats and the node itself allowed).
  void Relink(uint32_t node, size_t level, std::span<const uint32_t> candidates);

 private:
  // scratch_.query becomes the node's row.
  void QueryFrom(uint32_t node);
  // The candidates with their distances to the node, nearest first, into candidates_.
  void Measure(uint32_t node, std::span<const uint32_t> ids);
  // At most `count` of candidates_, nearest first, none of them nearer to another chosen one than
  // to the node (algorithm 4 of Malkov and Yashunin 2018), into chosen_.
  void Choose(size_t count);
  // False where better links of `from` left no room.
  bool LinkBack(uint32_t from, uint32_t to, size_t level);
  // In place of the farthest link of `from`.
  void ForceBack(uint32_t from, uint32_t to, size_t level);

  IndexCore& core_;
  SearchScratch scratch_;
  EncodedQuery chosen_query_;
  DistanceBuffers chosen_buffers_;
  std::vector<Candidate> candidates_;
  std::vector<uint32_t> ids_;
  std::vector<float> bounds_;
  std::vector<uint32_t> chosen_;
  std::vector<uint32_t> links_;
};

}  // namespace ruvd::hnsw
