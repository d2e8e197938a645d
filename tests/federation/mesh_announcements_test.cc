// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/gossip/mesh_announcements.h"

#include <gtest/gtest.h>

#include <set>

#include "federation/limits.h"
#include "federation/membership/score_limits.h"

namespace ruvd::test {
namespace {

using federation::LinkId;
using std::chrono::seconds;

class MeshAnnouncementsTest : public testing::Test {
 protected:
  void Pass(Duration duration) {
    for (Duration step{}; step < duration; step += limits::kHeartbeat) {
      now_ += limits::kHeartbeat;
      announcements_.Heartbeat(mesh_, now_);
    }
  }
  // Takes items that `told` announce before this node takes them, and `later` after it.
  void Take(int items, const std::set<LinkId>& told, const std::set<LinkId>& later = {}) {
    for (int i = 0; i < items; ++i) {
      const Digest id = Sha256(std::to_string(++taken_));
      announcements_.RecordItem(id, told, excused_, now_);
      Pass(seconds(2));
      for (const LinkId link : later) {
        announcements_.RecordAnnouncement(id, link);
      }
    }
    Pass(limits::kAnnounceTime);
  }
  double DeficitOf(LinkId link) const { return announcements_.DeficitOf(link); }

  TimePoint now_{};
  std::set<LinkId> mesh_{1, 2, 3, 4};
  std::set<LinkId> excused_;
  int taken_ = 0;
  federation::MeshAnnouncements announcements_;
};

TEST_F(MeshAnnouncementsTest, OnlyWhoAnnouncesMuchLessThanTheOthersHasADeficit) {
  Pass(2 * limits::kAnnounceGrace);
  Take(12, {1}, {2, 3});
  EXPECT_EQ(DeficitOf(1), 0);
  EXPECT_EQ(DeficitOf(2), 0) << "an announcement after this node took the item counts as well";
  EXPECT_EQ(DeficitOf(3), 0);
  EXPECT_DOUBLE_EQ(DeficitOf(4), limits::kLeastShareOfCompared * 12);
  Take(12, {1, 2, 3, 4});
  EXPECT_EQ(DeficitOf(4), 0) << "half of all is not much less";
}

TEST_F(MeshAnnouncementsTest, FewItemsSayNothing) {
  Pass(2 * limits::kAnnounceGrace);
  Take(static_cast<int>(limits::kLeastOwed) - 1, {1, 2, 3});
  EXPECT_EQ(DeficitOf(4), 0);
  Take(1, {1, 2, 3});
  EXPECT_GT(DeficitOf(4), 0);
}

TEST_F(MeshAnnouncementsTest, AJoiningNeighbourOwesNothingYet) {
  mesh_ = {1, 2, 3};
  Pass(2 * limits::kAnnounceGrace);
  mesh_.insert(4);
  Pass(seconds(1));
  Take(12, {1, 2, 3});  // within the grace
  EXPECT_EQ(DeficitOf(4), 0);
  Take(12, {1, 2, 3});
  EXPECT_GT(DeficitOf(4), 0);
}

TEST_F(MeshAnnouncementsTest, OneThatLeftTheMeshStartsAnew) {
  Pass(2 * limits::kAnnounceGrace);
  Take(12, {1, 2, 3});
  mesh_.erase(4);
  Pass(seconds(1));
  EXPECT_EQ(DeficitOf(4), 0);
  mesh_.insert(4);
  Pass(2 * limits::kAnnounceGrace);
  EXPECT_EQ(DeficitOf(4), 0);
}

// This node hears nothing itself, or one liar repeats what it is told.
TEST_F(MeshAnnouncementsTest, NoNeighbourIsJudgedBesideASingleOtherThatAnnounces) {
  Pass(2 * limits::kAnnounceGrace);
  Take(20, {1});
  for (const LinkId link : mesh_) {
    EXPECT_EQ(DeficitOf(link), 0) << link;
  }
}

TEST_F(MeshAnnouncementsTest, ItemsThatANeighbourDoesNotTakeAreNotOwed) {
  Pass(2 * limits::kAnnounceGrace);
  excused_ = {4};
  Take(20, {1, 2, 3});
  EXPECT_EQ(DeficitOf(4), 0);
}

TEST_F(MeshAnnouncementsTest, TooLateIsSilent) {
  Pass(2 * limits::kAnnounceGrace);
  for (int i = 0; i < 12; ++i) {
    announcements_.RecordItem(Sha256(std::to_string(i)), {1, 2, 3}, {}, now_);
  }
  Pass(limits::kAnnounceTime);
  for (int i = 0; i < 12; ++i) {
    announcements_.RecordAnnouncement(Sha256(std::to_string(i)), 4);
  }
  EXPECT_GT(DeficitOf(4), 0);
}

// After a long time of good conduct a neighbour that falls silent is found.
TEST_F(MeshAnnouncementsTest, OldAnnouncementsCountLessThanNewOnes) {
  Pass(2 * limits::kAnnounceGrace);
  Take(200, {1, 2, 3, 4});
  Take(64, {1, 2, 3});
  EXPECT_GT(DeficitOf(4), 0);
}

}  // namespace
}  // namespace ruvd::test
