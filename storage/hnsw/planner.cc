// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/hnsw/planner.h"

#include <algorithm>
#include <limits>

namespace ruvd::storage::hnsw {
namespace {

// Costs in units of one distance on a walk, measured with 768 values (bench/ann --filter).
// One row of a scan, which reads in order:
constexpr double kScanCost = 0.3;
// One link of an expanded node; most links lead to nodes that are measured:
constexpr double kLinkCost = 0.8;
// One link when the links of nodes that do not match are followed at once:
constexpr double kTwoHopLinkCost = 3.2;
// The smallest matching part for two-hop walks: bench/ann --filter finds 0.96 of the nearest when
// one in eight rows matches, 0.93 with one in sixteen, 0.82 with one in a hundred (30,000 rows, ef
// 64):
constexpr double kMinTwoHop = 0.125;
// The way down through the upper levels:
constexpr double kDescent = 150;

}  // namespace

Plan MakePlan(const PlanInput& input, HnswPath forced) {
  if (input.linked == 0 || (forced == HnswPath::kAuto && input.matching <= input.ef)) {
    return {.path = HnswPath::kScan};
  }
  const auto matching = static_cast<double>(input.matching);
  // A walk visits removed rows like rows that do not match.
  const double selectivity = matching / static_cast<double>(input.rows + input.removed);
  const auto links = static_cast<double>(input.ef * input.width);
  const double walk = kDescent + links * kLinkCost / selectivity;
  const double hops = kDescent + links * kTwoHopLinkCost;
  const double scan = matching * kScanCost;
  const bool step_over = hops < walk && selectivity >= kMinTwoHop;
  Plan plan{.path = step_over ? HnswPath::kTwoHop : HnswPath::kWalk};
  if (forced != HnswPath::kAuto) {
    plan.path = forced;
  } else if (scan <= (step_over ? hops : walk)) {
    plan.path = HnswPath::kScan;
  }
  // When every node is a result, giving up gains nothing: the walk ends by itself.
  const bool all = input.matching >= input.rows && input.removed == 0;
  plan.budget = all || forced != HnswPath::kAuto ? std::numeric_limits<size_t>::max()
                                                 : static_cast<size_t>(scan);
  return plan;
}

}  // namespace ruvd::storage::hnsw
