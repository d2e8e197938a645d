// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Members that keep links open and announce nothing, as neighbours of honest nodes in the mesh.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "federation/limits.h"
#include "ruvd/federation/v1/federation.pb.h"
#include "tests/federation/fixture.h"
#include "tests/federation/swarm.h"

namespace ruvd::test {
namespace {

using federation::v1::WireFrame;
using std::chrono::seconds;

// The first nodes are honest and offer patterns. The others hear of no item, so that they never
// announce one, and do all else that members do.
class SilentSwarm {
 public:
  struct Options {
    size_t honest = 0;
    size_t silent = 0;
    size_t offering = 20;  // of the honest ones
    uint64_t seed = 1;
    double loss = 0;
  };
  explicit SilentSwarm(const Options& options)
      : honest_(options.honest),
        offering_(options.offering),
        swarm_({.nodes = options.honest + options.silent,
                .seed = options.seed,
                .loss = options.loss}) {
    swarm_.intercept = [this](size_t node, federation::LinkId, const WireFrame& frame) {
      return node >= honest_ && (frame.has_push() || frame.has_i_have() || frame.has_recon_open() ||
                                 frame.has_recon_message());
    };
    for (size_t node = 0; node < honest_; ++node) {
      swarm_.Share(node);
    }
    swarm_.Run(seconds(10));
  }
  Swarm& swarm() { return swarm_; }
  // An honest node offers a pattern.
  void Offer() {
    auto actions =
        swarm_.core(offered_ % offering_).OfferPattern(PatternOf(offered_), swarm_.now());
    ASSERT_TRUE(actions.ok());
    swarm_.Apply(offered_ % offering_, *std::move(actions));
    ++offered_;
  }
  void OfferFor(Duration duration, Duration period) {
    for (Duration passed{}; passed < duration; passed += period) {
      Offer();
      swarm_.Run(period);
    }
  }
  // Returns whether all honest nodes have what was offered.
  bool Delivered() {
    for (size_t node = 0; node < honest_; ++node) {
      if (swarm_.accepted(node).size() != offered_) {
        return false;
      }
    }
    return true;
  }
  // Returns the share of the places in the meshes of honest nodes that silent ones have.
  double SilentShare() {
    size_t silent = 0;
    size_t places = 0;
    for (size_t node = 0; node < honest_; ++node) {
      for (const privacy::NodeId& peer : swarm_.core(node).MeshPeers()) {
        silent += swarm_.index(peer) >= honest_ ? 1 : 0;
        ++places;
      }
    }
    return static_cast<double>(silent) / static_cast<double>(places);
  }
  double LowestScoreOfHonest() {
    double lowest = 0;
    for (size_t i = 0; i < honest_; ++i) {
      for (size_t j = 0; j < honest_; ++j) {
        lowest = std::min(lowest, swarm_.core(i).ScoreOf(swarm_.id(j)));
      }
    }
    return lowest;
  }

 private:
  size_t honest_;
  size_t offering_;
  Swarm swarm_;
  size_t offered_ = 0;
};

// Half of the members are silent. The baseline is the same swarm before the deficit has an effect,
// when chance gave the places.
TEST(SilentNeighbours, SilentMembersLosePlacesInTheMesh) {
  for (uint64_t seed = 1; seed <= 2; ++seed) {
    SilentSwarm world({.honest = 20, .silent = 20, .seed = seed});
    const double before = world.SilentShare();
    world.OfferFor(seconds(300), seconds(2));
    EXPECT_LT(world.SilentShare(), 0.6 * before) << "seed " << seed;
    EXPECT_TRUE(world.Delivered()) << "seed " << seed;
    EXPECT_GE(world.LowestScoreOfHonest(), 0) << "seed " << seed;
  }
}

// All are honest here, over lossy lines, and items come from two nodes only: many of the others
// never announce an item first.
TEST(SilentNeighbours, WhoAlwaysHearsOfItemsFromOthersKeepsItsPlace) {
  SilentSwarm world({.honest = 12, .silent = 0, .offering = 2, .seed = 3, .loss = 0.2});
  for (int minute = 0; minute < 6; ++minute) {
    world.OfferFor(seconds(60), seconds(2));
    EXPECT_GE(world.LowestScoreOfHonest(), 0) << "minute " << minute;
  }
}

// Without traffic all are equally silent.
TEST(SilentNeighbours, AQuietClusterHasNoDeficit) {
  SilentSwarm world({.honest = 8, .silent = 8, .seed = 4});
  world.OfferFor(seconds(20), seconds(4));
  world.swarm().Run(seconds(600));
  for (size_t i = 0; i < world.swarm().size(); ++i) {
    for (size_t j = 0; j < world.swarm().size(); ++j) {
      EXPECT_GE(world.swarm().core(i).ScoreOf(world.swarm().id(j)), 0);
    }
  }
}

}  // namespace
}  // namespace ruvd::test
