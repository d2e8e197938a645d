// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/process/learner_options.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "base/reasons.h"
#include "base/status.h"
#include "federation/daf/strategy.h"
#include "federation/limits.h"
#include "node/process/limits.h"
#include "privacy/dp/grid_release.h"

namespace ruvd::node {
namespace {

using federation::ContributionKind;

privacy::PrivacyUnit UnitOf(const config::NodeConfig& config) {
  return privacy::UnitByName(config.privacy.unit).value_or(privacy::PrivacyUnit::kLesson);
}

// Measured on both shipped models (bench/experiments/round_arms.py): larger cores need smaller
// steps, and the hold takes away most of the harm to general text for a tenth of the gain.
// Without it, few steps keep the harm small.
void SetLocalSteps(int rank, bool has_fisher, federation::LearnerPlan* plan) {
  constexpr int kSmallRank = 16;
  constexpr double kHold = 100;
  plan->local.steps = has_fisher ? 48 : 12;
  plan->local.learning_rate = rank <= kSmallRank ? 1e-3 : 7.5e-4;
  plan->local.hold = has_fisher ? kHold : 0;
}

// Sets the length of a round, and a window so short that contributions and checkpoints, which live
// for two windows and three rounds, live no longer than gossip keeps items.
absl::Status SetRounds(int round_seconds, federation::LearnerPlan* plan) {
  plan->round_ms = int64_t{round_seconds} * 1000;
  const int64_t rounds = limits::kItemLifeMillis / plan->round_ms;
  constexpr int64_t kLeastRounds = 5;
  if (rounds < kLeastRounds) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kConfigInvalid,
                 "federation.round_seconds is {}; the largest value is {}, so that a week holds "
                 "five rounds",
                 round_seconds, limits::kItemLifeMillis / kLeastRounds / 1000);
  }
  plan->window = static_cast<uint32_t>(std::min<int64_t>(plan->window, (rounds - 3) / 2));
  return absl::OkStatus();
}

federation::OuterOptions OuterOf(const config::NodeConfig& config, ContributionKind kind) {
  using Kind = federation::OuterOptions::Kind;
  const std::string& name = config.experimental.outer;
  // Adam brings noised gradients, whose size says little, to a step that is known; deltas are added
  // as they are.
  if (name == "adam" || (name == "auto" && kind == ContributionKind::kGradient)) {
    return {
        .kind = Kind::kAdam, .step = limits::kGradientStep, .epsilon = limits::kGradientEpsilon};
  }
  return {.kind = name == "momentum" ? Kind::kMomentum : Kind::kPlain};
}

// Rounds of gradients are fewer steps than those of deltas, so a weaker hold is enough. Adam alone
// bounds the steps of values that are held strongly.
void HoldGradients(const std::vector<float>& fisher, federation::LearnerPlan* plan) {
  constexpr double kHold = 30;
  plan->local.hold = 0;
  if (!fisher.empty() && plan->outer.kind == federation::OuterOptions::Kind::kAdam) {
    plan->local.hold = kHold;
    plan->fisher = std::make_shared<const std::vector<float>>(fisher);
    plan->outer.step = limits::kHeldGradientStep;
  }
}

absl::Status SetGradients(const config::NodeConfig& config, federation::LearnerPlan* plan) {
  plan->clip_norm = double{config.privacy.clip_norm};
  ASSIGN_OR_RETURN(plan->grid,
                   privacy::dp::MakeNoiseGrid(plan->clip_norm, double{config.privacy.noise},
                                              plan->banks() * plan->values_per_bank));
  plan->unit = UnitOf(config);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<privacy::UnitBudget>> BudgetsOf(const config::NodeConfig& config) {
  const auto& privacy = config.privacy;
  std::vector<privacy::UnitBudget> budgets;
  for (const privacy::PrivacyUnit unit : privacy::kPrivacyUnits) {
    const bool limit = unit == privacy::PrivacyUnit::kNode && unit != UnitOf(config);
    if (limit && privacy.node_epsilon == 0) {
      continue;
    }
    const float epsilon = limit ? privacy.node_epsilon : privacy.epsilon;
    ASSIGN_OR_RETURN(privacy::UnitBudget budget,
                     privacy::UnitBudget::Within(unit, double{epsilon}, double{privacy.delta}));
    budget.rounds = static_cast<uint32_t>(privacy.rounds);
    budget.key = limit ? "privacy.node_epsilon" : "privacy.epsilon";
    budgets.push_back(budget);
  }
  return budgets;
}

// bench/experiments/round_arms.py: with noise, a higher rank pays only for many lessons.
int RankOf(const config::NodeConfig& config) {
  constexpr int kOfDeltas = 32;
  constexpr int kOfGradients = 8;
  if (config.federation.rank > 0) {
    return config.federation.rank;
  }
  return config.federation.contributions == "gradient" ? kOfGradients : kOfDeltas;
}

absl::StatusOr<federation::LearnerPlan> LearnerPlanOf(const config::NodeConfig& config,
                                                      const inference::CoreShape& shape) {
  const auto strategy = federation::StrategyByName(config.federation.strategy);
  federation::LearnerPlan plan;
  plan.frame_id = shape.frame_id;
  plan.rank = static_cast<uint32_t>(RankOf(config));
  plan.boundaries = shape.boundaries;
  plan.values_per_bank = static_cast<uint32_t>(shape.values_per_bank());
  plan.kind = federation::ContributionKindByName(config.federation.contributions)
                  .value_or(ContributionKind::kDelta);
  RETURN_IF_ERROR(SetRounds(config.federation.round_seconds, &plan));
  plan.strategy.strategy = strategy.value_or(federation::Strategy::kTimestepAligned);
  // Verdicts on gradients would cost a privacy budget of their own.
  const bool judged = plan.kind == ContributionKind::kDelta &&
                      plan.strategy.strategy == federation::Strategy::kHybrid;
  plan.strategy.quality_weight = judged ? 1 : 0;
  plan.rule = config.experimental.aggregation;
  plan.outer = OuterOf(config, plan.kind);
  SetLocalSteps(RankOf(config), !shape.fisher.empty(), &plan);
  plan.local.prox = double{config.experimental.prox};
  if (plan.kind == ContributionKind::kGradient) {
    HoldGradients(shape.fisher, &plan);
    RETURN_IF_ERROR(SetGradients(config, &plan));
  }
  RETURN_IF_ERROR(plan.Check());
  return plan;
}

}  // namespace ruvd::node
