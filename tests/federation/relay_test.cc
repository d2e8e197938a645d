// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Tests links between members that cannot dial each other, through a neighbour of both.

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "base/reasons.h"
#include "federation/limits.h"
#include "federation/reasons.h"
#include "ruvd/federation/v1/federation.pb.h"
#include "tests/federation/swarm.h"
#include "tests/federation/test_peer.h"

namespace ruvd::test {
namespace {

using std::chrono::seconds;

// Returns options where the first `relays` nodes can be dialled and all others have no address.
SwarmOptions Behind(size_t relays, size_t nodes, uint64_t seed) {
  return {.nodes = nodes,
          .seed = seed,
          .configure = [relays](size_t node, federation::GossipConfig& config) {
            config.seeds.clear();
            for (size_t relay = 0; relay < relays; ++relay) {
              config.seeds.push_back(AddressOf(relay));
            }
            if (node >= relays) {
              config.listen_address.clear();
            }
          }};
}

void Offer(Swarm& swarm, size_t node) {
  swarm.Share(node);
  auto offered = swarm.core(node).OfferPattern(PatternOf(node), swarm.now());
  ASSERT_TRUE(offered.ok());
  swarm.Apply(node, *std::move(offered));
}

uint64_t Refused(Swarm& swarm, size_t node, const std::string& reason) {
  const auto& refused = swarm.core(node).counters().refused;
  const auto found = refused.find(reason);
  return found == refused.end() ? 0 : found->second;
}

// Whether a frame is about items, in either form of their exchange.
bool IsOfItems(const WireFrame& frame) {
  return frame.has_push() || frame.has_i_have() || frame.has_i_want() || frame.has_chunk() ||
         frame.has_chunk_request() ||
         ((frame.has_recon_open() || frame.has_recon_message()) &&
          (frame.has_recon_open() ? frame.recon_open() : frame.recon_message()).space() ==
              federation::v1::RECON_SPACE_ITEMS);
}

class RelayTest : public testing::Test {
 protected:
  static constexpr size_t kRelay = 0;
  static constexpr size_t kOne = 1;
  static constexpr size_t kOther = 2;

  bool Linked() {
    return swarm_.core(kOne).RelayTo(swarm_.id(kOther)).has_value() &&
           swarm_.core(kOther).RelayTo(swarm_.id(kOne)).has_value();
  }
  // Both ends may have asked at the same time: one of the two links stays.
  void LinkUp() {
    ASSERT_TRUE(swarm_.RunUntil([this] { return Linked(); }, seconds(20)));
    ASSERT_TRUE(
        swarm_.RunUntil([this] { return swarm_.core(kRelay).circuits() == 1; }, seconds(5)));
    swarm_.Run(seconds(1));  // and nothing of the other one is under way
    ASSERT_TRUE(Linked());
  }
  // From now on the relay misbehaves and passes on no item.
  void KeepItemsFromRelay() {
    swarm_.intercept = [this](size_t node, federation::LinkId link, const WireFrame& frame) {
      return (node == kRelay && IsOfItems(frame)) || (OnFrame && OnFrame(node, link, frame));
    };
  }
  // Takes a frame of the relay's out of the way of one end.
  std::function<bool(size_t node, federation::LinkId link, const WireFrame& frame)> OnFrame;

