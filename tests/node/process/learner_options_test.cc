// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/process/learner_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "base/reasons.h"
#include "base/status.h"
#include "federation/learner/outer_step.h"
#include "federation/limits.h"

namespace ruvd::node {
namespace {

using testing::HasSubstr;

inference::CoreShape SomeShape() {
  inference::CoreShape shape;
  shape.frame_id.fill(1);
  shape.modules = {{.target = "a", .rank = 8}, {.target = "b", .rank = 4}};
  return shape;
}

config::NodeConfig Config(const std::string& kind) {
  config::NodeConfig config;
  config.federation.contributions = kind;
  return config;
}

TEST(LearnerPlanOf, EqualConfigurationsHaveOnePlanAndOthersAnother) {
  const auto plan = LearnerPlanOf(Config("delta"), SomeShape());
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->values_per_bank, 64U + 16U);
  EXPECT_EQ(plan->Id(), LearnerPlanOf(Config("delta"), SomeShape())->Id());
  EXPECT_NE(plan->Id(), LearnerPlanOf(Config("gradient"), SomeShape())->Id());
  config::NodeConfig other = Config("delta");
  other.federation.round_seconds += 1;
  EXPECT_NE(plan->Id(), LearnerPlanOf(other, SomeShape())->Id());
}

TEST(LearnerPlanOf, TheRankSuitsTheKindUnlessItIsGiven) {
  EXPECT_EQ(LearnerPlanOf(Config("delta"), SomeShape())->rank, 32U);
  config::NodeConfig config = Config("gradient");
  EXPECT_EQ(LearnerPlanOf(config, SomeShape())->rank, 8U);
  config.federation.rank = 4;
  EXPECT_EQ(LearnerPlanOf(config, SomeShape())->rank, 4U);
}

TEST(LearnerPlanOf, APrivatePlanHasTheNoiseOfTheConfigurationAndItsUnit) {
  config::NodeConfig config = Config("gradient");
  config.privacy.noise = 2;
  config.privacy.unit = "user";
  const auto plan = LearnerPlanOf(config, SomeShape());
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_GE(plan->grid.NoiseMultiplier(), 2.0);
  EXPECT_EQ(plan->unit, privacy::PrivacyUnit::kUser);
  EXPECT_EQ(plan->outer.kind, federation::OuterOptions::Kind::kAdam);
}

TEST(LearnerPlanOf, EveryUnitMakesAnotherPlan) {
  std::set<Digest> ids;
  for (const privacy::PrivacyUnit unit : privacy::kPrivacyUnits) {
    config::NodeConfig config = Config("gradient");
    config.privacy.unit = std::string(privacy::UnitName(unit));
    const auto plan = LearnerPlanOf(config, SomeShape());
    ASSERT_TRUE(plan.ok()) << plan.status();
    EXPECT_EQ(plan->unit, unit);
    EXPECT_TRUE(ids.insert(plan->Id()).second);
  }
}

TEST(BudgetsOf, TheNodeHasABudgetAsTheUnitOrByItsLimitOnly) {
  using privacy::PrivacyUnit;
  config::NodeConfig config;
  config.privacy.epsilon = 3;
  config.privacy.rounds = 7;
  for (const char* unit : {"lesson", "user"}) {
    config.privacy.unit = unit;
    config.privacy.node_epsilon = 0;
    const auto budgets = BudgetsOf(config);
    ASSERT_TRUE(budgets.ok()) << budgets.status();
    for (const PrivacyUnit part : {PrivacyUnit::kLesson, PrivacyUnit::kUser}) {
      const auto budget = privacy::BudgetOf(*budgets, part);
      ASSERT_TRUE(budget.ok()) << budget.status();
      EXPECT_EQ(budget->epsilon, 3);
      EXPECT_EQ(budget->rounds, 7U);
      EXPECT_EQ(budget->key, "privacy.epsilon");
    }
    EXPECT_FALSE(privacy::BudgetOf(*budgets, PrivacyUnit::kNode).ok()) << "a budget is a limit";
    config.privacy.node_epsilon = 20;
    const auto limit = privacy::BudgetOf(BudgetsOf(config).value(), PrivacyUnit::kNode);
    ASSERT_TRUE(limit.ok()) << limit.status();
    EXPECT_EQ(limit->epsilon, 20);
    EXPECT_EQ(limit->key, "privacy.node_epsilon");
  }
  config.privacy.unit = "node";
  config.privacy.node_epsilon = 0;
  const auto whole = privacy::BudgetOf(BudgetsOf(config).value(), PrivacyUnit::kNode);
  ASSERT_TRUE(whole.ok()) << whole.status();
  EXPECT_EQ(whole->epsilon, 3);
  EXPECT_EQ(whole->key, "privacy.epsilon");
  config.privacy.delta = 2;
  EXPECT_EQ(ReasonOf(BudgetsOf(config).status()), reasons::kInvalidArgument);
}

// Nodes that combine, step or train differently must not be in one cluster's rounds.
TEST(LearnerPlanOf, EachKeyOfHowRoundsAreCombinedMakesAnotherPlan) {
  const config::NodeConfig usual = Config("delta");
  std::set<Digest> ids = {LearnerPlanOf(usual, SomeShape()).value().Id()};
  const auto add = [&](const std::function<void(config::NodeConfig&)>& change) {
    config::NodeConfig other = usual;
    change(other);
    const auto plan = LearnerPlanOf(other, SomeShape());
    ASSERT_TRUE(plan.ok()) << plan.status();
    EXPECT_TRUE(ids.insert(plan->Id()).second);
  };
  for (const char* rule : {"mean", "median", "trimmed_mean", "multi_krum", "geometric_median",
                           "nearest_neighbour_trimmed", "filtered_mean", "self_clip"}) {
    add([&](config::NodeConfig& c) { c.experimental.aggregation = rule; });
  }
  for (const char* outer : {"momentum", "adam"}) {
    add([&](config::NodeConfig& c) { c.experimental.outer = outer; });
  }
  for (const char* strategy : {"schedule", "hybrid"}) {
    add([&](config::NodeConfig& c) { c.federation.strategy = strategy; });
  }
  add([](config::NodeConfig& c) { c.experimental.prox = 0.5; });
}

TEST(LearnerPlanOf, GradientsAreSteppedByAdamUnlessAnotherOptimizerIsChosen) {
  config::NodeConfig config = Config("gradient");
  config.experimental.outer = "plain";
  const auto plan = LearnerPlanOf(config, SomeShape());
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->outer.kind, federation::OuterOptions::Kind::kPlain);
}

