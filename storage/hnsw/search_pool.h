// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "storage/hnsw/node_id.h"

namespace ruvd::storage::hnsw {

// A node and its distance to the query. The number breaks ties, so that the same search of the same
// graph always gives the same answer.
struct Candidate {
  float distance = 0;
  uint32_t node = kNoNode;
  bool accepted = true;   // may be a result; others are only walked over
  bool expanded = false;  // its links were followed
  friend bool operator<(const Candidate& a, const Candidate& b) {
    return a.distance != b.distance ? a.distance < b.distance : a.node < b.node;
  }
};

// The candidates of a walk in order of distance: up to `ef` accepted ones and the others that lie
// between them, up to a limit. It is an array with insertion, which is faster than two heaps for
// the usual ef.
class SearchPool {
 public:
  // Keeps at most `limit` candidates and forgets the farthest, because the cost of an insertion
  // grows with their number.
  void Begin(size_t ef, size_t limit = std::numeric_limits<size_t>::max()) {
    ef_ = ef;
    limit_ = std::max(limit, ef);
    accepted_ = 0;
    next_ = 0;
    entries_.clear();
  }

  // Candidates at this distance or farther are useless: there are `ef` nearer ones, or no room.
  float bound() const {
    const bool all = accepted_ < ef_ && entries_.size() < limit_;
    return all ? std::numeric_limits<float>::infinity() : entries_.back().distance;
  }
  // Returns whether candidates may have been forgotten for lack of room.
  bool full() const { return entries_.size() >= limit_; }

  // Adds a node whose distance is below the bound, unless it is there already.
  void Insert(float distance, uint32_t node, bool accepted) {
    if (distance >= bound()) {
      return;
    }
    const Candidate candidate{distance, node, accepted, false};
    const auto place = std::lower_bound(entries_.begin(), entries_.end(), candidate);
    if (place != entries_.end() && place->node == node && place->distance == distance) {
      return;
    }
    next_ = std::min(next_, static_cast<size_t>(place - entries_.begin()));
    entries_.insert(place, candidate);
    accepted_ += accepted ? 1 : 0;
    TrimCandidates();
  }

  // Returns the nearest node that is not expanded yet and marks it; kNoNode when none is left.
  uint32_t TakeNearest() {
    while (next_ < entries_.size() && entries_[next_].expanded) {
      ++next_;
    }
    if (next_ == entries_.size()) {
      return kNoNode;
    }
    entries_[next_].expanded = true;
    return entries_[next_].node;
  }
  // Returns what TakeNearest would return next if no nearer node were inserted before.
  uint32_t PeekNearest() const {
    for (size_t i = next_; i < entries_.size(); ++i) {
      if (!entries_[i].expanded) {
        return entries_[i].node;
      }
    }
    return kNoNode;
  }

  // Removes the entries for which `gone` returns true.
  template <typename Gone>
  void Drop(const Gone& gone) {
    accepted_ -= std::erase_if(
        entries_, [&](const Candidate& entry) { return entry.accepted && gone(entry.node); });
    next_ = 0;
  }

  std::span<const Candidate> entries() const { return entries_; }
  size_t accepted() const { return accepted_; }

 private:
  // Removes the candidates after the last of `ef` accepted ones, and those above the limit.
  void TrimCandidates() {
    while (accepted_ > ef_ || entries_.size() > limit_ ||
           (accepted_ == ef_ && !entries_.back().accepted)) {
      accepted_ -= entries_.back().accepted ? 1 : 0;
      entries_.pop_back();
    }
  }

  size_t ef_ = 0;
  size_t limit_ = 0;
  size_t accepted_ = 0;
  size_t next_ = 0;  // all entries before this place are expanded
  std::vector<Candidate> entries_;
};

}  // namespace ruvd::storage::hnsw
