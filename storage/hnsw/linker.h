// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "storage/hnsw/distances.h"
#include "storage/hnsw/index_core.h"
#include "storage/hnsw/search_scratch.h"

namespace ruvd::storage::hnsw {

// Puts nodes into their bank's graph and chooses links. The writer's.
class Linker {
 public:
  explicit Linker(IndexCore& core) : core_(core) {}

  // Links a node on its levels and makes it reachable from its neighbours; a node that was linked
  // before gets new links. It is in the graph when this returns. False where the nodes around it
  // were all removed, so that level 0 does not lead to it: repairs have to take them out first.
  bool Link(uint32_t node);

  // Gives a node the place in the graph of a removed one that has the same codes: its links, and
  // those of its neighbours that led to it. A hundredth of the time of Link. False where the two
  // are not equal, or too many neighbours are gone: nothing was changed then.
  bool TakeOver(uint32_t node, uint32_t removed);

  // Chooses new links of a node on one level among `candidates` (live nodes of its bank, in any
  // order, repeats and the node itself allowed).
  void Relink(uint32_t node, size_t level, std::span<const uint32_t> candidates);

 private:
  // scratch_.query becomes the node's row.
  void QueryFrom(uint32_t node);
  // The candidates with their distances to the node, nearest first, into candidates_.
  void Measure(uint32_t node, std::span<const uint32_t> ids);
  // The distance of the node, which scratch_.query is, to itself: that of rows equal to it.
  void MeasureSelf(uint32_t node, const Distances& distances);
  // Puts candidates at equal distances into an order of the node's own. In the order of their
  // numbers all nodes would choose the same ones among equal rows.
  void MixTies(uint32_t node);
  // At most `count` of candidates_, nearest first, none of them nearer to another chosen one than
  // to the node (algorithm 4 of Malkov and Yashunin 2018), into chosen_; of those equal to the node
  // at most `equals`, so that links out of a heap of equal rows are left.
  void Choose(size_t count, size_t equals);
  // False where better links of `from` left no room.
  bool LinkBack(uint32_t from, uint32_t to, size_t level);
  // The same for equal rows. Where `from` has its part of those already, `to` takes the place of
  // one of them and leads to it: no row is lost.
  bool LinkBackEqual(uint32_t from, uint32_t to, size_t level);
  void LinkLevel(uint32_t node, size_t level);
  bool SameCodes(uint32_t a, uint32_t b) const;
  // Where the links of a removed node lead now, into links_: removed neighbours whose place was
  // taken over are replaced by their successors. False where less than half of them are left or
  // none leads back.
  bool LinksToTakeOver(uint32_t removed, size_t level);
  // Fills links_, of a node that takes a place over, up to the number of `former` links with what
  // those of them that are gone led to, so that rows put again and again keep their links.
  void Refill(uint32_t node, size_t level, const std::vector<uint32_t>& former);

  IndexCore& core_;
  SearchScratch scratch_;
  EncodedQuery chosen_query_;
  DistanceBuffers chosen_buffers_;
  std::vector<Candidate> candidates_;
  float self_distance_ = 0;
  std::vector<uint32_t> ids_;
  std::vector<float> bounds_;
  std::vector<uint32_t> chosen_;
  std::vector<uint32_t> links_;
};

}  // namespace ruvd::storage::hnsw
