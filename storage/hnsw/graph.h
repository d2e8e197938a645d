// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "storage/hnsw/visited_marks.h"

namespace ruvd::hnsw {

// A node and its distance (1 - cosine) to what is searched. Ties are broken by number, so that
// results do not depend on the order of a heap.
struct Candidate {
  float distance = 0;
  uint32_t node = 0;
  friend bool operator<(const Candidate& a, const Candidate& b) {
    return a.distance != b.distance ? a.distance < b.distance : a.node < b.node;
  }
};

// Decides whether a node may be a result; nodes that may not are still walked over.
using Accept = std::function<bool(uint32_t node)>;

// The layered proximity graph of Malkov and Yashunin, "Efficient and robust approximate nearest
// neighbor search using Hierarchical Navigable Small World graphs" (TPAMI 2018): algorithms 1
// (insert), 2 (search of a layer), 4 (neighbour selection by heuristic, pruned candidates kept) and
// 5 (k nearest). Nodes are numbered from 0 in order of insertion and never leave. Searches may run
// at the same time; Add excludes everything else, which the owner ensures.
class Graph {
 public:
  Graph(size_t dimension, size_t m, size_t ef_construction);

  // Adds a node on layers 0 to `level` and links it. `unit_row` has `dimension` values of norm 1.
  uint32_t Add(std::span<const float> unit_row, size_t level);

  // Up to `ef` accepted nodes near `padded_query` (see Pad), nearest first. `accept` may be null.
  std::vector<Candidate> Search(const float* padded_query, size_t ef, const Accept* accept) const;

  float Distance(const float* padded_query, uint32_t node) const;
  // The row with zeros up to stride().
  std::vector<float> Pad(std::span<const float> row) const;
  std::span<const float> row(uint32_t node) const { return {RowOf(node), dimension_}; }
  size_t stride() const { return stride_; }
  size_t size() const { return links_.size(); }

 private:
  using LinkList = std::vector<uint32_t>;

  const float* RowOf(uint32_t node) const {
    return rows_[node / kChunkRows].get() + (node % kChunkRows) * stride_;
  }
  void StoreRow(uint32_t node, std::span<const float> row);
  size_t MaxLinks(size_t level) const { return level == 0 ? 2 * m_ : m_; }
  // The nearest node to the query that greedy steps on one layer reach.
  Candidate Greedy(const float* query, Candidate from, size_t level) const;
  std::vector<Candidate> SearchLayer(const float* query, std::span<const Candidate> entries,
                                     size_t ef, size_t level, const Accept* accept) const;
  // At most `count` of the candidates (nearest first), spread in direction.
  LinkList Select(std::span<const Candidate> candidates, size_t count) const;
  void Link(uint32_t node, std::span<const uint32_t> neighbours, size_t level);

  static constexpr size_t kChunkRows = 1024;  // rows never move when more are added

  const size_t dimension_;
  const size_t stride_;
  const size_t m_;
  const size_t ef_construction_;
  std::vector<std::unique_ptr<float[]>> rows_;
  std::vector<std::vector<LinkList>> links_;  // by node, then layer
  uint32_t entry_ = 0;
  mutable VisitedPool visited_;
};

}  // namespace ruvd::hnsw
