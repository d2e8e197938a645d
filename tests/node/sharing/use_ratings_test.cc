// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/sharing/use_ratings.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "base/random.h"
#include "node/sharing/limits.h"

namespace ruvd::sharing {
namespace {

constexpr char kAdapter[] = "pattern-1@1";

void Rate(UseRatings& ratings, int count, float rating, const std::string& name) {
  for (int i = 0; i < count; ++i) {
    ratings.Add(kAdapter, fmt::format("{} {}", name, i), rating);
  }
}

TEST(UseRatingsTest, SixTimesTheWorstIsBadAndFiveTimesIsNot) {
  UseRatings ratings;
  EXPECT_FALSE(ratings.AreBad(kAdapter));
  Rate(ratings, 5, 0, "bad");
  EXPECT_FALSE(ratings.AreBad(kAdapter));
  Rate(ratings, 5, 0, "bad");
  EXPECT_FALSE(ratings.AreBad(kAdapter)) << "a response counts once";
  Rate(ratings, 6, 0, "bad");
  EXPECT_TRUE(ratings.AreBad(kAdapter));
  EXPECT_FALSE(ratings.AreBad("pattern-1@2"));
  ratings.Forget(kAdapter);
  EXPECT_FALSE(ratings.AreBad(kAdapter));
}

TEST(UseRatingsTest, AUserMayChangeAnOpinion) {
  UseRatings ratings;
  Rate(ratings, 6, 0, "said");
  Rate(ratings, 1, 1, "said");
  EXPECT_FALSE(ratings.AreBad(kAdapter));
}

// At most one in twenty adapters with a fair mean may ever be dropped, however often one looks. The
// number that is drawn may be three standard errors larger.
TEST(UseRatingsTest, FairAdaptersStay) {
  constexpr int kAdapters = 4000;
  constexpr int kThreeErrors = 42;
  Random random(5);
  int dropped = 0;
  for (int n = 0; n < kAdapters; ++n) {
    UseRatings ratings;
    bool bad = false;
    for (size_t i = 0; i < limits::kMaxRatedUses && !bad; ++i) {
      ratings.Add(kAdapter, fmt::format("{}", i), random.Uniform() < 0.5 ? 0.0F : 1.0F);
      bad = ratings.AreBad(kAdapter);
    }
    dropped += bad ? 1 : 0;
  }
  EXPECT_LE(dropped, kAdapters / 20 + kThreeErrors);
}

TEST(UseRatingsTest, AnEditTeachesAndIsNoOpinion) {
  storage::Trajectory trajectory{.response_id = "r"};
  EXPECT_FALSE(RatedUseOf(trajectory).has_value());
  trajectory.edited_text = "better";
  EXPECT_FALSE(RatedUseOf(trajectory).has_value());
  trajectory.accepted = false;
  trajectory.adapters = {kAdapter};
  const auto rejected = RatedUseOf(trajectory);
  ASSERT_TRUE(rejected.has_value());
  EXPECT_EQ(rejected->rating, 0);
  EXPECT_EQ(rejected->adapters, trajectory.adapters);
  trajectory.rating = 0.75F;
  EXPECT_EQ(RatedUseOf(trajectory)->rating, 0.75F);
}

}  // namespace
}  // namespace ruvd::sharing
