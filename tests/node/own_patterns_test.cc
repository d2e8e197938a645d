// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// What peers are offered of a node's own patterns is what the store says of them now.

#include "node/actors/own_patterns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "inference/adapter/bank.h"
#include "node/actors/pattern_payload.h"
#include "tests/federation/fixture.h"
#include "tests/node/database_fixture.h"

namespace ruvd {
namespace {

using testing::IsEmpty;
using testing::UnorderedElementsAre;

constexpr uint32_t kOwnDimension = 4;
constexpr uint32_t kOwnRank = 2;
constexpr PatternId kOwnFirst{1};
constexpr PatternId kOwnSecond{2};

class OwnPatternsTest : public DatabaseTest {
 protected:
  void SetUp() override {
    DatabaseTest::SetUp();
    frame_.id.fill(7);
    frame_.target = test::kTarget;
    frame_.rank = kOwnRank;
    patterns_ = PatternStore::Open(*database_, {.dimension = kOwnDimension}).value();
    Start();
  }
  // As a node starts: with an own state of gossip, and items that it stored before.
  void Start(std::vector<Item> stored = {}) {
    GossipConfig config = test::ConfigFor(key_, 1);
    config.boot_counter = ++boot_;
    config.update_rules = {.rank_of_target = {{test::kTarget, kOwnRank}}, .banks = 4};
    config.pattern_rules = {.dimension = kOwnDimension, .cores = config.update_rules};
    core_ = GossipCore::Create(config, key_, test::EntropyOf(boot_), boot_, now_).value();
    ASSERT_TRUE(
        core_->SetConsent(ConsentRecord::Sign(ConsentTier::kPublic, now_.wall_ms, key_), now_)
            .ok());
    own_ = std::make_unique<OwnPatterns>(*patterns_, frame_, key_.id());
    removed_ = own_->RemoveTakenBack(&stored);
    core_->Restore(std::move(stored), now_);
    ASSERT_TRUE(own_->RefreshAll(*core_, now_).ok());
    if (own_->delta_changed()) {
      OfferDelta();
    }
  }
  void OfferDelta() { ASSERT_TRUE(own_->OfferDelta(++round_, *core_, now_).ok()); }
  void Follow() { ASSERT_TRUE(own_->FollowChanges(*core_, now_).ok()); }
  void Put(const PatternId& id, float core, bool withheld = false) {
    PatternPayload payload{.core = std::vector<float>(kOwnRank * kOwnRank, core),
                           .frame_id = frame_.id,
                           .withheld = withheld};
    ASSERT_TRUE(patterns_
                    ->Put({.id = id,
                           .embedding = {1, 0, 0, 0},
                           .bank = static_cast<uint32_t>(BankOf(1)),
                           .examples = 1,
                           .origin = key_.id(),
                           .created_ms = 1,
                           .updated_ms = ++updated_,
                           .payload = EncodePatternPayload(payload)})
                    .ok());
  }
  std::vector<PatternId> Offered() const {
    std::vector<PatternId> ids;
    for (const Item& item : core_->Items()) {
      if (item.kind == ItemKind::kPattern) {
        ids.push_back(DecodeSharedPattern(AsBytes(*item.payload))->id);
      }
    }
    return ids;
  }
  // The values of the offered deltas, the first of each core.
  std::vector<float> Deltas() const {
    std::vector<float> values;
    for (const Item& item : core_->Items()) {
      if (item.kind == ItemKind::kAdapterDelta) {
        values.push_back(DecodeAdapterDelta(AsBytes(*item.payload))->cores[0].values[0]);
      }
    }
    return values;
  }

