// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/http/body_memory.h"

#include <gtest/gtest.h>

namespace ruvd::http {
namespace {

TEST(BodyMemoryTest, OneSourceCannotTakeAllOfIt) {
  constexpr transport::PeerSource kOne = {1};
  constexpr transport::PeerSource kOther = {2};
  BodyMemory memory(/*most=*/100, /*most_of_source=*/60);
  BodyMemory::Share first(memory, kOne);
  BodyMemory::Share second(memory, kOne);
  BodyMemory::Share other(memory, kOther);
  EXPECT_TRUE(first.Become(40));
  EXPECT_FALSE(second.Become(21)) << "above the part of its source";
  EXPECT_TRUE(second.Become(20));
  EXPECT_FALSE(other.Become(41)) << "above all";
  EXPECT_TRUE(other.Become(40));
  EXPECT_TRUE(first.Become(10)) << "a share may always shrink";
  EXPECT_TRUE(second.Become(50));
  EXPECT_EQ(memory.taken(), 100);
}

TEST(BodyMemoryTest, AShareThatCannotGrowMakesRoomForOthers) {
  constexpr transport::PeerSource kOne = {1};
  BodyMemory memory(/*most=*/100, /*most_of_source=*/100);
  BodyMemory::Share first(memory, kOne);
  BodyMemory::Share second(memory, kOne);
  EXPECT_TRUE(first.Become(60));
  EXPECT_TRUE(second.Become(40));
  EXPECT_FALSE(second.Become(41));
  EXPECT_EQ(memory.taken(), 60);
  EXPECT_TRUE(first.Become(100));
}

TEST(BodyMemoryTest, AShareThatEndsGivesItsBytesBack) {
  constexpr transport::PeerSource kOne = {1};
  BodyMemory memory(/*most=*/100, /*most_of_source=*/100);
  {
    BodyMemory::Share share(memory, kOne);
    EXPECT_TRUE(share.Become(100));
  }
  EXPECT_EQ(memory.taken(), 0);
  BodyMemory::Share next(memory, kOne);
  EXPECT_TRUE(next.Become(100));
}

}  // namespace
}  // namespace ruvd::http
