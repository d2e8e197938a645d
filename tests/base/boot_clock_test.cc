// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "base/boot_clock.h"

#include <gtest/gtest.h>

#include "base/clock.h"

namespace ruvd {
namespace {

// On Linux both begin with the machine, and only this one counts its sleep.
TEST(BootClockTest, NeverGoesBackNorBehindTheMonotonicClock) {
  const TimePoint monotonic = SystemClock().Now();
  const TimePoint first = SinceBoot();
  EXPECT_GE(first, monotonic);
  EXPECT_GE(SinceBoot(), first);
}

}  // namespace
}  // namespace ruvd