TEST(LearnerPlanOf, LargeCoresTakeSmallStepsAndFisherInformationHoldsThem) {
  config::NodeConfig config = Config("delta");
  const auto local = [&](int rank, bool has_fisher) {
    config.federation.rank = rank;
    inference::CoreShape shape = SomeShape();
    shape.fisher.assign(has_fisher ? shape.values() : 0, 0.5F);
    return LearnerPlanOf(config, shape).value().local;
  };
  EXPECT_EQ(local(16, false).hold, 0);
  EXPECT_GT(local(16, true).hold, 0);
  EXPECT_LT(local(17, true).learning_rate, local(16, true).learning_rate);
  EXPECT_GT(local(32, true).steps, local(32, false).steps) << "what is not held harms with many";
}

TEST(LearnerPlanOf, TheRoundsOfGradientsAreHeldAndTakeLongerStepsThen) {
  inference::CoreShape shape = SomeShape();
  const federation::LearnerPlan free = LearnerPlanOf(Config("gradient"), shape).value();
  shape.fisher.assign(shape.values(), 0.5F);
  const federation::LearnerPlan held = LearnerPlanOf(Config("gradient"), shape).value();
  EXPECT_EQ(free.local.hold, 0);
  EXPECT_GT(held.local.hold, 0);
  EXPECT_LT(held.local.hold, LearnerPlanOf(Config("delta"), shape).value().local.hold);
  EXPECT_GT(held.outer.step, free.outer.step);
  for (const char* outer : {"plain", "momentum"}) {
    config::NodeConfig other = Config("gradient");
    other.experimental.outer = outer;
    const auto plan = LearnerPlanOf(other, shape);
    ASSERT_TRUE(plan.ok()) << plan.status();
    EXPECT_EQ(plan->local.hold, 0) << outer << " does not bound the steps of what is held";
  }
  // The step of a round, which every node takes, uses them.
  federation::GlobalState state = EmptyState(held, 1);
  std::ranges::fill(state.values[0], 1.0F);
  TakeOuterStep(held, {.bank = 0, .values = std::vector<float>(held.values_per_bank)}, &state);
  EXPECT_LT(state.values[0][0], 1);
}

// Contributions live for two windows and three rounds, and gossip keeps items for a week.
TEST(LearnerPlanOf, LongRoundsHaveAShortWindow) {
  config::NodeConfig config = Config("delta");
  config.federation.round_seconds = 24 * 3600;
  const auto plan = LearnerPlanOf(config, SomeShape());
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->window, 2U);
  EXPECT_GE(LearnerLifeMillis(*plan), (2 * int64_t{plan->window} + 3) * plan->round_ms);
  config.federation.round_seconds = 7 * 24 * 3600;
  const absl::Status refused = LearnerPlanOf(config, SomeShape()).status();
  EXPECT_EQ(ReasonOf(refused), reasons::kConfigInvalid);
  EXPECT_THAT(std::string(MessageOf(refused)), HasSubstr("120960"));
}

TEST(LearnerPlanOf, OnlyDeltasAreJudged) {
  config::NodeConfig config = Config("delta");
  EXPECT_FALSE(CountsQuality(LearnerPlanOf(config, SomeShape())->strategy)) << "the default";
  for (const char* strategy : {"quality", "hybrid"}) {
    config.federation.strategy = strategy;
    const auto plan = LearnerPlanOf(config, SomeShape());
    ASSERT_TRUE(plan.ok()) << plan.status();
    EXPECT_TRUE(CountsQuality(plan->strategy)) << strategy;
  }
  config.federation.contributions = "gradient";
  const auto hybrid = LearnerPlanOf(config, SomeShape());
  ASSERT_TRUE(hybrid.ok()) << hybrid.status();
  EXPECT_FALSE(CountsQuality(hybrid->strategy));
  config.federation.strategy = "quality";
  EXPECT_THAT(LearnerPlanOf(config, SomeShape()).status().ToString(), HasSubstr("needs verdicts"));
}

}  // namespace
}  // namespace ruvd::node
