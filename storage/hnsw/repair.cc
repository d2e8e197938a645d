// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/hnsw/repair.h"

#include <algorithm>
#include <utility>

namespace ruvd::storage::hnsw {

void Repairer::Begin() {
  doomed_ = std::exchange(removed_, {});
  doomed_mark_.assign(core_.nodes.size(), false);
  for (const uint32_t node : doomed_) {
    doomed_mark_[node] = true;
  }
  cursor_ = 0;
  phase_ = Phase::kRelink;
  if (doomed_.empty()) {
    BeginReachability();
  }
}

Repairer::Outcome Repairer::Step(size_t nodes) {
  Outcome outcome;
  if (phase_ == Phase::kRelink) {
    // Nodes that were added after the pass began have no link to a doomed one.
    const auto end = static_cast<uint32_t>(std::min(doomed_mark_.size(), core_.nodes.size()));
    for (; nodes > 0 && cursor_ < end; --nodes) {
      RelinkAround(cursor_++);
    }
    if (cursor_ < end) {
      return outcome;
    }
    ReplaceEntries();
    BeginReachability();
  }
  if (phase_ == Phase::kReach && ExpandReachable(nodes)) {
    outcome.orphans = Orphans();
    outcome.unlinked = std::exchange(doomed_, {});
    outcome.finished = true;
    phase_ = Phase::kIdle;
  }
  return outcome;
}

void Repairer::RelinkAround(uint32_t node) {
  if (IsDoomed(node)) {
    return;
  }
  for (size_t level = 0; level <= core_.nodes.info(node).level; ++level) {
    RelinkAround(node, level);
  }
}

void Repairer::RelinkAround(uint32_t node, size_t level) {
  const NodeStore& nodes = core_.nodes;
  const LinkList list = nodes.Links(node, level);
  links_.clear();
  list.AppendTo(&links_);
  if (std::none_of(links_.begin(), links_.end(), [&](uint32_t id) { return IsDoomed(id); })) {
    return;
  }
  candidates_.clear();
  const size_t own = links_.size();
  for (size_t i = 0; i < own; ++i) {
    if (IsDoomed(links_[i])) {
      nodes.Links(links_[i], level).AppendTo(&links_);
    }
  }
  for (const uint32_t id : links_) {
    if (core_.live.Get(id)) {
      candidates_.push_back(id);
    }
  }
  linker_.Relink(node, level, candidates_);
}

void Repairer::ReplaceEntries() {
  std::array<bool, limits::kMaxBanks> without{};
  bool any = false;
  for (size_t bank = 0; bank < core_.banks.size(); ++bank) {
    const uint32_t entry = core_.banks[bank].entry().node;
    without[bank] = entry != kNoNode && !core_.live.Get(entry);
    any = any || without[bank];
  }
  if (!any) {
    return;
  }
  std::array<EntryPoint, limits::kMaxBanks> best;
  for (uint32_t node = 0; node < core_.nodes.size(); ++node) {
    if (!core_.live.Get(node) || core_.pending.Get(node)) {
      continue;
    }
    const NodeInfo& info = core_.nodes.info(node);
    EntryPoint& entry = best[info.bank];
    if (entry.node == kNoNode || info.level > entry.level) {
      entry = {node, info.level};
    }
  }
  for (size_t bank = 0; bank < core_.banks.size(); ++bank) {
    if (without[bank]) {
      core_.banks[bank].set_entry(best[bank]);
    }
  }
}

void Repairer::BeginReachability() {
  phase_ = Phase::kReach;
  reached_.assign(core_.nodes.size(), false);
  frontier_.clear();
  for (const BankGraph& bank : core_.banks) {
    if (const uint32_t entry = bank.entry().node; entry < reached_.size()) {
      reached_[entry] = true;
      frontier_.push_back(entry);
    }
  }
}

void Repairer::Linked(uint32_t node) {
  if (phase_ == Phase::kReach && node < reached_.size() && !reached_[node]) {
    reached_[node] = true;
    frontier_.push_back(node);
  }
}

bool Repairer::ExpandReachable(size_t nodes) {
  for (; nodes > 0 && !frontier_.empty(); --nodes) {
    const uint32_t node = frontier_.back();
    frontier_.pop_back();
    links_.clear();
    core_.nodes.Links(node, 0).AppendTo(&links_);
    for (const uint32_t id : links_) {
      if (id < reached_.size() && !reached_[id]) {
        reached_[id] = true;
        frontier_.push_back(id);
      }
    }
  }
  return frontier_.empty();
}

std::vector<uint32_t> Repairer::Orphans() const {
  std::vector<uint32_t> orphans;
  for (uint32_t node = 0; node < reached_.size() && node < core_.nodes.size(); ++node) {
    if (!reached_[node] && core_.live.Get(node) && !core_.pending.Get(node)) {
      orphans.push_back(node);
    }
  }
  return orphans;
}

}  // namespace ruvd::storage::hnsw
