// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Tests what the federation actor continues with when it starts again, and what it no longer
// serves.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/sim_executor.h"
#include "base/status.h"
#include "node/actors/federation_actor.h"
#include "node/runtime/reasons.h"
#include "privacy/dp/rdp_curve.h"
#include "privacy/dp/zcdp.h"
#include "privacy/reasons.h"
#include "ruvd/privacy/v1/privacy.pb.h"
#include "tests/federation/fixture.h"
#include "tests/federation/learner_fixture.h"
#include "tests/node/judging_fixture.h"

namespace ruvd::actors {
namespace {

class GossipActorTest : public JudgingTest {
 protected:
  void SetUp() override {
    JudgingTest::SetUp();
    wall().StepWall(test::kWallStart + 1000 - wall().WallMillis());
    frame_ =
        RandomFrameSet(*model_, LinearTargets(*model_, inference::Modules::kAll, 1), 4, 1).value();
    consent_ = std::make_unique<storage::ConsentStore>(*database_);
    item_store_ = std::make_unique<storage::ItemStore>(*database_);
    catalog_ = std::make_unique<serving::AdapterCatalog>(*model_, serving::AdapterCatalogOptions{});
    std::vector<privacy::UnitBudget> budgets;
    for (const auto unit : {privacy::PrivacyUnit::kLesson, privacy::PrivacyUnit::kUser}) {
      budgets.push_back(privacy::UnitBudget::Within(unit, 8, 1e-6).value());
    }
    ledger_ = storage::PrivacyLedgerStore::Open(*database_, {.budgets = budgets, .key = &node_key_})
                  .value();
    contributor_ = std::make_unique<sharing::LocalContributor>(sharing::LocalContributorOptions{
        .policy =
            privacy::SitePolicy::Parse("version = 1\n[scope.lab]\ntiers = [\"dp\", \"masked\"]\n"
                                       "purposes = [\"training\", \"sharing\"]\n")
                .value(),
        .scope = "lab",
        .budgets = budgets,
        .ledger = ledger_.get()});
    start_.gossip = test::ConfigFor(node_key_, 0);
    start_.gossip.frame_id = frame_.id;
    start_.next_boot = [this]() -> absl::StatusOr<uint64_t> {
      ++lives_;
      return lives_ <= failing_lives_ ? absl::StatusOr<uint64_t>(absl::UnavailableError("no disk"))
                                      : absl::StatusOr<uint64_t>(lives_);
    };
    start_.key = &node_key_;
    start_.clock = &wall();
    start_.items = item_store_.get();
    start_.patterns = patterns_.get();
    start_.consent = consent_.get();
    start_.contributor = contributor_.get();
    start_.frame = &frame_;
    start_.learning = Services();
    start_.learning.clock = &wall();
    start_.learning_pool = &executor_;
    withdrawal_ = std::make_unique<sharing::OperatorWithdrawal>(*consent_, node_key_, wall());
    start_.withdrawal = withdrawal_.get();
    start_.pool = &executor_;
    start_.dial = [](const std::string&) {};
    start_.trust = {
        .load_revocations = [this] { return revoked_; },
        .store_revocations =
            [this](const privacy::RevocationList& list) {
              revoked_ = list;
              return absl::OkStatus();
            },
        .load_evidence = [] { return std::vector<std::string>(); },
        .store_evidence = [](const std::vector<std::string>&) { return absl::OkStatus(); },
        .load_scores = [] { return federation::KeptScores(); },
        .store_scores = [](const federation::KeptScores&) { return absl::OkStatus(); }};
  }
  ManualClock& wall() { return executor_.manual_clock(); }

  storage::DatabaseOptions Options() override {
    storage::DatabaseOptions options = JudgingTest::Options();
    options.soft_reserve_bytes = 2000;
    options.hard_reserve_bytes = 1000;
    options.free_bytes = [this](const std::string&) -> absl::StatusOr<uint64_t> {
      return free_bytes_;
    };
    return options;
  }

  void SetFreeBytes(uint64_t bytes) {
    free_bytes_ = bytes;
    clock_.Advance(std::chrono::minutes(1));  // the store asks for them now and then
  }

