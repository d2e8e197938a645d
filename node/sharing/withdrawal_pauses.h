// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <map>
#include <optional>

#include "base/bytes.h"
#include "base/clock.h"
#include "privacy/identity/node_key.h"

namespace ruvd::sharing {

// Nodes whose updates are left out for a while after they withdrew one. A withdrawal makes every
// node rebuild its global adapter, so a node that withdraws again and again would keep the cluster
// from having one. The first pause is a minute; each further one within a day of the last is twice
// as long, up to a day. Pauses are in memory only: after a restart the adapter is rebuilt at most
// once more. Not thread-safe.
class WithdrawalPauses {
 public:
  // Notes that an update of `origin` was removed from the global adapter.
  void RecordWithdrawal(const privacy::NodeId& origin, TimePoint now);
  bool IsPaused(const privacy::NodeId& origin, TimePoint now) const;
  // Returns the earliest end of a pause; nullopt if there is no pause.
  std::optional<TimePoint> NextEnd(TimePoint now) const;

 private:
  struct Pause {
    TimePoint until{};
    Duration length{};
  };
  std::map<privacy::NodeId, Pause> pauses_;  // includes pauses that ended less than a day ago
};

}  // namespace ruvd::sharing
