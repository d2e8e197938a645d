// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "privacy/dp/rdp_curve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <string>
#include <utility>

#include "base/file.h"
#include "base/reasons.h"
#include "base/status.h"
#include "privacy/dp/sampled_gaussian.h"
#include "privacy/dp/zcdp.h"
#include "privacy/limits.h"
#include "tests/paths.h"
#include "tests/privacy/reference/reference_table.h"

namespace ruvd::privacy::dp {
namespace {

constexpr uint64_t kLargest = std::numeric_limits<uint64_t>::max();
constexpr double kUnit = 0x1p-32;

// Returns a number whose logarithm is uniform over [ln low, ln high].
double LogBetween(double low, double high) {
  return low * std::pow(high / low, *rc::gen::inRange(0, 1'000'001) / 1e6);
}

RdpCurve Curve(double q, double sigma, uint64_t steps = 1) {
  RdpCurve curve = SampledCurve(q, GaussianRho(sigma)).value();
  curve *= steps;
  return curve;
}

double Epsilon(const RdpCurve& curve, double delta) {
  return EpsilonOf(curve, delta).value().value;
}

// A curve may exceed another by rounding up and by the error of moments, which counts upwards.
void ExpectAtMost(const RdpCurve& small, const RdpCurve& large, double relative) {
  for (size_t i = 0; i < RdpCurve::kOrders; ++i) {
    RC_ASSERT(static_cast<double>(small.q32[i]) <=
              (1 + relative) * static_cast<double>(large.q32[i]) + 1);
  }
}

// Returns the Renyi divergence at `order` of a sample in which the record is at +1 from one in
// which it is at -1, with noise of `sigma`, by summing over a fine grid.
double DivergenceOfReplacement(double q, double sigma, double order) {
  const auto density = [&](double x, double at) {
    const auto bell = [&](double mean) { return std::exp(-0.5 * std::pow((x - mean) / sigma, 2)); };
    return (1 - q) * bell(0) + q * bell(at);
  };
  constexpr double kStep = 1e-3;
  const double reach = sigma * 12 + 2 * order;
  double moment = 0;
  for (double x = -reach; x <= reach; x += kStep) {
    const double log_ratio = std::log(density(x, 1)) - std::log(density(x, -1));
    moment += density(x, -1) * std::exp(order * log_ratio) * kStep;
  }
  return std::log(moment / (sigma * std::sqrt(2 * std::numbers::pi))) / (order - 1);
}

TEST(RdpCurve, AReplacementCostsAtLeastWhatItReveals) {
  for (const double q : {0.05, 0.3, 1.0}) {
    for (const double sigma : {1.0, 2.0}) {
      const RdpCurve curve = ReplacementCurve(Curve(q, sigma));
      for (const size_t order : {2, 3, 8}) {  // the orders are 2, 3, ...
        EXPECT_GE(static_cast<double>(curve.q32[order - 2]) * kUnit,
                  DivergenceOfReplacement(q, sigma, static_cast<double>(order)) * (1 - 1e-6))
            << q << " " << sigma << " " << order;
      }
    }
  }
}

// Without sampling a replacement moves the sum by two clip norms.
TEST(RdpCurve, AReplacementIsNearlyTwiceTheDistance) {
  const RdpCurve replaced = ReplacementCurve(ZcdpCurve(0.01).value());
  const RdpCurve twice = ZcdpCurve(0.04).value();
  EXPECT_TRUE(replaced.Covers(twice));
  EXPECT_LT(Epsilon(replaced, 1e-6), 1.05 * Epsilon(twice, 1e-6));
  EXPECT_EQ(ReplacementCurve(RdpCurve()).q32.front(), 0U);
  EXPECT_EQ(replaced.q32.back(), kLargest) << "no order is twice the largest one";
}

TEST(RdpCurve, AgreesWithTheReferenceAtIntegerOrders) {
  const std::string text =
      ReadFile(test::SourceDir() + "/tests/privacy/reference/accountants.csv", kMaxTableBytes)
          .value();
  size_t rows = 0;
  const auto table = ParseReferenceTable(text);
  ASSERT_TRUE(table.ok()) << table.status();
  for (const ReferenceRow& row : *table) {
    if (row.method != Method::kRdpInteger) {
      continue;
    }
    ++rows;
    const double epsilon = Epsilon(Curve(row.q, row.sigma, row.steps), row.delta);
    EXPECT_GE(epsilon, row.expected * (1 - row.tolerance)) << row.text;
    EXPECT_LE(epsilon, row.expected * (1 + row.tolerance) + static_cast<double>(row.steps) * kUnit)
        << row.text;
  }
  EXPECT_EQ(rows, 23U);
}

TEST(RdpCurve, KeepsTheRenyiPrivacyOfOneStep) {
  // Order 6 of (0.1, 1), computed by quadrature with 40 digits.
  EXPECT_NEAR(static_cast<double>(Curve(0.1, 1).q32[4]) * kUnit, 0.3710943530763, 2 * kUnit);
  EXPECT_EQ(ZcdpCurve(0.5).value().q32[0], uint64_t{1} << 32);
  EXPECT_EQ(ZcdpCurve(0.5).value().q32[RdpCurve::kOrders - 1], uint64_t{256} << 32);
}

RC_GTEST_PROP(RdpCurveProperty, ASumOfStepsIsTheCurveOfTheSteps, ()) {
  const double q = LogBetween(1e-3, 1);
  const double sigma = LogBetween(0.3, 30);
  const auto first = *rc::gen::inRange<uint64_t>(0, 200);
  const auto second = *rc::gen::inRange<uint64_t>(0, 200);
  RdpCurve sum = Curve(q, sigma, first);
  sum += Curve(q, sigma, second);
  RC_ASSERT(sum == Curve(q, sigma, first + second));
  RdpCurve added;
  for (uint64_t i = 0; i < first; ++i) {
    added += Curve(q, sigma);
  }
  RC_ASSERT(added == Curve(q, sigma, first));
  RC_ASSERT(sum.Minus(Curve(q, sigma, second)) == added);
}

RC_GTEST_PROP(RdpCurveProperty, GrowsWithRateNoiseAndOrder, ()) {
  const double q = LogBetween(1e-6, 1);
  const double rho = LogBetween(1e-6, 50);
  const RdpCurve curve = SampledCurve(q, rho).value();
  RC_ASSERT(std::ranges::is_sorted(curve.q32));
  ExpectAtMost(curve, SampledCurve(LogBetween(q, 1), rho).value(), 4e-12);
  ExpectAtMost(curve, SampledCurve(q, LogBetween(rho, 100)).value(), 4e-12);
}

RC_GTEST_PROP(RdpCurveProperty, WithoutSamplingItIsZeroConcentrated, ()) {
  const double rho = LogBetween(1e-9, 100);
  RC_ASSERT(SampledCurve(1, rho).value() == ZcdpCurve(rho).value());
  // Almost every record in almost every sample costs almost as much.
  const RdpCurve nearly = SampledCurve(1 - 1e-9, rho).value();
  ExpectAtMost(nearly, ZcdpCurve(rho).value(), 4e-12);
  ExpectAtMost(ZcdpCurve(rho).value(), nearly, 1e-3);
}

// Two releases of one sample cost more than one and less than two samples of their own would where
// the sample hides a record.
RC_GTEST_PROP(RdpCurveProperty, ReleasesOfOneSampleAddTheirRho, ()) {
  const double q = LogBetween(1e-3, 0.5);
  const double rho = LogBetween(1e-3, 5);
  const RdpCurve once = SampledCurve(q, rho).value();
  const RdpCurve twice = SampledCurve(q, 2 * rho).value();
  RC_ASSERT(twice.Covers(once));
  RdpCurve sum = once;
  sum += twice.Minus(once);
  RC_ASSERT(sum == twice);
}

RC_GTEST_PROP(RdpCurveProperty, TheLeastNoiseKeepsTheBudgetAndNoLess, ()) {
  const double q = LogBetween(1e-3, 1);
  const auto steps = *rc::gen::inRange<uint64_t>(1, 100);
  const double epsilon = LogBetween(0.2, 20);
  const double sigma = NoiseMultiplierWithin(epsilon, 1e-5, q, steps).value();
  RC_ASSERT(Epsilon(Curve(q, sigma, steps), 1e-5) <= epsilon);
  RC_ASSERT(Epsilon(Curve(q, sigma * 0.99, steps), 1e-5) > epsilon);
}

// Returns the larger Renyi divergence, at `order`, between integer noise of deviation `sigma` and
// its mixture with the noise shifted by `shift`, in both directions, summed over all integers that
// matter.
double DivergenceOfIntegers(double q, int shift, double sigma, double order) {
  const int reach = static_cast<int>(order * shift + 40 * sigma) + 2;
  const auto weight = [&](int x) {
    return std::exp(-x * static_cast<double>(x) / (2 * sigma * sigma));
  };
  double total = 0;
  for (int x = -reach; x <= reach; ++x) {
    total += weight(x);
  }
  double with = 0;
  double without = 0;
  for (int x = -reach; x <= reach; ++x) {
    // Logarithms of the ratio of shifted to unshifted noise and of the mixture to unshifted noise.
    const double ratio =
        (2.0 * x * shift - static_cast<double>(shift) * shift) / (2 * sigma * sigma);
    const double mixed = ratio > 0 ? ratio + std::log(q + (1 - q) * std::exp(-ratio))
                                   : std::log1p(q * std::expm1(ratio));
    const double log_weight = -x * static_cast<double>(x) / (2 * sigma * sigma) - std::log(total);
    with += std::exp(log_weight + order * mixed);
    without += std::exp(log_weight + (1 - order) * mixed);
  }
  return std::log(std::max(with, without)) / (order - 1);
}

TEST(RdpCurve, CoversIntegerNoiseOnASample) {
  for (const double q : {0.01, 0.2, 0.7}) {
    for (const auto& [shift, sigma] : {std::pair(1, 0.7), std::pair(3, 2.5), std::pair(20, 30.0)}) {
      const RdpCurve curve = Curve(q, sigma / shift);
      for (const size_t order : {2U, 3U, 5U, 12U}) {
        const double nats = static_cast<double>(curve.q32[order - 2]) * kUnit;
        const double exact = DivergenceOfIntegers(q, shift, sigma, static_cast<double>(order));
        EXPECT_LE(exact, nats + 1e-9) << q << " " << sigma << " " << order;
        EXPECT_GE(exact, 0.8 * nats - 1e-9) << q << " " << sigma << " " << order;
      }
    }
  }
}

TEST(RdpCurve, StopsAtTheLargestNumber) {
  RdpCurve curve = ZcdpCurve(1).value();
  curve *= kLargest;
  EXPECT_TRUE(curve.Saturated());
  EXPECT_EQ(curve.q32[0], kLargest);
  curve += ZcdpCurve(1).value();
  EXPECT_EQ(curve.q32[0], kLargest);
  EXPECT_EQ(Epsilon(curve, 1e-5), std::numeric_limits<double>::infinity());
  EXPECT_TRUE(ZcdpCurve(1e300).value().Saturated());
  EXPECT_FALSE(ZcdpCurve(5000).value().Saturated());
  EXPECT_EQ(Epsilon(RdpCurve(), 1e-5), 0);
  curve = ZcdpCurve(1).value();
  curve *= 0;
  EXPECT_EQ(curve, RdpCurve());
}

TEST(RdpCurve, ComparesOrderByOrder) {
  RdpCurve low = ZcdpCurve(1).value();
  RdpCurve mixed = low;
  mixed.q32[3] -= 1;
  mixed.q32[4] += 1;
  EXPECT_FALSE(low.Covers(mixed));
  EXPECT_FALSE(mixed.Covers(low));
  EXPECT_TRUE(low.Max(mixed).Covers(low));
  EXPECT_TRUE(low.Max(mixed).Covers(mixed));
  EXPECT_EQ(low.Minus(mixed).q32[3], 1U);
  EXPECT_EQ(low.Minus(mixed).q32[4], 0U);
}

TEST(RdpCurve, RefusesWhatIsNoMechanism) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const double rho : {-1.0, nan, std::numeric_limits<double>::infinity()}) {
    EXPECT_EQ(ReasonOf(SampledCurve(0.5, rho).status()), reasons::kInvalidArgument);
    EXPECT_EQ(ReasonOf(ZcdpCurve(rho).status()), reasons::kInvalidArgument);
  }
  for (const double q : {0.0, -0.1, 1.1, nan}) {
    EXPECT_EQ(ReasonOf(SampledCurve(q, 1).status()), reasons::kInvalidArgument);
  }
  EXPECT_EQ(SampledCurve(0.5, 0).value(), RdpCurve());
  for (const double delta : {0.0, 1.0, nan}) {
    EXPECT_EQ(ReasonOf(EpsilonOf(RdpCurve(), delta).status()), reasons::kInvalidArgument);
  }
  EXPECT_EQ(ReasonOf(NoiseMultiplierWithin(-1, 1e-5, 0.5, 1).status()), reasons::kInvalidArgument);
  EXPECT_EQ(ReasonOf(NoiseMultiplierWithin(0, 1e-300, 1, limits::kMaxPrivacySteps).status()),
            reasons::kInvalidArgument);
}

}  // namespace
}  // namespace ruvd::privacy::dp
