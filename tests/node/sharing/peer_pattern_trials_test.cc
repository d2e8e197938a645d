// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Tests when patterns of peers serve: after their trial, and until users dislike them.

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "tests/node/sharing/peer_patterns_fixture.h"

namespace ruvd::sharing {
namespace {

using storage::PatternStanding;

// Patterns with an adapter, which need a trial. The model of the adapter plays no part here.
class PatternTrialsTest : public PeerPatternsTest {
 protected:
  static constexpr int kRank = 2;

  void SetUp() override {
    PeerPatternsTest::SetUp();
    model_ = inference::Model::Load(kSmallModel).value();
    trained_ = RandomFrameSet(*model_, LinearTargets(*model_, inference::Modules::kQv, 1), kRank, 1)
                   .value();
    Reload();
  }
  // Continues as after a restart.
  void Reload() {
    peers_ = std::make_unique<PeerPatterns>(*store_, &trained_, Node(1));
    ASSERT_TRUE(peers_->Load().ok());
  }
  federation::SharedPattern Trained(uint16_t n, int64_t created_ms, float value = 0.1F) const {
    federation::SharedPattern shared = Shared(n, created_ms);
    shared.bank = static_cast<uint32_t>(inference::BankOf(1));
    shared.cores.push_back({.target = trained_.modules.begin()->first,
                            .bank = shared.bank,
                            .rank = kRank,
                            .values = inference::ToGrid(std::vector<float>(kRank * kRank, value))});
    return shared;
  }
  storage::Pattern Row(uint16_t n) { return store_->Get(Shared(n, 0).id).value(); }
  // Returns the ids that a request finds.
  std::vector<std::string> Found() {
    const auto hits = serving::StorePatternIndex(*store_).Search(Shared(0, 0).centroid,
                                                                 inference::BankOf(1), 100);
    EXPECT_TRUE(hits.ok()) << hits.status();
    std::vector<std::string> ids;
    for (const inference::RetrievedPattern& hit : *hits) {
      ids.push_back(hit.pattern_id);
    }
    return ids;
  }
  bool Serves(uint16_t n) { return std::ranges::count(Found(), ToHex(Shared(n, 0).id)) == 1; }
  // Ends the trial of the pattern that is next.
  void EndNext(PatternStanding standing) {
    const auto next = peers_->NextTrial(0);
    ASSERT_TRUE(next.ok()) << next.status();
    ASSERT_TRUE(next->has_value());
    ASSERT_TRUE(peers_->EndTrial(**next, standing).ok());
  }
  void RateBadly(uint16_t n) {
    const std::string adapter = AdapterLabelOf(Row(n));
    for (int i = 0; i < 6; ++i) {
      ASSERT_TRUE(peers_->OnRated({.response_id = std::to_string(i), .adapters = {adapter}}).ok());
    }
  }

  // Returns the core of a peer that may share. It stands for this node's, which would get the same
  // items.
  std::unique_ptr<federation::GossipCore> CoreOf(const privacy::NodeKey& peer) const {
    federation::GossipConfig config = test::ConfigFor(peer, 2);
    config.pattern_rules = {.dimension = kPeerDimension,
                            .cores = {.rank_of_target = {{trained_.modules.begin()->first, kRank}},
                                      .banks = inference::kTimestepBanks}};
    auto core = federation::GossipCore::Create(config, peer, test::EntropyOf(1), 1, kNow).value();
    const auto record =
        privacy::ConsentRecord::Sign(privacy::ConsentTier::kPublic, test::kWallStart, peer);
    EXPECT_TRUE(core->SetConsent(record, kNow).ok());
    return core;
  }

  inline static const federation::Instant kNow = test::At(std::chrono::seconds(1));

