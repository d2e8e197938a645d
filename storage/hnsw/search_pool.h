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

// A node and its distance to what is searched. Ties are broken by number, so that the same search
// of the same graph gives the same answer.
struct Candidate {
  float distance = 0;
  uint32_t node = kNoNode;
  bool accepted = true;   // may be a result; others are only walked over
  bool expanded = false;  // its links were followed
  friend bool operator<(const Candidate& a, const Candidate& b) {
    return a.distance != b.distance ? a.distance < b.distance : a.node < b.node;
  }
};

// The candidates of a walk in order of distance: up to `ef` accepted ones and whatever lies between
// them, up to a limit. An array with insertion, which for the usual ef is faster than two heaps.
class SearchPool {
 public:
  // Of more than `limit` candidates the farthest are forgotten: insertion costs their number.
  void Begin(size_t ef, size_t limit = std::numeric_limits<size_t>::max()) {
    ef_ = ef;
    limit_ = std::max(limit, ef);
    accepted_ = 0;
    next_ = 0;
    entries_.clear();
  }

  // Candidates at this distance or farther are of no use: there are `ef` better, or no room.
  float bound() const {
    const bool all = accepted_ < ef_ && entries_.size() < limit_;
    return all ? std::numeric_limits<float>::infinity() : entries_.back().distance;
  }
  // Whether there may have been candidates that it has forgotten for want of room.
  bool full() const { return entries_.size() >= limit_; }

  // Adds what is within the bound; a node that is there already is not added again.
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
    DropUseless();
  }

  // The nearest node not yet expanded, which then is; kNoNode where none is left.
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
  // What TakeNearest would give next, if nothing nearer comes in between.
  uint32_t PeekNearest() const {
    for (size_t i = next_; i < entries_.size(); ++i) {
      if (!entries_[i].expanded) {
        return entries_[i].node;
      }
    }
    return kNoNode;
  }

  std::span<const Candidate> entries() const { return entries_; }
  size_t accepted() const { return accepted_; }

 private:
  // Where there are `ef` accepted candidates, the last of them ends the pool.
  void DropUseless() {
    while (accepted_ > ef_ || entries_.size() > limit_ ||
           (accepted_ == ef_ && !entries_.back().accepted)) {
      accepted_ -= entries_.back().accepted ? 1 : 0;
      entries_.pop_back();
    }
  }

  size_t ef_ = 0;
  size_t limit_ = 0;
  size_t accepted_ = 0;
  size_t next_ = 0;  // nothing before it is unexpanded
  std::vector<Candidate> entries_;
};

}  // namespace ruvd::storage::hnsw
