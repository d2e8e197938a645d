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

// Puts nodes into the graph of their bank and chooses links. Only the writer uses it.
class Linker {
 public:
  explicit Linker(IndexCore& core) : core_(core) {}

  // Links a node on its levels and makes it reachable from its neighbours. A node that was linked
  // before gets new links. The node is in the graph when this returns. Returns false when all nodes
  // around it are removed ones, so that level 0 does not lead to it: repairs have to unlink those
  // first.
  bool Link(uint32_t node);

  // Gives a node the place in the graph of a removed node with the same codes: its links, and the
  // links of its neighbours to it. It takes a hundredth of the time of Link. Returns false and
  // changes nothing when the two are not equal or too many neighbours are gone.
  bool ReplaceRemoved(uint32_t node, uint32_t removed);

  // Chooses new links for a node on one level among `candidates` (live nodes of its bank in any
  // order; repeats and the node itself are allowed).
  void Relink(uint32_t node, size_t level, std::span<const uint32_t> candidates);

 private:
  // Makes the node's row the query in scratch_.
  void QueryFrom(uint32_t node);
  // Writes the ids with their distances to the node, nearest first, to candidates_.
  void Measure(uint32_t node, std::span<const uint32_t> ids);
  // Sets self_distance_ to the distance of the node, which is the query in scratch_, to itself.
  // Rows equal to it have the same distance.
  void MeasureSelfDistance(uint32_t node, const Distances& distances);
  // Orders candidates at equal distances differently for each node. In the order of their numbers
  // all nodes would choose the same ones among equal rows.
  void ShuffleTies(uint32_t node);
  // Chooses at most `count` of candidates_, nearest first, into chosen_, so that no chosen one is
  // nearer to another chosen one than to the node (algorithm 4 of Malkov and Yashunin 2018). At
  // most `equals` of them are equal to the node, so that links that leave a group of equal rows
  // remain.
  void Choose(size_t count, size_t equals);
  // Adds a link from `from` to `to`. Returns false when better links of `from` leave no room for
  // it.
  bool LinkBack(uint32_t from, uint32_t to, size_t level);
  // Does what LinkBack does for two equal rows. When `from` already has its share of links to equal
  // rows, `to` replaces one of them and leads to it, so that no row is lost.
  bool LinkBackEqual(uint32_t from, uint32_t to, size_t level);
  void LinkLevel(uint32_t node, size_t level);
  bool SameCodes(uint32_t a, uint32_t b) const;
  // Writes to links_ where the links of a removed node lead now: a removed neighbour whose place
  // was taken over is replaced by its successor. Returns false when less than half of the links are
  // left or no neighbour links back.
  bool LinksOfRemoved(uint32_t removed, size_t level);
  // Fills links_, the links of a node that takes a place over, up to the number of `former` links
  // with the neighbours of former links that are gone. Rows that are put again and again thus keep
  // their number of links.
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
