// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/hnsw/linker.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "storage/hnsw/split_mix.h"
#include "storage/hnsw/walk.h"

namespace ruvd::storage::hnsw {
namespace {

// A full list is cut to this part of its width, so that the next links back fit without a choice.
constexpr size_t kCutNumerator = 4;
constexpr size_t kCutDenominator = 5;

constexpr float kAny = std::numeric_limits<float>::infinity();

// A walk for links keeps this many candidates for each wanted one, removed ones included.
constexpr size_t kPoolPart = 16;

// Returns how many links of a list may lead to rows equal to the node's own.
size_t EqualsOf(size_t width) {
  return std::max<size_t>(width / 4, 1);
}

uint64_t TieOf(uint32_t node, uint32_t candidate) {
  return SplitMix64(uint64_t{node} << 32 | candidate);
}

bool Contains(const std::vector<uint32_t>& ids, uint32_t id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

// Adds the nearest candidates that were not chosen until there are `count`.
void Fill(const std::vector<Candidate>& nearest_first, size_t count,
          std::vector<uint32_t>* chosen) {
  for (const Candidate& candidate : nearest_first) {
    if (chosen->size() >= count) {
      return;
    }
    if (!Contains(*chosen, candidate.node)) {
      chosen->push_back(candidate.node);
    }
  }
}

}  // namespace

void Linker::QueryFrom(uint32_t node) {
  const NodeStore& nodes = core_.nodes;
  QueryFromRow(nodes.high(node), nodes.low(node), nodes.header(node), nodes.layout(),
               core_.options.metric, &scratch_.query);
}

void Linker::Measure(uint32_t node, std::span<const uint32_t> ids) {
  QueryFrom(node);
  const Distances distances(core_.nodes, scratch_.query, scratch_.buffers);
  const size_t n = distances.FilterWithin(ids, kAny);
  candidates_.clear();
  for (size_t i = 0; i < n; ++i) {
    if (scratch_.buffers.kept[i] != node) {
      candidates_.push_back({scratch_.buffers.distances[i], scratch_.buffers.kept[i]});
    }
  }
  std::sort(candidates_.begin(), candidates_.end());
  ShuffleTies(node);
  MeasureSelfDistance(node, distances);
}

void Linker::MeasureSelfDistance(uint32_t node, const Distances& distances) {
  distances.FilterWithin(std::span(&node, 1), kAny);
  self_distance_ = scratch_.buffers.distances.front();
}

void Linker::ShuffleTies(uint32_t node) {
  for (auto first = candidates_.begin(); first != candidates_.end();) {
    const auto last = std::find_if(first, candidates_.end(), [&](const Candidate& candidate) {
      return candidate.distance != first->distance;
    });
    if (last - first > 1) {
      std::sort(first, last, [&](const Candidate& a, const Candidate& b) {
        return TieOf(node, a.node) < TieOf(node, b.node);
      });
    }
    first = last;
  }
}

void Linker::Choose(size_t count, size_t equals) {
  ids_.clear();
  bounds_.clear();
  size_t equal = 0;
  for (const Candidate& candidate : candidates_) {
    if (candidate.distance == self_distance_ && ++equal > equals) {
      continue;
    }
    ids_.push_back(candidate.node);
    bounds_.push_back(candidate.distance);
  }
  const NodeStore& nodes = core_.nodes;
  chosen_.clear();
  while (chosen_.size() < count && !ids_.empty()) {
    const uint32_t next = ids_.front();
    chosen_.push_back(next);
    QueryFromRow(nodes.high(next), nodes.low(next), nodes.header(next), nodes.layout(),
                 core_.options.metric, &chosen_query_);
    const Distances distances(nodes, chosen_query_, chosen_buffers_);
    const size_t left =
        distances.FindNotBelow(std::span(ids_).subspan(1), std::span(bounds_).subspan(1));
    for (size_t i = 0; i < left; ++i) {
      const size_t from = chosen_buffers_.kept[i] + 1;
      ids_[i] = ids_[from];
      bounds_[i] = bounds_[from];
    }
    ids_.resize(left);
    bounds_.resize(left);
  }
}

bool Linker::LinkBack(uint32_t from, uint32_t to, size_t level) {
  const LinkList list = core_.nodes.Links(from, level);
  links_.clear();
  list.AppendTo(&links_);
  if (Contains(links_, to) || list.Append(to)) {
    return true;
  }
  links_.push_back(to);
  Measure(from, links_);
  Choose(list.width() * kCutNumerator / kCutDenominator, EqualsOf(list.width()));
  list.Write(chosen_);
  return Contains(chosen_, to);
}

bool Linker::LinkBackEqual(uint32_t from, uint32_t to, size_t level) {
  const LinkList list = core_.nodes.Links(from, level);
  links_.clear();
  list.AppendTo(&links_);
  if (Contains(links_, to)) {
    return true;
  }
  Measure(from, links_);
  ids_.clear();
  // Only live nodes count: a pass that is under way frees removed nodes and no longer visits `to`.
  for (const Candidate& candidate : candidates_) {
    if (candidate.distance == self_distance_ && core_.live.Get(candidate.node)) {
      ids_.push_back(candidate.node);
    }
  }
  if (ids_.size() < EqualsOf(list.width())) {
    return LinkBack(from, to, level);
  }
  const uint32_t out = ids_[TieOf(from, to) % ids_.size()];
  const LinkList of_new = core_.nodes.Links(to, level);
  chosen_.clear();
  of_new.AppendTo(&chosen_);
  if (!Contains(chosen_, out) && !of_new.Append(out)) {
    return false;
  }
  list.Replace(out, to);
  return true;
}

bool Linker::SameCodes(uint32_t a, uint32_t b) const {
  const NodeStore& nodes = core_.nodes;
  const size_t bytes = nodes.layout().plane_bytes;
  return nodes.header(a).scale == nodes.header(b).scale &&
         nodes.header(a).mean == nodes.header(b).mean &&
         std::memcmp(nodes.high(a), nodes.high(b), bytes) == 0 &&
         std::memcmp(nodes.low(a), nodes.low(b), bytes) == 0;
}

bool Linker::LinksOfRemoved(uint32_t removed, size_t level) {
  ids_.clear();
  links_.clear();
  core_.nodes.Links(removed, level).AppendTo(&ids_);
  // No link leads to a node that has no links itself, unless it is the entry point.
  const bool entry = core_.banks[core_.nodes.info(removed).bank].entry().node == removed;
  bool back = ids_.empty() && (level > 0 || entry);
  for (const uint32_t id : ids_) {
    const uint32_t successor = core_.nodes.Links(id, level).At(0);
    const uint32_t now = core_.live.Get(id) || successor == kNoNode ? id : successor;
    if (!core_.live.Get(now) || (now != id && !SameCodes(now, id)) || Contains(links_, now)) {
      continue;
    }
    links_.push_back(now);
    chosen_.clear();
    core_.nodes.Links(now, level).AppendTo(&chosen_);
    back = back || Contains(chosen_, removed);
  }
  return back && 2 * links_.size() >= ids_.size();
}

void Linker::Refill(uint32_t node, size_t level, const std::vector<uint32_t>& former) {
  const std::vector<uint32_t> kept = links_;
  for (const uint32_t id : former) {
    if (!core_.live.Get(id)) {
      core_.nodes.Links(id, level).AppendTo(&links_);
    }
  }
  std::erase_if(links_, [&](uint32_t id) { return id == node || !core_.live.Get(id); });
  std::sort(links_.begin(), links_.end());
  links_.erase(std::unique(links_.begin(), links_.end()), links_.end());
  Measure(node, links_);
  chosen_ = kept;
  Fill(candidates_, former.size(), &chosen_);
  links_ = chosen_;
}

bool Linker::ReplaceRemoved(uint32_t node, uint32_t removed) {
  const NodeStore& nodes = core_.nodes;
  const NodeInfo& info = nodes.info(node);
  const NodeInfo& former = nodes.info(removed);
  if (former.bank != info.bank || former.level != info.level || !SameCodes(node, removed)) {
    return false;
  }
  for (size_t level = 0; level <= info.level; ++level) {
    if (!LinksOfRemoved(removed, level)) {
      return false;
    }
  }
  for (size_t level = 0; level <= info.level; ++level) {
    LinksOfRemoved(removed, level);
    const std::vector<uint32_t> neighbours = links_;
    if (const std::vector<uint32_t> list = ids_; links_.size() < list.size()) {
      Refill(node, level, list);
    }
    std::vector<uint32_t> links = links_;
    nodes.Links(node, level).Write(links);
    for (const uint32_t neighbour : neighbours) {
      nodes.Links(neighbour, level).Replace(removed, node);
    }
    for (size_t i = neighbours.size(); i < links.size(); ++i) {
      LinkBack(links[i], node, level);
    }
    // A walk that reaches the removed node is led to its successor; see LinksToTakeOver.
    links.resize(std::min(links.size(), nodes.Links(removed, level).width() - 1));
    links.insert(links.begin(), node);
    nodes.Links(removed, level).Write(links);
  }
  BankGraph& bank = core_.banks[info.bank];
  if (bank.entry().node == removed) {
    bank.set_entry({node, info.level});
  }
  return true;
}

void Linker::Relink(uint32_t node, size_t level, std::span<const uint32_t> candidates) {
  links_.assign(candidates.begin(), candidates.end());
  std::sort(links_.begin(), links_.end());
  links_.erase(std::unique(links_.begin(), links_.end()), links_.end());
  Measure(node, links_);
  const LinkList list = core_.nodes.Links(node, level);
  links_.clear();
  list.AppendTo(&links_);
  Choose(list.width() * kCutNumerator / kCutDenominator, EqualsOf(list.width()));
  Fill(candidates_, links_.size(), &chosen_);  // repairs must not thin the graph out
  list.Write(chosen_);
}

// Links the node to the best of candidates_, and those back to it.
void Linker::LinkLevel(uint32_t node, size_t level) {
  ShuffleTies(node);
  const size_t m = core_.options.m;
  Choose(m, EqualsOf(m));
  const std::vector<uint32_t> neighbours = chosen_;
  std::vector<uint32_t> equals;
  for (const Candidate& candidate : candidates_) {
    if (candidate.distance == self_distance_ && Contains(neighbours, candidate.node)) {
      equals.push_back(candidate.node);
    }
  }
  core_.nodes.Links(node, level).Write(neighbours);
  bool reachable = neighbours.empty();
  for (const uint32_t neighbour : neighbours) {
    const bool back = Contains(equals, neighbour) ? LinkBackEqual(neighbour, node, level)
                                                  : LinkBack(neighbour, node, level);
    reachable = back || reachable;
  }
  // When a list had only better links, it was cut and now has room.
  for (size_t i = 0; i < neighbours.size() && !reachable; ++i) {
    reachable = core_.nodes.Links(neighbours[i], level).Append(node);
  }
}

bool Linker::Link(uint32_t node) {
  const NodeInfo& info = core_.nodes.info(node);
  BankGraph& bank = core_.banks[info.bank];
  const EntryPoint entry = bank.entry();
  if (entry.node == kNoNode || entry.node == node) {
    bank.set_entry({node, info.level});
    return true;
  }
  QueryFrom(node);
  const EncodedQuery own = scratch_.query;  // choosing links overwrites the one in scratch_
  Walker walker(core_, own, scratch_);
  const size_t top = std::min<size_t>(entry.level, info.level);
  std::vector<Candidate> entries = {walker.Descend(entry, top)};
  for (size_t level = top + 1; level-- > 0;) {
    const size_t ef = core_.options.ef_construction;
    walker.Walk(entries, {.level = level, .ef = ef, .pool_limit = kPoolPart * ef},
                AcceptLive{core_.live});
    entries.assign(scratch_.walk.entries().begin(), scratch_.walk.entries().end());
    candidates_.clear();
    for (const Candidate& found : entries) {
      if (found.accepted && found.node != node) {
        candidates_.push_back(found);
      }
    }
    if (level == 0 && candidates_.empty()) {
      if (scratch_.walk.full()) {
        return false;
      }
      bank.set_entry({node, info.level});  // all nodes that the entry leads to were removed
      return true;
    }
    MeasureSelfDistance(node, walker.distances());
    LinkLevel(node, level);
  }
  if (info.level > entry.level) {
    bank.set_entry({node, info.level});
  }
  return true;
}

}  // namespace ruvd::storage::hnsw
