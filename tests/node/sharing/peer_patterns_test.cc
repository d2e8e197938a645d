// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/sharing/peer_patterns.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"
#include "federation/gossip/manifest.h"
#include "federation/limits.h"
#include "node/reasons.h"
#include "node/serving/store_pattern_index.h"
#include "node/sharing/dp_centroids.h"
#include "node/sharing/limits.h"
#include "node/sharing/shared_items.h"
#include "storage/patterns/pattern_store.h"
#include "tests/federation/fixture.h"
#include "tests/node/database_fixture.h"
#include "tests/node/node_fixture.h"

namespace ruvd::sharing {
namespace {

using storage::PatternStanding;

constexpr uint32_t kPeerDimension = 4;

privacy::NodeId Node(uint8_t n) {
  privacy::NodeId id{};
  id.fill(n);
  return id;
}

federation::SharedPattern Shared(uint16_t n, int64_t created_ms) {
  federation::SharedPattern shared;
  shared.id[0] = static_cast<uint8_t>(n >> 8);
  shared.id[1] = static_cast<uint8_t>(n);
  shared.quality = 1;
  shared.examples = 1;
  shared.created_ms = created_ms;
  shared.centroid = {1, 0, 0, 0};
  return shared;
}

federation::Item WithdrawalOf(const privacy::NodeId& origin,
                              const std::vector<storage::PatternId>& patterns, int64_t at_ms) {
  const auto record = privacy::Withdrawal::Sign(
      {}, /*everything=*/false, at_ms, privacy::NodeKey::FromSeed(privacy::KeySeed{1}), patterns);
  return {.kind = federation::ItemKind::kWithdrawal,
          .origin = origin,
          .payload = std::make_shared<const std::string>(record->Encode())};
}

federation::Item ItemOf(const federation::SharedPattern& shared, const privacy::NodeId& origin) {
  return {.kind = federation::ItemKind::kPattern,
          .origin = origin,
          .payload = std::make_shared<const std::string>(federation::EncodeSharedPattern(shared))};
}

class PeerPatternsTest : public DatabaseTest {
 protected:
  void SetUp() override {
    DatabaseTest::SetUp();
    storage::PatternStoreOptions patterns;
    patterns.dimension = kPeerDimension;
    patterns.durability = storage::Durability::kProcessCrash;
    auto store = storage::PatternStore::Open(*database_, patterns);
    ASSERT_TRUE(store.ok()) << store.status();
    store_ = *std::move(store);
    Load();
  }
  // Loads the store as after a restart.
  void Load() {
    peers_ = std::make_unique<PeerPatterns>(*store_, frame_, Node(1));
    ASSERT_TRUE(peers_->Load().ok());
  }
  int64_t StoredTime(uint16_t n) { return store_->Get(Shared(n, 0).id)->updated_ms; }

