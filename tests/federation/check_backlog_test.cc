// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/gossip/check_backlog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ruvd::federation {
namespace {

using testing::ElementsAre;

TEST(CheckBacklog, OfOneLinkAShareAndNothingOfThoseThatAreGone) {
  constexpr size_t kMost = 64;
  CheckBacklog<int, kMost> backlog;
  for (int i = 0; i < 2 * static_cast<int>(kMost); ++i) {
    backlog.Add(1, i);
  }
  EXPECT_EQ(backlog.size(), kMost / 2);
  backlog.Add(2, 7);
  EXPECT_THAT(backlog.links(), ElementsAre(1, 2));
  EXPECT_EQ(backlog.Take(1), 0);
  EXPECT_EQ(backlog.Take(1), 1);
  backlog.PutBack(1, 1);
  EXPECT_EQ(backlog.Take(1), 1);
  backlog.LinkDown(1);
  EXPECT_FALSE(backlog.Take(1).has_value());
  EXPECT_EQ(backlog.Take(2), 7);
  EXPECT_EQ(backlog.size(), 0U);
}

}  // namespace
}  // namespace ruvd::federation