  const NodeKey key_ = NodeKey::FromSeed(test::SeedOf(1));
  const Instant now_ = test::At(std::chrono::seconds(1));
  Frame frame_;
  uint64_t boot_ = 0;
  uint64_t round_ = 0;
  int64_t updated_ = 1;
  std::unique_ptr<PatternStore> patterns_;
  std::unique_ptr<GossipCore> core_;
  std::unique_ptr<OwnPatterns> own_;
  std::vector<Digest> removed_;
};

TEST_F(OwnPatternsTest, APatternThatIsMadePrivateIsTakenBackAtOnceWithItsDeltas) {
  Put(kOwnFirst, 1);
  Put(kOwnSecond, 3);
  Follow();
  OfferDelta();
  ASSERT_THAT(Offered(), UnorderedElementsAre(kOwnFirst, kOwnSecond));
  ASSERT_THAT(Deltas(), UnorderedElementsAre(2));
  EXPECT_EQ(patterns_->Get(kOwnFirst)->tier, SharingTier::kPublic);
  Put(kOwnFirst, 1, /*withheld=*/true);
  Follow();
  EXPECT_THAT(Offered(), UnorderedElementsAre(kOwnSecond));
  EXPECT_THAT(Deltas(), IsEmpty());
  EXPECT_TRUE(own_->delta_changed());
  OfferDelta();
  EXPECT_THAT(Deltas(), UnorderedElementsAre(3));
  EXPECT_EQ(patterns_->Get(kOwnFirst)->tier, SharingTier::kPrivate);
}

TEST_F(OwnPatternsTest, ADeletedPatternIsTakenBackAtOnceWithItsDeltas) {
  Put(kOwnFirst, 1);
  Put(kOwnSecond, 3);
  Follow();
  OfferDelta();
  ASSERT_TRUE(patterns_->Delete(kOwnFirst).ok());
  Follow();
  EXPECT_THAT(Offered(), UnorderedElementsAre(kOwnSecond));
  EXPECT_THAT(Deltas(), IsEmpty());
}

TEST_F(OwnPatternsTest, ARestartDoesNotOfferAgainWhatWasTakenBack) {
  Put(kOwnFirst, 1);
  Put(kOwnSecond, 3);
  Follow();
  OfferDelta();
  const std::vector<Item> stored = core_->Items();
  ASSERT_EQ(stored.size(), 3u);
  Start(stored);
  EXPECT_THAT(removed_, IsEmpty());
  EXPECT_EQ(core_->Items().size(), 3u) << "nothing is offered twice";
  ASSERT_TRUE(patterns_->Delete(kOwnFirst).ok());
  Start(stored);
  EXPECT_EQ(removed_.size(), 2u);
  EXPECT_THAT(Offered(), UnorderedElementsAre(kOwnSecond));
  EXPECT_THAT(Deltas(), UnorderedElementsAre(3)) << "a new one, of what is left";
  Start();
  Put(kOwnSecond, 3, /*withheld=*/true);
  Start(stored);
  EXPECT_THAT(core_->Items(), IsEmpty());
}

// What an earlier life of the node offered is known, too, when one of its patterns goes.
TEST_F(OwnPatternsTest, ARestoredDeltaIsTakenBackWithItsPattern) {
  Put(kOwnFirst, 1);
  Follow();
  OfferDelta();
  Start(core_->Items());
  ASSERT_THAT(Deltas(), UnorderedElementsAre(1));
  ASSERT_TRUE(patterns_->Delete(kOwnFirst).ok());
  Follow();
  EXPECT_THAT(core_->Items(), IsEmpty());
}

TEST_F(OwnPatternsTest, APatternThatIsMadePublicIsOfferedWithoutARestart) {
  Put(kOwnFirst, 1, /*withheld=*/true);
  Follow();
  EXPECT_THAT(Offered(), IsEmpty());
  Put(kOwnFirst, 1);
  Follow();
  EXPECT_THAT(Offered(), UnorderedElementsAre(kOwnFirst));
  EXPECT_TRUE(own_->delta_changed());
}

// As where the log of changes was cut.
TEST_F(OwnPatternsTest, ALookAtAllOfThemFindsWhatIsGone) {
  Put(kOwnFirst, 1);
  Put(kOwnSecond, 3);
  Follow();
  OfferDelta();
  ASSERT_TRUE(patterns_->Delete(kOwnFirst).ok());
  ASSERT_TRUE(own_->RefreshAll(*core_, now_).ok());
  EXPECT_THAT(Offered(), UnorderedElementsAre(kOwnSecond));
  EXPECT_THAT(Deltas(), IsEmpty());
}

// One pattern that cannot be read cost all of the others their delta.
TEST_F(OwnPatternsTest, ADamagedPayloadIsLeftOutOfTheDelta) {
  Put(kOwnFirst, 1);
  Pattern damaged = *patterns_->Get(kOwnFirst);
  damaged.id = kOwnSecond;
  damaged.payload = "no payload";
  ASSERT_TRUE(patterns_->Put(damaged).ok());
  Follow();
  OfferDelta();
  EXPECT_THAT(Deltas(), UnorderedElementsAre(1));
}

}  // namespace
}  // namespace ruvd
