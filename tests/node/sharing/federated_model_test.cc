// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Tests what the updates of a cluster change in a node's global adapter, bank by bank, with a real
// model.

#include "node/sharing/federated_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "federation/daf/adapter_update.h"
#include "node/limits.h"
#include "ruvd/storage/v1/state.pb.h"
#include "tests/node/federated_model_fixture.h"

namespace ruvd::sharing {
namespace {

using testing::ElementsAre;

// The half of t that was learned is kept; the other half learned the opposite and is rolled back.
TEST_F(FederatedModelTest, ABankThatHarmsLessonsIsRolledBackWhileAnotherIsKept) {
  AddJudges(8);
  options_.gate.max_general_loss = 1;  // the lessons decide
  AddFive({Times(Learned()[0], -1), Learned()[1]});
  const FederatedOutcome outcome = Run();
  EXPECT_EQ(outcome.evaluation_lessons, 8u);
  ASSERT_THAT(Verdicts(outcome), ElementsAre(federation::BankVerdict::kRolledBack,
                                             federation::BankVerdict::kCommitted));
  EXPECT_TRUE(federation::ShowsHarm(outcome.banks[0].score, options_.gate));
  EXPECT_TRUE(federation::ShowsGain(outcome.banks[1].score, options_.gate))
      << outcome.banks[1].score.gain << " error " << outcome.banks[1].score.standard_error;
  EXPECT_EQ(outcome.banks[1].contributors, 5u);
  ASSERT_TRUE(outcome.changed);
  ASSERT_NE(outcome.adapter, nullptr);
  EXPECT_EQ(outcome.adapter->version, 1u);
  const std::vector<float> low = ServedAt(*outcome.adapter, 0.2F);
  EXPECT_TRUE(std::ranges::all_of(low, [](float value) { return value == 0; }));
  const std::vector<float> high = ServedAt(*outcome.adapter, 0.8F);
  EXPECT_TRUE(std::ranges::any_of(high, [](float value) { return value != 0; }));
}

// A node without lessons accepts what does not harm general text, bank by bank.
TEST_F(FederatedModelTest, WithoutLessonsGeneralTextDecidesOfEveryBank) {
  AddFive({Small(1e-4F), std::vector<float>(kModelValues, 2.5F)});
  const FederatedOutcome outcome = Run();
  EXPECT_EQ(outcome.evaluation_lessons, 0u);
  ASSERT_THAT(Verdicts(outcome), ElementsAre(federation::BankVerdict::kCommitted,
                                             federation::BankVerdict::kRolledBack));
  EXPECT_LE(outcome.banks[0].score.general_loss, 0.005);
  EXPECT_GT(outcome.banks[1].score.general_loss, 0.005);
  EXPECT_EQ(outcome.peers.at(0).banks.at(0).alone.documents, 0u)
      << "there was nothing to measure on";
}

// If a gain is required, what is not measured is not accepted.
TEST_F(FederatedModelTest, ANodeThatAsksForGainsTakesThoseOnly) {
  options_.gate = {.max_general_loss = 1, .commits_harmless = false};
  AddFive({Small(1e-4F), Learned()[1]});
  EXPECT_FALSE(Run().changed);
  AddJudges(8);
  EXPECT_THAT(Verdicts(Run()), ElementsAre(federation::BankVerdict::kRolledBack,
                                           federation::BankVerdict::kCommitted));
}

TEST_F(FederatedModelTest, ARestartKeepsWhatIsServed) {
  AddFive({Small(1e-3F), Small(-1e-3F)});
  const FederatedOutcome first = Run();
  ASSERT_TRUE(first.changed);
  EXPECT_FALSE(first.unfinished);
  Open();
  ASSERT_NE(federated_->adapter(), nullptr);
  EXPECT_EQ(federated_->adapter()->version, 1u);
  EXPECT_EQ(ServedAt(*federated_->adapter(), 0.2F), ServedAt(*first.adapter, 0.2F));
  EXPECT_EQ(ServedAt(*federated_->adapter(), 0.8F), ServedAt(*first.adapter, 0.8F));
  const FederatedOutcome second = Run();
  EXPECT_FALSE(second.changed) << "the same updates say the same";
  EXPECT_THAT(Verdicts(second), ElementsAre(federation::BankVerdict::kUnchanged,
                                            federation::BankVerdict::kUnchanged));
  EXPECT_EQ(second.round, 2u);
}

// One of two updates is withdrawn: what is served becomes the other one.
TEST_F(FederatedModelTest, WhatIsTakenBackHasNoSayAnyMore) {
  Add(1, {Small(1e-3F), Small(1e-3F)});
  Add(2, {Small(3e-3F), Small(3e-3F)});
  const std::vector<float> both = ServedAt(*Run().adapter, 0.2F);
  items_.pop_back();
  const FederatedOutcome rest = Run();
  EXPECT_TRUE(rest.changed);
  const std::vector<float> one = ServedAt(*rest.adapter, 0.2F);
  for (size_t i = 0; i < one.size(); ++i) {
    EXPECT_NEAR(2 * one[i], both[i], 1e-6F);
  }
}

// Regression test: any withdrawn update made all nodes begin again, even one that was never used.
TEST_F(FederatedModelTest, ItKnowsAlsoAfterARestartWhoseUpdatesItWasMadeOf) {
  Add(1, {Small(1e-3F), Small(1e-3F)});
  AddPayload(2, "no update");
  Run();
  EXPECT_TRUE(federated_->MayContain(IdOf(1)));
  EXPECT_FALSE(federated_->MayContain(IdOf(2)));
  EXPECT_FALSE(federated_->MayContain(IdOf(3)));
  Open();
  EXPECT_THAT(federated_->Contributors(), ElementsAre(IdOf(1)));
  items_.clear();
  Add(3, {Small(2e-3F), Small(2e-3F)});
  Run();
  EXPECT_THAT(federated_->Contributors(), ElementsAre(IdOf(1), IdOf(3)))
      << "what it has moved on from may still be in it";
  ASSERT_TRUE(federated_->Forget().ok());
  EXPECT_THAT(federated_->Contributors(), ElementsAre());
  Open();
  EXPECT_THAT(federated_->Contributors(), ElementsAre());
}

// Regression test: a sum had the name of its set alone, so it was not known which members were in
// sums that newer ones had replaced.
TEST_F(FederatedModelTest, AMaskedSumIsRememberedByItsMembersAlsoAfterARestart) {
  Add(9, {Small(1e-3F), Small(1e-3F)});
  ASSERT_TRUE(Run({SumOf({1, 2, 3, 4})}).changed);
  EXPECT_THAT(federated_->Contributors(), ElementsAre(IdOf(1), IdOf(2), IdOf(3), IdOf(4), IdOf(9)));
  Open();
  EXPECT_TRUE(federated_->MayContain(IdOf(3)));
  EXPECT_FALSE(federated_->MayContain(IdOf(5)));
}

// Regression test: a round that ran while one of its updates was withdrawn saved what it had made
// with it.
TEST_F(FederatedModelTest, WhatIsNotTrustedIsNotThereAfterARestart) {
  AddFive({Small(1e-3F), Small(-1e-3F)});
  ASSERT_TRUE(Run().changed);
  federated_->InvalidateSaved();
  AddFive({Small(5e-4F), Small(-5e-4F)});
  EXPECT_TRUE(Run().changed);
  Open();
  EXPECT_EQ(federated_->adapter(), nullptr);
  // After Forget the adapter is saved again.
  ASSERT_TRUE(federated_->Forget().ok());
  ASSERT_TRUE(Run().changed);
  Open();
  EXPECT_NE(federated_->adapter(), nullptr);
}

// Verdicts on peers fade with the rounds: a count that began again would make them last.
TEST_F(FederatedModelTest, ForgettingKeepsTheCountOfRounds) {
  AddFive({Small(1e-3F), Small(-1e-3F)});
  EXPECT_EQ(Run().round, 1u);
  ASSERT_TRUE(federated_->Forget().ok());
  EXPECT_EQ(federated_->adapter(), nullptr);
  EXPECT_EQ(Run().round, 2u);
}

TEST_F(FederatedModelTest, ASavedAdapterThatIsDamagedIsBegunAnew) {
  AddFive({Small(1e-3F), Small(-1e-3F)});
  ASSERT_TRUE(Run().changed);
  DamageState(storage::state::GlobalAdapter());
  Open();
  EXPECT_EQ(federated_->adapter(), nullptr);
  EXPECT_TRUE(Run().changed);
  Open();
  EXPECT_NE(federated_->adapter(), nullptr);
}

// The operator gave the node more banks: what was served continues at every t.
TEST_F(FederatedModelTest, OtherBanksAfterARestartServeTheSame) {
  options_.layout.boundaries = {};
  AddFive({Small(1e-3F)});
  const FederatedOutcome one = Run();
  ASSERT_TRUE(one.changed);
  options_.layout.boundaries = {0.3F, 0.6F};
  Open();
  ASSERT_NE(federated_->adapter(), nullptr);
  for (const float t : {0.1F, 0.4F, 0.9F}) {
    EXPECT_EQ(ServedAt(*federated_->adapter(), t), ServedAt(*one.adapter, t)) << t;
  }
}

// The updates come from two nodes of one bank and three of two.
TEST_F(FederatedModelTest, UpdatesOfOtherBanksHaveTheirSay) {
  const std::vector<float> small = Small(1e-3F);
  Add(1, {small});
  Add(2, {small});
  for (const uint8_t node : {uint8_t{3}, uint8_t{4}, uint8_t{5}}) {
    Add(node, {small, small});
  }
  const FederatedOutcome outcome = Run();
  ASSERT_EQ(outcome.peers.size(), 5u);
  for (const federation::PeerRecord& peer : outcome.peers) {
    EXPECT_TRUE(peer.refused.ok()) << peer.refused;
    EXPECT_GT(peer.banks.at(0).cosine, 0.999);
  }
  EXPECT_THAT(Verdicts(outcome), ElementsAre(federation::BankVerdict::kCommitted,
                                             federation::BankVerdict::kCommitted));
}

// Each update is measured alone, against none: a peer that does harm is known for it, and has no
// weight where quality decides.
TEST_F(FederatedModelTest, EveryUpdateIsMeasuredAloneAndWhoHarmsIsRemembered) {
  AddJudges(8);
  options_.strategy.strategy = federation::Strategy::kQualityWeighted;
  Add(1, Learned());
  Add(2, {Times(Learned()[0], -1), Times(Learned()[1], -1)});
  const FederatedOutcome outcome = Run();
  ASSERT_EQ(outcome.peers.size(), 2u);
  EXPECT_EQ(outcome.peers[0].banks[1].alone.documents, 8u);
  EXPECT_GT(outcome.peers[0].banks[1].alone.gain, 0);
  EXPECT_LT(outcome.peers[1].banks[1].alone.gain, 0);
  EXPECT_EQ(outcome.peers[1].banks[1].weight, 0);
  EXPECT_EQ(outcome.peers[0].reputation, 0.5);
  const FederatedOutcome again = Run();
  EXPECT_GT(again.peers[0].reputation, 0.5);
  EXPECT_LT(again.peers[1].reputation, 0.5);
}

// So many updates at once are measured over several rounds, and the measurements are remembered.
// Regression test: a restart forgave a peer that had done harm.
TEST_F(FederatedModelTest, ARestartKeepsReputationsAlsoWhereTheAdapterBeginsAnew) {
  AddJudges(8);
  options_.strategy.strategy = federation::Strategy::kQualityWeighted;
  Add(1, Learned());
  Add(2, {Times(Learned()[0], -1), Times(Learned()[1], -1)});
  Run();
  Open();
  FederatedOutcome outcome = Run();
  EXPECT_GT(outcome.peers[0].reputation, 0.5);
  EXPECT_LT(outcome.peers[1].reputation, 0.5);
  EXPECT_EQ(outcome.peers[1].banks[1].weight, 0);
  federated_->InvalidateSaved();
  Open();
  ASSERT_EQ(federated_->adapter(), nullptr);
  outcome = Run();
  EXPECT_LT(outcome.peers[1].reputation, 0.5);
  // Damaged reputations are not used.
  DamageState(storage::state::PeerReputations());
  Open();
  EXPECT_EQ(Run().peers[1].reputation, 0.5);
}

TEST_F(FederatedModelTest, MoreUpdatesThanARoundMeasuresAreMeasuredInLaterOnes) {
  AddJudges(5);
  const size_t nodes = limits::kMaxMeasuredUpdates + 3;
  for (size_t node = 1; node <= nodes; ++node) {
    Add(static_cast<uint8_t>(node), {Small(1e-4F * static_cast<float>(node)), Small(1e-4F)});
  }
  const auto measured = [](const FederatedOutcome& outcome) {
    return std::ranges::count_if(outcome.peers, [](const federation::PeerRecord& peer) {
      return peer.banks[0].alone.documents > 0;
    });
  };
  const FederatedOutcome first = Run();
  EXPECT_EQ(measured(first), static_cast<ptrdiff_t>(limits::kMaxMeasuredUpdates));
  EXPECT_TRUE(first.unfinished);
  const FederatedOutcome second = Run();
  EXPECT_EQ(measured(second), static_cast<ptrdiff_t>(nodes));
  EXPECT_FALSE(second.unfinished);
}

// The step goes half of the way at a time, across a restart, and not beyond the updates.
TEST_F(FederatedModelTest, AnOuterStepBelowOneGetsThereInRounds) {
  options_.outer.step = 0.5;
  const std::vector<float> target = Small(1e-3F);
  AddFive({target, target});
  const FederatedOutcome first = Run();
  EXPECT_TRUE(first.changed);
  EXPECT_TRUE(first.unfinished);
  Open();
  FederatedOutcome last = Run();
  for (int round = 0; round < 40 && last.unfinished; ++round) {
    last = Run();
  }
  EXPECT_FALSE(last.unfinished);
  options_.outer.step = 1;
  ASSERT_TRUE(state_->Delete(storage::state::GlobalAdapter()).ok());
  Open();
  const std::vector<float> whole = ServedAt(*Run().adapter, 0.2F);
  const std::vector<float> steps = ServedAt(*last.adapter, 0.2F);
  for (size_t i = 0; i < whole.size(); ++i) {
    EXPECT_NEAR(steps[i], whole[i], 1e-6F);
  }
}

TEST_F(FederatedModelTest, ACancelledRoundChangesNothing) {
  AddJudges(5);
  AddFive(Learned());
  Open();
  cancelled_ = true;
  EXPECT_TRUE(absl::IsCancelled(federated_->RunFederatedRound(Services(), items_).status()));
  EXPECT_EQ(federated_->adapter(), nullptr);
  EXPECT_FALSE(HasState(storage::state::GlobalAdapter()));
  cancelled_ = false;
  EXPECT_EQ(Run().round, 1u);
}

TEST_F(FederatedModelTest, ASavedAdapterOfOtherLengthsIsRefused) {
  SavedGlobalAdapter saved{.boundaries = {0.5F}, .served = 3, .contributors = {IdOf(1), IdOf(2)}};
  saved.state =
      federation::GlobalAdapter::Create(2, 4, {.kind = federation::OuterOptions::Kind::kAdam})
          .value()
          .State();
  saved.state.values[1][2] = 0.5F;
  const storage::v1::GlobalAdapter stored = ToStored(saved);
  const auto read = FromStored(stored);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, saved);
  const std::vector<std::function<void(storage::v1::GlobalAdapter*)>> damages = {
      [](auto* adapter) { adapter->mutable_model_hash()->pop_back(); },
      [](auto* adapter) { adapter->mutable_frame_id()->push_back('x'); },
      [](auto* adapter) { adapter->add_boundaries(0.7F); },
      [](auto* adapter) { adapter->set_boundaries(0, std::numeric_limits<float>::quiet_NaN()); },
      [](auto* adapter) { adapter->mutable_contributors()->SwapElements(0, 1); },
      [](auto* adapter) { adapter->mutable_contributors(0)->pop_back(); },
      [](auto* adapter) { adapter->mutable_banks()->RemoveLast(); },
      [](auto* adapter) { adapter->mutable_banks(1)->mutable_values()->resize(4); },
      [](auto* adapter) { adapter->mutable_banks(0)->mutable_first_moments()->pop_back(); }};
  for (size_t i = 0; i < damages.size(); ++i) {
    storage::v1::GlobalAdapter damaged = stored;
    damages[i](&damaged);
    EXPECT_FALSE(FromStored(damaged).ok()) << i;
  }
}

}  // namespace
}  // namespace ruvd::sharing
