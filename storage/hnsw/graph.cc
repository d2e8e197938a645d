// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/hnsw/graph.h"

#include <algorithm>
#include <limits>
#include <queue>

#include "storage/hnsw/dot.h"

namespace ruvd::hnsw {
namespace {

using FarthestFirst = std::priority_queue<Candidate>;

struct Farther {
  bool operator()(const Candidate& a, const Candidate& b) const { return b < a; }
};
using NearestFirst = std::priority_queue<Candidate, std::vector<Candidate>, Farther>;

// The `ef` nearest accepted candidates of a layer search.
class Results {
 public:
  explicit Results(size_t ef) : ef_(ef) {}

  bool full() const { return heap_.size() >= ef_; }
  bool Beats(const Candidate& candidate) const { return full() && heap_.top() < candidate; }
  void Add(const Candidate& candidate) {
    heap_.push(candidate);
    if (heap_.size() > ef_) {
      heap_.pop();
    }
  }
  std::vector<Candidate> TakeNearestFirst() {
    std::vector<Candidate> out(heap_.size());
    for (size_t i = out.size(); i > 0; --i) {
      out[i - 1] = heap_.top();
      heap_.pop();
    }
    return out;
  }

 private:
  const size_t ef_;
  FarthestFirst heap_;
};

}  // namespace

Graph::Graph(size_t dimension, size_t m, size_t ef_construction)
    : dimension_(dimension),
      stride_(PaddedLength(dimension)),
      m_(m),
      ef_construction_(std::max(ef_construction, m)) {}

float Graph::Distance(const float* padded_query, uint32_t node) const {
  return 1.0F - Dot(padded_query, RowOf(node), stride_);
}

std::vector<float> Graph::Pad(std::span<const float> row) const {
  std::vector<float> padded(row.begin(), row.end());
  padded.resize(stride_, 0.0F);
  return padded;
}

void Graph::StoreRow(uint32_t node, std::span<const float> row) {
  if (node % kChunkRows == 0) {
    rows_.push_back(std::make_unique<float[]>(kChunkRows * stride_));  // zeroed
  }
  std::copy(row.begin(), row.end(), rows_.back().get() + (node % kChunkRows) * stride_);
}

Candidate Graph::Greedy(const float* query, Candidate from, size_t level) const {
  Candidate best = from;
  for (bool moved = true; moved;) {
    moved = false;
    for (const uint32_t neighbour : links_[best.node][level]) {
      const Candidate candidate{Distance(query, neighbour), neighbour};
      if (candidate < best) {
        best = candidate;
        moved = true;
      }
    }
  }
  return best;
}

std::vector<Candidate> Graph::SearchLayer(const float* query, std::span<const Candidate> entries,
                                          size_t ef, size_t level, const Accept* accept) const {
  std::unique_ptr<VisitedMarks> visited = visited_.Take();
  visited->Begin(size());
  NearestFirst open;
  Results results(ef);
  const auto see = [&](const Candidate& candidate) {
    open.push(candidate);
    if (accept == nullptr || (*accept)(candidate.node)) {
      results.Add(candidate);
    }
  };
  for (const Candidate& entry : entries) {
    if (visited->Visit(entry.node)) {
      see(entry);
    }
  }
  while (!open.empty() && !results.Beats(open.top())) {
    const uint32_t node = open.top().node;
    open.pop();
    for (const uint32_t neighbour : links_[node][level]) {
      if (!visited->Visit(neighbour)) {
        continue;
      }
      const Candidate candidate{Distance(query, neighbour), neighbour};
      if (!results.Beats(candidate)) {
        see(candidate);
      }
    }
  }
  visited_.Give(std::move(visited));
  return results.TakeNearestFirst();
}

Graph::LinkList Graph::Select(std::span<const Candidate> candidates, size_t count) const {
  LinkList selected;
  LinkList pruned;
  for (const Candidate& candidate : candidates) {
    if (selected.size() == count) {
      return selected;
    }
    // Another neighbour is nearer to the candidate than the new node is: it leads there already.
    const bool covered = std::any_of(selected.begin(), selected.end(), [&](uint32_t other) {
      return Distance(RowOf(candidate.node), other) < candidate.distance;
    });
    (covered ? pruned : selected).push_back(candidate.node);
  }
  for (size_t i = 0; i < pruned.size() && selected.size() < count; ++i) {
    selected.push_back(pruned[i]);
  }
  return selected;
}

void Graph::Link(uint32_t node, std::span<const uint32_t> neighbours, size_t level) {
  links_[node][level].assign(neighbours.begin(), neighbours.end());
  for (const uint32_t neighbour : neighbours) {
    LinkList& back = links_[neighbour][level];
    back.push_back(node);
    if (back.size() <= MaxLinks(level)) {
      continue;
    }
    std::vector<Candidate> candidates;
    for (const uint32_t other : back) {
      candidates.push_back({Distance(RowOf(neighbour), other), other});
    }
    std::sort(candidates.begin(), candidates.end());
    back = Select(candidates, MaxLinks(level));
  }
}

uint32_t Graph::Add(std::span<const float> unit_row, size_t level) {
  const auto node = static_cast<uint32_t>(size());
  StoreRow(node, unit_row);
  links_.emplace_back(level + 1);
  if (node == 0) {
    return node;
  }
  const float* query = RowOf(node);
  const size_t top = links_[entry_].size() - 1;
  Candidate near{Distance(query, entry_), entry_};
  for (size_t layer = top; layer > level; --layer) {
    near = Greedy(query, near, layer);
  }
  std::vector<Candidate> entries = {near};
  for (size_t layer = std::min(top, level) + 1; layer-- > 0;) {
    entries = SearchLayer(query, entries, ef_construction_, layer, nullptr);
    Link(node, Select(entries, m_), layer);
  }
  if (level > top) {
    entry_ = node;
  }
  return node;
}

std::vector<Candidate> Graph::Search(const float* padded_query, size_t ef,
                                     const Accept* accept) const {
  if (size() == 0) {
    return {};
  }
  Candidate near{Distance(padded_query, entry_), entry_};
  for (size_t layer = links_[entry_].size() - 1; layer > 0; --layer) {
    near = Greedy(padded_query, near, layer);
  }
  return SearchLayer(padded_query, std::span(&near, 1), ef, 0, accept);
}

}  // namespace ruvd::hnsw
