// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/link/cluster_clock.h"

#include <gtest/gtest.h>

#include <chrono>
#include <limits>

#include "base/clock.h"
#include "base/status.h"
#include "federation/limits.h"
#include "federation/reasons.h"

namespace ruvd::federation {
namespace {

constexpr int64_t kDay = 86'400'000;
constexpr int64_t kNow = 1'700'000'000'000;

class ClusterClockTest : public ::testing::Test {
 protected:
  // Neighbour `number` says that its clock is `beside_ms` ahead of the true time.
  void Hear(uint8_t number, int64_t beside_ms = 0) {
    clock_.Heard(privacy::NodeId{number}, true_time_.WallMillis() + beside_ms);
  }
  void HearAll(int neighbours) {
    for (int i = 1; i <= neighbours; ++i) {
      Hear(static_cast<uint8_t>(i));
    }
  }
  void Pass(Duration time) {
    own_.Advance(time);
    true_time_.Advance(time);
  }

  ManualClock true_time_{kNow};
  ManualClock own_{kNow};
  ClusterClock clock_{own_};
};

TEST_F(ClusterClockTest, GoesByItsOwnWhileMostAgree) {
  own_.StepWall(90'000);
  HearAll(5);
  EXPECT_EQ(clock_.WallMillis(), kNow + 90'000) << "clocks are never equal";
  EXPECT_TRUE(clock_.Check().ok());
}

TEST_F(ClusterClockTest, GoesByTheOthersOnceTheOwnIsWrong) {
  for (const int64_t step_ms : {-kNow, kDay, -kDay, 3 * limits::kMaxClockBesideMillis}) {
    HearAll(3);
    own_.StepWall(step_ms);
    EXPECT_EQ(clock_.WallMillis(), true_time_.WallMillis()) << "at once, without another ping";
    EXPECT_EQ(ReasonOf(clock_.Check()), reasons::kClockWrong);
    EXPECT_EQ(clock_.OwnWallMillis(), true_time_.WallMillis() + step_ms);
    Pass(std::chrono::minutes(5));
    EXPECT_EQ(clock_.WallMillis(), true_time_.WallMillis());
    own_.StepWall(-step_ms);  // somebody sets it right
    EXPECT_EQ(clock_.WallMillis(), true_time_.WallMillis());
    EXPECT_TRUE(clock_.Check().ok());
  }
}

TEST_F(ClusterClockTest, NoMinorityMovesIt) {
  HearAll(2);
  own_.StepWall(kDay);
  EXPECT_EQ(clock_.WallMillis(), kNow + kDay) << "with two neighbours no majority is known";
  own_.StepWall(-kDay);
  Hear(3, kDay);
  Hear(4, kDay);
  EXPECT_EQ(clock_.WallMillis(), kNow) << "two of four say so";
  Hear(5, -kDay);
  Hear(6, -kDay);
  EXPECT_EQ(clock_.WallMillis(), kNow) << "more than half are wrong, in two directions";
  Hear(3, kDay);
  Hear(3, kDay);
  Hear(3, kDay);
  EXPECT_EQ(clock_.WallMillis(), kNow) << "a neighbour counts once";
}

TEST_F(ClusterClockTest, ForgetsWhoWasNotHeardForLong) {
  HearAll(4);
  own_.StepWall(kDay);
  ASSERT_EQ(clock_.WallMillis(), true_time_.WallMillis());
  Pass(limits::kClockSampleLife + std::chrono::seconds(2));
  EXPECT_EQ(clock_.WallMillis(), true_time_.WallMillis() + kDay);
  HearAll(4);
  Pass(std::chrono::seconds(2));
  EXPECT_EQ(clock_.WallMillis(), true_time_.WallMillis());
}

// Three liars that are heard first must not make a node drop what it holds.
TEST_F(ClusterClockTest, SettlesOnceItWasTheSameForAMinute) {
  EXPECT_FALSE(clock_.IsSettled());
  Pass(limits::kClockSettles);
  EXPECT_TRUE(clock_.IsSettled());
  HearAll(3);
  own_.StepWall(kDay);
  EXPECT_FALSE(clock_.IsSettled());
  Pass(limits::kClockSettles);
  EXPECT_TRUE(clock_.IsSettled());
  own_.StepWall(-kDay);
  EXPECT_FALSE(clock_.IsSettled());
}

TEST_F(ClusterClockTest, DoesNotJumpToAndFroAtTheLimit) {
  HearAll(3);
  own_.StepWall(limits::kMaxClockBesideMillis + 1000);
  ASSERT_EQ(clock_.WallMillis(), true_time_.WallMillis());
  own_.StepWall(-2000);
  EXPECT_EQ(clock_.WallMillis(), true_time_.WallMillis()) << "it is still far beside";
  own_.StepWall(-limits::kMaxClockBesideMillis);
  EXPECT_TRUE(clock_.Check().ok());
}

// Found by a review: the monotonic clock of a machine stops in its sleep, and the others seemed to
// be behind by that time.
TEST_F(ClusterClockTest, ASleepOfTheMachineIsNoWrongClock) {
  Duration slept{};
  const ClusterClock::SinceBoot since_boot = [&] { return own_.Now() + slept; };
  ClusterClock clock(own_, since_boot);
  for (uint8_t i = 1; i <= 3; ++i) {
    clock.Heard(privacy::NodeId{i}, true_time_.WallMillis());
  }
  slept = std::chrono::hours(8);
  own_.StepWall(8 * 3'600'000);  // its clock went on
  EXPECT_TRUE(clock.Check().ok());
  EXPECT_EQ(clock.WallMillis(), kNow + 8 * 3'600'000);
}

TEST_F(ClusterClockTest, NonsenseIsNotHeard) {
  HearAll(2);
  for (const int64_t nonsense :
       {std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max(), int64_t{0}}) {
    for (uint8_t i = 10; i < 20; ++i) {
      clock_.Heard(privacy::NodeId{i}, nonsense);
    }
  }
  own_.StepWall(kDay);
  EXPECT_EQ(clock_.WallMillis(), kNow + kDay) << "two neighbours are too few";
}

// A crowd of old voices gives way: those that are heard last are all that count.
TEST_F(ClusterClockTest, RemembersABoundedNumber) {
  const auto hear = [&](size_t number, int64_t beside_ms) {
    clock_.Heard(privacy::NodeId{static_cast<uint8_t>(number), static_cast<uint8_t>(number >> 8)},
                 true_time_.WallMillis() + beside_ms);
    Pass(std::chrono::milliseconds(1));
  };
  for (size_t i = 0; i < 2 * limits::kMaxClockSamples; ++i) {
    hear(i, kDay);
  }
  for (size_t i = 0; i < limits::kMaxClockSamples; ++i) {
    hear(10'000 + i, 0);
  }
  Pass(std::chrono::seconds(2));
  EXPECT_TRUE(clock_.Check().ok()) << "twice as many had said otherwise before";
}

}  // namespace
}  // namespace ruvd::federation
