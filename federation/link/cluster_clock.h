// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "base/clock.h"
#include "privacy/identity/node_key.h"

namespace ruvd::federation {

// The clock by which a node federates: its own, unless most of its neighbours agree that its wall
// clock is wrong. A board without a battery begins in 1970, and a time server may be a day off;
// without a correction such a node would drop what it holds as expired, and sign what no other
// accepts. Neighbours say in pings what their own clocks show. At least three have to be heard, so
// that one liar changes nothing. Not thread-safe: node/process/locked_clock.h is.
class ClusterClock : public Clock {
 public:
  // Returns a time that goes on while the machine sleeps, as its wall clock does.
  using SinceBoot = std::function<TimePoint()>;
  // `own` is borrowed; its monotonic time is used where `since_boot` is null. The node starts now.
  explicit ClusterClock(const Clock& own, SinceBoot since_boot = nullptr)
      : own_(own), since_boot_(std::move(since_boot)), changed_(own.Now()) {}

  TimePoint Now() const override { return own_.Now(); }
  // Returns the corrected wall clock.
  int64_t WallMillis() const override;
  // Returns what the node's own wall clock shows, for its pings.
  int64_t OwnWallMillis() const { return own_.WallMillis(); }

  // Notes what the wall clock of a neighbour shows now.
  virtual void Heard(const privacy::NodeId& neighbour, int64_t wall_ms);
  // Returns whether the clock was neither corrected nor left alone anew for kClockSettles, since
  // the start at the earliest. Until then nothing should be dropped as expired.
  virtual bool IsSettled() const;
  // Returns CLOCK_WRONG if the node's own clock is corrected now.
  virtual absl::Status Check() const;

 private:
  struct Sample {
    int64_t ahead_ms = 0;  // of the time since boot
    TimePoint heard;
  };
  // Returns what has to be added to the own wall clock.
  int64_t Correction() const;
  int64_t Compute(int64_t own_ahead_ms) const;
  int64_t SinceBootMillis() const;

  const Clock& own_;
  const SinceBoot since_boot_;
  mutable TimePoint changed_;  // the correction, or the start
  std::map<privacy::NodeId, Sample> samples_;
  // The last correction, and what it was computed from
  mutable int64_t correction_ms_ = 0;
  mutable int64_t own_ahead_ms_ = 0;
  mutable std::optional<TimePoint> computed_;
};

}  // namespace ruvd::federation
