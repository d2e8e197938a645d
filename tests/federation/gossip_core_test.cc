// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Tests the core as its owner sees it: start, offers, restore, goodbye.

#include "federation/core/gossip_core.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "base/reasons.h"
#include "base/status.h"
#include "federation/link/cluster_clock.h"
#include "federation/reasons.h"
#include "tests/federation/learner_fixture.h"
#include "tests/federation/test_peer.h"

namespace ruvd::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

std::string ReasonOfStart(std::function<void(federation::GossipConfig&)> change) {
  const privacy::NodeKey key = privacy::NodeKey::FromSeed(SeedOf(0));
  federation::GossipConfig config = ConfigFor(key, 0);
  change(config);
  return ReasonOf(
      federation::GossipCore::Create(std::move(config), key, EntropyOf(1), 1, At(Duration{}))
          .status());
}

Answers Consent(CoreUnderTest& node, privacy::ConsentTier tier) {
  Answers answers;
  answers.Add(*node.core().SetConsent(
      privacy::ConsentRecord::Sign(tier, node.now().wall_ms, node.key()), node.now()));
  return answers;
}

void RunRounds(federation::GossipConfig& config) {
  config.plan = std::make_shared<const federation::LearnerPlan>(DeltaPlan());
}

absl::StatusOr<federation::Actions> OfferContribution(CoreUnderTest& node,
                                                      privacy::ShareableKind kind) {
  const uint64_t round = RoundAt(DeltaPlan(), node.now().wall_ms);
  return node.core().OfferContribution(round, ContributionPayload(DeltaPlan(), round), node.now(),
                                       kind);
}

// Found by the simulator: a node that started with a clock a day ahead kept for a day what it had
// signed until it heard the others, and no other node took it.
TEST(GossipCore, WhatWasSignedAheadOfTheCorrectedClockWasKept) {
  class Corrected : public federation::ClusterClock {
   public:
    using ClusterClock::ClusterClock;
    absl::Status Check() const override {
      return corrected ? Error(absl::StatusCode::kFailedPrecondition, reasons::kClockWrong, "so")
                       : absl::OkStatus();
    }
    bool corrected = false;
  };
  const ManualClock own;
  Corrected clock(own);
  CoreUnderTest node(0, [&clock](federation::GossipConfig& config) { config.clock = &clock; });
  const auto at = [](int seconds, int64_t ahead_ms) {
    federation::Instant now = At(std::chrono::seconds(seconds));
    now.wall_ms += ahead_ms;
    return now;
  };
  Consent(node, privacy::ConsentTier::kPublic);
  Answers answers;
  answers.Add(node.core().OnTick(at(1, kDayMillis)));
  answers.Add(*node.core().OfferPattern(PatternOf(1), at(1, kDayMillis)));
  answers.Add(*node.core().OfferPattern(PatternOf(2), at(1, 0)));
  answers.Add(node.core().OnTick(at(2, kDayMillis)));
  EXPECT_THAT(answers.dropped, IsEmpty());
  ASSERT_EQ(node.core().Items().size(), 2U);
  answers.Add(node.core().OnTick(at(3, 0)));
  EXPECT_THAT(answers.dropped, IsEmpty()) << "a clock that was lost may be the wrong one";
  clock.corrected = true;
  answers.Add(node.core().OnTick(at(4, 0)));
  EXPECT_EQ(answers.dropped.size(), 1U);
  EXPECT_THAT(answers.withdrawn, IsEmpty()) << "it may be offered again";
  ASSERT_EQ(node.core().Items().size(), 1U);
  EXPECT_EQ(node.core().Items()[0].created_ms, at(1, 0).wall_ms);
}

