// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "base/inline_executor.h"

#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>
#include <vector>

namespace ruvd {
namespace {

using std::chrono::seconds;

TEST(InlineExecutor, RunsBeforePostReturnsAndNestedPostsAfterwards) {
  InlineExecutor executor;
  std::vector<int> order;
  executor.Post([&] {
    executor.Post([&] { order.push_back(2); });
    executor.Post([&] { order.push_back(1); }, Priority::kControl);
    order.push_back(0);
  });
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2}));
}

TEST(InlineExecutor, AdvanceRunsEachTimerAtItsOwnTime) {
  InlineExecutor executor;
  std::vector<TimePoint> times;
  const auto record = [&] { times.push_back(executor.clock().Now()); };
  executor.PostAt(TimePoint(seconds(2)), record);
  executor.PostAt(TimePoint(seconds(1)), [&] {
    record();
    executor.PostAt(executor.clock().Now() + seconds(2), record);
  });
  executor.PostAt(TimePoint(seconds(1)), [] { FAIL(); }).Cancel();
  executor.PostAt(TimePoint(), record);  // already due
  EXPECT_EQ(times.size(), 1u);
  executor.Advance(seconds(10));
  EXPECT_EQ(times, (std::vector<TimePoint>{TimePoint(), TimePoint(seconds(1)),
                                           TimePoint(seconds(2)), TimePoint(seconds(3))}));
  EXPECT_EQ(executor.clock().Now(), TimePoint(seconds(10)));
}

TEST(InlineExecutor, StaysUsableAfterAnException) {
  InlineExecutor executor;
  EXPECT_THROW(executor.Post([] { throw std::runtime_error("x"); }), std::runtime_error);
  bool ran = false;
  executor.Post([&] { ran = true; });
  EXPECT_TRUE(ran);
}

}  // namespace
}  // namespace ruvd
