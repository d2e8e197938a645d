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

// Circuits that members begin to this node through one neighbour: kMaxOpenings in each
// kOpeningsWindow, of which each member gets its FairShare, and one where any is left. A neighbour
// that makes members up uses up its own only. Not thread-safe.
class OpeningShares {
 public:
  // Whether `source` may begin one more at `now`, which is no earlier than that of the call before.
  bool Take(const privacy::NodeId& source, TimePoint now) {
    while (!recent_.empty() && now - recent_.front().at >= limits::kOpeningsWindow) {
      recent_.pop_front();
    }
    const auto own = static_cast<size_t>(std::ranges::count(recent_, source, &Opening::source));
    // The first one of a member needs no more than a place that is free.
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
