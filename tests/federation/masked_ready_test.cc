// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Members of a masked round whose input takes time.

#include <gtest/gtest.h>

#include "tests/federation/masked_bus.h"

namespace ruvd::test {
namespace {

// A member that still computes signs no set, so the others pay for no share in vain.
TEST(MaskedReadyTest, WhoIsNotReadyCostsNothing) {
  MaskedBus bus(5, 21);
  bus.not_ready = {2};
  bus.Begin(2, bus.group());
  bus.Run();
  bus.ExpectSum({0, 1, 3, 4}, 1);
  bus.ExpectNothingTwice();
  EXPECT_EQ(bus.node(2).charges, 0U);
  for (const size_t node : {0, 1, 3, 4}) {
    EXPECT_EQ(bus.node(node).charges, 1U) << "the first attempt was free";
  }
}

TEST(MaskedReadyTest, WhoBecomesReadyInTimeIsInTheSum) {
  MaskedBus bus(5, 22);
  bus.not_ready = {1, 2};
  bus.Begin(1, bus.group());
  bus.Begin(2, bus.group());
  bus.Run(/*limit_ms=*/35'000);
  EXPECT_EQ(bus.SharesOf(0), 0U);
  bus.node(1).round->SetReady();
  bus.node(2).round->SetReady();
  bus.Run();
  bus.ExpectSum({0, 1, 2, 3, 4}, 0);
  bus.ExpectNothingTwice();
}

TEST(MaskedReadyTest, WhoBecomesReadyTooLateIsInALaterAttempt) {
  MaskedBus bus(4, 23);
  bus.not_ready = {1, 2, 3};
  for (const size_t node : bus.not_ready) {
    bus.Begin(node, bus.group());
  }
  bus.Run(/*limit_ms=*/70'000);  // after the shares of the first attempt
  for (const size_t node : bus.not_ready) {
    bus.node(node).round->SetReady();
  }
  bus.Run();
  bus.ExpectSum({0, 1, 2, 3}, 1);
  bus.ExpectNothingTwice();
}

}  // namespace
}  // namespace ruvd::test
