// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/sharing/state_pace.h"

#include <gtest/gtest.h>

namespace ruvd::sharing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(StatePace, WaitsForWhatComesInButNotForever) {
  StatePace pace;
  const TimePoint start{seconds(1000)};
  EXPECT_TRUE(pace.Due(/*incoming=*/false, start));
  EXPECT_FALSE(pace.Due(false, start + milliseconds(999))) << "once a second is enough";
  EXPECT_TRUE(pace.Due(false, start + seconds(1)));
  EXPECT_FALSE(pace.Due(true, start + seconds(2)));
  EXPECT_FALSE(pace.Due(true, start + seconds(60)));
  EXPECT_TRUE(pace.Due(true, start + seconds(61))) << "a peer may send without an end";
  EXPECT_FALSE(pace.Due(true, start + seconds(63)));
  EXPECT_TRUE(pace.Due(false, start + seconds(63)));
}

}  // namespace
}  // namespace ruvd::sharing
