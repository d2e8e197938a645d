// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <chrono>
#include <cstdint>

#include "base/clock.h"

// Wall clocks step: devices without a battery begin in the past, people and time servers correct
// them. What is ordered or expired by wall time needs protection from that.
namespace ruvd {

// Times for what is stored in order of time. The next one is later than the one before, also where
// the wall clock went back: then what came last does not become the oldest. Two exceptions end the
// reign of a clock that ran far ahead: one that goes back by more than kMaxBridge to a possible
// time is believed. Not thread-safe.
class OrderedTime {
 public:
  // Two days: longer than a wrong date by a slip of one, or a wrong time zone, lasts.
  static constexpr std::chrono::milliseconds kMaxBridge = std::chrono::hours(48);
  // A clock before 2023, when this program did not exist, was never set.
  static constexpr int64_t kFirstPossibleMs = 1'672'531'200'000;

  // `last_ms`: the newest time in use; 0 where there is none.
  explicit OrderedTime(int64_t last_ms) : last_ms_(last_ms) {}
  int64_t Next(int64_t now_ms);
  // The last time that is in use.
  int64_t last_ms() const { return last_ms_; }

 private:
  int64_t last_ms_;
};

// Tells whether the wall clock can be trusted to say how old things are: it went on as the
// monotonic clock did, since the start or, after a step, for kTrustedAfter. So a step, which may be
// a mistake, deletes nothing at once. Suspended machines step forward, too. Not thread-safe.
class WallClockTrust {
 public:
  static constexpr std::chrono::milliseconds kTolerance = std::chrono::minutes(5);
  static constexpr std::chrono::milliseconds kTrustedAfter = std::chrono::hours(1);

  // `clock` outlives it.
  explicit WallClockTrust(const Clock& clock);
  // To be asked every few minutes at least: slewing between two calls is no step.
  bool Trusted();
  // Whether the call of Trusted before saw a step, and by how much.
  int64_t step_ms() const { return step_ms_; }

 private:
  int64_t OffsetMs() const;

  const Clock& clock_;
  int64_t offset_ms_;  // wall less monotonic time, at the last call
  TimePoint stepped_at_{};
  bool stepped_ = false;
  int64_t step_ms_ = 0;
};

}  // namespace ruvd
