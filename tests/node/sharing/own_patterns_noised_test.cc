// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Tests what peers are offered of a node's own patterns under the tier dp, with a ledger on disk;
// each release costs a third of the budget.

#include <gmock/gmock.h>

#include <chrono>
#include <memory>
#include <vector>

#include "base/reasons.h"
#include "base/status.h"
#include "privacy/reasons.h"
#include "ruvd/admin/v1/admin.pb.h"
#include "tests/node/consent_fixture.h"
#include "tests/node/sharing/own_patterns_fixture.h"

namespace ruvd::sharing {
namespace {

using testing::IsEmpty;

class OwnPatternsNoisedTest : public OwnPatternsTest {
 protected:
  OwnPatternsNoisedTest() { tier_ = privacy::ConsentTier::kDp; }
  void SetUp() override {
    DatabaseTest::SetUp();
    consents_ = std::make_unique<storage::UserConsentStore>(*database_);
    book_ = storage::ConsentBook::Open(*consents_, key_).value();
    contributors_ = {book_->ContributorOf({.user_id = "alice"})};
    Say(privacy::consent_purposes::kAll);
    frame_.id.fill(0x22);  // equal to that of test::ConfigFor
    frame_.target = test::kTarget;
    frame_.rank = kOwnRank;
    DpReleaseOptions options{
        .policy = privacy::SitePolicy::Parse("version = 1\n[scope.lab]\ntiers = [\"dp\"]\n"
                                             "purposes = [\"training\", \"sharing\"]\n")
                      .value(),
        .scope = "lab",
        .epsilon = 30,
        .signal = 1,
        .interval = kInterval,
        .layout = Layout(),
        .random = test::EntropyOf(1),
        .clock = &wall_};
    options.budget =
        privacy::UnitBudget::Within(privacy::PrivacyUnit::kNode, 70, options.delta).value();
    ledger_ =
        storage::PrivacyLedgerStore::Open(*database_, {.budgets = {options.budget}, .key = &key_})
            .value();
    options.ledger = ledger_.get();
    release_ = DpRelease::Create(options);
    patterns_ = storage::PatternStore::Open(*database_, {.dimension = kOwnDimension}).value();
    Start();
  }
  void OfferDelta() override {
    ASSERT_TRUE(own_->OfferNoised(++round_, *release_, *core_, now_).ok());
  }
  // Bob agrees, and the patterns that are put from now on are his.
  void LetBobTeach() {
    SayUnderDp(*book_, "bob", privacy::consent_purposes::kAll, now_.wall_ms);
    contributors_ = {book_->ContributorOf({.user_id = "bob"})};
  }
  void Say(uint8_t purposes) { SayUnderDp(*book_, "alice", purposes, now_.wall_ms); }
  void Wait() {
    wall_.Advance(kInterval);
    now_ = {
        now_.now + kInterval,
        now_.wall_ms + std::chrono::duration_cast<std::chrono::milliseconds>(kInterval).count()};
  }
  uint64_t Charges() const { return ledger_->totals(privacy::PrivacyUnit::kNode).reservations; }

  static constexpr Duration kInterval = std::chrono::seconds(100);
  ManualClock wall_{test::kWallStart + 1000};
  std::unique_ptr<storage::UserConsentStore> consents_;
  std::unique_ptr<storage::PrivacyLedgerStore> ledger_;
  std::unique_ptr<DpRelease> release_;
};

TEST_F(OwnPatternsNoisedTest, OnlyANoisedUpdateLeavesAndIsChargedOnce) {
  Put(kOwnFirst, 0.3F);
  Follow();
  OfferDelta();
  EXPECT_THAT(Offered(), IsEmpty());
  ASSERT_EQ(Deltas().size(), 1u);
  EXPECT_NE(Deltas()[0], 0.3F);
  EXPECT_EQ(patterns_->Get(kOwnFirst)->tier, storage::SharingTier::kPrivate);
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
  const std::vector<federation::Item> stored = core_->Items();
  Say(0);
  ASSERT_TRUE(own_->RefreshAll(*core_, now_).ok());
  EXPECT_THAT(Deltas(), IsEmpty());
  Wait();
  OfferDelta();
  EXPECT_THAT(Deltas(), IsEmpty());
  EXPECT_EQ(Charges(), 1u);
  EXPECT_EQ(release_->View().refusal_reason(), reasons::kConsentMissing);
  Start(stored);  // the process ended between the withdrawal and the removal
  EXPECT_THAT(Deltas(), IsEmpty());
}

// Found by review: after a restart all patterns counted as part of a noised update, and patterns
// that had been removed or taught again since did not.
TEST_F(OwnPatternsNoisedTest, ARestartKnowsWhoseLessonsAreInANoisedUpdate) {
  Put(kOwnFirst, 0.3F);
  Follow();
  OfferDelta();
  ASSERT_EQ(Deltas().size(), 1u);
  const std::vector<federation::Item> stored = core_->Items();
  // The pattern is taught again without alice, and another user's pattern comes later.
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
  const std::vector<federation::Item> stored = core_->Items();
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
  const auto next = own_->NextDelta(privacy::ConsentTier::kDp, now_);
  ASSERT_TRUE(next.ok()) << next.status();
  EXPECT_EQ(next->left_out, 1u);
  EXPECT_EQ(next->patterns.size(), 1u);
  EXPECT_EQ(next->update.banks[0].values[0], 0.3F);
}

// A pattern may come without a record of its contributors.
TEST_F(OwnPatternsNoisedTest, APatternOfUnknownContributorsDoesNotLeave) {
  contributors_.clear();
  Put(kOwnFirst, 0.3F);
  Follow();
  OfferDelta();
  EXPECT_THAT(Deltas(), IsEmpty());
  EXPECT_EQ(Charges(), 0u);
  EXPECT_EQ(release_->View().refusal_reason(), reasons::kConsentMissing);
}

TEST_F(OwnPatternsNoisedTest, AnotherTierTakesBackWhatTheFormerOneOffered) {
  Put(kOwnFirst, 0.3F);
  Follow();
  OfferDelta();
  ASSERT_EQ(Deltas().size(), 1u);
  SetTier(privacy::ConsentTier::kPublic);
  ASSERT_TRUE(own_->RefreshAll(*core_, now_).ok());
  EXPECT_THAT(Deltas(), IsEmpty());
  EXPECT_THAT(Offered(), IsEmpty()) << "alice agreed to noised updates only";
}

}  // namespace
}  // namespace ruvd::sharing
