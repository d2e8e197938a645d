// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// A contribution to a round is taken back when somebody whose lessons are in it no longer agrees.

#include <gmock/gmock.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "federation/learner/contribution.h"
#include "federation/learner/verdict.h"
#include "tests/federation/learner_fixture.h"
#include "tests/node/consent_fixture.h"
#include "tests/node/sharing/own_patterns_fixture.h"

namespace ruvd::sharing {
namespace {

using testing::IsEmpty;

class OwnContributionsTest : public OwnPatternsTest {
 protected:
  OwnContributionsTest() {
    tier_ = privacy::ConsentTier::kDp;
    federation::LearnerPlan plan = test::GradientPlan();
    plan.frame_id.fill(0x22);  // equal to that of test::ConfigFor
    plan_ = std::make_shared<const federation::LearnerPlan>(std::move(plan));
  }
  void SetUp() override {
    OwnPatternsTest::SetUp();
    consents_ = std::make_unique<storage::UserConsentStore>(*database_);
    book_ = storage::ConsentBook::Open(*consents_, key_).value();
    for (const char* user : {"alice", "bob"}) {
      SayUnderDp(*book_, user, privacy::consent_purposes::kAll, now_.wall_ms);
    }
    Start();
  }
  void TearDown() override {
    own_.reset();
    book_.reset();
    OwnPatternsTest::TearDown();
  }
  // Offers a noised contribution of a user's lessons to the running round.
  void Give(const std::string& user) {
    const uint64_t round = RoundAt(*plan_, now_.wall_ms);
    Random random(round);
    federation::Contribution made =
        test::SomeContribution(*plan_, round, 0, user, random).contribution;
    made.noise = federation::Contribution::Noise::kWhole;
    auto offered = core_->OfferContribution(round, EncodeContribution(made, *plan_), now_,
                                            privacy::ShareableKind::kDpContribution);
    ASSERT_TRUE(offered.ok()) << offered.status();
    own_->RecordContribution(*std::move(offered), {book_->ContributorOf({.user_id = user})},
                             *core_);
  }
  size_t Contributions() const {
    const std::vector<federation::Item> items = core_->Items();
    return static_cast<size_t>(
        std::ranges::count(items, federation::ItemKind::kContribution, &federation::Item::kind));
  }
  void Withdraw(const std::string& user) {
    now_.wall_ms += 2;
    ASSERT_TRUE(book_->Withdraw(user, now_.wall_ms - 1).ok());
    ASSERT_TRUE(own_->RefreshAll(*core_, now_).ok());
  }

  std::unique_ptr<storage::UserConsentStore> consents_;
};

TEST_F(OwnContributionsTest, AWithdrawalTakesBackWhatHoldsThatUsersLessonsOnly) {
  Give("alice");
  now_ = {now_.now + std::chrono::milliseconds(plan_->round_ms), now_.wall_ms + plan_->round_ms};
  Give("bob");
  ASSERT_EQ(Contributions(), 2U);
  Withdraw("bob");
  EXPECT_EQ(Contributions(), 1U);
  Withdraw("alice");
  EXPECT_EQ(Contributions(), 0U);
}

TEST_F(OwnContributionsTest, ARestartKnowsWhoseLessonsAreInAContribution) {
  Give("alice");
  const std::vector<federation::Item> stored = core_->Items();
  Start(stored);
  EXPECT_THAT(removed_, IsEmpty());
  ASSERT_EQ(Contributions(), 1U);
  Withdraw("bob");
  EXPECT_EQ(Contributions(), 1U) << "nothing of bob is in it";
  Withdraw("alice");
  EXPECT_EQ(Contributions(), 0U);
  Start(stored);  // the process ended between the withdrawal and the removal
  EXPECT_EQ(removed_.size(), 1U);
  EXPECT_EQ(Contributions(), 0U);
}

TEST_F(OwnContributionsTest, AContributionOfUnknownPeopleIsTakenBackAtTheStart) {
  Give("alice");
  const std::vector<federation::Item> stored = core_->Items();
  ASSERT_EQ(stored.size(), 1U);
  ASSERT_TRUE(releases().Delete({{stored[0].id}}).ok());
  Start(stored);
  EXPECT_EQ(removed_.size(), 1U);
}

// A verdict is a statistic of lessons without noise.
class OwnVerdictsTest : public OwnContributionsTest {
 protected:
  OwnVerdictsTest() {
    tier_ = privacy::ConsentTier::kPublic;
    federation::LearnerPlan plan = test::DeltaPlan();
    plan.frame_id.fill(0x22);
    plan.strategy.strategy = federation::Strategy::kQualityWeighted;
    plan_ = std::make_shared<const federation::LearnerPlan>(std::move(plan));
  }
  void SetUp() override {
    OwnContributionsTest::SetUp();
    ASSERT_TRUE(book_
                    ->Record({.subject = {.id = "carol"},
                              .purposes = privacy::consent_purposes::kAll,
                              .widest = privacy::ConsentTier::kPublic,
                              .expires_ms = 300 * test::kDayMillis},
                             now_.wall_ms)
                    .ok());
    const uint64_t round = RoundAt(*plan_, now_.wall_ms);
    auto offered = core_->OfferVerdict(
        round, EncodeVerdict({.round = round, .gains = {{Digest{1}, {1, 2}}}}, *plan_), now_);
    ASSERT_TRUE(offered.ok()) << offered.status();
    own_->RecordContribution(*std::move(offered), {book_->ContributorOf({.user_id = "carol"})},
                             *core_);
    ASSERT_EQ(core_->Items().size(), 1U);
  }
};

TEST_F(OwnVerdictsTest, AWithdrawalOfAUserWhoseLessonsJudgedTakesItBack) {
  const std::vector<federation::Item> stored = core_->Items();
  Start(stored);
  EXPECT_THAT(removed_, IsEmpty());
  Withdraw("bob");
  EXPECT_EQ(core_->Items().size(), 1U) << "nothing of bob judged";
  Withdraw("carol");
  EXPECT_THAT(core_->Items(), IsEmpty());
  Start(stored);  // the process ended between the withdrawal and the removal
  EXPECT_EQ(removed_.size(), 1U);
}

TEST_F(OwnVerdictsTest, AStricterTierTakesItBack) {
  const std::vector<federation::Item> stored = core_->Items();
  tier_ = privacy::ConsentTier::kDp;
  Start(stored);
  EXPECT_EQ(removed_.size(), 1U);
  EXPECT_THAT(core_->Items(), IsEmpty());
}

TEST_F(OwnContributionsTest, AnotherTierTakesBackWhatTheFormerOneOffered) {
  Give("alice");
  SetTier(privacy::ConsentTier::kMasked);
  ASSERT_TRUE(own_->RefreshAll(*core_, now_).ok());
  EXPECT_EQ(Contributions(), 0U);
}

}  // namespace
}  // namespace ruvd::sharing
