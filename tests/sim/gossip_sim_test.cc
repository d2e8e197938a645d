// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <algorithm>

#include "base/reasons.h"
#include "base/status.h"
#include "ruvd/federation/v1/federation.pb.h"
#include "tests/federation/fixture.h"
#include "tests/sim/sim_cluster.h"

namespace ruvd::test {
namespace {

using std::chrono::seconds;

bool AllLinked(SimCluster& cluster) {
  for (size_t i = 0; i < cluster.size(); ++i) {
    if (cluster.core(i).active_links() < std::min<size_t>(cluster.size() - 1, 2)) {
      return false;
    }
  }
  return true;
}

uint64_t RefusedInAll(SimCluster& cluster) {
  uint64_t total = 0;
  for (size_t i = 0; i < cluster.size(); ++i) {
    for (const auto& [reason, count] : cluster.core(i).counters().refused) {
      total += reason == reasons::kDuplicateLink ? 0 : count;
    }
  }
  return total;
}

class GossipSimSizes : public testing::TestWithParam<size_t> {};

TEST_P(GossipSimSizes, EveryHonestItemReachesEveryNode) {
  SimCluster cluster({.nodes = GetParam(), .seed = 7});
  ASSERT_TRUE(cluster.RunUntil([&] { return AllLinked(cluster); }, seconds(30)));
  for (size_t i = 0; i < cluster.size(); ++i) {
    cluster.Consent(i, privacy::ConsentTier::kPublic);
    ASSERT_TRUE(cluster.OfferContribution(i, i).ok());
    ASSERT_TRUE(cluster.OfferPattern(i, 100 + i).ok());
  }
  EXPECT_TRUE(cluster.RunUntil([&] { return cluster.Converged(2 * cluster.size()); }, seconds(60)));
  EXPECT_EQ(RefusedInAll(cluster), 0U);
}

TEST_P(GossipSimSizes, MembersKnowEachOther) {
  SimCluster cluster({.nodes = GetParam(), .seed = 8});
  const auto all_known = [&] {
    for (size_t i = 0; i < cluster.size(); ++i) {
      const std::vector<federation::Member> members = cluster.core(i).Members();
      if (members.size() != cluster.size() ||
          !std::all_of(members.begin(), members.end(), [](const federation::Member& m) {
            return m.state == federation::MemberState::kAlive;
          })) {
        return false;
      }
    }
    return true;
  };
  EXPECT_TRUE(cluster.RunUntil(all_known, seconds(60)));
}

TEST_P(GossipSimSizes, EveryLinkShowsInTheListOfMembers) {
  SimCluster cluster({.nodes = GetParam(), .seed = 9});
  const auto shown = [&] {
    for (size_t i = 0; i < cluster.size(); ++i) {
      const std::vector<federation::Member> members = cluster.core(i).Members();
      const auto linked =
          std::count_if(members.begin(), members.end(),
                        [](const federation::Member& m) { return m.linked && !m.self; });
      if (cluster.core(i).active_links() == 0 ||
          static_cast<size_t>(linked) != cluster.core(i).active_links()) {
        return false;
      }
    }
    return true;
  };
  EXPECT_TRUE(cluster.RunUntil(shown, seconds(60)));
}

INSTANTIATE_TEST_SUITE_P(Sizes, GossipSimSizes, testing::Values(3, 10, 30));

TEST(GossipSim, SurvivesBreakingLinksPartitionAndRestarts) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    SimCluster cluster({.nodes = 10, .seed = seed, .link_breaks_per_second = 0.5});
    cluster.Run(seconds(10));
    cluster.Partition({0, 0, 0, 0, 0, 1, 1, 1, 1, 1});
    for (size_t i = 0; i < cluster.size(); ++i) {
      cluster.Consent(i, privacy::ConsentTier::kPublic);
      ASSERT_TRUE(cluster.OfferContribution(i, seed * 100 + i).ok());
    }
    cluster.Run(seconds(20));
    EXPECT_LT(cluster.stored(0).size(), 10U);
    cluster.Restart(3);
    cluster.Stop(7);
    cluster.Heal();
    cluster.Run(seconds(5));
    cluster.Start(7);
    ASSERT_TRUE(cluster.OfferPattern(3, seed).ok());
    EXPECT_TRUE(cluster.RunUntil([&] { return cluster.Converged(11); }, seconds(120)))
        << "seed " << seed;
    EXPECT_EQ(RefusedInAll(cluster), 0U) << "seed " << seed;  // all nodes are honest
  }
}

TEST(GossipSim, ANodeThatComesBackAfterDaysGetsStoredItems) {
  SimCluster cluster({.nodes = 3, .seed = 21});
  cluster.Run(seconds(10));
  cluster.Stop(2);
  cluster.Consent(0, privacy::ConsentTier::kPublic);
  ASSERT_TRUE(cluster.OfferPattern(0, 1).ok());
  cluster.Run(std::chrono::hours(1));  // far longer than the ten minutes in which pushes are fresh
  cluster.Start(2);
  EXPECT_TRUE(cluster.RunUntil([&] { return cluster.stored(2).size() == 1; }, seconds(60)));
  EXPECT_EQ(cluster.core(2).counters().refused.count(reasons::kEnvelopeExpired), 0U);
}

