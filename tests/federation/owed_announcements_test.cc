// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// What a member can do so that honest neighbours look silent to each other. Member O is linked to
// two nodes upstream, and these to V; H is linked to V only, so it hears of all items from V.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "federation/limits.h"
#include "federation/membership/score_limits.h"
#include "privacy/consent/withdrawal.h"
#include "privacy/limits.h"
#include "ruvd/federation/v1/federation.pb.h"
#include "tests/federation/fixture.h"
#include "tests/federation/swarm.h"

namespace ruvd::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::SizeIs;
using testing::UnorderedElementsAre;

class OwedAnnouncements : public testing::Test {
 protected:
  enum Node : size_t { kO, kUpstream, kUpstreamToo, kV, kH };

  static bool AreLinked(size_t a, size_t b) {
    const auto [low, high] = std::minmax(a, b);
    return high == kH ? low == kV : low != kO || high != kV;
  }
  // H's clock is ahead of the others by `ahead`.
  static SwarmOptions WithClock(Duration ahead) {
    return {.nodes = kH + 1,
            .delay_min = milliseconds(50),
            .configure =
                [](size_t node, federation::GossipConfig& config) {
                  if (node == kH) {
                    config.seeds = {AddressOf(kV)};
                  }
                  config.relay = false;
                },
            .can_dial = AreLinked,
            .clock_ahead = [ahead](size_t node) { return node == kH ? ahead : Duration(); }};
  }
  // Begins with a mesh whose links are judged.
  void Begin(Duration ahead = {}) {
    swarm_.emplace(WithClock(ahead));
    swarm_->Share(kO);
    swarm_->Run(2 * limits::kAnnounceGrace);
    ASSERT_THAT(swarm_->core(kH).MeshPeers(), ElementsAre(swarm_->id(kV)));
    ASSERT_THAT(
        swarm_->core(kV).MeshPeers(),
        UnorderedElementsAre(swarm_->id(kUpstream), swarm_->id(kUpstreamToo), swarm_->id(kH)));
  }
  // O signs items as if it were `age` ago, and all others take them.
  void Offer(milliseconds age) {
    federation::Instant when = swarm_->now();
    when.wall_ms -= age.count();
    for (uint64_t i = 0; i < kItems; ++i) {
      Apply(kO, swarm_->core(kO).OfferPattern(PatternOf(i), when));
    }
    ASSERT_TRUE(
        swarm_->RunUntil([this] { return swarm_->accepted(kV).size() == kItems; }, seconds(9)));
    swarm_->Run(milliseconds(200));
  }
  void Apply(size_t node, absl::StatusOr<federation::Actions> actions) {
    ASSERT_TRUE(actions.ok()) << actions.status();
    swarm_->Apply(node, *std::move(actions));
  }
  // Lets the time pass in which announcements are due.
  void ExpectNoDeficitAtV() {
    swarm_->Run(2 * limits::kAnnounceTime);
    for (const size_t node : {kUpstream, kUpstreamToo, kH}) {
      EXPECT_GE(swarm_->core(kV).ScoreOf(swarm_->id(node)), 0) << node;
    }
  }

  static constexpr size_t kItems = 31;
  std::optional<Swarm> swarm_;
};

// A push may have this age where it is taken.
constexpr milliseconds kPushAge{limits::kPushAgeMillis};

TEST_F(OwedAnnouncements, AWithdrawalBeforeTheConfirmationCostsNoNeighbour) {
  Begin();
  size_t confirmed = 0;
  swarm_->intercept = [&](size_t node, federation::LinkId, const federation::v1::WireFrame& frame) {
    confirmed += node == kV && frame.has_i_have() ? 1 : 0;
    return false;
  };
  swarm_->Run(limits::kConfirmPeriod / 2);
  Offer(milliseconds(0));
  ASSERT_EQ(confirmed, 0U);
  const auto withdrawal = privacy::Withdrawal::Sign({}, /*everything=*/true, swarm_->now().wall_ms,
                                                    privacy::NodeKey::FromSeed(SeedOf(kO)));
  ASSERT_TRUE(withdrawal.ok()) << withdrawal.status();
  Apply(kO, swarm_->core(kO).OfferWithdrawal(*withdrawal, swarm_->now()));
  ExpectNoDeficitAtV();
  EXPECT_THAT(swarm_->accepted(kH), SizeIs(1)) << "the withdrawal alone";
}

// V takes the items while a push may carry them, and H shortly after that.
TEST_F(OwedAnnouncements, AnAgeAtTheLimitCostsNoNeighbour) {
  Begin();
  Offer(kPushAge - milliseconds(375));  // O to V takes 300 ms, V to H 150 ms
  ExpectNoDeficitAtV();
}

TEST_F(OwedAnnouncements, AClockThatIsAheadCostsNoNeighbour) {
  Begin(/*ahead=*/seconds(10));
  Offer(kPushAge - seconds(5));
  ExpectNoDeficitAtV();
}

// H refuses what is dated so far ahead of its clock, and compares items with V only later.
TEST_F(OwedAnnouncements, AClockThatIsBehindCostsNoNeighbour) {
  Begin(/*ahead=*/-seconds(10));
  swarm_->intercept = [](size_t, federation::LinkId, const federation::v1::WireFrame& frame) {
    return frame.has_recon_open() || frame.has_recon_message();
  };
  Offer(seconds(5) - milliseconds(limits::kMaxEnvelopeAheadMillis));
  ExpectNoDeficitAtV();
}

}  // namespace
}  // namespace ruvd::test
