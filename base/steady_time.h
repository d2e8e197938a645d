// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <chrono>
#include <cstdint>

#include "base/clock.h"

// Wall clocks step: devices without a battery start in the past, and people and time servers
// correct them. These classes protect records that are ordered or expired by wall time.
namespace ruvd {

// Gives strictly increasing times to records that are stored in order of time, even if the wall
// clock goes back: a new record must not sort as the oldest. There is one exception, so that a
// clock that once ran far ahead does not count for ever: if the wall clock goes back by more than
// kMaxBridge to a possible time, the new time is believed. Not thread-safe.
class MonotonicTimestamps {
 public:
  // Two days are longer than the error of a date that is wrong by one day, or of a wrong time zone.
  static constexpr std::chrono::milliseconds kMaxBridge = std::chrono::hours(48);
  // A clock before 2023, when this program did not exist, was never set.
  static constexpr int64_t kFirstPossibleMs = 1'672'531'200'000;

  // `last_ms` is the newest time in use, or 0 at first.
  explicit MonotonicTimestamps(int64_t last_ms) : last_ms_(last_ms) {}
  int64_t Next(int64_t now_ms);
  // Returns the newest time in use.
  int64_t last_ms() const { return last_ms_; }

 private:
  int64_t last_ms_;
};

// Tells whether the wall clock can be trusted to say how old a record is. It can if it has advanced
// like the monotonic clock since the start or, after a step, for kTrustedAfter. So a step, which
// may be a mistake, deletes nothing at once. The wall clock of a suspended machine steps forward,
// too. Not thread-safe.
class WallClockTrust {
 public:
  static constexpr std::chrono::milliseconds kTolerance = std::chrono::minutes(5);
  static constexpr std::chrono::milliseconds kTrustedAfter = std::chrono::hours(1);

  // `clock` must outlive this object.
  explicit WallClockTrust(const Clock& clock);
  // Call it at least every few minutes. A difference of up to kTolerance between two calls, as a
  // slewed clock gives, does not count as a step.
  bool Trusted();
  // Returns the step, in milliseconds, that the last call of Trusted saw; 0 means none.
  int64_t step_ms() const { return step_ms_; }

 private:
  int64_t OffsetMs() const;

  const Clock& clock_;
  int64_t offset_ms_;  // wall time minus monotonic time at the last call
  TimePoint stepped_at_{};
  bool stepped_ = false;
  int64_t step_ms_ = 0;
};

}  // namespace ruvd