  void Start() {
    system_ = std::make_unique<runtime::ActorSystem>(executor_, runtime::ActorSystemOptions{});
    auto started = StartFederationActor(*system_, start_);
    ASSERT_TRUE(started.ok()) << started.status();
    federation_ = *std::move(started);
    executor_.RunFor(std::chrono::seconds(30));
  }
  sharing::FederationView View() {
    absl::StatusOr<sharing::FederationView> view = absl::UnknownError("no answer");
    federation_->View(
        [&](absl::StatusOr<sharing::FederationView> given) { view = std::move(given); });
    executor_.RunFor(std::chrono::seconds(1));
    EXPECT_TRUE(view.ok()) << view.status();
    return view.value_or(sharing::FederationView());
  }
  privacy::RevocationList ListOf(const privacy::NodeId& revoked) {
    return privacy::RevokeNodes({}, {revoked}, wall().WallMillis(), issuer_).value();
  }
  absl::StatusOr<privacy::v1::SetConsentResponse> SetConsent(privacy::ConsentTier tier) {
    absl::StatusOr<privacy::v1::SetConsentResponse> granted = absl::UnknownError("no answer");
    federation_->SetConsent(tier,
                            [&granted](absl::StatusOr<privacy::v1::SetConsentResponse> answer) {
                              granted = std::move(answer);
                            });
    executor_.RunFor(std::chrono::seconds(1));
    return granted;
  }

