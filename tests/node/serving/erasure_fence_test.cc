// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Tests who waits at the erasure fence.

#include "node/serving/erasure_fence.h"

#include <gtest/gtest.h>

#include <chrono>
#include <future>

namespace ruvd::serving {
namespace {

// Found by review: while a completion waited for a slow store, all other threads waited, too.
TEST(ErasureFenceTest, WhatBelongsToNoUserDoesNotWaitForAStore) {
  ErasureFence fence(SystemClock());
  const TimePoint begun = SystemClock().Now();
  std::promise<void> storing;
  std::promise<void> release;
  auto slow = std::async(std::launch::async, [&] {
    return fence.RunUnlessErased("ann", begun, [&] {
      storing.set_value();
      release.get_future().wait();
    });
  });
  storing.get_future().wait();
  bool stored = false;
  auto other = std::async(std::launch::async, [&] {
    return fence.RunUnlessErased("", begun, [&stored] { stored = true; });
  });
  EXPECT_EQ(other.wait_for(std::chrono::seconds(10)), std::future_status::ready);
  release.set_value();
  EXPECT_TRUE(other.get());
  EXPECT_TRUE(stored);
  EXPECT_TRUE(slow.get());
}

}  // namespace
}  // namespace ruvd::serving
