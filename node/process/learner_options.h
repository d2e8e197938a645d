// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "federation/learner/plan.h"
#include "inference/adapter/core_shape.h"
#include "node/config/config.h"
#include "privacy/ledger/unit_budget.h"

namespace ruvd::node {

// Returns the budgets of the section `privacy`: lessons and users have `epsilon`. The whole node
// has it if it is the unit, and otherwise `node_epsilon` if that is above 0. Fails with
// INVALID_ARGUMENT for values that UnitBudget::Within refuses.
absl::StatusOr<std::vector<privacy::UnitBudget>> BudgetsOf(const config::NodeConfig& config);

// Returns the rank of the global adapter's cores.
int RankOf(const config::NodeConfig& config);

// Returns the plan of the cluster's rounds: all nodes whose configuration, model and frame agree
// get equal plans. Errors, naming the keys: CONFIG_INVALID for
// rounds that are so long that a week does not hold five; INVALID_ARGUMENT and LIMIT_EXCEEDED for a
// plan or a grid that LearnerPlan::Check or MakeNoiseGrid refuse.
absl::StatusOr<federation::LearnerPlan> LearnerPlanOf(const config::NodeConfig& config,
                                                      const inference::CoreShape& shape);

}  // namespace ruvd::node
