// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/membership/peer_scores.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <set>
#include <string>

#include "federation/gossip/mesh.h"
#include "federation/gossip/promises.h"
#include "federation/membership/score_limits.h"
#include "tests/federation/fixture.h"
#include "tests/federation/swarm.h"

namespace ruvd::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

privacy::NodeId Id(uint64_t number) {
  privacy::NodeId id{};
  std::memcpy(id.data(), &number, sizeof(number));
  return id;
}

class PeerScoresTest : public testing::Test {
 protected:
  void Pass(Duration duration, const std::set<federation::LinkId>& mesh = {}) {
    for (Duration step{}; step < duration; step += limits::kHeartbeat) {
      now_ += limits::kHeartbeat;
      scores_.Tick(now_);
      scores_.Heartbeat(mesh, now_);
    }
  }

  TimePoint now_{};
  federation::PeerScores scores_;
};

TEST_F(PeerScoresTest, GivingCountsForAPeerUpToALimit) {
  scores_.LinkUp(1, Id(1));
  EXPECT_EQ(scores_.ScoreOfLink(1), 0);
  Pass(10 * limits::kMeshTimeCap, {1});
  EXPECT_DOUBLE_EQ(scores_.ScoreOfLink(1), limits::kMeshTimeWeight);
  for (int i = 0; i < 1000; ++i) {
    scores_.RecordDelivery(1);
  }
  EXPECT_DOUBLE_EQ(scores_.Of(Id(1)), limits::kDeliveryWeight * limits::kMaxDeliveries);
  EXPECT_THAT(scores_.Better(1), ElementsAre(Id(1)));
  Pass(seconds(1), {});  // out of the mesh: its earlier credit stays
  EXPECT_LT(scores_.ScoreOfLink(1), limits::kDeliveryWeight * limits::kMaxDeliveries);
  EXPECT_GT(scores_.ScoreOfLink(1), 9);
}

TEST_F(PeerScoresTest, InvalidMessagesCountSquaredAndFade) {
  scores_.LinkUp(1, Id(1));
  scores_.Invalid(1, 1);
  scores_.Invalid(1, 1);
  EXPECT_DOUBLE_EQ(scores_.Of(Id(1)), -4);
  Pass(limits::kInvalidHalfLife);
  EXPECT_NEAR(scores_.Of(Id(1)), -1, 1e-6);
  Pass(20 * limits::kInvalidHalfLife);
  EXPECT_EQ(scores_.Of(Id(1)), 0);
  EXPECT_EQ(scores_.size(), 0U);  // and they are forgotten
}

TEST_F(PeerScoresTest, AccidentsAreForgiven) {
  scores_.LinkUp(1, Id(1));
  scores_.RecordMisbehaviour(1, limits::kMisbehaviourAllowed);
  EXPECT_EQ(scores_.Of(Id(1)), 0);
  scores_.RecordMisbehaviour(1, 2);
  EXPECT_DOUBLE_EQ(scores_.Of(Id(1)), -4);
}

TEST_F(PeerScoresTest, ADeficitOutlastsThePlaceInTheMeshAndKeepsNoPeerOut) {
  scores_.LinkUp(1, Id(1));
  scores_.RecordDeficit(1, limits::kDeficitAllowed);
  EXPECT_EQ(scores_.Of(Id(1)), 0);
  for (int i = 0; i < 100; ++i) {
    scores_.RecordDeficit(1, 1000);
  }
  scores_.LinkDown(1);
  EXPECT_LT(scores_.Of(Id(1)), 0);
  Pass(limits::kDeficitHalfLife);
  EXPECT_LT(scores_.Of(Id(1)), 0);
  Pass(2 * limits::kDeficitHalfLife);
  EXPECT_EQ(scores_.Of(Id(1)), 0);
  scores_.LinkUp(2, Id(2));
  scores_.RecordDeficit(2, 1000);
  scores_.Invalid(2, 9.5);  // together they are below kGraylistScore
  EXPECT_LT(scores_.Of(Id(2)), limits::kGraylistScore);
  EXPECT_THAT(scores_.Graylisted(), IsEmpty());
}

