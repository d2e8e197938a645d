// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>

#include "base/clock.h"

namespace ruvd::federation {

// The time of an input to a pure state machine: monotonic for durations, wall-clock for what is
// signed.
struct Instant {
  TimePoint now;
  int64_t wall_ms = 0;

  static Instant Of(const Clock& clock) { return {clock.Now(), clock.WallMillis()}; }
};

}  // namespace ruvd::federation
