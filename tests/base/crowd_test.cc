// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "base/crowd.h"

#include <gtest/gtest.h>

#include <string>

namespace ruvd {
namespace {

TEST(CrowdTest, TheOldestOfTheLargestSourceLeaves) {
  Crowd<int, std::string> crowd;
  EXPECT_EQ(crowd.OldestOfMost(), std::nullopt);
  crowd.Add(1, "honest");
  crowd.Add(2, "many");
  crowd.Add(3, "many");
  EXPECT_EQ(crowd.OldestOfMost(), 2);
  crowd.Remove(2);
  EXPECT_EQ(crowd.OldestOfMost(), 1) << "of equal sources, that with the oldest member";
  crowd.Add(4, "many");
  EXPECT_EQ(crowd.OldestOfMost(), 3);
  EXPECT_EQ(crowd.OldestOf("honest"), 1);
  EXPECT_EQ(crowd.OldestOf("none"), std::nullopt);
  EXPECT_EQ(crowd.CountOf("many"), 2u);
  EXPECT_EQ(crowd.size(), 3u);
}

TEST(CrowdTest, AMemberThatReturnsIsTheNewest) {
  Crowd<int, int> crowd;
  crowd.Add(1, 0);
  crowd.Add(2, 0);
  crowd.Remove(1);
  crowd.Remove(7);
  EXPECT_FALSE(crowd.Contains(1));
  crowd.Add(1, 0);
  EXPECT_EQ(crowd.OldestOfMost(), 2);
  int members = 0;
  crowd.ForEach([&](int) { ++members; });
  EXPECT_EQ(members, 2);
}

}  // namespace
}  // namespace ruvd