TEST_F(PeerScoresTest, ADeficitOutweighsAllThatAPeerEarned) {
  scores_.LinkUp(1, Id(1));
  Pass(2 * limits::kMeshTimeCap, {1});
  for (int i = 0; i < 100; ++i) {
    scores_.RecordDelivery(1);
  }
  scores_.RecordDeficit(1, limits::kMaxDeficit);
  EXPECT_LT(scores_.ScoreOfLink(1), 0);
}

TEST_F(PeerScoresTest, ADisconnectedPeerKeepsItsScore) {
  scores_.LinkUp(1, Id(1));
  scores_.Invalid(1, 3);
  scores_.LinkDown(1);
  scores_.Invalid(1, 3);  // too late to be blamed on any peer
  scores_.LinkUp(2, Id(1));
  EXPECT_DOUBLE_EQ(scores_.ScoreOfLink(2), -9);
}

TEST_F(PeerScoresTest, TheGraylistDoubles) {
  Duration expected = limits::kGraylistTime;
  for (int time = 0; time < 3; ++time) {
    scores_.LinkUp(1, Id(1));
    scores_.Invalid(1, 20);
    scores_.LinkDown(1);
    EXPECT_THAT(scores_.Graylisted(), ElementsAre(Id(1)));
    Pass(expected - limits::kHeartbeat);
    EXPECT_TRUE(scores_.Graylisted(Id(1)));
    Pass(limits::kHeartbeat);
    EXPECT_FALSE(scores_.Graylisted(Id(1)));
    expected *= 2;
  }
  Pass(limits::kGraylistMemory + limits::kHeartbeat);
  scores_.LinkUp(1, Id(1));
  scores_.Invalid(1, 20);
  Pass(limits::kGraylistTime);
  EXPECT_FALSE(scores_.Graylisted(Id(1)));
}

TEST_F(PeerScoresTest, IsBoundedAndForgetsTheHarmlessFirst) {
  scores_.LinkUp(1, Id(1));
  scores_.Invalid(1, 20);
  for (uint64_t i = 2; i < 3 * limits::kMaxScores; ++i) {
    scores_.LinkUp(i, Id(i));
    scores_.RecordDelivery(i);
    scores_.LinkDown(i);
  }
  EXPECT_LE(scores_.size(), limits::kMaxScores);
  EXPECT_DOUBLE_EQ(scores_.Of(Id(1)), -400);
  for (uint64_t i = 2; i < 3 * limits::kMaxScores; ++i) {
    scores_.LinkUp(i, Id(i));
    scores_.Invalid(i, 20);
  }
  EXPECT_LE(scores_.Graylisted().size(), limits::kMaxScores);
}

class KeptScoresTest : public PeerScoresTest {
 protected:
  federation::Instant Now() const { return {now_, wall_ms_}; }
  // Returns the scores of a process that starts when its machine's clock shows `own_wall_ms`. It
  // has heard no neighbour yet, so it goes by that clock.
  federation::PeerScores After(int64_t own_wall_ms) const {
    federation::PeerScores restored;
    restored.Restore(scores_.Keep(Now(), wall_ms_ + own_ahead_ms_), {TimePoint(), own_wall_ms});
    return restored;
  }
  void Graylist() {
    scores_.LinkUp(1, Id(1));
    scores_.Invalid(1, 12);
  }

  int64_t wall_ms_ = kWallStart;  // by which the node goes
  int64_t own_ahead_ms_ = 0;      // how far the machine's clock is ahead of it
};

constexpr int64_t kHourMillis = 3600 * 1000;

TEST_F(KeptScoresTest, APeerStaysOutAfterARestartUntilItsTimeIsOver) {
  Graylist();
  const int64_t out_ms = limits::kGraylistTime / milliseconds(1);
  EXPECT_THAT(After(wall_ms_ + out_ms - 1).Graylisted(), ElementsAre(Id(1)));
  EXPECT_THAT(After(wall_ms_ + out_ms).Graylisted(), IsEmpty());
}

