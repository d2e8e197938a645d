// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/serving/extensions/instant_loop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "base/reasons.h"
#include "base/status.h"

namespace ruvd::serving {
namespace {

class SteppedClock final : public Clock {
 public:
  TimePoint Now() const override { return now_; }
  int64_t WallMillis() const override { return 0; }
  void Advance(Duration by) { now_ += by; }

 private:
  TimePoint now_{};
};

InstantTrail Trail(const std::string& user, const std::string& session, size_t tokens = 4) {
  InstantTrail trail{.session = {user, session}, .commits = inference::CommitTrail(3)};
  for (size_t i = 0; i < tokens; ++i) {
    const std::array<float, 3> hidden = {1, static_cast<float>(i), 2};
    const std::array<inference::TokenProbability, 1> candidates = {
        {{static_cast<inference::TokenId>(i), 0.5F}}};
    trail.commits.Add(static_cast<int>(i), static_cast<inference::TokenId>(i), 0.5F, hidden,
                      candidates);
  }
  return trail;
}

class InstantLoopTest : public ::testing::Test {
 protected:
  InstantLoop Make(size_t max_bytes = 1 << 20, size_t max_trails = 8) {
    return InstantLoop({.clock = &clock_, .max_bytes = max_bytes, .max_trails = max_trails});
  }
  SteppedClock clock_;
};

TEST_F(InstantLoopTest, FeedbackTeachesItsOwnSessionOnly) {
  InstantLoop loop = Make();
  loop.StoreTrail("r", Trail("ann", "s"));
  EXPECT_EQ(loop.MemoryOf({"ann", "s"}), nullptr);
  EXPECT_EQ(loop.LearnReward("r", 1).value(), 4U);
  ASSERT_NE(loop.MemoryOf({"ann", "s"}), nullptr);
  EXPECT_EQ(loop.MemoryOf({"ann", "s"})->positions(), 4U);
  EXPECT_EQ(loop.MemoryOf({"bob", "s"}), nullptr);
  EXPECT_EQ(loop.MemoryOf({"ann", "t"}), nullptr);
}

TEST_F(InstantLoopTest, AMemoryInUseDoesNotChange) {
  InstantLoop loop = Make();
  loop.StoreTrail("1", Trail("", "s"));
  loop.StoreTrail("2", Trail("", "s"));
  ASSERT_TRUE(loop.LearnReward("1", 1).ok());
  const auto before = loop.MemoryOf({"", "s"});
  ASSERT_TRUE(loop.LearnReward("2", 1).ok());
  EXPECT_EQ(before->positions(), 4U);
  EXPECT_EQ(loop.MemoryOf({"", "s"})->positions(), 8U);
}

TEST_F(InstantLoopTest, ALaterFeedbackReplacesAnEarlierOne) {
  InstantLoop loop = Make();
  loop.StoreTrail("r", Trail("", "s"));
  ASSERT_TRUE(loop.LearnReward("r", 1).ok());
  EXPECT_EQ(loop.LearnEdit("r", std::vector<inference::TokenId>{0, 9, 2, 3}).value(), 5U);
  EXPECT_EQ(loop.MemoryOf({"", "s"})->steps(), 1U);
  EXPECT_EQ(loop.LearnReward("r", 0.5F).value(), 0U);
  EXPECT_EQ(loop.MemoryOf({"", "s"})->steps(), 0U);
}

TEST_F(InstantLoopTest, UndoForgetsOneResponse) {
  InstantLoop loop = Make();
  loop.StoreTrail("1", Trail("", "s"));
  loop.StoreTrail("2", Trail("", "s"));
  ASSERT_TRUE(loop.LearnReward("1", 1).ok());
  ASSERT_TRUE(loop.LearnReward("2", 1).ok());
  ASSERT_TRUE(loop.Undo("1").ok());
  EXPECT_FALSE(loop.MemoryOf({"", "s"})->Has("1"));
  EXPECT_TRUE(loop.MemoryOf({"", "s"})->Has("2"));
  EXPECT_EQ(ReasonOf(loop.Undo("1")), reasons::kUnknownResponse);
}

TEST_F(InstantLoopTest, AnEditSaysNothingOfTheTokenThatEndedTheText) {
  InstantLoop loop = Make();
  InstantTrail trail = Trail("", "s");
  trail.end_position = 3;
  loop.StoreTrail("r", std::move(trail));
  // The user saw the text and left it unchanged: it is accepted as a whole.
  EXPECT_EQ(loop.LearnEdit("r", std::vector<inference::TokenId>{0, 1, 2}).value(), 3U);
  const auto memory = loop.MemoryOf({"", "s"});
  EXPECT_EQ(memory->positions(), 3U);
  // A rating also judges where the text ended.
  EXPECT_EQ(loop.LearnReward("r", 1).value(), 4U);
}

TEST_F(InstantLoopTest, WhatHasNoSessionIsNotKept) {
  InstantLoop loop = Make();
  loop.StoreTrail("r", Trail("ann", ""));
  loop.StoreTrail("empty", {.session = {"ann", "s"}, .commits = inference::CommitTrail(3)});
  EXPECT_EQ(loop.status().trails, 0U);
  EXPECT_EQ(ReasonOf(loop.LearnReward("r", 1).status()), reasons::kUnknownResponse);
}

TEST_F(InstantLoopTest, IdleSessionsAreForgotten) {
  InstantLoop loop = Make();
  for (const char* session : {"a", "b"}) {
    loop.StoreTrail(session, Trail("", session));
    ASSERT_TRUE(loop.LearnReward(session, 1).ok());
  }
  clock_.Advance(limits::kInstantIdle);
  EXPECT_NE(loop.MemoryOf({"", "b"}), nullptr);  // its use counts as recent
  clock_.Advance(std::chrono::seconds(1));
  EXPECT_EQ(loop.MemoryOf({"", "a"}), nullptr);
  EXPECT_NE(loop.MemoryOf({"", "b"}), nullptr);
  EXPECT_EQ(loop.status().sessions, 1U);
}

TEST_F(InstantLoopTest, CompletionsThatNobodyRatesAreForgotten) {
  InstantLoop loop = Make();
  loop.StoreTrail("early", Trail("", "a"));
  clock_.Advance(std::chrono::minutes(1));
  loop.StoreTrail("late", Trail("", "b"));
  clock_.Advance(limits::kInstantIdle);
  EXPECT_EQ(ReasonOf(loop.LearnReward("early", 1).status()), reasons::kUnknownResponse);
  EXPECT_TRUE(loop.LearnReward("late", 1).ok());
  EXPECT_EQ(loop.status().trails, 1U);
}

TEST_F(InstantLoopTest, MemoryAndNumberAreBounded) {
  const size_t trail = Trail("", "s", 64).commits.bytes();
  InstantLoop loop = Make(8 * trail, 5);
  for (int i = 0; i < 40; ++i) {
    const std::string id = std::to_string(i);
    loop.StoreTrail(id, Trail("", id, 64));
    ASSERT_TRUE(loop.LearnReward(id, 1).ok());
    const InstantStatus status = loop.status();
    EXPECT_LE(status.bytes, 8 * trail);
    EXPECT_LE(status.trails, 5U);
  }
  EXPECT_GE(loop.status().sessions, 2U);
  EXPECT_EQ(loop.MemoryOf({"", "0"}), nullptr);
  EXPECT_NE(loop.MemoryOf({"", "39"}), nullptr);
  EXPECT_FALSE(loop.LearnReward("0", 1).ok());
}

TEST_F(InstantLoopTest, ForgettingAUserLeavesNothingOfThem) {
  InstantLoop loop = Make();
  for (const char* user : {"ann", "bob"}) {
    loop.StoreTrail(user, Trail(user, "s"));
    ASSERT_TRUE(loop.LearnReward(user, 1).ok());
  }
  loop.ForgetUser("ann");
  EXPECT_EQ(loop.MemoryOf({"ann", "s"}), nullptr);
  EXPECT_FALSE(loop.LearnReward("ann", 1).ok());
  EXPECT_NE(loop.MemoryOf({"bob", "s"}), nullptr);
  loop.ForgetUser("bob");
  EXPECT_EQ(loop.status().bytes, 0U);
}

TEST_F(InstantLoopTest, WhatWasUnderWayWhenItsUserWasForgottenIsNotKept) {
  InstantLoop loop = Make();
  const auto keep = [&](const std::string& id, const std::string& user, TimePoint admitted) {
    InstantTrail trail = Trail(user, "s");
    trail.admitted = admitted;
    loop.StoreTrail(id, std::move(trail));
  };
  const TimePoint before = clock_.Now();
  clock_.Advance(std::chrono::seconds(1));
  loop.ForgetUser("ann");
  keep("hers", "ann", before);
  keep("at once", "ann", clock_.Now());
  keep("his", "bob", before);
  EXPECT_FALSE(loop.LearnReward("hers", 1).ok());
  EXPECT_FALSE(loop.LearnReward("at once", 1).ok());
  EXPECT_TRUE(loop.LearnReward("his", 1).ok());
  clock_.Advance(std::chrono::seconds(1));
  keep("later", "ann", clock_.Now());
  EXPECT_TRUE(loop.LearnReward("later", 1).ok());
}

TEST_F(InstantLoopTest, NoErasureIsForgottenForTheOnesThatFollow) {
  InstantLoop loop = Make();
  InstantTrail under_way = Trail("user 0", "s");
  under_way.admitted = clock_.Now();
  for (size_t i = 0; i <= 2 * limits::kMaxErasedUsers; ++i) {
    clock_.Advance(std::chrono::milliseconds(1));
    loop.ForgetUser("user " + std::to_string(i));
  }
  loop.StoreTrail("r", std::move(under_way));
  EXPECT_EQ(loop.status().trails, 0U);
  InstantTrail later = Trail("user 0", "s");
  clock_.Advance(std::chrono::milliseconds(1));
  later.admitted = clock_.Now();
  loop.StoreTrail("r", std::move(later));
  EXPECT_EQ(loop.status().trails, 1U);
}

TEST_F(InstantLoopTest, AResponseVotesOnceForItsPatternsAndCanTakeItBack) {
  InstantLoop loop = Make();
  const auto keep = [&](const std::string& id) {
    InstantTrail trail = Trail("", "s", 1);
    trail.patterns = {"p"};
    loop.StoreTrail(id, std::move(trail));
  };
  const auto factor = [&] { return loop.PatternFactor({"", "s"}, "p"); };
  const auto up = static_cast<float>(std::pow(1.05, 0.25));
  keep("r");
  for (int i = 0; i < 15; ++i) {
    ASSERT_TRUE(loop.LearnReward("r", 1).ok());
  }
  EXPECT_FLOAT_EQ(factor(), up);
  ASSERT_TRUE(loop.LearnReward("r", 0).ok());  // it replaces the former reward
  EXPECT_FLOAT_EQ(factor(), static_cast<float>(std::pow(0.95, 0.25)));
  ASSERT_TRUE(loop.LearnEdit("r", std::vector<inference::TokenId>{0}).ok());
  EXPECT_EQ(factor(), 1);
  keep("other");
  ASSERT_TRUE(loop.LearnReward("r", 1).ok());
  const float once = factor();
  ASSERT_TRUE(loop.LearnReward("other", 1).ok());
  ASSERT_TRUE(loop.Undo("other").ok());
  EXPECT_EQ(factor(), once);
  ASSERT_TRUE(loop.Undo("r").ok());
  EXPECT_EQ(factor(), 1);
  EXPECT_FALSE(loop.Undo("r").ok());
}

TEST_F(InstantLoopTest, OldVotesStayInEffect) {
  InstantLoop loop = Make();
  for (size_t i = 0; i < limits::kMaxPatternVotes + 3; ++i) {
    const std::string id = std::to_string(i);
    InstantTrail trail = Trail("", "s", 1);
    trail.patterns = {i < 3 ? "old" : "new"};
    loop.StoreTrail(id, std::move(trail));
    ASSERT_TRUE(loop.LearnReward(id, 1).ok());
  }
  EXPECT_FLOAT_EQ(loop.PatternFactor({"", "s"}, "old"), static_cast<float>(std::pow(1.05, 0.75)));
  ASSERT_TRUE(loop.Undo("0").ok());  // its lessons go; its vote counts
  EXPECT_FLOAT_EQ(loop.PatternFactor({"", "s"}, "old"), static_cast<float>(std::pow(1.05, 0.75)));
}

TEST_F(InstantLoopTest, LikedPatternsComeForwardByBoundedSteps) {
  InstantLoop loop = Make(1 << 20, 64);
  const auto rate = [&](int i, float reward) {
    InstantTrail trail = Trail("", "s", 1);
    trail.patterns = {"p"};
    loop.StoreTrail(std::to_string(i), std::move(trail));
    ASSERT_TRUE(loop.LearnReward(std::to_string(i), reward).ok());
  };
  EXPECT_EQ(loop.PatternFactor({"", "s"}, "p"), 1);
  rate(0, 1);
  EXPECT_NEAR(loop.PatternFactor({"", "s"}, "p"), std::pow(1.05, 0.25), 1e-5);
  rate(1, 0);
  EXPECT_NEAR(loop.PatternFactor({"", "s"}, "p"), std::pow(1.05 * 0.95, 0.25), 1e-5);
  for (int i = 2; i < 50; ++i) {
    rate(i, 1);
  }
  EXPECT_NEAR(loop.PatternFactor({"", "s"}, "p"), std::pow(2, 0.25), 1e-5);
  EXPECT_EQ(loop.PatternFactor({"", "s"}, "q"), 1);
  EXPECT_EQ(loop.PatternFactor({"", "other"}, "p"), 1);
}

}  // namespace
}  // namespace ruvd::serving