  SimExecutor executor_{1};
  const privacy::ClusterAuthority issuer_ =
      privacy::ClusterAuthority::FromSeed(test::SeedOf(1000));  // of test::Authority()
  const privacy::NodeKey node_key_ = privacy::NodeKey::FromSeed(test::SeedOf(0));
  std::unique_ptr<storage::ConsentStore> consent_;
  std::unique_ptr<sharing::OperatorWithdrawal> withdrawal_;
  std::unique_ptr<storage::ItemStore> item_store_;
  std::unique_ptr<serving::AdapterCatalog> catalog_;
  std::unique_ptr<storage::PrivacyLedgerStore> ledger_;
  std::unique_ptr<sharing::LocalContributor> contributor_;
  inference::FrameSet frame_;
  privacy::RevocationList revoked_;
  uint64_t free_bytes_ = uint64_t{1} << 40;
  uint64_t lives_ = 0;
  uint64_t failing_lives_ = 0;
  FederationActorOptions start_;
  std::unique_ptr<runtime::ActorSystem> system_;
  std::unique_ptr<sharing::FederationActor> federation_;
};

// Found by review: with rounds, a node that had stored a revocation list or a proof against a
// member ended with a fault when it started again.
TEST_F(GossipActorTest, ANodeThatRunsRoundsStartsWithAStoredRevocationList) {
  const auto plan = std::make_shared<const federation::LearnerPlan>(test::DeltaPlan());
  start_.gossip.plan = plan;
  start_.rounds = RoundLearningOptions{.plan = plan, .catalog = catalog_.get()};
  revoked_ = ListOf(test::LearnerNode(9));
  Start();
  const sharing::FederationView view = View();
  ASSERT_TRUE(view.rounds.has_value());
  EXPECT_EQ(view.rounds->plan_id(), ToHex(plan->Id()));
  EXPECT_EQ(view.rounds->round(), RoundAt(*plan, wall().WallMillis()));
  EXPECT_EQ(view.rounds->served_version(), 0U);
}

// Regression test: the actor continued with the certificate of the node's start, which peers refuse
// once it has expired.
TEST_F(GossipActorTest, AnActorThatBeginsAgainHasTheNewestCertificate) {
  const int64_t first_ms = start_.gossip.certificate.not_after_ms;
  const int64_t newest_ms = first_ms + 5 * test::kDayMillis;
  failing_lives_ = 1;
  start_.certificate = [this, newest_ms] {
    return lives_ == 0 ? start_.gossip.certificate
                       : test::CertificateFor(node_key_, "node-0", test::Authority(),
                                              privacy::roles::kMember,
                                              test::kWallStart - test::kDayMillis, newest_ms);
  };
  Start();
  EXPECT_EQ(lives_, 2u);
  EXPECT_EQ(View().certificate.not_after_ms, newest_ms);
}

// Found by review: after a change of privacy.unit a user who withdrew was told that nothing had
// left.
TEST_F(GossipActorTest, WhatLeftUnderAnotherUnitIsStillSaid) {
  privacy::LedgerCharge charge{.unit = privacy::PrivacyUnit::kUser,
                               .mechanism = privacy::PrivacyMechanism::kDistributedGaussian,
                               .sigma = 2,
                               .sampling_rate = 1,
                               .delta = 1e-6,
                               .round = 7};
  charge.curve = privacy::dp::ZcdpCurve(0.1).value();
  charge.epsilon = privacy::dp::EpsilonOf(charge.curve, charge.delta)->value;
  ASSERT_TRUE(ledger_->Reserve(charge).ok());
  Start();
  const sharing::FederationView view = View();
  ASSERT_TRUE(view.release.has_value());
  EXPECT_EQ(view.release->unit(), privacy::v1::PRIVACY_UNIT_LESSON);
  EXPECT_EQ(view.release->releases(), 1U);
  EXPECT_TRUE(view.release->sums());
  const privacy::dp::RdpCurve of_lessons = privacy::dp::ReplacementCurve(charge.curve);
  EXPECT_NEAR(view.release->spent_epsilon(),
              privacy::dp::EpsilonOf(of_lessons, charge.delta)->value, 1e-9);
}

TEST_F(GossipActorTest, APreviewWithoutAFrameSaysThatNoContributionWouldLeave) {
  start_.rounds.reset();
  Start();
  absl::StatusOr<privacy::v1::PreviewReleaseResponse> preview = absl::UnknownError("no answer");
  federation_->Preview(privacy::ConsentTier::kDp,
                       [&preview](absl::StatusOr<privacy::v1::PreviewReleaseResponse> answer) {
                         preview = std::move(answer);
                       });
  executor_.RunFor(std::chrono::seconds(1));
  ASSERT_TRUE(preview.ok()) << preview.status();
  EXPECT_EQ(preview->refusal_reason(), reasons::kFrameMismatch);
}

// Under the tier masked the plan must have noise, and the policy must allow the tier.
TEST_F(GossipActorTest, ATierThatThePolicyOrThePlanRefusesIsRefusedWithItsCause) {
  start_.rounds.reset();
  Start();
  EXPECT_EQ(ReasonOf(SetConsent(privacy::ConsentTier::kPublic).status()), reasons::kPolicyRefuses);
  EXPECT_EQ(View().tier, privacy::ConsentTier::kPrivate);
  EXPECT_TRUE(SetConsent(privacy::ConsentTier::kMasked).ok());
  EXPECT_EQ(View().tier, privacy::ConsentTier::kMasked);
}

// Found by a hostile review: the operator of a node that shares could not withdraw the consent
// while the federation did not start, and with the next start the node shared again.
TEST_F(GossipActorTest, ConsentIsWithdrawnWhileTheActorFails) {
  const auto masked = privacy::ConsentTier::kMasked;
  const auto record = privacy::ConsentRecord::Sign(masked, wall().WallMillis(), node_key_);
  ASSERT_TRUE(consent_->Set(record).ok());
  failing_lives_ = 1'000'000;
  Start();
  EXPECT_EQ(ReasonOf(SetConsent(masked).status()), reasons::kActorFailing) << "only withdrawals";
  const auto withdrawn = SetConsent(privacy::ConsentTier::kPrivate);
  ASSERT_TRUE(withdrawn.ok()) << withdrawn.status();
  EXPECT_THAT(withdrawn->residual(), testing::HasSubstr("until it federates again"));
  EXPECT_EQ(consent_->Get().value()->tier, privacy::ConsentTier::kPrivate);
  failing_lives_ = 0;
  executor_.RunFor(std::chrono::seconds(30));
  EXPECT_EQ(View().tier, privacy::ConsentTier::kPrivate);
  EXPECT_TRUE(SetConsent(masked).ok()) << "the actor works again";
}

TEST_F(GossipActorTest, AConsentThatARestoreSuspendedSharesNothing) {
  const auto masked = privacy::ConsentTier::kMasked;
  const auto record = privacy::ConsentRecord::Sign(masked, wall().WallMillis(), node_key_);
  ASSERT_TRUE(consent_->Set(record).ok());
  ASSERT_TRUE(consent_->StoreSharedTotals({.plain = true, .bytes_sent = 7}).ok());
  ASSERT_TRUE(consent_->Suspend().ok());
  start_.rounds.reset();
  Start();
  EXPECT_EQ(View().tier, privacy::ConsentTier::kPrivate);
  EXPECT_EQ(View().bytes_shared, 7u) << "what left is not forgotten";
  ASSERT_TRUE(SetConsent(masked).ok());
  EXPECT_EQ(View().tier, masked);
  EXPECT_FALSE(consent_->IsSuspended().value());
}

// A withdrawal that could not be stored held only until the actor was started again.
TEST_F(GossipActorTest, ARefusedWithdrawalHoldsInTheNextLife) {
  start_.rounds.reset();
  Start();
  ASSERT_TRUE(SetConsent(privacy::ConsentTier::kMasked).ok());
  for (const bool failing : {false, true}) {
    system_.reset();
    failing_lives_ = failing ? lives_ + 1'000'000 : 0;
    Start();
    SetFreeBytes(0);
    EXPECT_FALSE(SetConsent(privacy::ConsentTier::kPrivate).ok());
    EXPECT_EQ(consent_->Get().value()->tier, privacy::ConsentTier::kMasked) << "the disk is full";
    system_.reset();  // as a failure does
    failing_lives_ = 0;
    Start();
    EXPECT_EQ(View().tier, privacy::ConsentTier::kPrivate);
    SetFreeBytes(uint64_t{1} << 40);
    system_.reset();
    Start();
    EXPECT_EQ(consent_->Get().value()->tier, privacy::ConsentTier::kPrivate);
    ASSERT_TRUE(SetConsent(privacy::ConsentTier::kMasked).ok());
  }
}

}  // namespace
}  // namespace ruvd::actors
