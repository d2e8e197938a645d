// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// What peers are offered of a node's own patterns is what the store says about them now.

#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <variant>
#include <vector>

#include "tests/node/sharing/own_patterns_fixture.h"

namespace ruvd::sharing {
namespace {

using testing::Contains;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

TEST_F(OwnPatternsTest, APatternThatIsMadePrivateIsTakenBackAtOnce) {
  Put(kOwnFirst, 1);
  Put(kOwnSecond, 3);
  Follow();
  ASSERT_THAT(Offered(), UnorderedElementsAre(kOwnFirst, kOwnSecond));
  EXPECT_EQ(patterns_->Get(kOwnFirst)->tier, storage::SharingTier::kPublic);
  Put(kOwnFirst, 1, /*withheld=*/true);
  Follow();
  EXPECT_THAT(Offered(), UnorderedElementsAre(kOwnSecond));
  EXPECT_EQ(patterns_->Get(kOwnFirst)->tier, storage::SharingTier::kPrivate);
}

TEST_F(OwnPatternsTest, ADeletedPatternIsTakenBackAtOnce) {
  Put(kOwnFirst, 1);
  Put(kOwnSecond, 3);
  Follow();
  ASSERT_TRUE(patterns_->Delete(kOwnFirst).ok());
  Follow();
  EXPECT_THAT(Offered(), UnorderedElementsAre(kOwnSecond));
}

TEST_F(OwnPatternsTest, ARestartDoesNotOfferAgainWhatWasTakenBack) {
  Put(kOwnFirst, 1);
  Put(kOwnSecond, 3);
  Follow();
  const std::vector<federation::Item> stored = core_->Items();
  ASSERT_EQ(stored.size(), 2u);
  Start(stored);
  EXPECT_THAT(removed_, IsEmpty());
  EXPECT_EQ(core_->Items().size(), 2u) << "nothing is offered twice";
  ASSERT_TRUE(patterns_->Delete(kOwnFirst).ok());
  Start(stored);
  EXPECT_EQ(removed_.size(), 1u);
  EXPECT_THAT(Offered(), UnorderedElementsAre(kOwnSecond));
  Start();
  Put(kOwnSecond, 3, /*withheld=*/true);
  Start(stored);
  EXPECT_THAT(core_->Items(), IsEmpty());
}

// Regression test: such patterns were listed as public for ever.
TEST_F(OwnPatternsTest, PatternsThatAreNoLongerOfferedAreNotListedAsPublic) {
  for (const privacy::ConsentTier tier :
       {privacy::ConsentTier::kPrivate, privacy::ConsentTier::kMasked, privacy::ConsentTier::kDp}) {
    SetTier(privacy::ConsentTier::kPublic);
    Put(kOwnFirst, 1);
    ASSERT_TRUE(own_->RefreshAll(*core_, now_).ok());
    ASSERT_EQ(patterns_->Get(kOwnFirst)->tier, storage::SharingTier::kPublic);
    SetTier(tier);
    ASSERT_TRUE(own_->RefreshAll(*core_, now_).ok());
    EXPECT_EQ(patterns_->Get(kOwnFirst)->tier, storage::SharingTier::kPrivate)
        << static_cast<int>(tier);
  }
  // These are patterns that an earlier version left behind.
  SetTier(privacy::ConsentTier::kPrivate);
  ASSERT_TRUE(patterns_->SetTier(kOwnFirst, storage::SharingTier::kPublic).ok());
  Start();
  EXPECT_EQ(patterns_->Get(kOwnFirst)->tier, storage::SharingTier::kPrivate);
}

TEST_F(OwnPatternsTest, APatternThatAUserTookBackIsNotListedAsPublic) {
  storage::UserConsentStore store(*database_);
  book_ = storage::ConsentBook::Open(store, key_).value();
  privacy::UserConsent consent{.subject = {.id = "alice"},
                               .purposes = privacy::consent_purposes::kAll,
                               .widest = privacy::ConsentTier::kPublic,
                               .expires_ms = 1'000'000};
  ASSERT_TRUE(book_->Record(consent, now_.wall_ms).ok());
  contributors_ = {book_->ContributorOf({.user_id = "alice"})};
  Start();
  Put(kOwnFirst, 1);
  Follow();
  ASSERT_EQ(patterns_->Get(kOwnFirst)->tier, storage::SharingTier::kPublic);
  ASSERT_TRUE(book_->Withdraw("alice", now_.wall_ms).ok());
  ASSERT_TRUE(own_->RefreshAll(*core_, now_).ok());
  EXPECT_THAT(Offered(), IsEmpty());
  EXPECT_EQ(patterns_->Get(kOwnFirst)->tier, storage::SharingTier::kPrivate);
  own_.reset();
  book_.reset();
}

// What an earlier life of the node offered is also known when one of its patterns is removed.
TEST_F(OwnPatternsTest, ARestoredPatternIsTakenBackWhenItIsDeleted) {
  Put(kOwnFirst, 1);
  Follow();
  Start(core_->Items());
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
}

// Regression test: what an earlier life offered under `public` stayed although the tier is narrower
// by now, and was then dropped without telling peers.
TEST_F(OwnPatternsTest, ARestartUnderANarrowerTierTakesBackWhatItDoesNotAllow) {
  Put(kOwnFirst, 1);
  Follow();
  std::vector<federation::Item> stored = core_->Items();
  ASSERT_EQ(stored.size(), 1u);
  EXPECT_EQ(own_->RemoveWithdrawn(&stored, privacy::ConsentTier::kPrivate, now_).size(), 1u);
  EXPECT_THAT(stored, IsEmpty());
}

// A node that repeats a message of a masked round differently is taken for a liar, so it must know
// what it sent.
TEST_F(OwnPatternsTest, ARestartKeepsWhatWasSaidInAMaskedRound) {
  std::vector<federation::Item> stored;
  for (const federation::ItemKind kind :
       {federation::ItemKind::kMaskKey, federation::ItemKind::kMaskSet,
        federation::ItemKind::kMaskCommitment, federation::ItemKind::kMaskShare}) {
    federation::Item item{.kind = kind, .origin = key_.id()};
    item.payload = std::make_shared<const std::string>("said");
    stored.push_back(item);
  }
  EXPECT_THAT(own_->RemoveWithdrawn(&stored, privacy::ConsentTier::kPublic, now_), IsEmpty());
  EXPECT_EQ(stored.size(), 4u);
}

// Peers accept a withdrawn pattern only as a newer one.
TEST_F(OwnPatternsTest, AWithdrawnPatternIsOfferedAgainAsANewerOne) {
  Put(kOwnFirst, 1);
  Follow();
  ASSERT_THAT(Offered(), UnorderedElementsAre(kOwnFirst));
  const auto withdrawal =
      privacy::Withdrawal::Sign({}, /*everything=*/false, /*now_ms=*/50, key_, {kOwnFirst});
  ASSERT_TRUE(core_->OfferWithdrawal(*withdrawal, now_).ok());
  EXPECT_THAT(Offered(), IsEmpty());
  ASSERT_TRUE(own_->RefreshAll(*core_, now_).ok());
  ASSERT_THAT(Offered(), UnorderedElementsAre(kOwnFirst));
  for (const federation::Item& item : core_->Items()) {
    if (item.kind == federation::ItemKind::kPattern) {
      EXPECT_EQ(federation::DecodeSharedPattern(AsBytes(*item.payload))->created_ms, 51);
    }
  }
  const size_t items = core_->Items().size();
  ASSERT_TRUE(own_->RefreshAll(*core_, now_).ok());
  EXPECT_EQ(core_->Items().size(), items) << "once";
}

// Items end after seven days. Regression test: peers kept the pattern, and a withdrawal after that
// named nothing.
TEST_F(OwnPatternsTest, APatternIsOfferedAnewBeforeItsItemEnds) {
  constexpr Duration kDay = std::chrono::hours(24);
  Put(kOwnFirst, 1);
  Follow();
  ASSERT_THAT(Offered(), UnorderedElementsAre(kOwnFirst));
  for (int hours = 0; hours < 16 * 24; ++hours) {
    now_ = {now_.now + kDay / 24, now_.wall_ms + test::kDayMillis / 24};
    core_->OnTick(now_);
    Follow();
    ASSERT_THAT(Offered(), Contains(kOwnFirst)) << "after " << hours << " hours";
    ASSERT_LE(Offered().size(), 2u) << "the next one only before the former ends";
  }
  EXPECT_LE(core_->counters().offered_items, 4u);
  ASSERT_TRUE(patterns_->Delete(kOwnFirst).ok());
  const auto actions = own_->FollowChanges(*core_, now_);
  ASSERT_TRUE(actions.ok()) << actions.status();
  EXPECT_TRUE(std::ranges::any_of(*actions, [](const federation::Action& action) {
    const auto* const withdrawn = std::get_if<federation::ItemWithdrawn>(&action);
    return withdrawn != nullptr && withdrawn->own &&
           withdrawn->item.kind == federation::ItemKind::kPattern;
  }));
  EXPECT_THAT(Offered(), IsEmpty());
}

// No item outlives the certificate: an item that cannot last longer is not offered again and again.
TEST_F(OwnPatternsTest, APatternThatCouldNotLastLongerIsNotOfferedAnew) {
  Put(kOwnFirst, 1);
  Follow();
  now_ = {now_.now + std::chrono::hours(19 * 24), now_.wall_ms + 19 * test::kDayMillis};
  core_->OnTick(now_);
  Follow();
  ASSERT_THAT(Offered(), UnorderedElementsAre(kOwnFirst)) << "its item had ended";
  const uint64_t offered = core_->counters().offered_items;
  for (int hours = 0; hours < 20; ++hours) {
    now_ = {now_.now + std::chrono::hours(1), now_.wall_ms + test::kDayMillis / 24};
    Follow();
  }
  EXPECT_EQ(core_->counters().offered_items, offered);
}

// Found by review: a node with more patterns than peers accept from one origin offered the missing
// ones every hour, which evicted others.
TEST_F(OwnPatternsTest, PatternsThatPeersHaveNoRoomForWereOfferedEveryHour) {
  for (size_t i = 0; i < limits::kMaxPatternsPerOrigin + 4; ++i) {
    storage::PatternId id = kOwnFirst;
    id[14] = static_cast<uint8_t>(i >> 8);
    id[15] = static_cast<uint8_t>(i);
    Put(id, 1);
  }
  ASSERT_TRUE(own_->RefreshAll(*core_, now_).ok());
  const auto pass_hours = [this](int hours) {
    for (int hour = 0; hour < hours; ++hour) {
      now_ = {now_.now + std::chrono::hours(1), now_.wall_ms + test::kDayMillis / 24};
      core_->OnTick(now_);
      Follow();
    }
  };
  pass_hours(3);  // the log of changes is followed to its end
  ASSERT_EQ(Offered().size(), limits::kMaxPatternsPerOrigin);
  const uint64_t offered = core_->counters().offered_items;
  pass_hours(5);
  EXPECT_EQ(core_->counters().offered_items, offered);
}

// This is the case after the log of changes was cut.
TEST_F(OwnPatternsTest, ALookAtAllOfThemFindsWhatIsGone) {
  Put(kOwnFirst, 1);
  Put(kOwnSecond, 3);
  Follow();
  ASSERT_TRUE(patterns_->Delete(kOwnFirst).ok());
  ASSERT_TRUE(own_->RefreshAll(*core_, now_).ok());
  EXPECT_THAT(Offered(), UnorderedElementsAre(kOwnSecond));
}

// The embedding of a pattern of one lesson is that of its prompt.
TEST_F(OwnPatternsTest, APatternOfFewLessonsStays) {
  own_ = std::make_unique<OwnPatterns>(*patterns_, &frame_, key_.id(), nullptr, 2);
  Put(kOwnFirst, 1);
  ASSERT_TRUE(own_->RefreshAll(*core_, now_).ok());
  EXPECT_THAT(Offered(), IsEmpty());
}

// A pattern may hold prompts of other users beside agreed lessons.
TEST_F(OwnPatternsTest, APatternThatHoldsLessonsOfOthersStaysHere) {
  storage::UserConsentStore consents(*database_);
  book_ = storage::ConsentBook::Open(consents, key_).value();
  Start();
  serving::PatternPayload payload{.cores = Cores(1), .contributors = {book_->ContributorOf({})}};
  PutPayload(kOwnFirst, payload);
  payload.shareable = true;
  PutPayload(kOwnSecond, payload);
  Follow();
  EXPECT_THAT(Offered(), UnorderedElementsAre(kOwnSecond));
}

}  // namespace
}  // namespace ruvd::sharing
