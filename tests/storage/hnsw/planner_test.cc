// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/hnsw/planner.h"

#include <gtest/gtest.h>

#include <limits>

namespace ruvd::storage::hnsw {
namespace {

constexpr size_t kNoLimit = std::numeric_limits<size_t>::max();

Plan PlanFor(size_t matching, size_t rows, HnswPath forced = HnswPath::kAuto) {
  return MakePlan({.matching = matching, .rows = rows, .linked = rows, .ef = 64, .width = 32},
                  forced);
}

TEST(PlannerTest, ManyMatchesAreWalkedToAndFewScanned) {
  const Plan all = PlanFor(1000000, 1000000);
  EXPECT_EQ(all.path, HnswPath::kWalk);
  EXPECT_EQ(all.budget, kNoLimit);
  EXPECT_EQ(PlanFor(500000, 1000000).path, HnswPath::kWalk);
  EXPECT_EQ(PlanFor(5000, 1000000).path, HnswPath::kScan);
  EXPECT_EQ(PlanFor(64, 64).path, HnswPath::kScan);
}

// The walk that gave up and the scan after it cost about two scans.
TEST(PlannerTest, AFilteredWalkMayCostWhatAScanDoes) {
  const Plan plan = PlanFor(500000, 1000000);
  EXPECT_GT(plan.budget, 100000U);
  EXPECT_LT(plan.budget, 500000U);
}

TEST(PlannerTest, RowsAreSteppedOverOnlyWhereManyMatch) {
  EXPECT_EQ(PlanFor(200000, 1000000).path, HnswPath::kTwoHop);
  for (const size_t matching : {100000, 50000, 10000, 1000}) {
    EXPECT_NE(PlanFor(matching, 1000000).path, HnswPath::kTwoHop) << matching;
  }
}

TEST(PlannerTest, AForcedPathIsTakenWhateverMatchesIfThereIsAGraph) {
  EXPECT_EQ(PlanFor(3, 1000, HnswPath::kWalk).path, HnswPath::kWalk);
  EXPECT_EQ(PlanFor(3, 1000, HnswPath::kTwoHop).path, HnswPath::kTwoHop);
  EXPECT_EQ(PlanFor(3, 1000, HnswPath::kTwoHop).budget, kNoLimit);
  EXPECT_EQ(PlanFor(1000, 1000, HnswPath::kScan).path, HnswPath::kScan);
  EXPECT_EQ(MakePlan({.matching = 9, .rows = 9, .ef = 4, .width = 32}, HnswPath::kWalk).path,
            HnswPath::kScan);
}

}  // namespace
}  // namespace ruvd::storage::hnsw
