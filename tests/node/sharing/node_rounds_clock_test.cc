// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Rounds of a node whose clock leaps, is set back or stood still, and of one that restarts.

#include <gmock/gmock.h>

#include "tests/node/sharing/node_rounds_fixture.h"

namespace ruvd::sharing {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST_F(SharingRoundsTest, TriesNothingInTheRoundToWhichTheClockLeapt) {
  SetTier(privacy::ConsentTier::kPublic);
  auto work = RunUntilWork(2 * RoundLength());
  ASSERT_TRUE(work.has_value());
  End(*work, Made(*work));
  ahead_ms_ = 5 * plan_->round_ms;
  const uint64_t leapt_to = Round();
  work = RunUntilWork(3 * RoundLength());
  ASSERT_TRUE(work.has_value());
  EXPECT_EQ(work->round, leapt_to + 1);
}

// A process that stood still finds its monotonic clock ahead by as much as the wall clock.
TEST_F(SharingRoundsTest, TakesPartAtOnceAfterTheProcessStoodStill) {
  SetTier(privacy::ConsentTier::kPublic);
  auto work = RunUntilWork(2 * RoundLength());
  ASSERT_TRUE(work.has_value());
  End(*work, Made(*work));
  node_.Advance(5 * RoundLength());
  const uint64_t woke_in = RoundAt(*plan_, (Now().wall_ms + 200));
  work = RunUntilWork(2 * RoundLength());
  ASSERT_TRUE(work.has_value());
  EXPECT_EQ(work->round, woke_in);
}

TEST_F(SharingRoundsTest, TriesARoundAgainOnceTheClockWasSetBack) {
  ahead_ms_ = 3 * plan_->round_ms;
  Start();
  SetTier(privacy::ConsentTier::kPublic);
  auto work = RunUntilWork(2 * RoundLength());
  ASSERT_TRUE(work.has_value());
  const uint64_t ahead = work->round;
  End(*work, std::nullopt);
  ahead_ms_ = 0;
  std::vector<uint64_t> tried;
  while (tried.empty() || tried.back() < ahead) {
    work = RunUntilWork(2 * RoundLength());
    ASSERT_TRUE(work.has_value());
    tried.push_back(work->round);
    End(*work, std::nullopt);
  }
  EXPECT_THAT(tried, ElementsAre(ahead - 2, ahead - 1, ahead));
}

TEST_F(NoisedSharingRoundsTest, OffersNothingForARoundThatIsStillToCome) {
  ahead_ms_ = 3 * plan_->round_ms;
  Start();
  const auto work = RunUntilWork(2 * RoundLength());
  ASSERT_TRUE(work.has_value());
  ahead_ms_ = 0;
  EXPECT_FALSE(RunUntilWork(kStep).has_value());
  End(*work, Made(*work, 0.5, 11));
  EXPECT_THAT(Offered(), IsEmpty());
  EXPECT_THAT(View().refusal(), HasSubstr("the clock was set back"));
  EXPECT_THAT(View().refusal(), HasSubstr("epsilon 0.500 stays charged"));
}

// ---- Restarts

TEST_F(SharingRoundsTest, ContinuesFromTheSavedState) {
  SetTier(privacy::ConsentTier::kPublic);
  for (uint32_t i = 0; i < 2 * plan_->window + 2; ++i) {
    const auto work = RunUntilWork(2 * RoundLength());
    ASSERT_TRUE(work.has_value());
    End(*work, Made(*work));
  }
  const federation::GlobalState settled = rounds_->cluster().StateBefore(0);
  ASSERT_FALSE(settled.last_part.empty());
  ASSERT_FALSE(saved_.empty());
  Start();
  EXPECT_FALSE(rounds_->cluster().is_new());
  EXPECT_EQ(rounds_->cluster().StateBefore(0).values, settled.values);
}

TEST_F(SharingRoundsTest, BeginsAnewWhereTheSavedStateIsDamaged) {
  saved_ = "damaged";
  Start();
  EXPECT_TRUE(rounds_->cluster().is_new());
}

}  // namespace
}  // namespace ruvd::sharing
