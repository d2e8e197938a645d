// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace ruvd {

// Monotonic time. Its zero is arbitrary and differs by process.
using Duration = std::chrono::nanoseconds;
using TimePoint = std::chrono::time_point<std::chrono::steady_clock, Duration>;

// The only source of time above `base`, injected so that the same code runs in the simulator.
// Implementations are thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  // Monotonic time, for deadlines and durations.
  virtual TimePoint Now() const = 0;
  // Milliseconds since the Unix epoch, for times that are stored or sent. The value may step
  // backwards.
  virtual int64_t WallMillis() const = 0;
};

// Returns the operating system's clocks: one shared instance that is never destroyed.
const Clock& SystemClock();

// A clock that moves only when told to. Thread-safe.
class ManualClock final : public Clock {
 public:
  explicit ManualClock(int64_t wall_millis = 1'700'000'000'000) : wall_base_(wall_millis) {}
  TimePoint Now() const override { return TimePoint(Duration(nanos_.load())); }
  int64_t WallMillis() const override { return wall_base_.load() + nanos_.load() / 1'000'000; }
  void Advance(Duration d) { nanos_.fetch_add(d.count()); }
  // Steps only the wall clock, as an administrator or NTP does.
  void StepWall(int64_t millis) { wall_base_.fetch_add(millis); }

 private:
  std::atomic<int64_t> nanos_{0};
  std::atomic<int64_t> wall_base_;
};

}  // namespace ruvd
