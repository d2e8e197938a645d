// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/api/frame_merger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace ruvd::api {
namespace {

using ::testing::ElementsAre;

TEST(FrameMergerTest, WhatWasLeftOutIsInTheNextFrame) {
  const auto frame = [](uint32_t step, std::vector<uint32_t> commits,
                        std::vector<uint32_t> remasked) {
    inference::v1::DenoiseFrame made;
    made.set_step(step);
    for (const uint32_t position : commits) {
      auto* const commit = made.add_commits();
      commit->set_position(position);
      commit->set_token(100 * step + position);
    }
    made.mutable_remasked()->Assign(remasked.begin(), remasked.end());
    return made;
  };
  FrameMerger merger;
  EXPECT_FALSE(merger.Take().has_value());
  merger.Add(frame(1, {0, 1}, {}));
  merger.Add(frame(2, {2}, {1}));
  merger.Add(frame(3, {0}, {}));
  const auto merged = merger.Take();
  ASSERT_TRUE(merged.has_value());
  EXPECT_EQ(merged->step(), 3);
  ASSERT_EQ(merged->commits_size(), 2);
  EXPECT_EQ(merged->commits(0).token(), 300) << "the last commit of the position";
  EXPECT_EQ(merged->commits(1).token(), 202);
  EXPECT_THAT(merged->remasked(), ElementsAre(1));
  EXPECT_FALSE(merger.Take().has_value());
}

}  // namespace
}  // namespace ruvd::api
