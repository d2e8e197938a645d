// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <chrono>

#include "base/clock.h"

namespace ruvd::sharing {

// Decides how often the state that pings name is made. A node that catches up gets many items of
// rounds that are over, and each changes all later rounds, so the state waits for what comes in.
// Not thread-safe.
class StatePace {
 public:
  // `incoming`: items are being transferred to this node.
  bool Due(bool incoming, TimePoint now) {
    if (now < not_before_ || (incoming && now < at_latest_)) {
      return false;
    }
    not_before_ = now + std::chrono::seconds(1);
    at_latest_ = now + std::chrono::seconds(60);  // a peer may send slowly and without an end
    return true;
  }

 private:
  TimePoint not_before_{};
  TimePoint at_latest_{};
};

}  // namespace ruvd::sharing
