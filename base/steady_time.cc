// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "base/steady_time.h"

#include <cstdlib>

namespace ruvd {

int64_t MonotonicTimestamps::Next(int64_t now_ms) {
  const bool ahead = now_ms > last_ms_;
  const bool believed = now_ms >= kFirstPossibleMs && last_ms_ - now_ms > kMaxBridge.count();
  last_ms_ = ahead || believed ? now_ms : last_ms_ + 1;
  return last_ms_;
}

WallClockTrust::WallClockTrust(const Clock& clock) : clock_(clock), offset_ms_(OffsetMs()) {}

int64_t WallClockTrust::OffsetMs() const {
  const auto monotonic = clock_.Now().time_since_epoch();
  return clock_.WallMillis() -
         std::chrono::duration_cast<std::chrono::milliseconds>(monotonic).count();
}

bool WallClockTrust::Trusted() {
  const int64_t offset_ms = OffsetMs();
  const int64_t step_ms = offset_ms - offset_ms_;
  offset_ms_ = offset_ms;
  step_ms_ = std::abs(step_ms) > kTolerance.count() ? step_ms : 0;
  if (step_ms_ != 0) {
    stepped_ = true;
    stepped_at_ = clock_.Now();
  }
  stepped_ = stepped_ && clock_.Now() - stepped_at_ < kTrustedAfter;
  return !stepped_;
}

}  // namespace ruvd
