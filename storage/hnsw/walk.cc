// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/hnsw/walk.h"

namespace ruvd::storage::hnsw {
namespace {

constexpr size_t kLinksOfAUnit = 8;  // looking at this many links costs about one distance

// Rows that are prefetched while the other links are looked at; the kernel prefetches the rest.
constexpr size_t kEarlyRows = 4;

}  // namespace

Candidate Walker::Descend(const EntryPoint& entry, size_t level) {
  DistanceBuffers& buffers = scratch_.buffers;
  constexpr float kAny = std::numeric_limits<float>::infinity();
  distances_.FilterWithin(std::span(&entry.node, 1), kAny);
  Candidate best{buffers.distances[0], entry.node};
  for (size_t at = entry.level; at > level; --at) {
    for (bool moved = true; moved;) {
      moved = false;
      scratch_.links.clear();
      core_.nodes.Links(best.node, at).AppendTo(&scratch_.links);
      measured_ += scratch_.links.size();
      const size_t n = distances_.FilterWithin(scratch_.links, best.distance);
      for (size_t i = 0; i < n; ++i) {
        const Candidate candidate{buffers.distances[i], buffers.kept[i]};
        if (candidate < best) {
          best = candidate;
          moved = true;
        }
      }
    }
  }
  return best;
}

// Collects the nodes that the node's links lead to and that were not seen before into scratch.ids.
// Returns how many links were looked at.
template <typename Accept>
size_t Walker::Gather(uint32_t node, const WalkOptions& options, const Accept& accept) const {
  const LinkList links = core_.nodes.Links(node, options.level);
  scratch_.ids.clear();
  size_t looked = 0;
  for (size_t i = 0; i < links.width(); ++i, ++looked) {
    const uint32_t id = links.At(i);
    if (id == kNoNode) {
      break;
    }
    if (!scratch_.visited.Visit(id)) {
      continue;
    }
    if (!options.two_hop || accept(id)) {
      if (scratch_.ids.size() < kEarlyRows) {
        core_.nodes.PrefetchHigh(id);
      }
      scratch_.ids.push_back(id);
      continue;
    }
    const LinkList further = core_.nodes.Links(id, options.level);
    for (size_t j = 0; j < further.width(); ++j, ++looked) {
      const uint32_t next = further.At(j);
      if (next == kNoNode) {
        break;
      }
      if (accept(next) && scratch_.visited.Visit(next)) {
        scratch_.ids.push_back(next);
      }
    }
  }
  return looked;
}

template <typename Accept>
bool Walker::Walk(std::span<const Candidate> entries, const WalkOptions& options,
                  const Accept& accept) {
  SearchPool& pool = scratch_.walk;
  const DistanceBuffers& buffers = scratch_.buffers;
  pool.Begin(options.ef, options.pool_limit);
  scratch_.visited.Begin(core_.nodes.size());
  for (const Candidate& entry : entries) {
    if (scratch_.visited.Visit(entry.node)) {
      pool.Insert(entry.distance, entry.node, accept(entry.node));
    }
  }
  size_t spent = 0;
  for (uint32_t node = pool.TakeNearest(); node != kNoNode; node = pool.TakeNearest()) {
    const size_t looked = Gather(node, options, accept);
    if (const uint32_t next = pool.PeekNearest(); next != kNoNode) {
      core_.nodes.Links(next, options.level).Prefetch();
    }
    const size_t n = distances_.FilterWithin(scratch_.ids, pool.bound());
    for (size_t i = 0; i < n; ++i) {
      pool.Insert(buffers.distances[i], buffers.kept[i], accept(buffers.kept[i]));
    }
    measured_ += scratch_.ids.size();
    spent += scratch_.ids.size() + looked / kLinksOfAUnit;
    if (spent > options.budget) {
      return false;
    }
  }
  return true;
}

template bool Walker::Walk(std::span<const Candidate>, const WalkOptions&, const AcceptAll&);
template bool Walker::Walk(std::span<const Candidate>, const WalkOptions&, const AcceptLive&);
template bool Walker::Walk(std::span<const Candidate>, const WalkOptions&, const AcceptMatches&);

}  // namespace ruvd::storage::hnsw
