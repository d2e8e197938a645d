// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <map>
#include <optional>

#include "base/bytes.h"
#include "base/clock.h"
#include "privacy/identity/node_key.h"

namespace ruvd::sharing {

// Whose updates are left out for a while, as taking one back makes every node begin its global
// adapter anew: who does it again and again would keep the cluster from having one. A minute the
// first time, twice as long each time within a day of the last pause, a day at most. In memory
// only: a restart begins the adapter anew at most once more. Not thread-safe.
class WithdrawalPauses {
 public:
  // An update of `origin` was taken out of the global adapter.
  void Note(const privacy::NodeId& origin, TimePoint now);
  bool Paused(const privacy::NodeId& origin, TimePoint now) const;
  // When somebody's pause ends first; nullopt: nobody has one.
  std::optional<TimePoint> NextEnd(TimePoint now) const;

 private:
  struct Pause {
    TimePoint until{};
    Duration length{};
  };
  std::map<privacy::NodeId, Pause> pauses_;  // also those that ended less than a day ago
};

}  // namespace ruvd::sharing