TEST(GossipCore, RefusesAWrongIdentityAtItsStart) {
  const privacy::NodeKey other = privacy::NodeKey::FromSeed(SeedOf(9));
  EXPECT_EQ(ReasonOfStart([](federation::GossipConfig&) {}), "");
  EXPECT_EQ(ReasonOfStart([&](auto& c) { c.certificate = CertificateFor(other, "other"); }),
            reasons::kKeyInvalid);
  EXPECT_EQ(ReasonOfStart([](auto& c) { c.certificate.serial += 1; }), reasons::kSignatureInvalid);
  EXPECT_EQ(ReasonOfStart([](auto& c) { c.listen_address = "no port"; }), reasons::kConfigInvalid);
  EXPECT_EQ(ReasonOfStart([](auto& c) { c.seeds = {"host"}; }), reasons::kConfigInvalid);
  EXPECT_EQ(ReasonOfStart([](auto& c) {
              const privacy::NodeKey key = privacy::NodeKey::FromSeed(SeedOf(0));
              c.certificate = CertificateFor(key, "late", Authority(), privacy::roles::kMember,
                                             kWallStart - 2 * kDayMillis, kWallStart - 1);
            }),
            reasons::kCertificateExpired);
}

TEST(GossipCore, OffersAreCheckedBeforeTheyAreSigned) {
  CoreUnderTest node;
  EXPECT_EQ(ReasonOf(node.core().OfferPattern(PatternOf(1), node.now()).status()),
            reasons::kConsentMissing);
  Consent(node, privacy::ConsentTier::kPublic);
  federation::SharedPattern bad = PatternOf(1);
  bad.cores = SomeCores(1);
  bad.cores[0].values.exponent = 20;
  EXPECT_EQ(ReasonOf(node.core().OfferPattern(bad, node.now()).status()), reasons::kUpdateInvalid);
  federation::SharedPattern pattern = PatternOf(1);
  pattern.centroid.pop_back();
  EXPECT_EQ(ReasonOf(node.core().OfferPattern(pattern, node.now()).status()),
            reasons::kWrongDimension);
  EXPECT_TRUE(node.core().Items().empty());
  Answers answers;
  answers.Add(*node.core().OfferPattern(PatternOf(1), node.now()));
  ASSERT_EQ(answers.accepted.size(), 1U);
  EXPECT_EQ(answers.accepted[0].origin, node.key().id());
  EXPECT_EQ(*federation::DecodeSharedPattern(AsBytes(*answers.accepted[0].payload)), PatternOf(1));
}

TEST(GossipCore, UnderTheTierDpOnlyNoisedContributionsAreOfferedAndKept) {
  CoreUnderTest node(0, RunRounds);
  Consent(node, privacy::ConsentTier::kDp);
  EXPECT_EQ(ReasonOf(OfferContribution(node, privacy::ShareableKind::kContribution).status()),
            reasons::kConsentMissing);
  EXPECT_EQ(ReasonOf(node.core().OfferPattern(PatternOf(1), node.now()).status()),
            reasons::kConsentMissing);
  Answers offered;
  offered.Add(*OfferContribution(node, privacy::ShareableKind::kDpContribution));
  ASSERT_EQ(offered.accepted.size(), 1U);
  EXPECT_THAT(Consent(node, privacy::ConsentTier::kDp).dropped, IsEmpty()) << "it is paid for";
  EXPECT_THAT(Consent(node, privacy::ConsentTier::kPublic).dropped, IsEmpty());
  EXPECT_EQ(Consent(node, privacy::ConsentTier::kDp).dropped.size(), 1U)
      << "it may be plain by now";

  CoreUnderTest restarted(0, [](federation::GossipConfig& c) {
    RunRounds(c);
    c.boot_counter = 2;
  });
  Consent(restarted, privacy::ConsentTier::kDp);
  Answers restored;
  restored.Add(restarted.core().Restore({offered.accepted[0]}, restarted.now()));
  EXPECT_THAT(restored.dropped, IsEmpty());
  EXPECT_EQ(Consent(restarted, privacy::ConsentTier::kPrivate).dropped.size(), 1U);
}