TEST_F(KeptScoresTest, TheNextTimeIsLongerAlsoAfterARestart) {
  Graylist();
  federation::PeerScores restored = After(wall_ms_ + kHourMillis);
  restored.LinkUp(2, Id(1));
  restored.Invalid(2, 12);
  restored.Tick(TimePoint(limits::kGraylistTime));
  EXPECT_TRUE(restored.Graylisted(Id(1)));
  restored.Tick(TimePoint(2 * limits::kGraylistTime));
  EXPECT_FALSE(restored.Graylisted(Id(1)));
}

TEST_F(KeptScoresTest, CountsFadeWhileTheNodeIsOff) {
  scores_.LinkUp(1, Id(1));
  scores_.Invalid(1, 4);
  EXPECT_NEAR(After(wall_ms_).Of(Id(1)), -16, 1e-9);
  EXPECT_NEAR(After(wall_ms_ + kHourMillis / 6).Of(Id(1)), -4, 1e-9);  // kInvalidHalfLife
}

TEST_F(KeptScoresTest, ALostClockKeepsNoPeerOutForLonger) {
  Graylist();
  federation::PeerScores restored = After(0);  // it is 1970 again
  EXPECT_TRUE(restored.Graylisted(Id(1)));
  restored.Tick(TimePoint(limits::kGraylistTime));
  EXPECT_FALSE(restored.Graylisted(Id(1)));
  wall_ms_ = 0;  // it was 1970 when the scores were stored, and no neighbour said otherwise
  EXPECT_THAT(After(kWallStart).Graylisted(), IsEmpty());
}

// Regression test: the record had the time of the neighbours, and a process that starts has not
// heard them yet. So each restart of a machine whose clock is a day ahead ended all graylistings.
TEST_F(KeptScoresTest, AMachineWhoseClockIsADayAheadKeepsPeersOut) {
  Graylist();
  own_ahead_ms_ = kDayMillis;
  const int64_t out_ms = limits::kGraylistTime / milliseconds(1);
  EXPECT_THAT(After(wall_ms_ + own_ahead_ms_ + out_ms - 1).Graylisted(), ElementsAre(Id(1)));
  EXPECT_THAT(After(wall_ms_ + own_ahead_ms_ + out_ms).Graylisted(), IsEmpty());
}

TEST_F(KeptScoresTest, AClockThatWasSetRightMeanwhileKeepsPeersOut) {
  Graylist();
  own_ahead_ms_ = -kWallStart;  // it was 1970, but the neighbours knew the time
  EXPECT_THAT(After(wall_ms_ + 1).Graylisted(), ElementsAre(Id(1)));
}

TEST_F(KeptScoresTest, ADamagedRecordKeepsNoPeerOutForLonger) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
  federation::KeptScores kept{.saved_ms = kMost, .peers = {}, .graylistings = {}};
  kept.graylistings = {{.id = Id(1), .remaining_ms = kMost, .times = kMost},
                       {.id = Id(2), .remaining_ms = kLeast, .times = kLeast}};
  kept.peers = {{.id = Id(3), .invalid = std::numeric_limits<double>::infinity()},
                {.id = Id(4), .invalid = 1e300}};
  for (const int64_t saved_ms : {kMost, kLeast}) {
    kept.saved_ms = saved_ms;
    federation::PeerScores restored;
    restored.Restore(kept, {TimePoint(), kWallStart});
    EXPECT_EQ(restored.Of(Id(3)), 0);
    EXPECT_GE(restored.Of(Id(4)), -400);
    restored.Tick(TimePoint(limits::kGraylistTime * (1 << limits::kGraylistDoublings)));
    EXPECT_THAT(restored.Graylisted(), IsEmpty());
  }
  kept.peers.clear();
  for (uint64_t i = 0; i < 2 * limits::kMaxScores; ++i) {
    kept.peers.push_back({.id = Id(i), .deliveries = 1});
    kept.graylistings.push_back({.id = Id(i), .remaining_ms = kHourMillis, .times = 1});
  }
  federation::PeerScores restored;
  restored.Restore(kept, {TimePoint(), kMost});
  EXPECT_LE(restored.size(), limits::kMaxScores);
}

