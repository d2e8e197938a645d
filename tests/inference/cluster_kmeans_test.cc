// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>
#include <set>
#include <vector>

#include "base/reasons.h"
#include "base/status.h"
#include "inference/train/cluster.h"

namespace ruvd::inference {
namespace {

std::vector<float> AtAngle(double angle) {
  return {static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle))};
}

std::vector<ClusterItem> RandomItems(size_t count, uint64_t seed) {
  Random random(seed);
  std::vector<ClusterItem> items(count);
  for (ClusterItem& item : items) {
    item.embedding = AtAngle(random.Uniform() * 6.28);
    item.bank = static_cast<TimestepBank>(random.Below(kTimestepBanks));
    item.task = static_cast<int>(random.Below(3));
  }
  return items;
}

RC_GTEST_PROP(ClusterTest, EveryClusterIsUsedAndEveryCentroidNormalised, (uint64_t seed)) {
  const auto items = RandomItems(*rc::gen::inRange<size_t>(1, 60), seed);
  const ClusterOptions options{.clusters = *rc::gen::inRange(1, 10), .tasks = 3};
  Random random(seed + 1);
  const auto result = ClusterItems(items, options, random);
  RC_ASSERT(result.ok());
  RC_ASSERT(result->assignment.size() == items.size());
  const std::set<int> used(result->assignment.begin(), result->assignment.end());
  RC_ASSERT(used.size() == result->centroids.size());
  RC_ASSERT(*used.begin() == 0);
  RC_ASSERT(*used.rbegin() + 1 == static_cast<int>(used.size()));
  RC_ASSERT(result->centroids.size() <= static_cast<size_t>(options.clusters));
  for (const auto& centroid : result->centroids) {
    RC_ASSERT(std::abs(std::hypot(centroid[0], centroid[1]) - 1) < 1e-5);
  }
}

RC_GTEST_PROP(ClusterTest, SameRandomStateSameResult, (uint64_t seed)) {
  const auto items = RandomItems(40, seed);
  Random a(seed);
  Random b(seed);
  const auto x = ClusterItems(items, {.tasks = 3}, a).value();
  const auto y = ClusterItems(items, {.tasks = 3}, b).value();
  RC_ASSERT(x.assignment == y.assignment);
  RC_ASSERT(x.centroids == y.centroids);
}

RC_GTEST_PROP(ClusterTest, MoreIterationsNeverRaiseTheInertia, (uint64_t seed)) {
  const auto items = RandomItems(50, seed);
  double last = std::numeric_limits<double>::infinity();
  for (int iterations = 1; iterations < 8; ++iterations) {
    Random random(seed);
    const auto result =
        ClusterItems(items, {.tasks = 3, .max_iterations = iterations}, random).value();
    RC_ASSERT(result.inertia <= last + 1e-9);
    last = result.inertia;
  }
}

TEST(ClusterTest, FindsWellSeparatedGroups) {
  std::vector<ClusterItem> items;
  Random noise(3);
  for (int i = 0; i < 60; ++i) {
    items.push_back({.embedding = AtAngle(i % 3 * 2.0 + 0.05 * noise.Normal())});
  }
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Random random(seed);
    const auto result = ClusterItems(items, {.clusters = 3}, random).value();
    ASSERT_EQ(result.centroids.size(), 3U);
    for (size_t i = 3; i < items.size(); ++i) {
      EXPECT_EQ(result.assignment[i], result.assignment[i % 3]) << seed;
    }
  }
}

// An embedding in another bank or task is a different thing to learn.
TEST(ClusterTest, SeparatesBanksAndTasksByTheirWeight) {
  std::vector<ClusterItem> items(20, {.embedding = AtAngle(1.0)});
  for (size_t i = 0; i < items.size(); i += 2) {
    items[i].bank = TimestepBank::kLow;
  }
  Random random(1);
  EXPECT_EQ(ClusterItems(items, {.clusters = 2}, random)->centroids.size(), 2U);
  EXPECT_EQ(ClusterItems(items, {.clusters = 2, .bank_weight = 0}, random)->centroids.size(), 1U);
  items.assign(20, {.embedding = AtAngle(1.0)});
  items[3].task = 1;
  const auto by_task = ClusterItems(items, {.clusters = 2, .tasks = 2}, random).value();
  EXPECT_NE(by_task.assignment[3], by_task.assignment[0]);
}

TEST(ClusterTest, EqualItemsMakeOneCluster) {
  const std::vector<ClusterItem> items(5, {.embedding = AtAngle(0.5)});
  Random random(1);
  const auto result = ClusterItems(items, {.clusters = 4}, random).value();
  EXPECT_EQ(result.centroids.size(), 1U);
  EXPECT_NEAR(result.inertia, 0, 1e-12);
}

TEST(ClusterTest, RefusesBadInput) {
  Random random(1);
  const auto reason = [&](std::vector<ClusterItem> items, const ClusterOptions& options) {
    return ReasonOf(ClusterItems(items, options, random).status());
  };
  const ClusterItem good{.embedding = AtAngle(1)};
  EXPECT_EQ(reason({}, {}), reasons::kInvalidArgument);
  EXPECT_EQ(reason({good, {.embedding = {1, 2, 3}}}, {}), reasons::kInvalidArgument);
  EXPECT_EQ(reason({{.embedding = {}}}, {}), reasons::kInvalidArgument);
  EXPECT_EQ(reason({{.embedding = {std::nanf(""), 0}}}, {}), reasons::kInvalidArgument);
  EXPECT_EQ(reason({{.embedding = AtAngle(1), .task = 1}}, {}), reasons::kInvalidArgument);
  EXPECT_EQ(reason({good}, {.clusters = 0}), reasons::kInvalidArgument);
}

}  // namespace
}  // namespace ruvd::inference