  Swarm swarm_{Behind(1, 3, 7)};
};

TEST_F(RelayTest, TwoMembersThatCannotDialEachOtherLinkAndExchangeAnItem) {
  LinkUp();
  EXPECT_EQ(swarm_.core(kOne).RelayTo(swarm_.id(kOther)), swarm_.id(kRelay));
  EXPECT_EQ(swarm_.core(kRelay).RelayTo(swarm_.id(kOne)), std::nullopt);
  EXPECT_EQ(swarm_.core(kRelay).circuits(), 1U);
  EXPECT_EQ(swarm_.core(kOne).relayed_links(), 1U);
  KeepItemsFromRelay();
  const std::string payload = federation::EncodeSharedPattern(PatternOf(kOne));
  bool seen = false;
  bool carried = false;
  OnFrame = [&](size_t node, federation::LinkId /*link*/, const WireFrame& frame) {
    carried |= frame.has_relay_frame() && node == kRelay;
    seen |= frame.SerializeAsString().find(payload.substr(0, 64)) != std::string::npos;
    return false;
  };
  Offer(swarm_, kOne);
  EXPECT_TRUE(swarm_.RunUntil([this] { return swarm_.accepted(kOther).size() == 1; }, seconds(30)));
  EXPECT_TRUE(swarm_.accepted(kRelay).empty());
  EXPECT_TRUE(carried);
  EXPECT_FALSE(seen) << "the relay can read the item";
}

TEST_F(RelayTest, TheLinkStaysWhileItIsUsedAndHasPings) {
  LinkUp();
  const uint64_t links = swarm_.core(kOne).counters().links_relayed;
  swarm_.Run(seconds(60));
  EXPECT_TRUE(Linked());
  EXPECT_EQ(swarm_.core(kOne).counters().links_relayed, links);
  const std::vector<federation::Member> members = swarm_.core(kOne).Members();
  const auto other = std::ranges::find(members, swarm_.id(kOther), &federation::Member::id);
  ASSERT_NE(other, members.end());
  EXPECT_TRUE(other->rtt.has_value());
  EXPECT_EQ(other->state, federation::MemberState::kAlive);
}

// A relay that has lost its path says nothing about the member at the other end.
TEST_F(RelayTest, ACircuitThatEndsMakesNobodySuspect) {
  LinkUp();
  std::optional<uint32_t> circuit;
  swarm_.intercept = [&](size_t node, federation::LinkId link, const WireFrame& frame) {
    if (node == kOne && frame.has_relay_frame() && !circuit) {
      circuit = frame.relay_frame().circuit();
      WireFrame close;
      close.mutable_relay_close()->set_circuit(*circuit);
      swarm_.Apply(node, swarm_.core(node).OnFrame(link, close, swarm_.now()));
    }
    // No other node helps to find out.
    return node == kRelay && (frame.has_ping_request() || frame.has_relay_open());
  };
  swarm_.Run(seconds(30));
  EXPECT_TRUE(circuit.has_value());
  EXPECT_EQ(swarm_.core(kOne).relayed_links(), 0U);
  EXPECT_EQ(swarm_.core(kOne).counters().suspicions, 0U);
}

// If a relay alters what it carries, the link ends and no other member is blamed.
class MaliciousRelayTest : public RelayTest {
 protected:
  // Alters the next sealed frame to one end.
  void SpoilOnce(const std::function<void(federation::v1::RelayFrame&)>& spoil) {
    LinkUp();
    KeepItemsFromRelay();
    OnFrame = [this, spoil](size_t node, federation::LinkId link, const WireFrame& frame) {
      if (node != kOther || !frame.relay_frame().has_sealed() || spoiled_) {
        return false;
      }
      spoiled_ = true;
      WireFrame altered = frame;
      spoil(*altered.mutable_relay_frame());
      swarm_.Apply(node, swarm_.core(node).OnFrame(link, altered, swarm_.now()));
      return true;
    };
    Offer(swarm_, kOne);
  }
  void ExpectBroken() {
    EXPECT_TRUE(swarm_.RunUntil(
        [this] { return Refused(swarm_, kOther, reasons::kRelayBroken) == 1; }, seconds(10)));
    EXPECT_TRUE(spoiled_);
    EXPECT_EQ(swarm_.core(kOther).ScoreOf(swarm_.id(kOne)), 0);
    EXPECT_GE(swarm_.core(kOther).ScoreOf(swarm_.id(kRelay)), 0)
        << "the other end may have done it";
    // There is no other relay, and this one is honest from now on.
    EXPECT_TRUE(
        swarm_.RunUntil([this] { return swarm_.accepted(kOther).size() == 1; }, seconds(90)));
    EXPECT_EQ(swarm_.accepted(kOther), swarm_.accepted(kOne));
  }
  bool spoiled_ = false;
};

TEST_F(MaliciousRelayTest, AnAlteredFrameEndsTheLink) {
  SpoilOnce([](federation::v1::RelayFrame& frame) {
    frame.mutable_sealed()->back() = static_cast<char>(frame.sealed().back() ^ 1);
  });
  ExpectBroken();
}

TEST_F(MaliciousRelayTest, AFrameLeftOutEndsTheLink) {
  SpoilOnce([](federation::v1::RelayFrame& frame) { frame.set_seq(frame.seq() + 1); });
  ExpectBroken();
}

TEST_F(MaliciousRelayTest, AFrameOfTheRelaysOwnEndsTheLink) {
  SpoilOnce([](federation::v1::RelayFrame& frame) {
    WireFrame goaway;
    goaway.mutable_goaway()->set_reason(reasons::kKeyInvalid);
    frame.set_opening(goaway.SerializeAsString());
  });
  ExpectBroken();
}

TEST_F(MaliciousRelayTest, ARepeatedFrameHasNoEffect) {
  LinkUp();
  OnFrame = nullptr;
  swarm_.intercept = [this](size_t node, federation::LinkId link, const WireFrame& frame) {
    if (node == kOther && frame.relay_frame().has_sealed()) {
      swarm_.Apply(node, swarm_.core(node).OnFrame(link, frame, swarm_.now()));
    }
    return false;  // and once more
  };
  const uint64_t before = swarm_.core(kOther).counters().duplicates;
  const uint64_t links = swarm_.core(kOther).counters().links_relayed;
  swarm_.Run(seconds(10));
  EXPECT_GT(swarm_.core(kOther).counters().duplicates, before + 2);
  EXPECT_TRUE(Linked());
  EXPECT_EQ(swarm_.core(kOther).counters().links_relayed, links);
}

TEST(Relay, OneThatCrashesIsLeftForAnother) {
  Swarm swarm(Behind(2, 4, 3));
  const auto relay = [&] { return swarm.core(2).RelayTo(swarm.id(3)); };
  ASSERT_TRUE(swarm.RunUntil([&] { return relay().has_value(); }, seconds(20)));
  const size_t first = swarm.index(*relay());
  ASSERT_LT(first, 2U);
  swarm.Crash(first);
  EXPECT_TRUE(swarm.RunUntil([&] { return relay() == swarm.id(1 - first); }, seconds(60)));
  Offer(swarm, 2);
  EXPECT_TRUE(swarm.RunUntil([&] { return swarm.Converged(1); }, seconds(30)));
}

TEST(Relay, OneThatSwallowsWhatItShouldCarryIsLeftForAnother) {
  Swarm swarm(Behind(2, 4, 3));
  const auto relay = [&] { return swarm.core(2).RelayTo(swarm.id(3)); };
  ASSERT_TRUE(swarm.RunUntil([&] { return relay().has_value(); }, seconds(20)));
  const size_t first = swarm.index(*relay());
  swarm.intercept = [first](size_t node, federation::LinkId /*link*/, const WireFrame& frame) {
    return node == first &&
           (frame.has_relay_frame() || frame.has_relay_open() || frame.has_relay_close());
  };
  EXPECT_TRUE(swarm.RunUntil([&] { return relay() == swarm.id(1 - first); }, seconds(60)));
  const auto dead = [&](size_t observer) {
    const std::vector<federation::Member> members = swarm.core(observer).Members();
    return std::ranges::any_of(members, [](const federation::Member& m) {
      return m.state == federation::MemberState::kDead;
    });
  };
  swarm.Run(seconds(20));
  EXPECT_FALSE(dead(2) || dead(3)) << "for what the relay did";
}

// The records have addresses, but a firewall makes them useless.
TEST(Relay, MembersWhoseAddressesDoNotAnswerLink) {
  Swarm swarm(
      {.nodes = 3, .seed = 5, .can_dial = [](size_t /*from*/, size_t to) { return to == 0; }});
  EXPECT_TRUE(swarm.RunUntil([&] { return swarm.core(1).RelayTo(swarm.id(2)) == swarm.id(0); },
                             seconds(60)));
}

// This is the address of a node that listens on its own machine only: no node dials it, not even in
// vain.
TEST(Relay, MembersThatNameTheSameAddressLink) {
  SwarmOptions options = Behind(1, 3, 5);
  options.configure = [configure = options.configure](size_t node,
                                                      federation::GossipConfig& config) {
    configure(node, config);
    config.listen_address = node == 0 ? config.listen_address : "127.0.0.1:7421";
  };
  Swarm swarm(std::move(options));
  EXPECT_TRUE(
      swarm.RunUntil([&] { return swarm.core(1).RelayTo(swarm.id(2)).has_value(); }, seconds(60)));
}

TEST(Relay, ADirectLinkTakesThePlaceOfARelayedOne) {
  bool firewall = true;
  Swarm swarm({.nodes = 3, .seed = 5, .can_dial = [&](size_t /*from*/, size_t to) {
                 return to == 0 || !firewall;
               }});
  ASSERT_TRUE(
      swarm.RunUntil([&] { return swarm.core(1).RelayTo(swarm.id(2)).has_value(); }, seconds(60)));
  firewall = false;
  const auto direct = [&](size_t node, size_t peer) {
    return swarm.core(node).relayed_links() == 0 &&
           std::ranges::count(swarm.core(node).MeshPeers(), swarm.id(peer)) == 1;
  };
  EXPECT_TRUE(swarm.RunUntil([&] { return direct(1, 2) && direct(2, 1); }, seconds(300)));
  EXPECT_TRUE(swarm.RunUntil([&] { return swarm.core(0).circuits() == 0; }, seconds(5)));
}

TEST(Relay, ANodeThatDoesNotRelayIsNotAsked) {
  SwarmOptions options = Behind(1, 3, 7);
  options.configure = [configure = options.configure](size_t node,
                                                      federation::GossipConfig& config) {
    configure(node, config);
    config.relay = node != 0;
  };
  Swarm swarm(std::move(options));
  swarm.Run(seconds(60));
  EXPECT_EQ(swarm.core(1).relayed_links(), 0U);
  EXPECT_EQ(swarm.core(0).counters().circuits_refused, 0U);
}

struct Cluster {
  size_t nodes;
  size_t relays;