TEST(Promises, AreBrokenByALaterAnswerOnly) {
  federation::Promises promises;
  const TimePoint start{};
  const auto manifest = [](uint64_t number) {
    return federation::Promises::Request{.id = Id(number), .chunk = std::nullopt};
  };
  promises.RecordRequest(1, manifest(1), start);
  promises.RecordRequest(1, manifest(2), start + seconds(1));
  promises.RecordRequest(2, manifest(1), start);
  EXPECT_EQ(promises.TakeBrokenPromises(1, start).size(), 0U);
  EXPECT_FALSE(promises.RecordAnswer(1, {.id = Id(2), .chunk = 0}));
  EXPECT_TRUE(promises.RecordAnswer(1, manifest(2)));
  EXPECT_FALSE(promises.RecordAnswer(1, manifest(2)));
  EXPECT_EQ(promises.TakeBrokenPromises(1, start + seconds(2)).size(), 1U);
  EXPECT_EQ(promises.TakeBrokenPromises(1, start + seconds(3)).size(), 0U);
  promises.LinkDown(2);
  EXPECT_EQ(promises.TakeBrokenPromises(2, start + seconds(3)).size(), 0U);
  for (uint64_t i = 0; i < 2 * limits::kMaxPromisesPerLink; ++i) {
    promises.RecordRequest(3, manifest(i), start);
  }
  EXPECT_EQ(promises.TakeBrokenPromises(3, start + seconds(1)).size(), limits::kMaxPromisesPerLink);
}

TEST(MeshOpportunity, NeighboursThatGiveNothingGetBetterCompany) {
  federation::Mesh mesh{Random(1)};
  const TimePoint start{};
  for (federation::LinkId link = 1; link <= 8; ++link) {
    mesh.LinkUp(link, Id(link), /*outbound=*/true, /*source=*/{}, start);
  }
  for (federation::LinkId link = 1; link <= 6; ++link) {
    mesh.Graft(link);
  }
  const auto heartbeats = [&](Duration from,
                              const std::function<double(federation::LinkId)>& score) {
    mesh.Touch(7, start + from);
    mesh.Touch(8, start + from);
    return mesh.Heartbeat(100, score, start + from);
  };
  const auto giver = [](federation::LinkId link) { return link == 8 ? 3.0 : 0.0; };
  heartbeats(seconds(1), giver);
  const federation::Mesh::Plan plan = heartbeats(seconds(1) + limits::kOpportunityPeriod, giver);
  EXPECT_THAT(plan.graft, ElementsAre(8));
  EXPECT_EQ(plan.better_than, 0.0);
  EXPECT_TRUE(mesh.Contains(8));
  const auto rich = [](federation::LinkId link) { return link == 7 ? 9.0 : 2.0; };
  const federation::Mesh::Plan content =
      heartbeats(seconds(2) + 2 * limits::kOpportunityPeriod, rich);
  EXPECT_THAT(content.graft, IsEmpty());
  EXPECT_FALSE(content.better_than.has_value());
}

// All nodes are honest here, and a fifth of all frames is sent again: no score is ever negative.
TEST(PeerScores, LossAloneCostsNobodyItsScore) {
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    Swarm swarm({.nodes = 20, .seed = seed, .loss = 0.2});
    double least = 0;
    double most = 0;
    for (int second = 0; second < 120; ++second) {
      if (second >= 20 && second < 40) {
        const size_t node = static_cast<size_t>(second) - 20;
        swarm.Share(node);
        auto offered = swarm.core(node).OfferPattern(PatternOf(node), swarm.now());
        ASSERT_TRUE(offered.ok());
        swarm.Apply(node, *std::move(offered));
      }
      swarm.Run(seconds(1));
      for (size_t i = 0; i < swarm.size(); ++i) {
        for (size_t j = 0; j < swarm.size(); ++j) {
          least = std::min(least, swarm.core(i).ScoreOf(swarm.id(j)));
          most = std::max(most, swarm.core(i).ScoreOf(swarm.id(j)));
        }
        EXPECT_THAT(swarm.core(i).Graylisted(), IsEmpty());
      }
    }
    EXPECT_EQ(least, 0) << "seed " << seed;
    EXPECT_GT(most, 1) << "seed " << seed;
    EXPECT_TRUE(swarm.Converged(20)) << "seed " << seed;
  }
}

}  // namespace
}  // namespace ruvd::test