TEST(GossipSim, SameSeedSameTrace) {
  const auto trace_of = [](uint64_t seed) {
    SimCluster cluster({.nodes = 10, .seed = seed, .link_breaks_per_second = 0.5});
    cluster.Run(seconds(5));
    cluster.Consent(4, privacy::ConsentTier::kPublic);
    EXPECT_TRUE(cluster.OfferContribution(4, 9).ok());
    cluster.Run(seconds(20));
    return cluster.trace_hash();
  };
  EXPECT_EQ(trace_of(3), trace_of(3));
  EXPECT_NE(trace_of(3), trace_of(4));
}

TEST(GossipSim, PayloadsTravelAboutOncePerNode) {
  SimCluster cluster({.nodes = 30, .seed = 5});
  cluster.Run(seconds(20));
  cluster.Consent(0, privacy::ConsentTier::kPublic);
  ASSERT_TRUE(cluster.OfferContribution(0, 1).ok());
  ASSERT_TRUE(cluster.RunUntil([&] { return cluster.Converged(1); }, seconds(60)));
  const uint64_t payload = cluster.stored(0).begin()->second.payload->size();
  EXPECT_LE(cluster.payload_bytes_received(), payload * 29 * 11 / 10);
}

TEST(GossipSim, NothingLeavesWithoutConsentAndWithdrawalStopsSharing) {
  SimCluster cluster({.nodes = 3, .seed = 11});
  cluster.Run(seconds(10));
  EXPECT_EQ(ReasonOf(cluster.OfferPattern(0, 1)), reasons::kConsentMissing);
  cluster.Consent(0, privacy::ConsentTier::kDp);
  EXPECT_EQ(ReasonOf(cluster.OfferPattern(0, 1)), reasons::kConsentMissing);
  cluster.Consent(0, privacy::ConsentTier::kPublic);
  ASSERT_TRUE(cluster.OfferPattern(0, 1).ok());
  cluster.Partition({0, 1, 1});
  cluster.Consent(0, privacy::ConsentTier::kPrivate);
  EXPECT_TRUE(cluster.core(0).Items().empty());
  cluster.Heal();
  cluster.Run(seconds(60));
  EXPECT_TRUE(cluster.core(0).Items().empty());
  EXPECT_TRUE(cluster.core(1).Items().empty());
}

TEST(GossipSim, NodeOfAnotherModelStaysOutside) {
  SimOptions options{.nodes = 4, .seed = 13};
  options.configure = [](size_t node, federation::GossipConfig& config) {
    if (node == 3) {
      config.model_hash.fill(0x99);
    }
  };
  SimCluster cluster(options);
  cluster.Run(seconds(20));
  cluster.Consent(0, privacy::ConsentTier::kPublic);
  ASSERT_TRUE(cluster.OfferContribution(0, 1).ok());
  cluster.Run(seconds(20));
  EXPECT_EQ(cluster.core(3).active_links(), 0U);
  EXPECT_TRUE(cluster.stored(3).empty());
  EXPECT_EQ(cluster.stored(2).size(), 1U);
  EXPECT_GT(cluster.core(0).counters().refused.at(reasons::kModelMismatch), 0U);
}

// Bytes flip, and frames are repeated and cut in transit: what arrives is never wrong, and once the
// network is honest again everything arrives.
TEST(GossipSim, TamperedFramesHaveNoEffect) {
  SimCluster cluster({.nodes = 5, .seed = 17});
  cluster.Run(seconds(10));
  Random random(99);
  cluster.SetTamper([&random](size_t, size_t, std::string frame) -> std::vector<std::string> {
    const uint64_t choice = random.Below(20);
    if (choice == 0 && !frame.empty()) {
      frame[random.Below(frame.size())] ^= static_cast<char>(1 << random.Below(8));
    } else if (choice == 1) {
      return {frame, frame};
    } else if (choice == 2) {
      frame.resize(random.Below(frame.size() + 1));
    }
    return {frame};
  });
  std::map<Digest, std::string> honest;
  for (size_t i = 0; i < cluster.size(); ++i) {
    cluster.Consent(i, privacy::ConsentTier::kPublic);
    ASSERT_TRUE(cluster.OfferContribution(i, i).ok());
    for (const auto& [id, item] : cluster.stored(i)) {
      honest[id] = *item.payload;
    }
  }
  cluster.Run(seconds(120));
  for (size_t i = 0; i < cluster.size(); ++i) {
    for (const auto& [id, item] : cluster.stored(i)) {
      ASSERT_TRUE(honest.contains(id));
      EXPECT_EQ(*item.payload, honest[id]);
    }
  }
  EXPECT_GT(RefusedInAll(cluster), 0U);
  cluster.SetTamper({});
  EXPECT_TRUE(cluster.RunUntil([&] { return cluster.Converged(5); }, seconds(120)));
}

}  // namespace
}  // namespace ruvd::test
