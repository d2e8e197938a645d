// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>

#include "base/reasons.h"
#include "base/status.h"
#include "privacy/dp/log_space.h"
#include "privacy/dp/rdp.h"
#include "privacy/dp/sampled_gaussian.h"
#include "privacy/dp/zcdp.h"

namespace ruvd::privacy::dp {
namespace {

// Returns a number uniform over [low, high].
double OrdersBetween(double low, double high) {
  return low + (high - low) * *rc::gen::inRange(0, 1'000'001) / 1e6;
}

double Epsilon(std::vector<double> orders, const SampledGaussian& mechanism, double delta) {
  RdpAccountant accountant = RdpAccountant::Create(std::move(orders)).value();
  EXPECT_TRUE(accountant.Compose(mechanism).ok());
  return accountant.Epsilon(delta).value().value;
}

// Computes ln A by the trapezoid rule, which is exact to rounding for such integrands. A - 1 is the
// mean of r^a - 1 - a (r - 1), where r is the ratio of densities, whose mean is 1.
double LogMomentByQuadrature(double q, double sigma, double order) {
  const double from = -12 * sigma;
  const double to = order + 12 * sigma;
  const double step = std::min(sigma, 1.0) / 60;
  double sum = 0;
  for (double x = from; x <= to; x += step) {
    const double gain = q * std::expm1((2 * x - 1) / (2 * sigma * sigma));
    const double log_density =
        -x * x / (2 * sigma * sigma) - std::log(sigma * std::sqrt(2 * std::acos(-1.0)));
    const double power = order * std::log1p(gain);
    // A large power overflows before the density makes it small; there the -1 does not count.
    const double excess =
        power > 100 ? std::exp(power + log_density) : std::expm1(power) * std::exp(log_density);
    sum += step * (excess - order * gain * std::exp(log_density));
  }
  return std::log1p(sum);
}

TEST(DpLogSpace, NormalDistributionIsContinuousWhereTheSeriesTakesOver) {
  EXPECT_NEAR(LogNormalCdf(0), std::log(0.5), 1e-15);
  EXPECT_NEAR(LogNormalCdf(-10), -53.23128515051247, 1e-12);
  // The points are on both sides of the place where the asymptotic series begins: the slope there
  // is 37.03.
  EXPECT_NEAR(LogNormalCdf(-36.9999999) - LogNormalCdf(-37.0000001), 2e-7 * 37.027, 1e-10);
  EXPECT_NEAR(LogNormalCdf(9), -1.1285884059538324e-19, 1e-30);
  EXPECT_EQ(LogAdd(-std::numeric_limits<double>::infinity(), 2), 2);
}

TEST(DpRdp, OneStepAtOneOrder) {
  const struct {
    double q, sigma, order, rdp;
  } kExact[] = {{0.01, 2.5, 1.5, 1.3001417944e-5}, {0.01, 2.5, 2.5, 2.1708361138e-5},
                {0.1, 1, 1.1, 0.0080985684681},    {0.1, 1, 2.5, 0.0235037272610},
                {0.1, 1, 6, 0.3710943530763},      {0.5, 1, 2.7, 0.5811686842616},
                {0.9, 0.7, 1.3, 1.1339578868403},  {0.4, 12, 58.7, 0.0361679291959},
                {0.99, 0.1, 256, 12799.9899103},   {1e-5, 0.1, 256.1, 12793.4419}};
  for (const auto& row : kExact) {
    const double rdp = SampledGaussianRdp({.q = row.q, .sigma = row.sigma}, row.order);
    EXPECT_NEAR(rdp / row.rdp, 1, 1e-8) << row.q << " " << row.sigma << " " << row.order;
  }
}

// Regression test: the quadrature overflowed at small noise and high orders, and the property below
// failed once in some ten thousand cases.
TEST(DpRdp, TheQuadratureOfTheseTestsDoesNotOverflow) {
  EXPECT_NEAR(LogMomentByQuadrature(1e-3, 0.5, 11.57),
              internal::LogMomentBySeries(1e-3, 0.5, 11.57).log_moment, 1e-6);
}

// An accountant that takes the absolute values of the coefficients gives 6.7058e-4.
TEST(DpRdp, FractionalOrdersKeepTheSignOfTheCoefficients) {
  const SampledGaussian mechanism{.q = 0.01, .sigma = 2.5, .steps = 50};
  EXPECT_NEAR(SampledGaussianRdp(mechanism, 1.5), 6.5007090e-4, 1e-11);
}

// Other libraries give 0 here, which would mean no privacy loss at all.
TEST(DpRdp, OrdersJustAboveOneAreNotFree) {
  const SampledGaussian mechanism{.q = 0.1, .sigma = 1};
  EXPECT_GE(SampledGaussianRdp(mechanism, 1 + 1e-8), 0.0072);  // Kullback-Leibler
  EXPECT_LE(SampledGaussianRdp(mechanism, 1 + 1e-8), SampledGaussianRdp(mechanism, 2));
}

RC_GTEST_PROP(DpRdp, IntegerOrdersAgreeBothWays, ()) {
  const double q = std::exp(OrdersBetween(std::log(1e-4), std::log(0.99)));
  const double sigma = std::exp(OrdersBetween(std::log(0.3), std::log(20)));
  const auto order = *rc::gen::inRange<uint64_t>(2, 65);
  const double direct = internal::LogMomentAtInteger(q, sigma, order);
  const auto series = internal::LogMomentBySeries(q, sigma, static_cast<double>(order));
  RC_ASSERT(std::abs(series.log_moment - direct) <= series.error + 1e-12 * direct);
}

RC_GTEST_PROP(DpRdp, FractionalOrdersAgreeWithQuadrature, ()) {
  const double q = std::exp(OrdersBetween(std::log(1e-3), std::log(0.99)));
  const double sigma = std::exp(OrdersBetween(std::log(0.5), std::log(8)));
  const double order = OrdersBetween(1.05, 12.95);
  const double exact = LogMomentByQuadrature(q, sigma, order);
  const auto series = internal::LogMomentBySeries(q, sigma, order);
  RC_ASSERT(std::abs(series.log_moment - exact) <= series.error + 1e-8 * exact);
  RC_ASSERT(SampledGaussianRdp({.q = q, .sigma = sigma}, order) >=
            exact / (order - 1) * (1 - 1e-8));
}

RC_GTEST_PROP(DpRdp, GrowsWithRateStepsAndOrderAndFallsWithNoise, ()) {
  const SampledGaussian less{
      .q = OrdersBetween(0.001, 0.8), .sigma = OrdersBetween(0.5, 10), .steps = 7};
  const double order = OrdersBetween(1.1, 63);
  const double rdp = SampledGaussianRdp(less, order);
  SampledGaussian more = less;
  more.q = less.q * 1.2;
  RC_ASSERT(SampledGaussianRdp(more, order) >= rdp);
  more = less;
  more.sigma = less.sigma * 0.9;
  RC_ASSERT(SampledGaussianRdp(more, order) >= rdp);
  more = less;
  more.steps = 8;
  RC_ASSERT(SampledGaussianRdp(more, order) > rdp);
  RC_ASSERT(SampledGaussianRdp(less, order * 1.1) >= rdp * (1 - 1e-9));
}

TEST(DpRdp, CompositionIsTheSum) {
  RdpAccountant apart = RdpAccountant::Create(AllOrders()).value();
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(apart.Compose({.q = 0.02, .sigma = 1.3, .steps = 10}).ok());
  }
  EXPECT_NEAR(apart.Epsilon(1e-5).value().value,
              Epsilon(AllOrders(), {.q = 0.02, .sigma = 1.3, .steps = 50}, 1e-5), 1e-12);
  const double before = apart.Epsilon(1e-5).value().value;
  ASSERT_TRUE(apart.Compose({.q = 1, .sigma = 5}).ok());
  EXPECT_GT(apart.Epsilon(1e-5).value().value, before);
}

TEST(DpRdp, SaysWhereTheBestOrderIsAtTheEdgeOfTheGrid) {
  std::vector<double> orders;
  for (int order = 2; order <= 32; ++order) {
    orders.push_back(order);
  }
  const RdpBound edge = EpsilonOfRdp(orders, std::vector<double>(orders.size(), 1.1), 1e-5);
  EXPECT_NEAR(edge.value, 1.32783806176, 1e-11);
  EXPECT_EQ(edge.order, 32);
  EXPECT_TRUE(edge.at_edge);

  RdpAccountant inside = RdpAccountant::Create(AllOrders()).value();
  ASSERT_TRUE(inside.Compose({.sigma = 1}).ok());
  EXPECT_NEAR(inside.Epsilon(1e-5).value().order, 5.4, 1e-12);
  EXPECT_FALSE(inside.Epsilon(1e-5).value().at_edge);
}

TEST(DpRdp, AFineGridReachesTheBestOrder) {
  std::vector<double> orders;
  for (int i = 1; i <= 1000; ++i) {
    orders.push_back(1 + i * 0.1);
  }
  EXPECT_NEAR(Epsilon(orders, {.sigma = 4.530877117}, 1e-6), 1, 1e-6);
}

TEST(DpRdp, EpsilonIsNeverNegativeAndDeltaNeverAboveOne) {
  RdpAccountant accountant = RdpAccountant::Create(AllOrders()).value();
  EXPECT_EQ(accountant.Epsilon(1e-5).value().value, 0);
  ASSERT_TRUE(accountant.Compose({.q = 1e-9, .sigma = 1000}).ok());
  EXPECT_EQ(accountant.Epsilon(0.9).value().value, 0);
  EXPECT_GE(accountant.Epsilon(1e-12).value().value, 0);
  ASSERT_TRUE(accountant.Compose({.sigma = 0.01}).ok());
  EXPECT_EQ(accountant.Delta(0).value().value, 1);
}

RC_GTEST_PROP(DpRdp, DeltaInvertsEpsilon, ()) {
  RdpAccountant accountant = RdpAccountant::Create(IntegerOrders()).value();
  RC_ASSERT(
      accountant.Compose({.q = OrdersBetween(0.01, 1), .sigma = OrdersBetween(0.6, 4), .steps = 20})
          .ok());
  const double delta = std::pow(10, -OrdersBetween(3, 9));
  const double epsilon = accountant.Epsilon(delta).value().value;
  RC_PRE(epsilon > 0);
  RC_ASSERT(accountant.Delta(epsilon).value().value <= delta * (1 + 1e-9));
  RC_ASSERT(accountant.Delta(epsilon * 0.99).value().value > delta);
}

// Other libraries find these noise multipliers for epsilon 8, within the tolerances of their
// searches.
TEST(DpRdp, AgreesWithOtherLibrariesOnTheNoiseForABudget) {
  const auto epsilon_at = [](double sigma, uint64_t steps) {
    return Epsilon(AllOrders(), {.q = 0.04, .sigma = sigma, .steps = steps}, 1e-5);
  };
  for (const auto& [sigma, steps] : {std::pair(1.416, 2250), std::pair(1.3562, 2000)}) {
    EXPECT_LE(epsilon_at(sigma + 0.003, static_cast<uint64_t>(steps)), 8);
    EXPECT_GT(epsilon_at(sigma - 0.003, static_cast<uint64_t>(steps)), 8);
  }
}

TEST(DpRdp, RefusesWhatIsOutOfRange) {
  RdpAccountant accountant = RdpAccountant::Create({2, 3}).value();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const SampledGaussian& wrong :
       {SampledGaussian{.q = 0}, SampledGaussian{.q = 1.1}, SampledGaussian{.q = nan},
        SampledGaussian{.sigma = 0}, SampledGaussian{.sigma = -1}, SampledGaussian{.sigma = nan},
        SampledGaussian{.steps = 0}, SampledGaussian{.steps = 2'000'000'000}}) {
    EXPECT_EQ(ReasonOf(accountant.Compose(wrong)), reasons::kInvalidArgument);
  }
  EXPECT_EQ(accountant.rdp(), (std::vector<double>{0, 0}));
  for (const double delta : {0.0, 1.0, -1.0, nan}) {
    EXPECT_EQ(ReasonOf(accountant.Epsilon(delta).status()), reasons::kInvalidArgument);
  }
  EXPECT_EQ(ReasonOf(accountant.Delta(-1).status()), reasons::kInvalidArgument);
  for (const std::vector<double>& orders :
       {std::vector<double>{}, {1.0}, {3.0, 2.0}, {2.0, 2.0}, {nan}, {2.0, 1e6}}) {
    EXPECT_EQ(ReasonOf(RdpAccountant::Create(orders).status()), reasons::kInvalidArgument);
  }
}

TEST(DpZcdp, ConvertsAtTheBestOrder) {
  EXPECT_EQ(GaussianRho(1), 0.5);
  EXPECT_NEAR(EpsilonOfRho(0.5, 1e-5).value(), 4.728387, 1e-6);
  EXPECT_NEAR(EpsilonOfRho(0.81, 1e-10).value(), 8.922207, 1e-6);
  EXPECT_EQ(EpsilonOfRho(0, 1e-5).value(), 0);
  EXPECT_EQ(ReasonOf(EpsilonOfRho(-1, 1e-5).status()), reasons::kInvalidArgument);
  EXPECT_EQ(ReasonOf(EpsilonOfRho(1, 0).status()), reasons::kInvalidArgument);
}

RC_GTEST_PROP(DpZcdp, IsAtMostTheGridOfOrders, ()) {
  const double sigma = OrdersBetween(0.4, 30);
  const double delta = std::pow(10, -OrdersBetween(2, 12));
  const double epsilon = EpsilonOfRho(GaussianRho(sigma), delta).value();
  RC_ASSERT(epsilon <= Epsilon(AllOrders(), {.sigma = sigma}, delta) + 1e-12);
  // The bound of Bun and Steinke 2016, proposition 1.3, is looser.
  RC_ASSERT(epsilon <= GaussianRho(sigma) + 2 * std::sqrt(-GaussianRho(sigma) * std::log(delta)));
}

}  // namespace
}  // namespace ruvd::privacy::dp
