// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/hnsw/planner.h"

#include <algorithm>
#include <limits>

namespace ruvd::storage::hnsw {
namespace {

// In units of one distance on a walk, from measurements of 768 values (bench/ann --filter):
// a row of a scan, whose reads are in order;
constexpr double kScanCost = 0.3;
// an expanded node, for each of its links: most lead to nodes that are measured;
constexpr double kLinkCost = 0.8;
// the same where links of nodes that do not match are followed at once;
constexpr double kTwoHopLinkCost = 3.2;
// which is not done where fewer match than this part: bench/ann --filter finds 0.96 of the nearest
// with one in eight, 0.93 with one in sixteen, 0.82 with one in a hundred (30,000 rows, ef 64);
constexpr double kLeastTwoHop = 0.125;
// and the way down through the upper levels.
constexpr double kDescent = 150;

}  // namespace

Plan MakePlan(const PlanInput& input, HnswPath forced) {
  if (input.linked == 0 || (forced == HnswPath::kAuto && input.matching <= input.ef)) {
    return {.path = HnswPath::kScan};
  }
  const auto matching = static_cast<double>(input.matching);
  // Removed rows are walked over as those are that do not match.
  const double selectivity = matching / static_cast<double>(input.rows + input.removed);
  const auto links = static_cast<double>(input.ef * input.width);
  const double walk = kDescent + links * kLinkCost / selectivity;
  const double hops = kDescent + links * kTwoHopLinkCost;
  const double scan = matching * kScanCost;
  const bool step_over = hops < walk && selectivity >= kLeastTwoHop;
  Plan plan{.path = step_over ? HnswPath::kTwoHop : HnswPath::kWalk};
  if (forced != HnswPath::kAuto) {
    plan.path = forced;
  } else if (scan <= (step_over ? hops : walk)) {
    plan.path = HnswPath::kScan;
  }
  // Where every node is a result there is nothing to give up for: the walk ends by itself.
  const bool all = input.matching >= input.rows && input.removed == 0;
  plan.budget = all || forced != HnswPath::kAuto ? std::numeric_limits<size_t>::max()
                                                 : static_cast<size_t>(scan);
  return plan;
}

}  // namespace ruvd::storage::hnsw
