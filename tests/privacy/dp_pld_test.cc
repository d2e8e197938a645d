// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <numeric>

#include "base/reasons.h"
#include "base/status.h"
#include "privacy/dp/analytic_gaussian.h"
#include "privacy/dp/log_space.h"
#include "privacy/dp/loss_distribution.h"
#include "privacy/dp/pld.h"
#include "privacy/dp/rdp.h"

namespace ruvd::privacy::dp {
namespace {

double Between(double low, double high) {
  return low + (high - low) * *rc::gen::inRange(0, 1'000'001) / 1e6;
}

double PldEpsilon(const SampledGaussian& mechanism, double delta, double interval = 1e-3) {
  PldAccountant accountant(interval);
  EXPECT_TRUE(accountant.Compose(mechanism).ok());
  return accountant.Epsilon(delta).value();
}

TEST(DpAnalyticGaussian, SigmaForABudgetAndBack) {
  const struct {
    double epsilon, delta, sigma;
  } kRows[] = {{1, 1e-6, 4.2246788893},
               {1, 1e-5, 3.7306316348},
               {2, 1e-5, 1.9938124456},
               {8, 1e-5, 0.6002290722},
               {0.5, 1e-6, 8.0576184807}};
  for (const auto& row : kRows) {
    const double sigma = GaussianSigma(row.epsilon, row.delta).value();
    EXPECT_NEAR(sigma, row.sigma, 1e-9);
    EXPECT_NEAR(GaussianEpsilon(sigma, row.delta).value(), row.epsilon, 1e-9);
    EXPECT_NEAR(GaussianDelta(sigma, row.epsilon).value() / row.delta, 1, 1e-8);
  }
}

TEST(DpAnalyticGaussian, RefusesWhatNoNoiseReaches) {
  EXPECT_EQ(GaussianEpsilon(10, 0.5).value(), 0);
  for (const absl::Status& status :
       {GaussianSigma(0, 1e-12).status(), GaussianSigma(-1, 1e-5).status(),
        GaussianSigma(1, 0).status(), GaussianDelta(0, 1).status(),
        GaussianEpsilon(1, 1).status()}) {
    EXPECT_EQ(ReasonOf(status), reasons::kInvalidArgument);
  }
}

RC_GTEST_PROP(DpAnalyticGaussian, IsTighterThanRenyiAndMonotone, ()) {
  const double sigma = Between(0.3, 30);
  const double delta = std::pow(10, -Between(2, 12));
  const double epsilon = GaussianEpsilon(sigma, delta).value();
  RC_ASSERT(GaussianEpsilon(sigma * 1.1, delta).value() <= epsilon);
  RC_ASSERT(GaussianEpsilon(sigma, delta * 0.5).value() >= epsilon);
  RdpAccountant renyi = RdpAccountant::Create(AllOrders()).value();
  RC_ASSERT(renyi.Compose({.sigma = sigma}).ok());
  RC_ASSERT(epsilon <= renyi.Epsilon(delta).value().value);
}

TEST(DpLossDistribution, KeepsTheMassUnderBothDataSets) {
  for (const double q : {1.0, 0.3, 1e-3}) {
    for (const Neighbour neighbour : {Neighbour::kRemoved, Neighbour::kAdded}) {
      const LossDistribution loss =
          SampledGaussianLoss({.q = q, .sigma = 0.8}, neighbour, 1e-3, -60).value();
      double own = loss.infinite;
      double other = 0;
      for (size_t i = 0; i < loss.mass.size(); ++i) {
        ASSERT_GE(loss.mass[i], 0);
        own += loss.mass[i];
        other += loss.mass[i] *
                 std::exp(-(static_cast<double>(loss.first) + static_cast<double>(i)) * 1e-3);
      }
      EXPECT_NEAR(own, 1, 1e-12);
      EXPECT_NEAR(other, 1, 1e-9);
    }
  }
}

TEST(DpPld, WithoutSamplingItIsTheAnalyticGaussian) {
  for (const double sigma : {0.5, 1.0, 4.0}) {
    for (const double delta : {1e-3, 1e-6, 1e-12}) {
      const double exact = GaussianEpsilon(sigma, delta).value();
      const double epsilon = PldEpsilon({.sigma = sigma}, delta);
      EXPECT_GE(epsilon, exact * (1 - 1e-9));
      EXPECT_LE(epsilon, exact + 1e-4);
    }
  }
  // Many steps with much noise equal one step with little noise.
  EXPECT_NEAR(PldEpsilon({.sigma = 10, .steps = 100}, 1e-5), PldEpsilon({.sigma = 1}, 1e-5), 1e-9);
}

// One step has a closed form: the outputs whose loss is above epsilon are a half line.
TEST(DpPld, OneSampledStepIsNeverBelowTheTruth) {
  for (const double q : {0.02, 0.3, 0.9}) {
    for (const double sigma : {0.6, 1.5}) {
      for (const double epsilon : {0.05, 0.5, 1.5}) {
        const double from = sigma * sigma * (std::log(std::expm1(epsilon) + q) - std::log(q)) + 0.5;
        const double without = std::exp(LogNormalCdf(-from / sigma));
        const double with = std::exp(LogNormalCdf(-(from - 1) / sigma));
        const double delta = (1 - q) * without + q * with - std::exp(epsilon) * without;
        const double found = PldEpsilon({.q = q, .sigma = sigma}, delta);
        EXPECT_GE(found, epsilon * (1 - 1e-9)) << q << " " << sigma;
        EXPECT_LE(found, epsilon + 1e-3) << q << " " << sigma;
      }
    }
  }
}

TEST(DpPld, AgreesWithPublishedFigures) {
  EXPECT_NEAR(PldEpsilon({.q = 0.01, .sigma = 0.7, .steps = 120}, 1e-5, 1e-4), 2.4612381, 2e-6);
  EXPECT_NEAR(PldEpsilon({.q = 0.1, .sigma = 1}, 1e-5, 1e-4), 1.684544, 2e-6);
}

TEST(DpPld, StaysBelowRenyiAndFollowsItsArguments) {
  const double delta = 1e-6;
  for (const double q : {0.01, 0.2}) {
    for (const double sigma : {0.8, 3.0}) {
      const SampledGaussian mechanism{.q = q, .sigma = sigma, .steps = 40};
      const double epsilon = PldEpsilon(mechanism, delta);
      RdpAccountant renyi = RdpAccountant::Create(AllOrders()).value();
      ASSERT_TRUE(renyi.Compose(mechanism).ok());
      EXPECT_LE(epsilon, renyi.Epsilon(delta).value().value + 1e-3);
      EXPECT_GT(epsilon, 0.2 * renyi.Epsilon(delta).value().value);
      EXPECT_GT(PldEpsilon({.q = q * 1.3, .sigma = sigma, .steps = 40}, delta), epsilon);
      EXPECT_LT(PldEpsilon({.q = q, .sigma = sigma * 1.2, .steps = 40}, delta), epsilon);
      EXPECT_GT(PldEpsilon({.q = q, .sigma = sigma, .steps = 60}, delta), epsilon);
      EXPECT_GT(PldEpsilon(mechanism, delta / 10), epsilon);
    }
  }
}

TEST(DpPld, ACoarserGridNeverSaysLess) {
  const SampledGaussian mechanism{.q = 0.05, .sigma = 1.2, .steps = 50};
  const double fine = PldEpsilon(mechanism, 1e-6, 1e-4);
  for (const double interval : {1e-3, 1e-2, 5e-2}) {
    EXPECT_GE(PldEpsilon(mechanism, 1e-6, interval), fine * (1 - 1e-9)) << interval;
  }
}

TEST(DpPld, CompositionDoesNotDependOnOrderOrGrouping) {
  const SampledGaussian a{.q = 0.1, .sigma = 1.5, .steps = 10};
  const SampledGaussian b{.q = 1, .sigma = 6, .steps = 3};
  PldAccountant first(1e-3);
  ASSERT_TRUE(first.Compose(a).ok());
  ASSERT_TRUE(first.Compose(a).ok());
  ASSERT_TRUE(first.Compose(b).ok());
  PldAccountant second(1e-3);
  ASSERT_TRUE(second.Compose({.q = 1, .sigma = 6, .steps = 2}).ok());
  ASSERT_TRUE(second.Compose({.q = 0.1, .sigma = 1.5, .steps = 20}).ok());
  ASSERT_TRUE(second.Compose({.q = 1, .sigma = 6}).ok());
  const double both = first.Epsilon(1e-6).value();
  EXPECT_NEAR(both, second.Epsilon(1e-6).value(), 1e-9);
  EXPECT_GT(both, PldEpsilon({.q = 0.1, .sigma = 1.5, .steps = 20}, 1e-6));
  EXPECT_GT(both, PldEpsilon(b, 1e-6));
  RdpAccountant renyi = RdpAccountant::Create(AllOrders()).value();
  ASSERT_TRUE(renyi.Compose({.q = 0.1, .sigma = 1.5, .steps = 20}).ok());
  ASSERT_TRUE(renyi.Compose(b).ok());
  EXPECT_LE(both, renyi.Epsilon(1e-6).value().value);
}

TEST(DpPld, NothingCostsNothingAndTooMuchIsRefused) {
  EXPECT_EQ(PldAccountant().Epsilon(1e-5).value(), 0);
  EXPECT_EQ(PldEpsilon({.q = 1e-6, .sigma = 2}, 1e-3), 0);
  PldAccountant accountant;
  EXPECT_EQ(ReasonOf(accountant.Compose({.q = 2})), reasons::kInvalidArgument);
  EXPECT_EQ(ReasonOf(accountant.Epsilon(0).status()), reasons::kInvalidArgument);
  ASSERT_TRUE(accountant.Compose({.sigma = 0.01}).ok());
  EXPECT_EQ(ReasonOf(accountant.Epsilon(1e-5).status()), reasons::kLimitExceeded);
}

}  // namespace
}  // namespace ruvd::privacy::dp
