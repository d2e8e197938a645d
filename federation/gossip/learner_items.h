// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "federation/events/item.h"
#include "federation/learner/plan.h"

namespace ruvd::federation {

// Returns the largest payload of a contribution, checkpoint, verdict or item of masked rounds under
// a plan, which may be null for a node that runs no rounds.
uint64_t MaxLearnerPayloadBytes(ItemKind kind, const LearnerPlan* plan);

// Checks the payload of a contribution, checkpoint or verdict of `round`. Returns PLAN_MISMATCH
// where this node runs no rounds or the sender has another plan; UPDATE_INVALID or INVALID_ARGUMENT
// for other contents than CheckContribution, CheckState and CheckVerdict allow, another round than
// the envelope's, a round that begins later than clocks may differ, a sum, a checkpoint of a round
// that is no multiple of the window, and a verdict under a plan that counts none.
absl::Status CheckLearnerItem(ItemKind kind, std::string_view payload, uint64_t round,
                              const LearnerPlan* plan, int64_t wall_ms);

// Checks an item of masked rounds that passes CheckMaskItem. Returns PLAN_MISMATCH if it is not for
// the plan's sums, and UPDATE_INVALID for a round that begins later than clocks may differ.
absl::Status CheckMaskItemOfPlan(ItemKind kind, std::string_view payload, uint64_t round,
                                 const LearnerPlan& plan, int64_t wall_ms);

}  // namespace ruvd::federation