// Found by review: items of a former plan can never count, but stayed until they expired.
TEST(GossipCore, RestoreDropsWhatAnotherPlanMade) {
  std::vector<federation::Item> items;
  for (const size_t number : {0, 1}) {
    CoreUnderTest node(number, RunRounds);
    Consent(node, privacy::ConsentTier::kPublic);
    Answers offered;
    offered.Add(*OfferContribution(node, privacy::ShareableKind::kContribution));
    items.push_back(offered.accepted.at(0));
  }
  const auto restored_under = [&items](double max_norm) {
    CoreUnderTest restarted(0, [max_norm](federation::GossipConfig& config) {
      RunRounds(config);
      federation::LearnerPlan plan = *config.plan;
      plan.max_norm = max_norm;
      config.plan = std::make_shared<const federation::LearnerPlan>(plan);
      config.boot_counter = 2;
    });
    Consent(restarted, privacy::ConsentTier::kPublic);
    Answers restored;
    restored.Add(restarted.core().Restore(items, restarted.now()));
    EXPECT_EQ(restarted.core().Items().size() + restored.dropped.size(), items.size());
    return restored.dropped;
  };
  EXPECT_THAT(restored_under(DeltaPlan().max_norm), IsEmpty());
  EXPECT_THAT(restored_under(1), ElementsAre(items[1].id))
      << "peers must still hear if the own contribution is withdrawn";
}

TEST(GossipCore, ObserversOfferNothing) {
  CoreUnderTest node(0, [](federation::GossipConfig& config) {
    const privacy::NodeKey key = privacy::NodeKey::FromSeed(SeedOf(0));
    config.certificate = CertificateFor(key, "observer", Authority(), privacy::roles::kObserver);
  });
  Consent(node, privacy::ConsentTier::kPublic);
  EXPECT_EQ(ReasonOf(node.core().OfferPattern(PatternOf(1), node.now()).status()),
            reasons::kRoleMissing);
}

TEST(GossipCore, ConsentOfAnotherKeyChangesNothing) {
  CoreUnderTest node;
  const privacy::NodeKey other = privacy::NodeKey::FromSeed(SeedOf(9));
  const auto result = node.core().SetConsent(
      privacy::ConsentRecord::Sign(privacy::ConsentTier::kPublic, node.now().wall_ms, other),
      node.now());
  EXPECT_EQ(ReasonOf(result.status()), reasons::kSignatureInvalid);
  EXPECT_EQ(node.core().consent(), privacy::ConsentTier::kPrivate);
}

TEST(GossipCore, RestoreKeepsWhatMayStillLeave) {
  CoreUnderTest node;
  Consent(node, privacy::ConsentTier::kPublic);
  Answers offered;
  offered.Add(*node.core().OfferPattern(PatternOf(1), node.now()));
  const federation::Item own = offered.accepted.at(0);

  CoreUnderTest consenting(0, [](federation::GossipConfig& c) { c.boot_counter = 2; });
  Consent(consenting, privacy::ConsentTier::kPublic);
  Answers restored;
  restored.Add(consenting.core().Restore({*federation::MakeItem(*own.envelope, *own.payload)},
                                         consenting.now()));
  EXPECT_THAT(restored.dropped, IsEmpty());
  EXPECT_EQ(consenting.core().Items().size(), 1U);

  CoreUnderTest private_again(0, [](federation::GossipConfig& c) { c.boot_counter = 2; });
  Answers dropped;
  dropped.Add(private_again.core().Restore({own}, private_again.now()));
  EXPECT_THAT(dropped.dropped, ElementsAre(own.id));
  EXPECT_TRUE(private_again.core().Items().empty());

  consenting.Advance(std::chrono::hours(24 * 8));
  Answers expired;
  expired.Add(consenting.core().OnTick(consenting.now()));
  EXPECT_THAT(expired.dropped, ElementsAre(own.id));
}

// One pattern of several can be taken back, in all of its versions. It is not fetched again from
// peers that may still have it.
TEST(GossipCore, AWithdrawnPatternIsGivenToNobody) {
  CoreUnderTest node(0, RunRounds);
  Consent(node, privacy::ConsentTier::kPublic);
  federation::SharedPattern later = PatternOf(1);
  later.created_ms += 5;
  Answers offered;
  offered.Add(*node.core().OfferPattern(PatternOf(1), node.now()));
  offered.Add(*node.core().OfferPattern(later, node.now()));
  offered.Add(*node.core().OfferPattern(PatternOf(2), node.now()));
  offered.Add(*OfferContribution(node, privacy::ShareableKind::kContribution));
  Answers withdrawn;
  withdrawn.Add(node.core().WithdrawPattern(PatternOf(1).id));
  EXPECT_THAT(withdrawn.dropped,
              UnorderedElementsAre(offered.accepted[0].id, offered.accepted[1].id));
  EXPECT_EQ(node.core().Items().size(), 2U);
  Answers contributions;
  contributions.Add(node.core().WithdrawContributions());
  EXPECT_THAT(contributions.dropped, ElementsAre(offered.accepted[3].id));
  EXPECT_EQ(node.core().Items().size(), 1U);
}