  const inference::ProjectionFrame frame_;
  std::unique_ptr<storage::PatternStore> store_;
  std::unique_ptr<PeerPatterns> peers_;
};

TEST_F(PeerPatternsTest, TheNewestVersionStaysWhateverTheOrderOfArrival) {
  ASSERT_TRUE(peers_->Store(Shared(1, 200), Node(2)).ok());
  ASSERT_TRUE(peers_->Store(Shared(1, 100), Node(2)).ok());
  EXPECT_EQ(StoredTime(1), 200);
  ASSERT_TRUE(peers_->Store(Shared(1, 300), Node(2)).ok());
  EXPECT_EQ(StoredTime(1), 300);
}

// What this node knows about a peer's pattern must survive a new version from the peer.
TEST_F(PeerPatternsTest, ANewVersionKeepsUsesAndTheOperatorsExpiry) {
  ASSERT_TRUE(peers_->Store(Shared(1, 200), Node(2)).ok());
  storage::Pattern mine = *store_->Get(Shared(1, 0).id);
  mine.expires_ms = clock_.WallMillis() + 1'000'000;
  ASSERT_TRUE(store_->Put(mine).ok());
  ASSERT_TRUE(store_->RecordUse(mine.id).ok());
  ASSERT_TRUE(peers_->Store(Shared(1, 300), Node(2)).ok());
  const storage::Pattern stored = *store_->Get(mine.id);
  EXPECT_EQ(stored.updated_ms, 300);
  EXPECT_EQ(stored.expires_ms, mine.expires_ms);
  EXPECT_EQ(stored.uses, 1U);
  EXPECT_GT(stored.last_used_ms, 0);
}

// Regression test: a newer centroid of one name ended with the former.
TEST_F(PeerPatternsTest, ANewerCentroidLastsAsItSaysUnlessTheOperatorDecided) {
  federation::SharedPattern shared =
      NoisedPatternOf({.direction = {1, 0, 0, 0}}, Node(2), /*examples=*/1, clock_.WallMillis());
  ASSERT_TRUE(peers_->Store(shared, Node(2)).ok());
  EXPECT_EQ(store_->Get(shared.id)->expires_ms, shared.created_ms + limits::kItemLifeMillis);
  clock_.Advance(std::chrono::hours(24));
  shared.created_ms = clock_.WallMillis();
  ASSERT_TRUE(peers_->Store(shared, Node(2)).ok());
  EXPECT_EQ(store_->Get(shared.id)->expires_ms, shared.created_ms + limits::kItemLifeMillis);
  storage::Pattern mine = store_->Get(shared.id).value();
  mine.expires_ms = clock_.WallMillis() + 1000;
  ASSERT_TRUE(store_->Put(mine).ok());
  ++shared.created_ms;
  ASSERT_TRUE(peers_->Store(shared, Node(2)).ok());
  EXPECT_EQ(store_->Get(shared.id)->expires_ms, mine.expires_ms);
}

TEST_F(PeerPatternsTest, NobodyReplacesThePatternOfAnother) {
  ASSERT_TRUE(peers_->Store(Shared(1, 200), Node(2)).ok());
  EXPECT_EQ(ReasonOf(peers_->Store(Shared(1, 300), Node(3))), reasons::kPatternTaken);
  EXPECT_EQ(store_->Get(Shared(1, 0).id)->origin, Node(2));
}

TEST_F(PeerPatternsTest, ADeletedPatternDoesNotComeBack) {
  ASSERT_TRUE(peers_->Store(Shared(1, 200), Node(2)).ok());
  ASSERT_TRUE(store_->Delete(Shared(1, 0).id).ok());
  ASSERT_TRUE(peers_->Store(Shared(1, 300), Node(2)).ok());
  EXPECT_EQ(store_->size(), 0U);
}

TEST_F(PeerPatternsTest, WhatIsBelowTheGateIsRefusedAndCounted) {
  peers_ = std::make_unique<PeerPatterns>(*store_, frame_, Node(1),
                                          PatternGate{.quality = 0.5F, .examples = 10});
  const privacy::NodeKey key = privacy::NodeKey::FromSeed(test::SeedOf(1));
  const auto core = federation::GossipCore::Create(test::ConfigFor(key, 1), key, test::EntropyOf(1),
                                                   1, test::At(std::chrono::seconds(1)))
                        .value();
  uint16_t next = 1;
  const auto store = [&](float quality, uint32_t examples, uint8_t origin) {
    federation::SharedPattern shared = Shared(next++, 200);
    shared.quality = quality;
    shared.examples = examples;
    EXPECT_TRUE(peers_->Store(ItemOf(shared, Node(origin)), *core).ok());
  };
  store(0.5F, 10, 2);
  store(0.49F, 10, 2);
  store(1, 9, 2);
  next = 1;
  store(1, 10, 3);
  EXPECT_EQ(store_->size(), 1U);
  EXPECT_EQ(peers_->refused(), (std::map<std::string, uint64_t>{{reasons::kPatternTaken, 1},
                                                                {reasons::kPatternTooWeak, 2}}));
}

TEST_F(PeerPatternsTest, WhatItsOriginWithdrawsIsRemovedAndComesBackOnlyNewer) {
  ASSERT_TRUE(peers_->Store(Shared(1, 200), Node(2)).ok());
  ASSERT_TRUE(peers_->Store(Shared(2, 400), Node(2)).ok());
  const std::vector<storage::PatternId> named = {Shared(1, 0).id, Shared(2, 0).id, Shared(3, 0).id};
  ASSERT_TRUE(peers_->Withdraw(WithdrawalOf(Node(3), named, 500)).ok());
  EXPECT_EQ(store_->size(), 2U) << "of another origin";
  ASSERT_TRUE(peers_->Withdraw(WithdrawalOf(Node(2), named, 300)).ok());
  EXPECT_EQ(store_->size(), 1U) << "the other one is newer";
  ASSERT_TRUE(peers_->Store(Shared(1, 300), Node(2), 300).ok());
  EXPECT_EQ(store_->size(), 1U);
  ASSERT_TRUE(peers_->Store(Shared(1, 301), Node(2), 300).ok());
  EXPECT_EQ(store_->Get(Shared(1, 0).id)->updated_ms, 301);
}

TEST_F(PeerPatternsTest, AWithdrawnItemRemovesItsOwnVersionOnly) {
  ASSERT_TRUE(peers_->Store(Shared(1, 200), Node(2)).ok());
  ASSERT_TRUE(peers_->Remove(ItemOf(Shared(1, 100), Node(2))).ok());
  EXPECT_EQ(store_->size(), 1U);
  ASSERT_TRUE(peers_->Remove(ItemOf(Shared(1, 200), Node(2))).ok());
  EXPECT_EQ(store_->size(), 0U);
}

TEST_F(PeerPatternsTest, OneOriginKeepsItsNewestUpToTheLimitOverRestarts) {
  constexpr auto kLimit = static_cast<uint16_t>(limits::kMaxPatternsPerOrigin);
  ASSERT_TRUE(peers_->Store(Shared(0xffff, 1), Node(3)).ok());
  for (uint16_t n = 0; n < kLimit; ++n) {
    ASSERT_TRUE(peers_->Store(Shared(n, 1000 + n), Node(2)).ok());
  }
  Load();
  ASSERT_TRUE(peers_->Store(Shared(kLimit, 5000), Node(2)).ok());
  EXPECT_EQ(store_->size(), kLimit + 1U) << "another origin's pattern is not touched";
  EXPECT_TRUE(absl::IsNotFound(store_->Get(Shared(0, 0).id).status()));
  EXPECT_TRUE(store_->Get(Shared(kLimit, 0).id).ok());
}

// Patterns with an adapter, which need a trial. The model of the adapter plays no part here.
class PatternTrialsTest : public PeerPatternsTest {
 protected:
  static constexpr int kRank = 2;

