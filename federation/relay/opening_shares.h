// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>

#include "base/clock.h"
#include "federation/events/fair_share.h"
#include "federation/limits.h"
#include "privacy/identity/node_key.h"

namespace ruvd::federation {

// Limits the circuits that members begin to this node through one neighbour: kMaxOpenings in each
// kOpeningsWindow, of which each member gets its FairShare, and one as long as any is left. A
// neighbour that invents members uses up only its own share. Not thread-safe.
class OpeningShares {
 public:
  // Returns whether `source` may begin another circuit at `now`, which must not be earlier than in
  // the previous call.
  bool Take(const privacy::NodeId& source, TimePoint now) {
    while (!recent_.empty() && now - recent_.front().at >= limits::kOpeningsWindow) {
      recent_.pop_front();
    }
    const auto own = static_cast<size_t>(std::ranges::count(recent_, source, &Opening::source));
    // The first circuit of a member only needs a free place.
    const bool first = own == 0 && recent_.size() < limits::kMaxOpenings;
    if (!first && own >= FairShare(recent_.size() - own, limits::kMaxOpenings)) {
      return false;
    }
    recent_.push_back({.at = now, .source = source});
    return true;
  }

 private:
  struct Opening {
    TimePoint at{};
    privacy::NodeId source{};
  };
  std::deque<Opening> recent_;  // the oldest first, at most kMaxOpenings
};

}  // namespace ruvd::federation