  std::shared_ptr<const inference::Model> model_;
  inference::FrameSet trained_;
};

TEST_F(PatternTrialsTest, APatternServesOnlyAfterItsTrial) {
  ASSERT_TRUE(peers_->Store(Trained(1, 200), Node(2)).ok());
  EXPECT_EQ(Row(1).standing, PatternStanding::kTrial);
  EXPECT_FALSE(Serves(1));
  EXPECT_EQ(store_->serving(), 0U);
  Reload();
  EXPECT_FALSE(Serves(1));
  EndNext(PatternStanding::kServing);
  EXPECT_TRUE(Serves(1));
  Reload();
  EXPECT_TRUE(Serves(1));
  EXPECT_FALSE(peers_->NextTrial(0)->has_value());
  ASSERT_TRUE(peers_->Store(Trained(1, 300, 0.2F), Node(2)).ok());
  EXPECT_FALSE(Serves(1)) << "nothing is known of the newer version";
}

TEST_F(PatternTrialsTest, ARefusedVersionLeavesNothingAndDoesNotComeBack) {
  ASSERT_TRUE(peers_->Store(Trained(1, 200), Node(2)).ok());
  EndNext(PatternStanding::kLessonsWorse);
  for (int restart = 0; restart < 2; ++restart) {
    ASSERT_TRUE(peers_->Store(Trained(1, 200), Node(2)).ok());
    EXPECT_FALSE(Serves(1));
    EXPECT_FALSE(peers_->NextTrial(0)->has_value());
    EXPECT_EQ(Row(1).standing, PatternStanding::kLessonsWorse);
    EXPECT_EQ(Row(1).payload, "");
    EXPECT_EQ(peers_->Counts()[Node(2)].refused,
              (std::map<std::string, uint64_t>{{reasons::kPatternLessonsWorse, 1}}));
    Reload();
  }
  ASSERT_TRUE(peers_->Store(Trained(1, 300), Node(2)).ok());
  EndNext(PatternStanding::kServing);
  EXPECT_TRUE(Serves(1));
}

TEST_F(PatternTrialsTest, WhatUsersRateBadlyIsDroppedForGood) {
  ASSERT_TRUE(peers_->Store(Trained(1, 200), Node(2)).ok());
  ASSERT_TRUE(peers_->Store(Trained(2, 200, 0.2F), Node(2)).ok());
  EndNext(PatternStanding::kServing);
  EndNext(PatternStanding::kServing);
  RateBadly(1);
  EXPECT_FALSE(Serves(1));
  EXPECT_TRUE(Serves(2));
  EXPECT_EQ(peers_->refused().at(reasons::kPatternRatedBadly), 1U);
  for (int restart = 0; restart < 2; ++restart) {
    EXPECT_EQ(ReasonOf(peers_->Store(Trained(1, 300 + restart), Node(2))),
              reasons::kPatternRatedBadly);
    ASSERT_TRUE(peers_->Withdraw(WithdrawalOf(Node(2), {Shared(1, 0).id}, 500)).ok());
    EXPECT_EQ(ReasonOf(peers_->Store(Trained(1, 501), Node(2), 500)), reasons::kPatternRatedBadly)
        << "a withdrawal is no way around it";
    EXPECT_EQ(Row(1).payload, "");
    Reload();
  }
  ASSERT_TRUE(peers_->Withdraw(WithdrawalOf(Node(2), {Shared(2, 0).id}, 500)).ok());
  EXPECT_TRUE(absl::IsNotFound(store_->Get(Shared(2, 0).id).status()));
}

TEST_F(PatternTrialsTest, RatingsOfAnEarlierVersionDoNotCount) {
  ASSERT_TRUE(peers_->Store(Trained(1, 200), Node(2)).ok());
  EndNext(PatternStanding::kServing);
  const std::string before = AdapterLabelOf(Row(1));
  ASSERT_TRUE(peers_->Store(Trained(1, 300, 0.2F), Node(2)).ok());
  EndNext(PatternStanding::kServing);
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(peers_->OnRated({.response_id = std::to_string(i), .adapters = {before}}).ok());
  }
  EXPECT_TRUE(Serves(1));
}

TEST_F(PatternTrialsTest, AVerdictOnAnotherVersionHasNoEffect) {
  ASSERT_TRUE(peers_->Store(Trained(1, 200), Node(2)).ok());
  const storage::Pattern judged = peers_->NextTrial(0).value().value();
  ASSERT_TRUE(peers_->Store(Trained(1, 300, 0.2F), Node(2)).ok());
  ASSERT_TRUE(peers_->EndTrial(judged, PatternStanding::kServing).ok());
  EXPECT_FALSE(Serves(1));
  EXPECT_EQ(peers_->NextTrial(0)->value().updated_ms, 300);
}

TEST_F(PatternTrialsTest, WhatIsWithdrawnOrDeletedDuringItsTrialIsGone) {
  ASSERT_TRUE(peers_->Store(Trained(1, 200), Node(2)).ok());
  ASSERT_TRUE(peers_->Store(Trained(2, 200), Node(2)).ok());
  const storage::Pattern judged = peers_->NextTrial(0).value().value();
  ASSERT_TRUE(peers_->Withdraw(WithdrawalOf(Node(2), {Shared(1, 0).id}, 500)).ok());
  ASSERT_TRUE(peers_->EndTrial(judged, PatternStanding::kServing).ok());
  EXPECT_EQ(store_->size(), 1U);
  ASSERT_TRUE(store_->Delete(Shared(2, 0).id).ok());
  ASSERT_TRUE(peers_->FollowChanges().ok());
  EXPECT_EQ(peers_->Counts()[Node(2)].on_trial, 0U);
  EXPECT_FALSE(peers_->NextTrial(0)->has_value());
}

TEST_F(PatternTrialsTest, PeersTakeTurnsAndAPostponedTrialWaits) {
  for (uint16_t n = 1; n <= 3; ++n) {
    ASSERT_TRUE(peers_->Store(Trained(n, 200), Node(2)).ok());
  }
  ASSERT_TRUE(peers_->Store(Trained(9, 200), Node(3)).ok());
  const storage::Pattern first = peers_->NextTrial(0).value().value();
  EXPECT_EQ(first.origin, Node(2));
  peers_->PostponeTrial(first.id, 1000);
  EndNext(PatternStanding::kServing);
  EXPECT_TRUE(Serves(9)) << "the other peer's turn";
  EXPECT_EQ(peers_->NextTrial(0)->value().id, Shared(2, 0).id);
  EXPECT_EQ(peers_->NextTrial(1000)->value().id, first.id);
}

// Rows that the node learned under another identity must not serve untried.
TEST_F(PatternTrialsTest, RowsOfAnotherIdentityOfTheNodeGetATrial) {
  storage::Pattern row = PatternFromShared(Trained(1, 200), Node(2), &trained_, 1).value();
  ASSERT_TRUE(store_->Put(row).ok());
  row = PatternFromShared(Trained(2, 200), Node(1), &trained_, 1).value();
  ASSERT_TRUE(store_->Put(row).ok());
  Reload();
  EXPECT_FALSE(Serves(1));
  EXPECT_TRUE(Serves(2)) << "this node's own";
  EndNext(PatternStanding::kServing);
  EXPECT_TRUE(Serves(1));
}

TEST_F(PatternTrialsTest, WhatExceedsTheLimitIsCountedAndTakenLater) {
  constexpr auto kLimit = static_cast<uint16_t>(limits::kMaxPatternTrialsPerOrigin);
  const privacy::NodeKey peer = privacy::NodeKey::FromSeed(test::SeedOf(2));
  const auto core = CoreOf(peer);
  for (uint16_t n = 0; n <= kLimit; ++n) {
    const auto offered = core->OfferPattern(Trained(n, test::kWallStart + n), kNow);
    ASSERT_TRUE(offered.ok()) << offered.status();
  }
  for (const federation::Item& item : core->Items()) {
    ASSERT_TRUE(peers_->Store(item, *core).ok());
    ASSERT_TRUE(peers_->Store(item, *core).ok());
  }
  EXPECT_EQ(store_->size(), kLimit);
  const PeerPatternCounts counts = peers_->Counts()[peer.id()];
  EXPECT_EQ(counts.on_trial, kLimit);
  EXPECT_EQ(counts.deferred, 1U);
  EXPECT_EQ(peers_->refused().at(reasons::kPatternTrialsFull), 1U) << "counted once";
  ASSERT_TRUE(peers_->StoreDeferred(*core).ok());
  EXPECT_EQ(store_->size(), kLimit) << "there is no room yet";
  for (uint16_t n = 0; n < kLimit; ++n) {
    EndNext(PatternStanding::kServing);
  }
  ASSERT_TRUE(peers_->StoreDeferred(*core).ok());
  EXPECT_EQ(store_->size(), kLimit + 1U);
  EXPECT_EQ(peers_->Counts()[peer.id()].deferred, 0U);
  EndNext(PatternStanding::kServing);
}

// Found by review: ids whose first bytes are equal, which an origin can choose, gave patterns one
// label, so that only one of them was dropped.
TEST_F(PatternTrialsTest, PatternsWithLikeIdsAreRatedApart) {
  std::vector<federation::SharedPattern> twins(2, Trained(1, 200));
  twins[1].id.back() = 1;
  for (const federation::SharedPattern& twin : twins) {
    ASSERT_TRUE(peers_->Store(twin, Node(2)).ok());
    EndNext(PatternStanding::kServing);
  }
  EXPECT_NE(AdapterLabelOf(store_->Get(twins[1].id).value()), AdapterLabelOf(Row(1)));
  RateBadly(1);
  EXPECT_EQ(Row(1).standing, PatternStanding::kRatedBadly);
  EXPECT_EQ(store_->Get(twins[1].id)->standing, PatternStanding::kServing);
}

// Regression test: patterns of a few peers took all places, so others never got a trial.
TEST_F(PatternTrialsTest, EveryPeerGetsTrialsWhileAFewFillThePlaces) {
  constexpr auto kAll = static_cast<uint16_t>(limits::kMaxPatternTrials);
  constexpr auto kSure = static_cast<uint16_t>(limits::kSurePatternTrials);
  for (uint16_t n = 0; n < kAll; ++n) {
    const auto origin = static_cast<uint8_t>(2 + n / limits::kMaxPatternTrialsPerOrigin);
    ASSERT_TRUE(peers_->Store(Trained(static_cast<uint16_t>(1000 + n), 200), Node(origin)).ok());
  }
  EXPECT_EQ(ReasonOf(peers_->Store(Trained(900, 200), Node(2))), reasons::kPatternTrialsFull);
  const privacy::NodeKey peer = privacy::NodeKey::FromSeed(test::SeedOf(2));
  const auto core = CoreOf(peer);
  for (uint16_t n = 0; n <= kSure; ++n) {
    ASSERT_TRUE(core->OfferPattern(Trained(n, test::kWallStart + n), kNow).ok());
  }
  for (const federation::Item& item : core->Items()) {
    ASSERT_TRUE(peers_->Store(item, *core).ok());
  }
  EXPECT_EQ(peers_->Counts()[peer.id()].on_trial, kSure);
  EXPECT_EQ(peers_->Counts()[peer.id()].deferred, 1U);
  ASSERT_TRUE(peers_->StoreDeferred(*core).ok());
  EXPECT_EQ(store_->size(), size_t{kAll} + kSure);
  // The order of the items is that of their hashes, so one of the first two has a row.
  const auto first = store_->Get(Shared(0, 0).id);
  const storage::Pattern judged = first.ok() ? *first : Row(1);
  ASSERT_TRUE(peers_->EndTrial(judged, PatternStanding::kServing).ok());
  ASSERT_TRUE(peers_->StoreDeferred(*core).ok());
  EXPECT_EQ(store_->size(), size_t{kAll} + kSure + 1) << "others still fill the places";
  EXPECT_EQ(peers_->Counts()[peer.id()].deferred, 0U);
}

// Regression test: newer patterns of its origin removed the row of a pattern that was rated badly,
// after which a withdrawal and a newer version brought it back.
TEST_F(PatternTrialsTest, NewerPatternsDoNotRemoveWhatWasRatedBadly) {
  constexpr auto kLimit = static_cast<uint16_t>(limits::kMaxPatternsPerOrigin);
  constexpr uint16_t kBad = 0xffff;
  ASSERT_TRUE(peers_->Store(Trained(kBad, 200), Node(2)).ok());
  EndNext(PatternStanding::kServing);
  RateBadly(kBad);
  for (uint16_t n = 0; n < kLimit; ++n) {  // without adapters, so they need no trials
    ASSERT_TRUE(peers_->Store(Shared(n, 1000 + n), Node(2)).ok());
  }
  EXPECT_EQ(store_->size(), kLimit);
  EXPECT_TRUE(absl::IsNotFound(store_->Get(Shared(0, 0).id).status())) << "the oldest other one";
  ASSERT_TRUE(store_->Get(Shared(kBad, 0).id).ok());
  ASSERT_TRUE(peers_->Withdraw(WithdrawalOf(Node(2), {Shared(kBad, 0).id}, 5000)).ok());
  EXPECT_EQ(ReasonOf(peers_->Store(Trained(kBad, 5001), Node(2), 5000)),
            reasons::kPatternRatedBadly);
}

TEST_F(PatternTrialsTest, AnOriginWithOnlyBadlyRatedPatternsGetsNoMore) {
  constexpr auto kLimit = static_cast<uint16_t>(limits::kMaxPatternsPerOrigin);
  for (uint16_t n = 0; n < kLimit; ++n) {
    storage::Pattern row = PatternFromShared(Shared(n, 200), Node(2), &trained_, 1).value();
    row.standing = PatternStanding::kRatedBadly;
    ASSERT_TRUE(store_->Put(row).ok());
  }
  Reload();
  EXPECT_EQ(ReasonOf(peers_->Store(Shared(kLimit, 300), Node(2))), reasons::kPatternRatedBadly);
  EXPECT_EQ(store_->size(), kLimit);
  ASSERT_TRUE(peers_->Store(Shared(kLimit, 300), Node(3)).ok());
  ASSERT_TRUE(store_->Delete(Shared(0, 0).id).ok());
  ASSERT_TRUE(peers_->FollowChanges().ok());
  ASSERT_TRUE(peers_->Store(Shared(kLimit + 1, 300), Node(2)).ok());
  EXPECT_EQ(store_->size(), kLimit + 1U);
}

// Regression test: the row of a dropped pattern kept the task, quality and examples of its origin.
TEST_F(PatternTrialsTest, ARefusedRowKeepsNoClaimsOfItsOrigin) {
  federation::SharedPattern shared = Trained(1, 200);
  shared.task = "chat";
  shared.quality = 0.75F;
  shared.examples = 40;
  ASSERT_TRUE(peers_->Store(shared, Node(2)).ok());
  ASSERT_TRUE(peers_->Store(Trained(2, 200), Node(2)).ok());
  EndNext(PatternStanding::kUnusable);
  EndNext(PatternStanding::kUnusable);
  Reload();
  EXPECT_EQ(Row(1).standing, PatternStanding::kUnusable);
  EXPECT_EQ(Row(1).task, "");
  EXPECT_EQ(Row(1).examples, 0U);
  EXPECT_EQ(Row(1).quality, Row(2).quality) << "although their origin claimed others";
}

// A crash between the item and its row, or a limit, must not cost a pattern.
TEST_F(PatternTrialsTest, ARestartStoresTheItemsOfThisModelThatHaveNoRow) {
  const privacy::NodeKey peer = privacy::NodeKey::FromSeed(test::SeedOf(2));
  const auto core = CoreOf(peer);
  ASSERT_TRUE(core->OfferPattern(Trained(1, test::kWallStart), kNow).ok());
  ASSERT_TRUE(peers_->StoreAll(*core, Sha256("other model"), Digest{}).ok());
  EXPECT_EQ(store_->size(), 0U);
  const auto manifest =
      federation::DecodeManifest(AsBytes(core->Items().front().envelope->body)).value();
  ASSERT_TRUE(peers_->StoreAll(*core, manifest.model_hash, manifest.frame_id).ok());
  EXPECT_EQ(Row(1).standing, PatternStanding::kTrial);
}

}  // namespace
}  // namespace ruvd::sharing