  friend void PrintTo(const Cluster& cluster, std::ostream* out) {
    *out << cluster.relays << " of " << cluster.nodes;
  }
};

class RelayClusterTest : public testing::TestWithParam<Cluster> {};

// Every item reaches every node, and no node holds or carries more than it should.
TEST_P(RelayClusterTest, HasAllItemsEverywhereWithinItsLimits) {
  const auto [nodes, relays] = GetParam();
  Swarm swarm(Behind(relays, nodes, 11));
  swarm.Run(seconds(30));
  for (size_t node = 0; node < nodes; node += 2) {
    Offer(swarm, node);
  }
  const size_t items = (nodes + 1) / 2;
  EXPECT_TRUE(swarm.RunUntil([&] { return swarm.Converged(items); }, seconds(60)));
  swarm.Run(seconds(120));
  EXPECT_EQ(swarm.MeshReach(), nodes);
  size_t relayed = 0;
  for (size_t node = 0; node < nodes; ++node) {
    const federation::GossipCore& core = swarm.core(node);
    relayed += core.relayed_links();
    EXPECT_GE(core.MeshPeers().size(), std::min(limits::kMeshLow, nodes - 1)) << node;
    EXPECT_LE(core.active_links(), limits::kMaxLinks) << node;
    EXPECT_LE(core.relayed_links(), limits::kMaxRelayedLinks) << node;
    EXPECT_LE(core.circuits(), limits::kMaxCircuits) << node;
    for (const federation::Member& member : core.Members()) {
      EXPECT_EQ(member.state, federation::MemberState::kAlive) << node << " of " << member.name;
    }
    EXPECT_TRUE(core.Graylisted().empty()) << node;
    for (const auto& [reason, count] : core.counters().refused) {
      ADD_FAILURE() << node << " refused " << count << " times: " << reason;
    }
  }
  // Relays are not needed where enough members can be dialled.
  EXPECT_TRUE(relayed > 0 || relays > limits::kMeshLow);
}

INSTANTIATE_TEST_SUITE_P(Clusters, RelayClusterTest,
                         testing::Values(Cluster{.nodes = 20, .relays = 2},
                                         Cluster{.nodes = 30, .relays = 20}),
                         [](const auto& test) {
                           return std::to_string(test.param.relays) + "Of" +
                                  std::to_string(test.param.nodes);
                         });

}  // namespace
}  // namespace ruvd::test
