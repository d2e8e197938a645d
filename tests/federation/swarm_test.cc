// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// What a cluster of real cores does together: it forms one mesh, finds crashes and heals
// partitions.

#include "tests/federation/swarm.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "base/reasons.h"
#include "federation/events/outbox.h"
#include "federation/limits.h"
#include "federation/local_node.h"
#include "federation/membership/suspicion.h"
#include "federation/sealer.h"
#include "ruvd/federation/v1/federation.pb.h"
#include "tests/federation/fixture.h"

namespace ruvd::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

double Seconds(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

uint64_t PayloadBytes(Swarm& swarm) {
  uint64_t bytes = 0;
  for (size_t i = 0; i < swarm.size(); ++i) {
    bytes += swarm.core(i).counters().payload_bytes_received;
  }
  return bytes;
}

bool AllAlive(Swarm& swarm) {
  for (size_t i = 0; i < swarm.size(); ++i) {
    const std::vector<federation::Member> members = swarm.core(i).Members();
    if (members.size() != swarm.size() ||
        !std::all_of(members.begin(), members.end(), [](const federation::Member& m) {
          return m.state == federation::MemberState::kAlive;
        })) {
      return false;
    }
  }
  return true;
}

void Offer(Swarm& swarm, size_t node) {
  swarm.Share(node);
  auto offered = swarm.core(node).OfferPattern(PatternOf(node), swarm.now());
  ASSERT_TRUE(offered.ok());
  swarm.Apply(node, *std::move(offered));
}

TEST(Swarm, AHundredNodesWithTwoSeedsBecomeOneMesh) {
  Swarm swarm({.nodes = 100, .seed = 4});
  ASSERT_TRUE(swarm.RunUntil([&] { return AllAlive(swarm); }, seconds(10)));
  swarm.Run(seconds(20));
  EXPECT_EQ(swarm.MeshReach(), 100U);
  for (size_t i = 0; i < swarm.size(); ++i) {
    const size_t degree = swarm.core(i).MeshPeers().size();
    EXPECT_GE(degree, limits::kMeshLow) << "node " << i;
    EXPECT_LE(degree, limits::kMeshHigh + 2) << "node " << i;  // grafts since the last heartbeat
    EXPECT_LE(swarm.core(i).active_links(), 40U) << "node " << i;
  }
  for (size_t i = 0; i < 5; ++i) {
    Offer(swarm, i);
  }
  EXPECT_TRUE(swarm.RunUntil([&] { return swarm.Converged(5); }, seconds(5)));
  const size_t payload = swarm.core(0).Items()[0].payload->size();
  EXPECT_LE(static_cast<double>(PayloadBytes(swarm)), 1.1 * 5 * 99 * static_cast<double>(payload));
}

// Each used to refuse the other in turn for ever, because a refusal began a whole backoff at one
// end only.
TEST(Swarm, NeighboursWhoseBackoffsEndAtDifferentTimesFindEachOtherAgain) {
  Swarm swarm({.nodes = 2, .seed = 9});
  ASSERT_TRUE(swarm.RunUntil([&] { return swarm.MeshReach() == 2; }, seconds(10)));
  federation::v1::WireFrame prune;
  prune.mutable_prune()->set_backoff_ms(30'000);
  swarm.SendFrom(0, swarm.LinksOf(0).at(0), prune);
  prune.mutable_prune()->set_backoff_ms(34'000);
  swarm.SendFrom(1, swarm.LinksOf(1).at(0), prune);
  swarm.Run(seconds(5));
  ASSERT_EQ(swarm.MeshReach(), 1U);
  EXPECT_TRUE(swarm.RunUntil([&] { return swarm.MeshReach() == 2; }, seconds(40)));
}

// Nodes crash silently, and frames are lost: every survivor knows within 12 s, and no live node is
// declared dead.
TEST(Swarm, CrashesAreFoundInTime) {
  Swarm swarm({.nodes = 100, .seed = 5, .loss = 0.05});
  ASSERT_TRUE(swarm.RunUntil([&] { return AllAlive(swarm); }, seconds(20)));
  swarm.Run(seconds(20));
  std::map<size_t, TimePoint> crashed;
  std::set<std::pair<size_t, size_t>> found;
  std::vector<double> delays;
  size_t wrong = 0;
  swarm.on_member = [&](size_t observer, const federation::Member& member) {
    const size_t victim = swarm.index(member.id);
    if (member.state != federation::MemberState::kDead) {
      return;
    }
    if (swarm.alive(victim)) {
      ++wrong;
    } else if (found.insert({observer, victim}).second) {
      delays.push_back(Seconds(swarm.now().now - crashed.at(victim)));
    }
  };
  for (size_t victim : {7, 23, 41}) {
    swarm.Crash(victim);
    crashed[victim] = swarm.now().now;
    swarm.Run(seconds(4));
  }
  swarm.Run(seconds(16));
  std::sort(delays.begin(), delays.end());
  ASSERT_GE(delays.size(), 3 * 97U);
  EXPECT_LE(delays[delays.size() * 99 / 100], 12.0);
  EXPECT_EQ(wrong, 0U);
  EXPECT_EQ(swarm.core(0).Members().size(), 100U);  // suspicion removes no member
}

// A partition heals because nodes dial the members that seemed lost; these refute the suspicion,
// and no item is missing.
TEST(Swarm, APartitionHealsWithinSeconds) {
  Swarm swarm({.nodes = 40, .seed = 6});
  ASSERT_TRUE(swarm.RunUntil([&] { return AllAlive(swarm); }, seconds(20)));
  swarm.Run(seconds(10));
  std::vector<int> groups(swarm.size());
  for (size_t i = 0; i < groups.size(); ++i) {
    groups[i] = static_cast<int>(i % 2);
  }
  swarm.Partition(groups);
  Offer(swarm, 0);
  Offer(swarm, 1);
  swarm.Run(seconds(20));
  EXPECT_FALSE(AllAlive(swarm));
  EXPECT_FALSE(swarm.Converged(2));
  swarm.Partition({});
  EXPECT_TRUE(swarm.RunUntil([&] { return swarm.Converged(2) && AllAlive(swarm); }, seconds(5)));
  swarm.Run(seconds(10));
  EXPECT_EQ(swarm.MeshReach(), swarm.size());
}

// One member accuses all others all the time: that costs a refutation each, nothing more.
TEST(Swarm, AFalseAccuserKillsNobody) {
  Swarm swarm({.nodes = 20, .seed = 7});
  ASSERT_TRUE(swarm.RunUntil([&] { return AllAlive(swarm); }, seconds(20)));
  size_t dead = 0;
  swarm.on_member = [&](size_t, const federation::Member& member) {
    dead += member.state == federation::MemberState::kDead ? 1 : 0;
  };
  const privacy::NodeKey liar = privacy::NodeKey::FromSeed(SeedOf(3));
  const federation::GossipConfig config = ConfigFor(liar, 3);
  const federation::LocalNode local{.key = &liar,
                                    .certificate = config.certificate,
                                    .cluster_id = Authority().cluster_id(),
                                    .boot_counter = 9};
  federation::Sealer sealer(local, EntropyOf(3));
  for (int round = 0; round < 12; ++round) {
    for (const federation::Member& member : swarm.core(3).Members()) {
      if (member.self) {
        continue;
      }
      const federation::Accusation lie{.certificate = local.certificate,
                                       .suspect = member.id,
                                       .incarnation = member.incarnation};
      const int64_t now = swarm.now().wall_ms;
      federation::v1::WireFrame frame;
      *frame.mutable_suspicions()->add_accusations() = federation::ToProto(
          *sealer.Seal(privacy::EnvelopePurpose::kMember, federation::kBodySuspicion, 0,
                       federation::EncodeAccusation(lie), now, now + 60'000));
      swarm.Broadcast(3, frame);
    }
    swarm.Run(seconds(1));
  }
  EXPECT_EQ(dead, 0U);
  EXPECT_TRUE(swarm.RunUntil([&] { return AllAlive(swarm); }, seconds(5)));
  // Some are refuted, and then no node listens to it any more.
  EXPECT_GT(swarm.core(0).counters().refutations, 0U);
  EXPECT_LE(swarm.core(0).counters().refutations, 3U);
  EXPECT_GT(swarm.core(0).counters().refused.at("OVER_BUDGET"), 5U);
}

// A seed determines the cluster.
TEST(Swarm, IsDeterministic) {
  const auto fingerprint = [](uint64_t seed) {
    Swarm swarm({.nodes = 15, .seed = seed, .loss = 0.05});
    swarm.Run(seconds(15));
    std::vector<std::pair<size_t, uint64_t>> state;
    for (size_t i = 0; i < swarm.size(); ++i) {
      for (const privacy::NodeId& peer : swarm.core(i).MeshPeers()) {
        state.emplace_back(swarm.index(peer), swarm.core(i).counters().duplicates);
      }
    }
    return state;
  };
  EXPECT_EQ(fingerprint(1), fingerprint(1));
  EXPECT_NE(fingerprint(1), fingerprint(2));
}

// Members that are known from before are shared, not copied, and need no exchange.
TEST(Swarm, RestoredMembersAreKnownAtOnce) {
  std::vector<std::shared_ptr<const federation::SignedRecord>> records;
  std::vector<std::unique_ptr<privacy::NodeKey>> keys;
  std::vector<std::unique_ptr<federation::GossipCore>> cores;
  for (size_t i = 0; i < 50; ++i) {
    keys.push_back(std::make_unique<privacy::NodeKey>(privacy::NodeKey::FromSeed(SeedOf(i))));
    cores.push_back(*federation::GossipCore::Create(ConfigFor(*keys[i], i), *keys[i], EntropyOf(i),
                                                    i, At(Duration{})));
    records.push_back(cores[i]->OwnRecord());
  }
  const auto base = std::make_shared<const federation::RecordBase>(records);
  for (const auto& core : cores) {
    core->RestoreMembers(base, At(Duration{}));
    EXPECT_EQ(core->Members().size(), 50U);
  }
  EXPECT_GE(base.use_count(), 51);
  size_t dials = 0;
  for (const federation::Action& action : cores[3]->OnTick(At(seconds(1)))) {
    dials += std::holds_alternative<federation::Dial>(action) ? 1 : 0;
  }
  EXPECT_GE(dials, limits::kMeshDegree);
}

// ---- Catching up

// Patterns as their origins sign and store them.
std::vector<federation::Item> PatternsOf(size_t origins, size_t patterns_each) {
  std::vector<federation::Item> items;
  for (size_t origin = 0; origin < origins; ++origin) {
    const privacy::NodeKey key = privacy::NodeKey::FromSeed(SeedOf(500 + origin));
    const auto core = *federation::GossipCore::Create(ConfigFor(key, 500 + origin), key,
                                                      EntropyOf(origin), 1, At({}));
    EXPECT_TRUE(core->SetConsent(privacy::ConsentRecord::Sign(privacy::ConsentTier::kPublic,
                                                              kWallStart, key),
                                 At({}))
                    .ok());
    for (size_t i = 0; i < patterns_each; ++i) {
      federation::Actions actions = *core->OfferPattern(PatternOf(origin << 16 | i), At({}));
      for (federation::Action& action : actions) {
        if (auto* accepted = std::get_if<federation::ItemAccepted>(&action)) {
          items.push_back(std::move(accepted->item));
        }
      }
    }
  }
  return items;
}

// A node that was away, or is new, gets what it lacks by reconciliation, and each item once.
TEST(Swarm, NewcomerCatchesUpTenThousandPatterns) {
  constexpr size_t kOrigins = 40;
  constexpr size_t kPatterns = 10'000;
  std::vector<federation::Item> items = PatternsOf(kOrigins, kPatterns / kOrigins);
  ASSERT_EQ(items.size(), kPatterns);
  uint64_t bytes = 0;
  for (const federation::Item& item : items) {
    bytes += item.payload->size();
  }
  Swarm swarm({.nodes = 3, .seed = 5});
  for (const size_t settled : {0, 1}) {
    swarm.Apply(settled, swarm.core(settled).Restore(items, swarm.now()));
  }
  ASSERT_TRUE(swarm.RunUntil([&] { return swarm.accepted(2).size() == kPatterns; }, seconds(60)))
      << swarm.accepted(2).size() << " arrived";
  EXPECT_EQ(swarm.core(2).Items().size(), kPatterns);
  EXPECT_LE(swarm.core(2).counters().payload_bytes_received, bytes + bytes / 50);
  for (size_t i = 0; i < swarm.size(); ++i) {
    EXPECT_TRUE(swarm.core(i).counters().refused.empty()) << "node " << i;
  }
  RecordProperty("simulated_seconds", std::to_string(Seconds(swarm.now().now.time_since_epoch())));
}

}  // namespace
}  // namespace ruvd::test
