// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/hnsw/planner.h"

#include <limits>

namespace ruvd::hnsw {
namespace {

// Up to this part of the rows matching, walking over the others measures too many in vain.
constexpr double kTwoHopSelectivity = 0.4;
// A row of a scan costs this part of a distance on a walk, whose reads are random.
constexpr double kScanCost = 0.3;
// A walk measures about this part of each expanded node's links, the others were seen before, and
// descends through the upper levels first.
constexpr double kNewLinks = 0.45;
constexpr double kDescent = 150;
// Two hops meet more nodes that were seen before, and look at many links.
constexpr double kTwoHopCost = 1.5;
// A walk that gives up has cost about this part of the scan that follows.
constexpr double kBudgetOfScan = 0.8;

}  // namespace

Plan MakePlan(const PlanInput& input, HnswPath forced) {
  if (input.linked == 0 || input.matching <= input.ef) {
    return {.path = HnswPath::kScan};
  }
  const auto matching = static_cast<double>(input.matching);
  const double selectivity = matching / static_cast<double>(input.rows);
  const double expanded = static_cast<double>(input.ef) * kNewLinks;
  const double walk = kDescent + expanded * static_cast<double>(input.width) / selectivity;
  const double hops = kDescent + expanded * static_cast<double>(input.width) * kTwoHopCost;
  const double scan = matching * kScanCost;
  const bool two_hop = selectivity <= kTwoHopSelectivity;
  Plan plan{.path = two_hop ? HnswPath::kTwoHop : HnswPath::kWalk};
  if (forced != HnswPath::kAuto) {
    plan.path = forced;
  } else if (scan <= (two_hop ? hops : walk)) {
    plan.path = HnswPath::kScan;
  }
  // Without a filter there is nothing to give up for: the walk ends by itself.
  plan.budget = input.matching >= input.rows || forced != HnswPath::kAuto
                    ? std::numeric_limits<size_t>::max()
                    : static_cast<size_t>(scan * kBudgetOfScan);
  return plan;
}

}  // namespace ruvd::hnsw
