// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/sharing/lost_shares.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "base/status.h"
#include "federation/masked/limits.h"
#include "federation/reasons.h"
#include "node/sharing/limits.h"

namespace ruvd::sharing {
namespace {

constexpr privacy::NodeId kSelf = {1};

// Shares of this node for rounds from `first` on, one each, and one of another node.
std::vector<federation::Item> Shares(uint64_t first, uint64_t count) {
  std::vector<federation::Item> items(count);
  for (uint64_t i = 0; i < count; ++i) {
    items[i].kind = federation::ItemKind::kMaskShare;
    items[i].origin = kSelf;
    items[i].round = first + i;
  }
  items.push_back(items.front());
  items.back().origin = {2};
  items.back().round = first + count;
  return items;
}

TEST(LostShares, StopANodeAtTheLimitUntilTheOldestIsForgotten) {
  LostShares lost(kSelf);
  lost.NoteShares(Shares(100, limits::kMaxLostShares - 1), 0, 110);
  EXPECT_TRUE(lost.Check(110).ok());
  lost.NoteShares(Shares(100, limits::kMaxLostShares), 0, 110);
  EXPECT_EQ(ReasonOf(lost.Check(110)), reasons::kMaskedRoundFailed);
  EXPECT_THAT(lost.Check(110).message(), testing::HasSubstr("before round 165"));
  lost.NoteShares({}, 0, 100 + limits::kConductRounds);
  EXPECT_FALSE(lost.Check(100 + limits::kConductRounds).ok());
  lost.NoteShares({}, 0, 101 + limits::kConductRounds);
  EXPECT_TRUE(lost.Check(101 + limits::kConductRounds).ok());
}

TEST(LostShares, AreNoneWhereASumContainsThem) {
  LostShares lost(kSelf);
  lost.NoteShares(Shares(100, limits::kMaxLostShares), 0, 110);
  lost.NoteSum(103);
  EXPECT_TRUE(lost.Check(110).ok());
}

TEST(LostShares, AreNotCountedWhereSumsAreNotLookedAt) {
  LostShares lost(kSelf);
  lost.NoteShares(Shares(100, limits::kMaxLostShares), 101, 110);
  EXPECT_TRUE(lost.Check(110).ok());
}

}  // namespace
}  // namespace ruvd::sharing
