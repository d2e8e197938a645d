// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/hnsw/linker.h"

#include <algorithm>
#include <limits>

#include "storage/hnsw/distances.h"
#include "storage/hnsw/walk.h"

namespace ruvd::hnsw {
namespace {

// A full list is cut to this part of its width, so that the next links back need no choice.
constexpr size_t kCutNumerator = 4;
constexpr size_t kCutDenominator = 5;

// Adds the nearest candidates that were not chosen, as far as there are fewer than `count`.
void Fill(const std::vector<Candidate>& nearest_first, size_t count,
          std::vector<uint32_t>* chosen) {
  for (const Candidate& candidate : nearest_first) {
    if (chosen->size() >= count) {
      return;
    }
    if (std::find(chosen->begin(), chosen->end(), candidate.node) == chosen->end()) {
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
  const size_t n = distances.Within(ids, std::numeric_limits<float>::infinity());
  candidates_.clear();
  for (size_t i = 0; i < n; ++i) {
    if (scratch_.buffers.kept[i] != node) {
      candidates_.push_back({scratch_.buffers.distances[i], scratch_.buffers.kept[i]});
    }
  }
  std::sort(candidates_.begin(), candidates_.end());
}

void Linker::Choose(size_t count) {
  ids_.clear();
  bounds_.clear();
  for (const Candidate& candidate : candidates_) {
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
        distances.NotBelow(std::span(ids_).subspan(1), std::span(bounds_).subspan(1));
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
  if (std::find(links_.begin(), links_.end(), to) != links_.end() || list.Append(to)) {
    return true;
  }
  links_.push_back(to);
  Measure(from, links_);
  Choose(list.width() * kCutNumerator / kCutDenominator);
  list.Write(chosen_);
  return std::find(chosen_.begin(), chosen_.end(), to) != chosen_.end();
}

void Linker::ForceBack(uint32_t from, uint32_t to, size_t level) {
  const LinkList list = core_.nodes.Links(from, level);
  links_.clear();
  list.AppendTo(&links_);
  links_.back() = to;
  list.Write(links_);
}

void Linker::Relink(uint32_t node, size_t level, std::span<const uint32_t> candidates) {
  links_.assign(candidates.begin(), candidates.end());
  std::sort(links_.begin(), links_.end());
  links_.erase(std::unique(links_.begin(), links_.end()), links_.end());
  Measure(node, links_);
  const LinkList list = core_.nodes.Links(node, level);
  links_.clear();
  list.AppendTo(&links_);
  Choose(list.width() * kCutNumerator / kCutDenominator);
  Fill(candidates_, links_.size(), &chosen_);  // repairs do not thin the graph out
  list.Write(chosen_);
}

void Linker::Link(uint32_t node) {
  const NodeInfo& info = core_.nodes.info(node);
  BankGraph& bank = core_.banks[info.bank];
  const EntryPoint entry = bank.entry();
  if (entry.node == kNoNode || entry.node == node) {
    bank.set_entry({node, info.level});
    return;
  }
  QueryFrom(node);
  const EncodedQuery own = scratch_.query;  // choosing links overwrites the one in scratch_
  const Walker walker(core_, own, scratch_);
  const size_t top = std::min<size_t>(entry.level, info.level);
  std::vector<Candidate> entries = {walker.Descend(entry, top)};
  for (size_t level = top + 1; level-- > 0;) {
    walker.Walk(entries, {.level = level, .ef = core_.options.ef_construction},
                AcceptLive{core_.live});
    entries.assign(scratch_.walk.entries().begin(), scratch_.walk.entries().end());
    candidates_.clear();
    for (const Candidate& found : entries) {
      if (found.accepted && found.node != node) {
        candidates_.push_back(found);
      }
    }
    if (level == 0 && candidates_.empty()) {  // all that the entry leads to was removed
      bank.set_entry({node, info.level});
      return;
    }
    Choose(core_.options.m);
    const std::vector<uint32_t> neighbours = chosen_;
    core_.nodes.Links(node, level).Write(neighbours);
    bool reachable = neighbours.empty();
    for (const uint32_t neighbour : neighbours) {
      reachable = LinkBack(neighbour, node, level) || reachable;
    }
    if (!reachable) {
      ForceBack(neighbours.front(), node, level);
    }
  }
  if (info.level > entry.level) {
    bank.set_entry({node, info.level});
  }
}

}  // namespace ruvd::hnsw
