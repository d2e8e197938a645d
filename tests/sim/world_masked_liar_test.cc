// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Worlds in which one member spoils masked sums round after round.

#include <gtest/gtest.h>

#include "tests/sim/world.h"
#include "tests/sim/world_report.h"

namespace ruvd::test {
namespace {

WorldOptions WithLiar(uint64_t seed, AdversaryKind kind) {
  WorldOptions options;
  options.seed = seed;
  options.nodes = 16;
  options.hours = 0.05;
  options.faults.emplace();
  options.byzantine.emplace();
  options.byzantine->push_back({.kind = kind, .share = 0.05});
  options.loss = 0;
  options.masked = true;
  return options;
}

class WorldMaskedLiar : public testing::TestWithParam<AdversaryKind> {};

// Found by review: one member ended every masked round, and each node paid for each of them. Now it
// spoils few of 15 rounds.
TEST_P(WorldMaskedLiar, SpoilsFewSumsAndIsLeftOut) {
  uint64_t shares = 0;
  uint64_t in_sums = 0;
  for (const uint64_t seed : {1, 2, 3}) {
    const WorldReport report = World(WithLiar(seed, GetParam())).Run();
    for (const Violation& violation : report.violations) {
      ADD_FAILURE() << violation.invariant << ": " << violation.detail << " with seed " << seed;
    }
    EXPECT_TRUE(report.settled_s.has_value());
    shares += report.measures.masked_shares;
    in_sums += report.measures.masked_in_sums;
  }
  EXPECT_GT(in_sums, 100U);
  EXPECT_LT(shares - in_sums, shares / 4) << "shares in vain";
}

INSTANTIATE_TEST_SUITE_P(Each, WorldMaskedLiar,
                         testing::Values(AdversaryKind::kNoiseShare, AdversaryKind::kWithheldShare),
                         [](const auto& test) {
                           return test.param == AdversaryKind::kNoiseShare ? "Noise" : "Withheld";
                         });

}  // namespace
}  // namespace ruvd::test
