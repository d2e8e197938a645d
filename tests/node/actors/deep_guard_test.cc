// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Tests what keeps deep rounds from forgetting, and the shapes of what they publish.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "inference/train/ewc.h"
#include "node/actors/deep_actor.h"
#include "node/learning/deep_round.h"
#include "node/process/learning_options.h"
#include "tests/node/deep_round_fixture.h"

namespace ruvd::actors {
namespace {

class DeepGuardTest : public DeepRoundFixture {
 protected:
  // Whether a round that was interrupted under other options continues under these.
  bool GoesOnUnder(const learning::DeepOptions& options) {
    {
      const auto round = Begin(5);
      while (round->step() < 2) {
        EXPECT_TRUE(round->Work(Duration(1)).ok());
      }
    }
    const learning::DeepOptions before = options_;
    options_ = options;
    const auto round = Begin(6);
    const bool goes_on = round->step() == 2;
    options_ = before;
    EXPECT_TRUE(learning::RemoveDeepCheckpoint(*state_).ok());
    return goes_on;
  }
  bool Remembers(uint32_t version) const { return HasState(storage::state::DeepMemory(version)); }
  std::shared_ptr<const inference::Talora> Served() {
    const auto served = catalog_->Find(serving::kDeepAdapter, std::nullopt);
    return served.ok() ? served->adapter : nullptr;
  }
};

TEST_F(DeepGuardTest, EveryGuardTrainsWhatIsPublished) {
  std::vector<Digest> ids;
  for (const learning::DeepGuard guard :
       {learning::DeepGuard::kReplay, learning::DeepGuard::kReplayKl, learning::DeepGuard::kEwc,
        learning::DeepGuard::kReplayEwc, learning::DeepGuard::kReplayKlEwc}) {
    SCOPED_TRACE(learning::DeepGuardName(guard));
    options_.guard = guard;
    const learning::DeepResult result = Run();
    ASSERT_EQ(result.outcome, learning::DeepOutcome::kPublished);
    ids.push_back(ServedId());
    EXPECT_EQ(Remembers(1), learning::UsesEwc(guard));
    ASSERT_TRUE(catalog_->Unload(serving::kDeepAdapter, 1).ok());
    ASSERT_TRUE(changes_->Remove(result.change->number).ok());
  }
  EXPECT_NE(ids[0], ids[1]);
  EXPECT_NE(ids[0], ids[2]);
}

TEST_F(DeepGuardTest, EwcHoldsTheNextRoundWhereTheLastOneEnded) {
  options_.guard = learning::DeepGuard::kEwc;
  ASSERT_EQ(Run().outcome, learning::DeepOutcome::kPublished);
  const Digest first = ServedId();
  const auto moved_by = [&](double strength) {
    options_.ewc_strength = strength;
    options_.learning_rate = 1e-4;
    const auto memory = memories_->Find(1);
    EXPECT_TRUE(memory.has_value());
    const auto round = Begin(2);
    EXPECT_TRUE(round->Work(std::chrono::hours(1)).ok());
    const auto checkpoint = learning::ReadDeepCheckpoint(*state_);
    const auto state = inference::train::DecodeRunState(AsBytes((*checkpoint)->run));
    double weighted = 0;
    for (size_t i = 0; i < state->parameters.size(); ++i) {
      const double away = static_cast<double>(state->parameters[i] - memory->ewc.anchor[i]);
      weighted += memory->ewc.fisher[i] * away * away;
    }
    EXPECT_TRUE(learning::RemoveDeepCheckpoint(*state_).ok());
    return weighted;
  };
  const double freely = moved_by(0);
  EXPECT_LT(moved_by(1e9), 0.5 * freely);
  EXPECT_EQ(ServedId(), first);
}

TEST_F(DeepGuardTest, TheMemoryOfAVersionLeavesWithItAndThatOfTheOneBeforeStays) {
  options_.guard = learning::DeepGuard::kReplayEwc;
  ASSERT_EQ(Run().outcome, learning::DeepOutcome::kPublished);
  options_.ewc_strength = 0;
  const learning::DeepResult second = Run(2);
  ASSERT_EQ(second.outcome, learning::DeepOutcome::kPublished);
  EXPECT_TRUE(Remembers(1) && Remembers(2));
  ASSERT_TRUE(WithdrawDeep(*catalog_, *second.change).ok());
  learning::SweepDeepMemories(Services());
  EXPECT_TRUE(Remembers(1));
  EXPECT_FALSE(Remembers(2));
}

TEST_F(DeepGuardTest, TwoVersionsAtMostAreRemembered) {
  options_.guard = learning::DeepGuard::kReplayEwc;
  ASSERT_EQ(Run().outcome, learning::DeepOutcome::kPublished);
  options_.ewc_strength = 0;
  const auto round = Begin(2);
  ASSERT_TRUE(round->Work(std::chrono::hours(1)).ok());
  learning::DeepMemory old = memories_->Find(1).value();
  old.version = 0;
  ASSERT_TRUE(memories_->Store(old).ok());
  ASSERT_EQ(round->Finish()->outcome, learning::DeepOutcome::kPublished);
  EXPECT_FALSE(Remembers(0));
  EXPECT_TRUE(Remembers(1) && Remembers(2));
}

TEST_F(DeepGuardTest, WhatIsRememberedOfAnErasedUserGoes) {
  AddLesson("hers", "alice");
  options_.guard = learning::DeepGuard::kEwc;
  ASSERT_EQ(Run().outcome, learning::DeepOutcome::kPublished);
  learning::SweepDeepMemories(Services());
  ASSERT_TRUE(Remembers(1));
  EXPECT_EQ(memories_->Find(1)->responses, std::vector<std::string>{"hers"});
  ASSERT_TRUE(database_->Erase(storage::KeyScope::User("alice")).ok());
  learning::SweepDeepMemories(Services());
  EXPECT_FALSE(Remembers(1));
}

TEST_F(DeepGuardTest, ADamagedMemoryCostsThePenaltyOnly) {
  options_.guard = learning::DeepGuard::kEwc;
  ASSERT_EQ(Run().outcome, learning::DeepOutcome::kPublished);
  DamageState(storage::state::DeepMemory(1));
  const auto round = Begin(2);
  EXPECT_TRUE(round->Work(std::chrono::hours(1)).ok());
  EXPECT_FALSE(Remembers(1)) << "said once, not in every round";
}

TEST_F(DeepGuardTest, ARoundUnderOtherOptionsBeginsAnew) {
  EXPECT_TRUE(GoesOnUnder(options_));
  std::vector<learning::DeepOptions> others(5, options_);
  others[0].guard = learning::DeepGuard::kReplayKl;
  others[1].guard = learning::DeepGuard::kReplayEwc;
  others[2].learning_rate *= 2;
  others[3].banks = 3;
  others[4].rank = 4;
  for (const learning::DeepOptions& other : others) {
    EXPECT_FALSE(GoesOnUnder(other)) << &other - others.data();
  }
  options_.banks = 2;
  options_.guard = learning::DeepGuard::kEwc;
  EXPECT_TRUE(GoesOnUnder(options_));
  others.assign(5, options_);
  others[0].bank_rank = 2;
  others[1].bank_training.residual_rate = 1;
  others[2].bank_training.residual_decay = 0.1F;
  others[3].ewc_strength = 1;
  others[4].banks = 3;
  for (const learning::DeepOptions& other : others) {
    EXPECT_FALSE(GoesOnUnder(other)) << "banks " << &other - others.data();
  }
}

TEST_F(DeepGuardTest, OtherGeneralTextBeginsAnewToo) {
  const auto general = [&](const std::string& word) {
    std::string text;
    for (int i = 0; i < 3000; ++i) {
      text += fmt::format("{} {} ", word, i);
    }
    return learning::PassagesOf(std::vector<std::string>{text}, *model_).value();
  };
  general_ = general("ship");
  EXPECT_TRUE(GoesOnUnder(options_));
  {
    const auto round = Begin(5);
    ASSERT_TRUE(round->Work(Duration(1)).ok());
  }
  general_ = general("lamp");
  EXPECT_EQ(Begin(6)->step(), 0u);
}

TEST_F(DeepGuardTest, BanksArePublishedServedByTAndGoneOnFrom) {
  options_.banks = 3;
  options_.bank_rank = 1;
  options_.bank_training = {.residual_rate = 0.5F, .residual_decay = 0.01F};
  ASSERT_EQ(Run().outcome, learning::DeepOutcome::kPublished);
  catalog_ = MakeCatalog();
  catalog_->LoadLearned();
  const auto served = Served();
  ASSERT_NE(served, nullptr);
  ASSERT_EQ(served->residuals.size(), 3u);
  EXPECT_EQ(served->schedule.boundaries, (std::vector<float>{0.3F, 0.6F}));
  EXPECT_EQ(served->training.residual_rate, 0.5F);
  const auto parts = catalog_->Choose({});
  ASSERT_EQ(parts->size(), 1u);
  EXPECT_FALSE(inference::IsStatic(*parts->front().adapter));
  EXPECT_EQ(inference::train::SitesFrom(model_->config(), 0, false).size(),
            served->trunk->targets.size());
  // At a rate at which nothing moves, the next version is equal to this one.
  options_.learning_rate = 1e-30;
  const auto round = Begin(2);
  ASSERT_TRUE(round->Work(std::chrono::hours(1)).ok());
  const learning::DeepResult second = round->Finish().value();
  EXPECT_EQ(second.outcome, learning::DeepOutcome::kNoImprovement);
  EXPECT_NEAR(second.held_out_after, second.held_out_before, 1e-2);
}

// Regression test: the adapter was trained and judged on the bare model, although it is served on
// top of others.
TEST_F(DeepGuardTest, ItIsTrainedAndJudgedOnTopOfTheOtherServedAdapters) {
  const double bare = Run().held_out_before;
  const Digest alone = ServedId();
  inference::Talora other = *Served();  // of an operator
  auto trunk = std::make_shared<inference::Adapter>(*other.trunk);
  trunk->name = other.name = "other";
  other.trunk = trunk;
  ASSERT_TRUE(catalog_->Unload(serving::kDeepAdapter, 1).ok());
  ASSERT_TRUE(changes_->Remove(changes_->List(1)->at(0).number).ok());
  ASSERT_TRUE(catalog_->Publish(std::make_shared<const inference::Talora>(other), 1).ok());
  const learning::DeepResult on_top = Run();
  EXPECT_LT(on_top.held_out_before, bare);
  ASSERT_EQ(on_top.outcome, learning::DeepOutcome::kPublished);
  EXPECT_NE(ServedId(), alone);
}

TEST(DeepOptionsTest, GuardsHaveNames) {
  for (const char* name : {"replay", "replay_kl", "ewc", "replay_ewc", "replay_kl_ewc"}) {
    ASSERT_TRUE(learning::DeepGuardByName(name).has_value()) << name;
    EXPECT_EQ(learning::DeepGuardName(*learning::DeepGuardByName(name)), name);
  }
  EXPECT_FALSE(learning::DeepGuardByName("none").has_value());
}

TEST(DeepOptionsTest, BanksShareT) {
  EXPECT_EQ(learning::DeepBanks(0).banks(), 1u);
  EXPECT_EQ(learning::DeepBanks(4).boundaries, (std::vector<float>{0.25F, 0.5F, 0.75F}));
  for (int banks = 1; banks <= static_cast<int>(limits::kMaxTimestepBanks); ++banks) {
    EXPECT_EQ(learning::DeepBanks(banks).banks(), static_cast<size_t>(banks));
    EXPECT_TRUE(inference::CheckSchedule(learning::DeepBanks(banks)).ok());
  }
}

TEST(DeepOptionsTest, FewLessonsAreNotLearnedByHeart) {
  const learning::DeepOptions options{.steps = 300, .epochs = 4, .batch = 8};
  EXPECT_EQ(learning::DeepSteps(options, 1), 1);
  EXPECT_EQ(learning::DeepSteps(options, 12), 6);
  EXPECT_EQ(learning::DeepSteps(options, 600), 300);
  EXPECT_EQ(learning::DeepSteps(options, 4096), 300);
}

TEST(DeepOptionsTest, TheConfigurationReachesTheRound) {
  config::NodeConfig config;
  const learning::DeepOptions usual = node::DeepOptionsOf(config, {});
  EXPECT_EQ(usual.guard, learning::DeepGuard::kReplayKl);
  EXPECT_EQ(usual.banks, 0);
  config.learning.min_rating = 0.5F;
  config.learning.memory_bytes = 64 << 20;
  config.experimental.deep_guard = "replay_kl_ewc";
  config.experimental.deep_banks = 2;
  const learning::DeepOptions options =
      node::DeepOptionsOf(config, {.steps = 7, .ewc_strength = 3});
  EXPECT_EQ(options.min_rating, 0.5F);
  EXPECT_EQ(options.memory_bytes, uint64_t{32} << 20);
  EXPECT_EQ(options.guard, learning::DeepGuard::kReplayKlEwc);
  EXPECT_EQ(options.banks, 2);
  EXPECT_EQ(options.steps, 7);
  EXPECT_EQ(options.ewc_strength, 3);
}

}  // namespace
}  // namespace ruvd::actors
