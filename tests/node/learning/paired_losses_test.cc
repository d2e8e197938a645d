// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/learning/paired_losses.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace ruvd::learning {
namespace {

TEST(PairedLossesTest, TheErrorIsThatOfTheDifferences) {
  const std::vector<double> before = {3, 5, 10};
  const std::vector<double> after = {2, 3, 7};  // gains of 1, 2 and 3
  const PairedGain gain = GainOf(before, after);
  EXPECT_DOUBLE_EQ(gain.mean, 2);
  EXPECT_DOUBLE_EQ(gain.standard_error, 1 / std::sqrt(3));
  EXPECT_DOUBLE_EQ(MeanLoss(before), 6);
}

TEST(PairedLossesTest, FewDocumentsHaveNoError) {
  const std::vector<double> one = {2};
  const std::vector<double> other = {3};
  EXPECT_EQ(GainOf(one, other).mean, -1);
  EXPECT_EQ(GainOf(one, other).standard_error, 0);
  EXPECT_EQ(GainOf({}, {}).mean, 0);
  EXPECT_EQ(MeanLoss({}), 0);
}

}  // namespace
}  // namespace ruvd::learning