TEST(GossipCore, StoredPartsThatDoNotBelongTogetherAreRefused) {
  CoreUnderTest node;
  Consent(node, privacy::ConsentTier::kPublic);
  Answers offered;
  offered.Add(*node.core().OfferPattern(PatternOf(1), node.now()));
  const federation::Item item = offered.accepted.at(0);
  EXPECT_EQ(ReasonOf(federation::MakeItem(*item.envelope, *item.payload + "x").status()),
            reasons::kUpdateInvalid);
  privacy::Envelope cut = *item.envelope;
  cut.header.pop_back();
  EXPECT_EQ(ReasonOf(federation::MakeItem(cut, *item.payload).status()),
            reasons::kEnvelopeMalformed);
}

TEST(GossipCore, ServesItemsAndSaysWhatItLacks) {
  CoreUnderTest node;
  Consent(node, privacy::ConsentTier::kPublic);
  TestPeer peer(node, 1, 7);
  ASSERT_EQ(peer.Dial().closed, "");
  WireFrame graft;
  graft.mutable_graft();
  peer.Send(graft);
  Answers offered;
  offered.Add(*node.core().OfferPattern(PatternOf(1), node.now()));
  ASSERT_NE(offered.Find(WireFrame::kPush), nullptr);
  const federation::Item item = offered.accepted.at(0);
  WireFrame request;
  request.mutable_chunk_request()->set_item_id(std::string(AsText(item.id)));
  const Answers served = peer.Send(request);
  ASSERT_NE(served.Find(WireFrame::kChunk), nullptr);
  EXPECT_EQ(served.Find(WireFrame::kChunk)->chunk().data(), *item.payload);
  request.mutable_chunk_request()->set_index(1);
  EXPECT_TRUE(peer.Send(request).Find(WireFrame::kChunk)->chunk().missing());
  request.mutable_chunk_request()->set_item_id(std::string(32, 'x'));
  EXPECT_TRUE(peer.Send(request).Find(WireFrame::kChunk)->chunk().missing());
}

TEST(GossipCore, PingsAndMeasuresAndTimesOut) {
  CoreUnderTest node;
  TestPeer peer(node, 1, 7);
  ASSERT_EQ(peer.Dial().closed, "");
  node.Advance(limits::kPingPeriod);
  Answers tick;
  tick.Add(node.core().OnTick(node.now()));
  const WireFrame* ping = tick.Find(WireFrame::kPing);
  ASSERT_NE(ping, nullptr);
  node.Advance(std::chrono::milliseconds(20));
  WireFrame ack;
  ack.mutable_ack()->set_seq(ping->ping().seq());
  peer.Send(ack);
  Answers silent;
  for (int second = 0; second < 15; ++second) {  // a longer pause would count as a stall of our own
    EXPECT_EQ(silent.closed, "");
    node.Advance(std::chrono::seconds(1));
    silent.Add(node.core().OnTick(node.now()));
  }
  node.Advance(std::chrono::milliseconds(1));
  silent.Add(node.core().OnTick(node.now()));
  EXPECT_EQ(silent.closed, reasons::kDeadlineExceeded);
}

TEST(GossipCore, LeaveTellsEverybody) {
  CoreUnderTest node;
  TestPeer peer(node, 1, 7);
  ASSERT_EQ(peer.Dial().closed, "");
  Answers answers;
  answers.Add(node.core().Leave(node.now()));
  ASSERT_NE(answers.Find(WireFrame::kMemberDelta), nullptr);
  EXPECT_EQ(answers.Find(WireFrame::kGoaway)->goaway().reason(), reasons::kNodeDraining);
  EXPECT_EQ(answers.closed, reasons::kNodeDraining);
  EXPECT_EQ(node.core().active_links(), 0U);
}

}  // namespace
}  // namespace ruvd::test
