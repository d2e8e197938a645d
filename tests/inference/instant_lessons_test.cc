// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include "base/random.h"
#include "inference/instant/lessons.h"
#include "inference/instant/limits.h"
#include "inference/sampler/commit_trail.h"
#include "inference/sampler/limits.h"

namespace ruvd::inference {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

// Position i has the hidden state {i}.
CommitTrail TrailOf(const std::vector<TokenId>& tokens) {
  CommitTrail trail(1);
  for (size_t i = 0; i < tokens.size(); ++i) {
    const auto state = static_cast<float>(i);
    const std::vector<TokenProbability> candidates = {{tokens[i], 0.5F}, {77, 0.25F}};
    trail.Add(static_cast<int>(i), tokens[i], 0.5F, std::span(&state, 1), candidates);
  }
  return trail;
}

// Returns token and weight of lessons, after the position whose state they use.
std::vector<std::pair<int, std::pair<TokenId, float>>> SanitizeForDisplay(
    const std::vector<InstantLesson>& lessons) {
  std::vector<std::pair<int, std::pair<TokenId, float>>> shown;
  for (const InstantLesson& lesson : lessons) {
    shown.push_back({static_cast<int>(lesson.hidden[0]), {lesson.token, lesson.weight}});
  }
  return shown;
}

std::vector<std::pair<int, std::pair<TokenId, float>>> Edit(const std::vector<TokenId>& committed,
                                                            const std::vector<TokenId>& edited) {
  const CommitTrail trail = TrailOf(committed);
  return SanitizeForDisplay(LessonsOfEdit(trail.Positions(), edited));
}

TEST(CommitTrailTest, ShowsPositionsInOrderAndTheLastCommitOfEach) {
  CommitTrail trail(2);
  const std::vector<TokenProbability> many(2 * limits::kMaxCandidates, {3, 0.01F});
  trail.Add(4, 9, 0.5F, std::array{1.0F, 2.0F}, many);
  trail.Add(1, 8, 0.25F, std::array{3.0F, 4.0F}, {});
  trail.Add(4, 7, 0.75F, std::array{5.0F, 6.0F}, std::span(many).first(1));
  const std::vector<CommittedPosition> positions = trail.Positions();
  ASSERT_EQ(positions.size(), 2U);
  EXPECT_EQ(positions[0].position, 1);
  EXPECT_EQ(positions[0].token, 8U);
  EXPECT_THAT(positions[0].hidden, ElementsAre(3, 4));
  EXPECT_THAT(positions[0].candidates, IsEmpty());
  EXPECT_EQ(positions[1].token, 7U);
  EXPECT_FLOAT_EQ(positions[1].probability, 0.75F);
  EXPECT_THAT(positions[1].hidden, ElementsAre(5, 6));
  EXPECT_EQ(positions[1].candidates.size(), 1U);
  trail.Add(4, 7, 0.75F, std::array{5.0F, 6.0F}, many);
  EXPECT_EQ(trail.Positions()[1].candidates.size(), limits::kMaxCandidates);
}

TEST(CommitTrailTest, TruncatingKeepsWhatLiesBefore) {
  CommitTrail trail(1);
  for (const int position : {5, 2, 9, 0}) {  // in any order
    const auto state = static_cast<float>(position);
    trail.Add(position, static_cast<TokenId>(position), 0.5F, std::span(&state, 1), {{{1, 0.25F}}});
  }
  const size_t before = trail.bytes();
  trail.Truncate(10);
  EXPECT_EQ(trail.size(), 4U);
  trail.Truncate(5);
  const std::vector<CommittedPosition> positions = trail.Positions();
  ASSERT_EQ(positions.size(), 2U);
  for (const CommittedPosition& position : positions) {
    EXPECT_LT(position.position, 5);
    EXPECT_EQ(position.token, static_cast<TokenId>(position.position));
    EXPECT_THAT(position.hidden, ElementsAre(static_cast<float>(position.position)));
    EXPECT_EQ(position.candidates.size(), 1U);
  }
  EXPECT_LT(trail.bytes(), before);
  trail.Truncate(0);
  EXPECT_TRUE(trail.empty());
}

TEST(LessonsTest, ARewardTeachesOrRejectsEveryToken) {
  const CommitTrail trail = TrailOf({5, 6});
  const auto lessons = [&](float reward) {
    return SanitizeForDisplay(LessonsOfReward(trail.Positions(), reward));
  };
  EXPECT_THAT(lessons(1), ElementsAre(Pair(0, Pair(5, 1.0F)), Pair(1, Pair(6, 1.0F))));
  EXPECT_FLOAT_EQ(lessons(0.75F)[0].second.second, 0.5F);
  EXPECT_THAT(lessons(0.69F), IsEmpty());
  EXPECT_THAT(lessons(0.31F), IsEmpty());
  EXPECT_FLOAT_EQ(lessons(0)[1].second.second, -1.0F);
}

TEST(LessonsTest, AReplacedTokenIsRejectedAndItsSuccessorTaught) {
  EXPECT_THAT(Edit({1, 2, 3}, {1, 77, 3}),
              ElementsAre(Pair(0, Pair(1, 1.0F)), Pair(1, Pair(2, -1.0F)), Pair(1, Pair(77, 1.0F)),
                          Pair(2, Pair(3, 1.0F))));
  const CommitTrail trail = TrailOf({1, 2, 3});
  const std::vector<TokenId> edited = {1, 77, 4};
  const std::vector<InstantLesson> lessons = LessonsOfEdit(trail.Positions(), edited);
  EXPECT_FLOAT_EQ(lessons[2].probability, 0.25F);  // as a candidate
  EXPECT_FLOAT_EQ(lessons[4].probability, 0.0F);   // it was not a candidate
}

TEST(LessonsTest, DeletedTokensAreRejectedAndInsertedOnesTeachNothing) {
  EXPECT_THAT(Edit({1, 2, 3}, {1, 3}),
              ElementsAre(Pair(0, Pair(1, 1.0F)), Pair(1, Pair(2, -1.0F)), Pair(2, Pair(3, 1.0F))));
  EXPECT_THAT(Edit({1, 3}, {1, 2, 3}), ElementsAre(Pair(0, Pair(1, 1.0F)), Pair(1, Pair(3, 1.0F))));
  EXPECT_THAT(Edit({1}, {}), ElementsAre(Pair(0, Pair(1, -1.0F))));
  EXPECT_THAT(Edit({}, {1, 2}), IsEmpty());
}

TEST(LessonsTest, WhatIsTooLongToAlignIsReplacedAsAWhole) {
  std::vector<TokenId> committed(1500, 1);
  std::vector<TokenId> edited(1500, 2);
  committed[700] = 3;  // an alignment would find it
  edited[900] = 3;
  const auto lessons = Edit(committed, edited);
  EXPECT_EQ(lessons.size(), 3000U);
}

// Every committed token is either kept or rejected; the kept tokens are a longest common
// subsequence.
RC_GTEST_PROP(LessonsTest, AlignsByALongestCommonSubsequence, (uint64_t seed)) {
  Random random(seed);
  const auto draw = [&random] {
    std::vector<TokenId> tokens(random.Below(12));
    for (TokenId& token : tokens) {
      token = static_cast<TokenId>(random.Below(3));
    }
    return tokens;
  };
  const std::vector<TokenId> a = draw();
  const std::vector<TokenId> b = draw();
  std::vector<std::vector<int>> longest(a.size() + 1, std::vector<int>(b.size() + 1));
  for (size_t i = 0; i < a.size(); ++i) {
    for (size_t j = 0; j < b.size(); ++j) {
      longest[i + 1][j + 1] =
          a[i] == b[j] ? longest[i][j] + 1 : std::max(longest[i][j + 1], longest[i + 1][j]);
    }
  }
  std::vector<int> rejected(a.size());
  for (const auto& [position, lesson] : Edit(a, b)) {
    rejected[static_cast<size_t>(position)] += lesson.second < 0 ? 1 : 0;
  }
  int kept = 0;
  for (const int count : rejected) {
    RC_ASSERT(count <= 1);
    kept += 1 - count;
  }
  RC_ASSERT(kept == longest[a.size()][b.size()]);
}

}  // namespace
}  // namespace ruvd::inference
