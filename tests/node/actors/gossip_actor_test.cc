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
#include "ruvd/admin/v1/admin.pb.h"
#include "tests/federation/fixture.h"
#include "tests/federation/learner_fixture.h"
#include "tests/node/federated_model_fixture.h"

namespace ruvd::actors {
namespace {

using testing::Contains;
using testing::ElementsAre;

class GossipActorTest : public FederatedModelTest {
 protected:
  void SetUp() override {
    FederatedModelTest::SetUp();
    wall().StepWall(test::kWallStart + 1000 - wall().WallMillis());
    consent_ = std::make_unique<storage::ConsentStore>(*database_);
    item_store_ = std::make_unique<storage::ItemStore>(*database_);
    catalog_ = std::make_unique<serving::AdapterCatalog>(*model_, serving::AdapterCatalogOptions{});
    adapters_ = std::make_unique<serving::AdapterSource>(*patterns_, *model_,
                                                         inference::SelectionOptions{}, *catalog_);
    release_ = sharing::DpRelease::Create(
        {.policy =
             privacy::SitePolicy::Parse("version = 1\n[scope.lab]\ntiers = [\"dp\", \"masked\"]\n"
                                        "purposes = [\"training\", \"sharing\"]\n")
                 .value(),
         .scope = "lab",
         .layout = options_.layout,
         .clock = &wall()});
    start_.gossip = test::ConfigFor(node_key_, 0);
    start_.gossip.model_hash = options_.layout.model_hash;
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
    start_.release = release_.get();
    start_.adapters = adapters_.get();
    start_.learning = Services();
    start_.learning_pool = &executor_;
    start_.dial = [](const std::string&) {};
    start_.trust = {
        .load_revocations = [this] { return revoked_; },
        .store_revocations =
            [this](const privacy::RevocationList& list) {
              revoked_ = list;
              return absl::OkStatus();
            },
        .load_evidence = [] { return std::vector<std::string>(); },
        .store_evidence = [](const std::vector<std::string>&) { return absl::OkStatus(); }};
    start_.round = std::chrono::seconds(1);
  }
  ManualClock& wall() { return executor_.manual_clock(); }

  void Start() {
    start_.model = federated_.get();
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
  // Adds the results of earlier rounds: an update of node 9, and a sum that newer sums have
  // replaced since.
  void ServeASumOf(const std::vector<uint8_t>& members) {
    Add(9, {Small(1e-3F), Small(1e-3F)});
    ASSERT_TRUE(Run({SumOf(members)}).changed);
    ASSERT_NE(federated_->adapter(), nullptr);
  }

  SimExecutor executor_{1};
  const privacy::SigningKey issuer_ =
      privacy::SigningKey::FromSeed(test::SeedOf(1000));  // of test::Authority()
  const privacy::NodeKey node_key_ = privacy::NodeKey::FromSeed(test::SeedOf(0));
  std::unique_ptr<storage::ConsentStore> consent_;
  std::unique_ptr<storage::ItemStore> item_store_;
  std::unique_ptr<serving::AdapterCatalog> catalog_;
  std::unique_ptr<serving::AdapterSource> adapters_;
  std::unique_ptr<sharing::DpRelease> release_;
  privacy::RevocationList revoked_;
  uint64_t lives_ = 0;
  uint64_t failing_lives_ = 0;
  FederationActorOptions start_;
  std::unique_ptr<runtime::ActorSystem> system_;
  std::unique_ptr<sharing::FederationActor> federation_;
};

// Found by review: with rounds, a node that had stored a revocation list or a proof against a
// member ended with a fault when it started again.
TEST_F(GossipActorTest, ANodeThatRunsRoundsStartsWithAStoredRevocationList) {
  Open();
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
  Open();
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
  EXPECT_EQ(View().certificate_expires_ms, newest_ms);
}

// Regression test: the actor failed after it heard that an update was withdrawn and before it
// started again. The next actor served what contained the update.
TEST_F(GossipActorTest, WhatAFormerLifeDistrustedIsNotServedAndIsMadeAnew) {
  ServeASumOf({1, 2, 3, 4});
  federated_->InvalidateSaved();
  Start();
  EXPECT_EQ(View().federated_adapter_version, 0u);
  EXPECT_FALSE(federated_->saved_is_invalid());
  EXPECT_EQ(federated_->adapter(), nullptr);
}

TEST_F(GossipActorTest, WhatIsTrustedIsServedFromTheStart) {
  ServeASumOf({1, 2, 3, 4});
  Start();
  EXPECT_EQ(View().federated_adapter_version, 1u);
  EXPECT_NE(federated_->adapter(), nullptr);
}

// Regression test: newer sums had replaced the one with the member's update, and the replaced ones
// were not checked any more.
TEST_F(GossipActorTest, AnExpelledMemberOfASumThatWasReplacedIsTakenOut) {
  ServeASumOf({1, 2, 3, 4});
  Start();
  ASSERT_EQ(View().federated_adapter_version, 1u);
  federation_->SetRevocations(ListOf(IdOf(5)));
  EXPECT_EQ(View().federated_adapter_version, 1u) << "5 was in nothing";
  federation_->SetRevocations(
      privacy::RevokeNodes(revoked_, {IdOf(3)}, wall().WallMillis() + 1, issuer_).value());
  EXPECT_EQ(View().federated_adapter_version, 0u);
  EXPECT_EQ(federated_->adapter(), nullptr);
  EXPECT_THAT(federated_->Contributors(), ElementsAre());
}

// The node ended after it heard of the withdrawal and before it acted on it.
TEST_F(GossipActorTest, AMemberThatWasExpelledBeforeARestartIsTakenOutAfterIt) {
  ServeASumOf({1, 2, 3, 4});
  Open();  // as after a restart
  ASSERT_THAT(federated_->Contributors(), Contains(IdOf(3)));
  revoked_ = ListOf(IdOf(3));
  Start();
  EXPECT_EQ(View().federated_adapter_version, 0u);
  EXPECT_THAT(federated_->Contributors(), ElementsAre());
}

// The gauges of Prometheus ask the release, not the actor.
TEST_F(GossipActorTest, TheReleaseKnowsTheOperatorsTierAlsoAfterARestart) {
  Open();
  Start();
  ASSERT_NE(release_->View(privacy::ConsentTier::kMasked).epsilon(),
            release_->View(privacy::ConsentTier::kDp).epsilon());
  EXPECT_EQ(release_->View().epsilon(), release_->View(privacy::ConsentTier::kDp).epsilon());
  absl::StatusOr<admin::v1::SetConsentResponse> granted = absl::UnknownError("no answer");
  federation_->SetConsent(privacy::ConsentTier::kMasked,
                          [&granted](absl::StatusOr<admin::v1::SetConsentResponse> answer) {
                            granted = std::move(answer);
                          });
  executor_.RunFor(std::chrono::seconds(1));
  ASSERT_TRUE(granted.ok()) << granted.status();
  const double of_share = release_->View(privacy::ConsentTier::kMasked).epsilon();
  EXPECT_EQ(release_->View().epsilon(), of_share);
  release_->SetTier(privacy::ConsentTier::kPrivate);  // like a release that is made again
  Start();
  EXPECT_EQ(release_->View().epsilon(), of_share);
}

}  // namespace
}  // namespace ruvd::actors