  void SetUp() override {
    PeerPatternsTest::SetUp();
    model_ = inference::Model::Load(kSmallModel).value();
    trained_ = inference::RandomFrame(*model_, kRank, 1).value();
    Reload();
  }
  // Continues as after a restart.
  void Reload() {
    peers_ = std::make_unique<PeerPatterns>(*store_, trained_, Node(1));
    ASSERT_TRUE(peers_->Load().ok());
  }
  federation::SharedPattern Trained(uint16_t n, int64_t created_ms, float value = 0.1F) const {
    federation::SharedPattern shared = Shared(n, created_ms);
    shared.bank = static_cast<uint32_t>(inference::BankOf(1));
    shared.cores.push_back({.target = trained_.target,
                            .bank = shared.bank,
                            .rank = kRank,
                            .values = std::vector<float>(kRank * kRank, value)});
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
                            .cores = {.rank_of_target = {{trained_.target, kRank}},
                                      .banks = inference::kTimestepBanks}};
    auto core = federation::GossipCore::Create(config, peer, test::EntropyOf(1), 1, kNow).value();
    const auto record =
        privacy::ConsentRecord::Sign(privacy::ConsentTier::kPublic, test::kWallStart, peer);
    EXPECT_TRUE(core->SetConsent(record, kNow).ok());
    return core;
  }

  inline static const federation::Instant kNow = test::At(std::chrono::seconds(1));

  std::shared_ptr<const inference::Model> model_;
  inference::ProjectionFrame trained_;
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

// Rows of a version without trials must not serve untried.
TEST_F(PatternTrialsTest, RowsFromBeforeTrialsGetOne) {
  storage::Pattern row = PatternFromShared(Trained(1, 200), Node(2), trained_, 1).value();
  ASSERT_TRUE(store_->Put(row).ok());
  row = PatternFromShared(Trained(2, 200), Node(1), trained_, 1).value();
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
