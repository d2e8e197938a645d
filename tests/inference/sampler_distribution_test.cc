// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "base/random.h"
#include "inference/sampler/distribution.h"
#include "inference/sampler/proposal.h"

namespace ruvd::inference {
namespace {

std::vector<float> RandomRow(size_t size, uint64_t seed, double spread = 4.0) {
  Random random(seed);
  std::vector<float> row(size);
  for (float& value : row) {
    value = static_cast<float>(random.Normal() * spread);
  }
  return row;
}

std::vector<double> Softmax(const std::vector<float>& row) {
  const double maximum = *std::max_element(row.begin(), row.end());
  std::vector<double> p;
  for (const float logit : row) {
    p.push_back(std::exp(logit - maximum));
  }
  const double sum = std::accumulate(p.begin(), p.end(), 0.0);
  for (double& value : p) {
    value /= sum;
  }
  return p;
}

TEST(ExpTest, IsCloseToTheLibraryFunction) {
  for (double x = -86.9; x <= 0; x += 0.00137) {
    const auto argument = static_cast<float>(x);
    const double exact = std::exp(static_cast<double>(argument));
    EXPECT_NEAR(ExpNonPositive(argument) / exact, 1.0, 3e-7) << x;
  }
  EXPECT_EQ(ExpNonPositive(0.0F), 1.0F);
  EXPECT_EQ(ExpNonPositive(-88.0F), 0.0F);
  EXPECT_EQ(ExpNonPositive(-1e30F), 0.0F);
}

RC_GTEST_PROP(SummariseTest, EqualsASoftmaxInDouble, (uint64_t seed)) {
  const auto size = *rc::gen::inRange<size_t>(3, 300);
  const std::vector<float> row = RandomRow(size, seed);
  const auto excluded = *rc::gen::inRange<TokenId>(0, static_cast<TokenId>(size));
  const RowSummary summary = Summarise(row, excluded);
  std::vector<double> p = Softmax(row);
  double entropy = 0;
  for (const double value : p) {
    entropy -= value > 0 ? value * std::log(value) : 0;
  }
  p[excluded] = -1;
  const auto best = std::max_element(p.begin(), p.end());
  RC_ASSERT(summary.best == static_cast<TokenId>(best - p.begin()));
  RC_ASSERT(std::abs(summary.Probability(row[summary.best]) - *best) < 1e-5);
  RC_ASSERT(std::abs(summary.entropy - entropy) < 1e-4);
  const double first = *best;
  *best = -1;
  RC_ASSERT(std::abs(summary.margin - (first - *std::max_element(p.begin(), p.end()))) < 1e-5);
}

// The mask's mass stays in the denominator, because the model was trained that way.
TEST(SummariseTest, NeverProposesTheMaskButCountsItsMass) {
  const std::vector<float> row = {1.0F, 9.0F, 2.0F};
  const RowSummary summary = Summarise(row, 1);
  EXPECT_EQ(summary.best, 2U);
  EXPECT_NEAR(summary.Probability(row[2]), Softmax(row)[2], 1e-7);
  EXPECT_NEAR(Summarise(row, kNoToken).Probability(row[1]), Softmax(row)[1], 1e-6);
}

TEST(SummariseTest, TiesGoToTheLowerTokenAndHaveNoMargin) {
  const RowSummary summary = Summarise(std::vector<float>{0.0F, 3.0F, 3.0F, 1.0F}, kNoToken);
  EXPECT_EQ(summary.best, 1U);
  EXPECT_EQ(summary.margin, 0.0F);
}

TEST(SummariseTest, SurvivesInfinities) {
  const float infinity = std::numeric_limits<float>::infinity();
  const RowSummary summary = Summarise(std::vector<float>{-infinity, 3.0F, -infinity}, kNoToken);
  EXPECT_EQ(summary.best, 1U);
  EXPECT_NEAR(summary.Probability(3.0F), 1.0, 1e-6);
  EXPECT_NEAR(summary.entropy, 0.0, 1e-6);
}

// Found by review: the place after a row of NaN was taken for a token, or for the mask itself.
TEST(SummariseTest, ARowOfNaNGivesAnotherTokenThanTheMaskAndSaysSo) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (size_t size = 2; size <= 130; ++size) {
    const std::vector<float> row(size, nan);
    for (const size_t mask : {size_t{0}, size / 2, size - 1, size}) {
      const RowSummary summary = Summarise(row, static_cast<TokenId>(mask));
      EXPECT_LT(summary.best, size);
      EXPECT_NE(summary.best, mask);
      EXPECT_FALSE(std::isfinite(summary.log_mass));
    }
  }
}

TEST(ProposerTest, LogitsThatAreNoNumbersMakeNoSoundProposal) {
  std::vector<float> row = RandomRow(100, 1);
  for (const float temperature : {0.0F, 1.0F}) {
    Proposer proposer({.choice = {.temperature = temperature, .excluded = 3}});
    EXPECT_TRUE(proposer.Propose(0, row).sound);
    row[50] = std::numeric_limits<float>::quiet_NaN();
    EXPECT_FALSE(proposer.Propose(0, row).sound);
    row[50] = 0;
  }
}

// llama.cpp's margin reads the first two entries of an unsorted array.
TEST(PeerDefectTest, MarginUsesTheTwoLikeliestTokens) {
  const std::vector<float> row = {0.0F, 0.0F, 5.0F, 4.0F};
  const std::vector<double> p = Softmax(row);
  EXPECT_NEAR(Summarise(row, kNoToken).margin, p[2] - p[3], 1e-6);
}

}  // namespace
}  // namespace ruvd::inference
