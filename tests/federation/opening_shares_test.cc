// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/relay/opening_shares.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <deque>
#include <map>
#include <utility>
#include <vector>

namespace ruvd::federation {
namespace {

using std::chrono::milliseconds;

privacy::NodeId Member(uint8_t number) {
  privacy::NodeId id{};
  id[0] = number;
  return id;
}

// However many peers begin circuits as fast as they can, a window has no more openings than it may
// have.
RC_GTEST_PROP(OpeningSharesTest, NoWindowHasTooMany, ()) {
  const auto wishes = *rc::gen::container<std::vector<std::pair<uint8_t, uint16_t>>>(
      rc::gen::pair(rc::gen::inRange<uint8_t>(0, 40), rc::gen::inRange<uint16_t>(0, 600)));
  OpeningShares shares;
  TimePoint now{};
  std::deque<TimePoint> granted;
  for (const auto& [member, pause_ms] : wishes) {
    now += milliseconds(pause_ms);
    if (shares.Take(Member(member), now)) {
      granted.push_back(now);
    }
    while (!granted.empty() && now - granted.front() >= limits::kOpeningsWindow) {
      granted.pop_front();
    }
    RC_ASSERT(granted.size() <= limits::kMaxOpenings);
  }
}

// Peers get half, a quarter, an eighth: four peers that take all they can get leave one opening for
// a fifth.
TEST(OpeningSharesTest, WhoeverComesNextFindsSome) {
  OpeningShares shares;
  std::map<uint8_t, size_t> granted;
  for (uint8_t member = 0; member < 5; ++member) {
    for (size_t wish = 0; wish < 2 * limits::kMaxOpenings; ++wish) {
      granted[member] += shares.Take(Member(member), TimePoint{}) ? 1 : 0;
    }
    EXPECT_GT(granted[member], 0U) << int{member};
  }
  EXPECT_EQ(granted[0], limits::kMaxOpenings / 2);
  EXPECT_FALSE(shares.Take(Member(0), TimePoint{} + limits::kOpeningsWindow - milliseconds(1)));
  EXPECT_TRUE(shares.Take(Member(0), TimePoint{} + limits::kOpeningsWindow));
}

}  // namespace
}  // namespace ruvd::federation
