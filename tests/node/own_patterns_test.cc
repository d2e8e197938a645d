// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// What peers are offered of a node's own patterns is what the store says of them now.

#include "node/actors/own_patterns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"
#include "federation/daf/update_payload.h"
#include "inference/adapter/bank.h"
#include "node/actors/pattern_payload.h"
#include "privacy/reasons.h"
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
    frame_.id.fill(0x22);  // as that of test::ConfigFor
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
    SetTier(tier_);
    own_ =
        std::make_unique<OwnPatterns>(*patterns_, Layout(), key_.id(), book_.get(), 1, &releases());
    removed_ = own_->RemoveTakenBack(&stored, tier_, now_);
    core_->Restore(std::move(stored), now_);
    ASSERT_TRUE(own_->RefreshAll(*core_, now_).ok());
    if (own_->delta_changed()) {
      OfferDelta();
    }
  }
  UpdateLayout Layout() const {
    return {.frame = &frame_, .model_hash = test::ConfigFor(key_, 1).model_hash};
  }
  ReleaseSourceStore& releases() {
    if (releases_ == nullptr) {
      releases_ = std::make_unique<ReleaseSourceStore>(*database_);
    }
    return *releases_;
  }
  void SetTier(ConsentTier tier) {
    tier_ = tier;
    ASSERT_TRUE(core_->SetConsent(ConsentRecord::Sign(tier, now_.wall_ms, key_), now_).ok());
  }
  virtual void OfferDelta() { ASSERT_TRUE(own_->OfferDelta(++round_, *core_, now_).ok()); }
  void Follow() { ASSERT_TRUE(own_->FollowChanges(*core_, now_).ok()); }
  void Put(const PatternId& id, float core, bool withheld = false) {
    PutPayload(id, {.core = std::vector<float>(kOwnRank * kOwnRank, core),
                    .frame_id = frame_.id,
                    .withheld = withheld,
                    .contributors = contributors_});
  }
  void PutPayload(const PatternId& id, const PatternPayload& payload) {
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
  // The values of the offered updates, the first of each.
  std::vector<float> Deltas() const {
    std::vector<float> values;
    for (const Item& item : core_->Items()) {
      if (item.kind == ItemKind::kAdapterDelta) {
        values.push_back(DecodeAdapterUpdate(AsBytes(*item.payload))->banks[0].values[0]);
      }
    }
    return values;
  }

  const NodeKey key_ = NodeKey::FromSeed(test::SeedOf(1));
  Instant now_ = test::At(std::chrono::seconds(1));
  ConsentTier tier_ = ConsentTier::kPublic;
  std::unique_ptr<ConsentBook> book_;      // null: patterns are nobody's
  std::vector<Contributor> contributors_;  // of the patterns that are put
  Frame frame_;
  uint64_t boot_ = 0;
  uint64_t round_ = 0;
  int64_t updated_ = 1;
  std::unique_ptr<PatternStore> patterns_;
  std::unique_ptr<ReleaseSourceStore> releases_;
  std::unique_ptr<GossipCore> core_;
  std::unique_ptr<OwnPatterns> own_;
  std::vector<Item> removed_;
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
  EXPECT_EQ(removed_.size(), 1u);
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

// A copy for older peers was taken back by every restart, and all nodes began their adapter anew.
TEST_F(OwnPatternsTest, ARestartKeepsTheCopyOfAnUpdateForOlderPeers) {
  Put(kOwnFirst, 1);
  Follow();
  OfferDelta();
  const std::vector<Item> stored = core_->Items();
  const auto update =
      std::ranges::find_if(stored, [](const Item& item) { return IsUpdateOfBanks(item); });
  ASSERT_NE(update, stored.end());
  Item copy = *update;
  copy.id = Sha256("copy");
  copy.payload = std::make_shared<const std::string>(
      EncodeAdapterDelta(AsVersion1(*DecodeAdapterUpdate(AsBytes(*update->payload)))));
  ASSERT_FALSE(IsUpdateOfBanks(copy));
  std::vector<Item> both = stored;
  both.push_back(copy);
  std::vector<Item> kept = both;
  EXPECT_THAT(own_->RemoveTakenBack(&kept, tier_, now_), IsEmpty());
  EXPECT_EQ(kept.size(), both.size());
  // It goes with the update.
  ASSERT_TRUE(patterns_->Delete(kOwnFirst).ok());
  releases_.reset();
  Put(kOwnFirst, 1, /*withheld=*/true);
  ASSERT_TRUE(releases().Delete({{update->id}}).ok());
  OwnPatterns again(*patterns_, Layout(), key_.id(), book_.get(), 1, &releases());
  EXPECT_EQ(again.RemoveTakenBack(&both, tier_, now_).size(), stored.size() + 1);
}

// What an earlier life offered under `public` stayed where the tier is narrower by now, and was
// then dropped without a word to peers.
TEST_F(OwnPatternsTest, ARestartUnderANarrowerTierTakesBackWhatItDoesNotAllow) {
  Put(kOwnFirst, 1);
  Follow();
  OfferDelta();
  std::vector<Item> stored = core_->Items();
  ASSERT_EQ(stored.size(), 2u);
  EXPECT_EQ(own_->RemoveTakenBack(&stored, ConsentTier::kPrivate, now_).size(), 2u);
  EXPECT_THAT(stored, IsEmpty());
}

// Who says something of a masked round again is taken for a liar, so what was said must be known.
TEST_F(OwnPatternsTest, ARestartKeepsWhatWasSaidInAMaskedRound) {
  std::vector<Item> stored;
  for (const ItemKind kind : {ItemKind::kMaskKey, ItemKind::kMaskSet, ItemKind::kMaskShare}) {
    Item item{.kind = kind, .origin = key_.id()};
    item.payload = std::make_shared<const std::string>("said");
    stored.push_back(item);
  }
  EXPECT_THAT(own_->RemoveTakenBack(&stored, ConsentTier::kPublic, now_), IsEmpty());
  EXPECT_EQ(stored.size(), 3u);
}

// Peers take a pattern that was withdrawn only as a newer one.
TEST_F(OwnPatternsTest, AWithdrawnPatternIsOfferedAgainAsANewerOne) {
  Put(kOwnFirst, 1);
  Follow();
  ASSERT_THAT(Offered(), UnorderedElementsAre(kOwnFirst));
  const auto withdrawal =
      Withdrawal::Sign({}, /*everything=*/false, /*now_ms=*/50, key_, {kOwnFirst});
  ASSERT_TRUE(core_->OfferWithdrawal(*withdrawal, now_).ok());
  EXPECT_THAT(Offered(), IsEmpty());
  ASSERT_TRUE(own_->RefreshAll(*core_, now_).ok());
  ASSERT_THAT(Offered(), UnorderedElementsAre(kOwnFirst));
  for (const Item& item : core_->Items()) {
    if (item.kind == ItemKind::kPattern) {
      EXPECT_EQ(DecodeSharedPattern(AsBytes(*item.payload))->created_ms, 51);
    }
  }
  const size_t items = core_->Items().size();
  ASSERT_TRUE(own_->RefreshAll(*core_, now_).ok());
  EXPECT_EQ(core_->Items().size(), items) << "once";
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

// The same under the tier dp, with a ledger on disk; each release costs a third of the budget.
class OwnPatternsNoisedTest : public OwnPatternsTest {
 protected:
  OwnPatternsNoisedTest() { tier_ = ConsentTier::kDp; }
  void SetUp() override {
    DatabaseTest::SetUp();
    consents_ = std::make_unique<UserConsentStore>(*database_);
    book_ = ConsentBook::Open(*consents_, key_).value();
    contributors_ = {book_->ContributorOf({.user_id = "alice"})};
    Say(consent_purposes::kAll);
    frame_.id.fill(0x22);  // as that of test::ConfigFor
    frame_.target = test::kTarget;
    frame_.rank = kOwnRank;
    DpReleaseOptions options{
        .policy = SitePolicy::Parse("version = 1\n[scope.lab]\ntiers = [\"dp\"]\n"
                                    "purposes = [\"training\", \"sharing\"]\n")
                      .value(),
        .scope = "lab",
        .epsilon = 30,
        .signal = 1,
        .interval = kInterval,
        .layout = Layout(),
        .random = test::EntropyOf(1),
        .clock = &wall_};
    options.budget = PrivacyBudget::Within(PrivacyUnit::kNode, 70, options.delta).value();
    ledger_ =
        PrivacyLedgerStore::Open(*database_, {.budgets = {options.budget}, .key = &key_}).value();
    options.ledger = ledger_.get();
    release_ = DpRelease::Create(options);
    patterns_ = PatternStore::Open(*database_, {.dimension = kOwnDimension}).value();
    Start();
  }
  void OfferDelta() override {
    ASSERT_TRUE(own_->OfferNoised(++round_, *release_, *core_, now_).ok());
  }
  // Bob agrees, and what is put from now on is his.
  void LetBobTeach() {
    ASSERT_TRUE(book_
                    ->Record({.subject = {.id = "bob"},
                              .purposes = consent_purposes::kAll,
                              .widest = ConsentTier::kDp,
                              .expires_ms = test::kDayMillis},
                             now_.wall_ms)
                    .ok());
    contributors_ = {book_->ContributorOf({.user_id = "bob"})};
  }
  void Say(uint8_t purposes) {
    ASSERT_TRUE(book_
                    ->Record({.subject = {.id = "alice"},
                              .purposes = purposes,
                              .widest = ConsentTier::kDp,
                              .expires_ms = test::kDayMillis},
                             now_.wall_ms)
                    .ok());
  }
  void Wait() {
    wall_.Advance(kInterval);
    now_ = {
        now_.now + kInterval,
        now_.wall_ms + std::chrono::duration_cast<std::chrono::milliseconds>(kInterval).count()};
  }
  uint64_t Charges() const { return ledger_->totals(PrivacyUnit::kNode).reservations; }

  static constexpr Duration kInterval = std::chrono::seconds(100);
  ManualClock wall_{test::kWallStart + 1000};
  std::unique_ptr<UserConsentStore> consents_;
  std::unique_ptr<PrivacyLedgerStore> ledger_;
  std::unique_ptr<DpRelease> release_;
};

TEST_F(OwnPatternsNoisedTest, OnlyANoisedUpdateLeavesAndIsChargedOnce) {
  Put(kOwnFirst, 0.3F);
  Follow();
  OfferDelta();
  EXPECT_THAT(Offered(), IsEmpty());
  ASSERT_EQ(Deltas().size(), 1u);
  EXPECT_NE(Deltas()[0], 0.3F);
  EXPECT_EQ(patterns_->Get(kOwnFirst)->tier, SharingTier::kPrivate);
  EXPECT_EQ(Charges(), 1u);
  Wait();
  Follow();
  ASSERT_TRUE(own_->RefreshAll(*core_, now_).ok());
  OfferDelta();
  EXPECT_EQ(Charges(), 1u) << "nothing is new";
  Put(kOwnFirst, 0.4F);
  Follow();
  OfferDelta();
  EXPECT_EQ(Charges(), 2u);
  Put(kOwnFirst, 0.5F);
  Follow();
  OfferDelta();
  EXPECT_EQ(Charges(), 2u) << "before the interval is over";
  EXPECT_TRUE(own_->delta_changed());
  EXPECT_EQ(Deltas().size(), 2u);
}

TEST_F(OwnPatternsNoisedTest, ADeletedOrPrivatePatternTakesItsNoisedUpdateBack) {
  Put(kOwnFirst, 0.3F);
  Put(kOwnSecond, 0.3F);
  Follow();
  OfferDelta();
  ASSERT_EQ(Deltas().size(), 1u);
  ASSERT_TRUE(patterns_->Delete(kOwnFirst).ok());
  Follow();
  EXPECT_THAT(Deltas(), IsEmpty());
  EXPECT_TRUE(own_->delta_changed());
  Wait();
  OfferDelta();
  ASSERT_EQ(Deltas().size(), 1u);
  Put(kOwnSecond, 0.3F, /*withheld=*/true);
  Follow();
  EXPECT_THAT(Deltas(), IsEmpty());
}

TEST_F(OwnPatternsNoisedTest, ARestartOffersWhatWasPaidForAndPaysForNothing) {
  Put(kOwnFirst, 0.3F);
  Follow();
  OfferDelta();
  const std::vector<float> noised = Deltas();
  Wait();
  Start(core_->Items());
  EXPECT_THAT(removed_, IsEmpty());
  EXPECT_EQ(Deltas(), noised);
  EXPECT_EQ(Charges(), 1u);
  ASSERT_TRUE(patterns_->Delete(kOwnFirst).ok());
  Follow();
  EXPECT_THAT(Deltas(), IsEmpty());
}

TEST_F(OwnPatternsNoisedTest, AWithdrawalTakesTheUpdateBackAndStopsTheNext) {
  Put(kOwnFirst, 0.3F);
  Follow();
  OfferDelta();
  const std::vector<Item> stored = core_->Items();
  Say(0);
  ASSERT_TRUE(own_->RefreshAll(*core_, now_).ok());
  EXPECT_THAT(Deltas(), IsEmpty());
  Wait();
  OfferDelta();
  EXPECT_THAT(Deltas(), IsEmpty());
  EXPECT_EQ(Charges(), 1u);
  EXPECT_EQ(ReasonOf(release_->View().refusal), reasons::kConsentMissing);
  Start(stored);  // the process ended between the withdrawal and the removal
  EXPECT_THAT(Deltas(), IsEmpty());
}

// Found by review: after a restart all patterns counted as part of a noised update, and none that
// had gone or been taught again since.
TEST_F(OwnPatternsNoisedTest, ARestartKnowsWhoseLessonsAreInANoisedUpdate) {
  Put(kOwnFirst, 0.3F);
  Follow();
  OfferDelta();
  ASSERT_EQ(Deltas().size(), 1u);
  const std::vector<Item> stored = core_->Items();
  // Taught again, without alice; and somebody else's pattern comes later.
  LetBobTeach();
  Put(kOwnFirst, 0.4F);
  Put(kOwnSecond, 0.9F);
  Start(stored);
  ASSERT_EQ(Deltas().size(), 1u);
  ASSERT_TRUE(book_->Withdraw("bob", now_.wall_ms + 1).ok());
  now_.wall_ms += 2;
  ASSERT_TRUE(own_->RefreshAll(*core_, now_).ok());
  EXPECT_EQ(Deltas().size(), 1u) << "nothing of bob is in it";
  Start(stored);
  ASSERT_EQ(Deltas().size(), 1u);
  ASSERT_TRUE(book_->Withdraw("alice", now_.wall_ms + 1).ok());
  now_.wall_ms += 2;
  ASSERT_TRUE(own_->RefreshAll(*core_, now_).ok());
  EXPECT_THAT(Deltas(), IsEmpty()) << "her lessons are in it, though in no pattern any more";
  Start(stored);
  EXPECT_EQ(removed_.size(), 1u);
}

TEST_F(OwnPatternsNoisedTest, ANoisedUpdateOfUnknownSourcesIsTakenBack) {
  Put(kOwnFirst, 0.3F);
  Follow();
  OfferDelta();
  const std::vector<Item> stored = core_->Items();
  ASSERT_EQ(stored.size(), 1u);
  ASSERT_TRUE(releases().Delete({{stored[0].id}}).ok());
  Start(stored);
  EXPECT_EQ(removed_.size(), 1u);
}

TEST_F(OwnPatternsNoisedTest, AnUpdateWithoutTheLessonsOfWhoeverWithdrewStays) {
  Put(kOwnFirst, 0.3F);
  Follow();
  OfferDelta();
  LetBobTeach();
  Put(kOwnSecond, 0.9F);
  Wait();
  Follow();
  OfferDelta();
  ASSERT_EQ(Deltas().size(), 2u);
  ASSERT_TRUE(book_->Withdraw("bob", now_.wall_ms).ok());
  ASSERT_TRUE(own_->RefreshAll(*core_, now_).ok());
  EXPECT_EQ(Deltas().size(), 1u) << "the one of alice alone";
}

TEST_F(OwnPatternsNoisedTest, WhereSomebodyDoesNotAgreeTheOthersAreReleased) {
  Put(kOwnFirst, 0.3F);
  contributors_ = {book_->ContributorOf({.user_id = "bob"})};
  Put(kOwnSecond, 0.9F);
  const auto next = own_->NextDelta(ConsentTier::kDp, now_);
  ASSERT_TRUE(next.ok()) << next.status();
  EXPECT_EQ(next->left_out, 1u);
  EXPECT_EQ(next->patterns.size(), 1u);
  EXPECT_EQ(next->update.banks[0].values[0], 0.3F);
}

// Found by thinking: nobody knows whose lessons are in patterns of before this was noted.
TEST_F(OwnPatternsNoisedTest, APatternOfUnknownContributorsDoesNotLeave) {
  contributors_.clear();
  Put(kOwnFirst, 0.3F);
  Follow();
  OfferDelta();
  EXPECT_THAT(Deltas(), IsEmpty());
  EXPECT_EQ(Charges(), 0u);
  EXPECT_EQ(ReasonOf(release_->View().refusal), reasons::kConsentMissing);
}

TEST_F(OwnPatternsNoisedTest, AnotherTierTakesBackWhatTheFormerOneOffered) {
  Put(kOwnFirst, 0.3F);
  Follow();
  OfferDelta();
  ASSERT_EQ(Deltas().size(), 1u);
  SetTier(ConsentTier::kPublic);
  ASSERT_TRUE(own_->RefreshAll(*core_, now_).ok());
  EXPECT_THAT(Deltas(), IsEmpty());
  EXPECT_THAT(Offered(), IsEmpty()) << "alice agreed to noised updates only";
}

// Found by thinking: the embedding of a pattern of one lesson is that of its prompt.
TEST_F(OwnPatternsTest, APatternOfFewLessonsStaysAndItsCoreIsPartOfTheUpdate) {
  own_ = std::make_unique<OwnPatterns>(*patterns_, Layout(), key_.id(), nullptr, 2);
  Put(kOwnFirst, 1);
  ASSERT_TRUE(own_->RefreshAll(*core_, now_).ok());
  OfferDelta();
  EXPECT_THAT(Offered(), IsEmpty());
  EXPECT_THAT(Deltas(), UnorderedElementsAre(1));
  ASSERT_TRUE(own_->RefreshAll(*core_, now_).ok());
  EXPECT_FALSE(own_->delta_changed());
  Put(kOwnFirst, 2);
  Follow();
  EXPECT_TRUE(own_->delta_changed());
}

// A pattern that holds somebody's prompts beside agreed lessons stays, its core may be noised.
TEST_F(OwnPatternsTest, APatternThatHoldsLessonsOfOthersStaysHere) {
  UserConsentStore consents(*database_);
  book_ = ConsentBook::Open(consents, key_).value();
  Start();
  PatternPayload payload{.core = std::vector<float>(kOwnRank * kOwnRank, 1),
                         .frame_id = frame_.id,
                         .contributors = {book_->ContributorOf({})},
                         .holds_others = true};
  PutPayload(kOwnFirst, payload);
  payload.holds_others = false;
  PutPayload(kOwnSecond, payload);
  Follow();
  OfferDelta();
  EXPECT_THAT(Offered(), UnorderedElementsAre(kOwnSecond));
  EXPECT_EQ(own_->NextDelta(ConsentTier::kPublic, now_)->left_out, 1u);
  EXPECT_EQ(own_->NextDelta(ConsentTier::kDp, now_)->left_out, 0u);
}

}  // namespace
}  // namespace ruvd
