// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/learner/privacy_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <regex>
#include <string>

#include "base/reasons.h"
#include "base/status.h"
#include "privacy/dp/zcdp.h"
#include "privacy/limits.h"
#include "privacy/reasons.h"

namespace ruvd::federation {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr double kDelta = 1e-5;

PrivacyRequest Request(double epsilon, uint32_t rounds, size_t units, size_t dimension) {
  return {.budget = {.unit = privacy::PrivacyUnit::kLesson,
                     .epsilon = epsilon,
                     .delta = kDelta,
                     .rounds = rounds},
          .nodes = 6,
          .units = units,
          .dimension = dimension};
}

double EpsilonOf(const PrivacyPlan& plan, uint32_t rounds) {
  privacy::dp::RdpCurve curve = plan.round_cost;
  curve *= rounds;
  return privacy::dp::EpsilonOf(curve, kDelta).value().value;
}

struct Row {
  size_t dimension;
  size_t units;
  double epsilon;
  uint32_t rounds;
  size_t batch;
  double sigma;
  double alone6;   // sums of six nodes, each noised by itself
  double masked6;  // a masked sum of six nodes, two tolerated
  double masked4;  // a masked sum of four nodes, one tolerated
};

// The figures were computed by another program, from the formulas of the integer orders alone.
TEST(PrivacyPlan, AgreesWithTheTable) {
  constexpr Row kRows[] = {{1792, 2000, 8, 8, 128, 0.60, 3.1, 6.3, 4.4},
                           {1792, 2000, 8, 20, 128, 0.66, 4.5, 9.1, 6.4},
                           {1792, 2000, 8, 20, 512, 1.10, 10.9, 21.8, 15.4},
                           {1792, 2000, 3, 20, 128, 1.00, 3.0, 6.0, 4.2},
                           {1792, 2000, 3, 20, 512, 2.10, 5.7, 11.4, 8.0},
                           {1792, 500, 8, 20, 128, 1.10, 2.7, 5.4, 3.9},
                           {3584, 2000, 8, 20, 128, 0.66, 3.2, 6.4, 4.5},
                           {3584, 2000, 8, 20, 512, 1.10, 7.7, 15.4, 10.9},
                           {3584, 2000, 3, 20, 128, 1.00, 2.1, 4.2, 3.0},
                           {3584, 2000, 3, 20, 512, 2.10, 4.0, 8.0, 5.7},
                           {3584, 500, 8, 20, 128, 1.10, 1.9, 3.9, 2.7}};
  for (const Row& row : kRows) {
    SCOPED_TRACE(fmt::format("{} {} {} {} {}", row.dimension, row.units, row.epsilon, row.rounds,
                             row.batch));
    PrivacyRequest request = Request(row.epsilon, row.rounds, row.units, row.dimension);
    request.max_batch = row.batch;
    const PrivacyPlan masked = MakePrivacyPlan(request).value();
    EXPECT_EQ(masked.expected_batch, static_cast<double>(row.batch));
    EXPECT_NEAR(masked.noise_multiplier, row.sigma, 0.01 * row.sigma + 0.006);
    EXPECT_NEAR(masked.snr_run, row.masked6, 0.02 * row.masked6 + 0.05);
    EXPECT_LE(masked.epsilon, row.epsilon);
    EXPECT_GT(masked.epsilon, 0.95 * row.epsilon);
    EXPECT_EQ(masked.epsilon, EpsilonOf(masked, row.rounds));
    request.nodes = 4;
    request.tolerated = 1;
    EXPECT_NEAR(MakePrivacyPlan(request).value().snr_run, row.masked4, 0.02 * row.masked4 + 0.05);
    // A third of four is two, rounded up: the two others alone reach the noise.
    request.tolerated = 0;
    EXPECT_NEAR(MakePrivacyPlan(request).value().snr_run, row.masked4 * std::sqrt(2.0 / 3),
                0.02 * row.masked4 + 0.05);
    request.nodes = 6;
    request.masked = false;
    EXPECT_NEAR(MakePrivacyPlan(request).value().snr_run, row.alone6, 0.02 * row.alone6 + 0.05);
  }
}

TEST(PrivacyPlan, WhatNoiseBuriesIsRefusedWithWhatSuffices) {
  PrivacyRequest request = Request(1, 20, 500, 1792);
  request.max_batch = 128;
  request.nodes = 4;
  const absl::Status refused = MakePrivacyPlan(request).status();
  EXPECT_EQ(ReasonOf(refused), reasons::kSignalTooWeak);
  EXPECT_THAT(MessageOf(refused), HasSubstr("1000 lessons for each node, 6 nodes, or"));
  EXPECT_THAT(MessageOf(refused), HasSubstr("suffices"));
  request.units = 1000;
  EXPECT_TRUE(MakePrivacyPlan(request).ok());
  request.units = 500;
  request.nodes = 6;
  EXPECT_TRUE(MakePrivacyPlan(request).ok());
}

TEST(PrivacyPlan, AlternativesAreThePlansThemselves) {
  const PrivacyRequest request = Request(3, 20, 500, 3584);
  const PlanAlternatives more = Alternatives(request).value();
  const double now = MakePrivacyPlan(request).value().snr_run;
  PrivacyRequest changed = request;
  changed.units = 1000;
  EXPECT_EQ(more.twice_units, MakePrivacyPlan(changed).value().snr_run);
  changed = request;
  changed.nodes = 7;
  EXPECT_EQ(more.one_node_more, MakePrivacyPlan(changed).value().snr_run);
  changed = request;
  changed.budget.rounds = 40;
  EXPECT_EQ(more.twice_rounds, MakePrivacyPlan(changed).value().snr_run);
  EXPECT_NEAR(more.half_rank, 2 * now, 0.1 * now);
  EXPECT_GT(more.twice_units, now);
  EXPECT_GT(more.one_node_more, now);
  changed = request;
  changed.nodes = limits::kMaxCliqueMembers;
  EXPECT_EQ(Alternatives(changed).value().one_node_more, 0) << "a clique has at most sixteen";
}

TEST(PrivacyPlan, RefusesWhatIsNoRequest) {
  const PrivacyRequest good = Request(8, 20, 2000, 1792);
  ASSERT_TRUE(MakePrivacyPlan(good).ok());
  const auto reason = [&good](void (*change)(PrivacyRequest*)) {
    PrivacyRequest request = good;
    change(&request);
    return ReasonOf(MakePrivacyPlan(request).status());
  };
  EXPECT_EQ(reason([](PrivacyRequest* r) { r->nodes = 3; }), reasons::kInvalidArgument);
  EXPECT_EQ(reason([](PrivacyRequest* r) { r->nodes = 17; }), reasons::kInvalidArgument);
  EXPECT_EQ(reason([](PrivacyRequest* r) { r->tolerated = 6; }), reasons::kInvalidArgument);
  EXPECT_EQ(reason([](PrivacyRequest* r) { r->units = 1; }), reasons::kInvalidArgument);
  EXPECT_EQ(reason([](PrivacyRequest* r) { r->dimension = 0; }), reasons::kInvalidArgument);
  EXPECT_EQ(reason([](PrivacyRequest* r) { r->max_batch = 0; }), reasons::kInvalidArgument);
  EXPECT_EQ(reason([](PrivacyRequest* r) { r->budget.rounds = 0; }), reasons::kInvalidArgument);
  EXPECT_EQ(reason([](PrivacyRequest* r) { r->budget.delta = 0; }), reasons::kInvalidArgument);
  EXPECT_EQ(reason([](PrivacyRequest* r) { r->budget.epsilon = -1; }), reasons::kInvalidArgument);
  EXPECT_EQ(reason([](PrivacyRequest* r) { r->clip_norm = 0; }), reasons::kInvalidArgument);
}

TEST(PrivacyPlan, TheNumberOfUnitsIsPublic) {
  EXPECT_EQ(PublicUnits(0), 0U);
  EXPECT_EQ(PublicUnits(1), 1U);
  EXPECT_EQ(PublicUnits(2000), 1972U);
  EXPECT_EQ(PublicUnits(1972), 1972U);
  EXPECT_EQ(PublicUnits(1971), 1577U);
}

RC_GTEST_PROP(PrivacyPlanProperty, TheNumberOfUnitsIsRoundedDownALittle, ()) {
  const auto units = *rc::gen::inRange<size_t>(1, 10'000'000);
  const size_t rounded = PublicUnits(units);
  RC_ASSERT(rounded <= units);
  RC_ASSERT(1.25 * static_cast<double>(rounded + 1) > static_cast<double>(units));
  RC_ASSERT(PublicUnits(rounded) == rounded);
}

TEST(PrivacyPlan, SomeNoiseIsTooLittleForAnySample) {
  const privacy::UnitBudget budget{
      .unit = privacy::PrivacyUnit::kLesson, .epsilon = 0.5, .delta = kDelta, .rounds = 30};
  const absl::Status refused = SamplingRateWithin(5, budget).status();
  EXPECT_EQ(ReasonOf(refused), reasons::kInvalidArgument);
  EXPECT_THAT(MessageOf(refused), HasSubstr("is the least"));
  EXPECT_EQ(ReasonOf(SamplingRateWithin(-1, budget).status()), reasons::kInvalidArgument);
  EXPECT_EQ(SamplingRateWithin(1e-6, budget).value(), 1);
}

RC_GTEST_PROP(PrivacyPlanProperty, TheSamplingRateIsTheLargestThatFits, ()) {
  const double rho = 0.01 * *rc::gen::inRange(1, 100);
  const privacy::UnitBudget budget{.unit = privacy::PrivacyUnit::kLesson,
                                   .epsilon = 0.5 * *rc::gen::inRange(4, 20),
                                   .delta = kDelta,
                                   .rounds = *rc::gen::inRange<uint32_t>(1, 60)};
  const auto epsilon = [&](double rate) {
    privacy::dp::RdpCurve curve = privacy::dp::SampledCurve(rate, rho).value();
    curve *= budget.rounds;
    return privacy::dp::EpsilonOf(curve, kDelta).value().value;
  };
  const double rate = SamplingRateWithin(rho, budget).value();
  RC_ASSERT(epsilon(rate) <= budget.epsilon);
  RC_ASSERT(rate == 1 || epsilon(std::min(1.0, 1.01 * rate)) > budget.epsilon);
}

// Sixteen clip norms cannot be seen in the noise that hides one of them.
TEST(PrivacyPlan, AWholeNodeIsOneUnitAndNeedsManyNodes) {
  PrivacyRequest request = Request(8, 20, 1, 1792);
  request.budget.unit = privacy::PrivacyUnit::kNode;
  request.signal = SignalOf(2000, 0.09);
  for (const size_t nodes : {4, 16}) {
    request.nodes = nodes;
    const absl::Status refused = MakePrivacyPlan(request).status();
    EXPECT_EQ(ReasonOf(refused), reasons::kSignalTooWeak);
    EXPECT_THAT(MessageOf(refused), HasSubstr("with all lessons as one unit"));
    EXPECT_THAT(MessageOf(refused), HasSubstr("suffices, or else"));
    EXPECT_THAT(MessageOf(refused), Not(HasSubstr("for each node")));
    const PlanAlternatives more = Alternatives(request).value();
    EXPECT_EQ(more.twice_units, 0) << "there is no second unit";
    EXPECT_GT(more.twice_rounds, 0);
  }
  const PrivacyPlan at_noise = PlanAtNoise(request, 1.5).value();
  EXPECT_LE(at_noise.sampling_rate, 1);
  EXPECT_EQ(at_noise.expected_batch, at_noise.sampling_rate);
  EXPECT_LT(at_noise.snr_run, 1);
  request.budget.epsilon = 60;
  request.dimension = 448;
  const auto plan = MakePrivacyPlan(request);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->sampling_rate, 1) << "half of a node would have half of the signal";
  request.units = 2;
  EXPECT_THAT(MessageOf(MakePrivacyPlan(request).status()), HasSubstr("as a whole it is one unit"));
}

// ---- The noise of a plan of gradients

class PlanOfGradients : public testing::Test {
 protected:
  PlanOfGradients() : request_(Request(8, 20, 2000, 1792)) {
    request_.max_batch = 512;
    plan_.kind = ContributionKind::kGradient;
    plan_.values_per_bank = static_cast<uint32_t>(request_.dimension);
  }
  RoundSampling SamplingOf(const PrivacyPlan& privacy) const {
    return {.masked = request_.masked,
            .nodes = request_.nodes,
            .units = request_.units,
            .rate = privacy.sampling_rate,
            .rounds = request_.budget.rounds};
  }
  PrivacyRequest request_;
  LearnerPlan plan_;
};

TEST_F(PlanOfGradients, PredictsWhatThePlanOfItsNoisePredicts) {
  for (const bool masked : {true, false}) {
    request_.masked = masked;
    const PrivacyPlan privacy = MakePrivacyPlan(request_).value();
    plan_.grid = privacy.grid;
    EXPECT_NEAR(PredictSnr(plan_, SamplingOf(privacy)).value(), privacy.snr_run, 1e-9);
  }
}

TEST_F(PlanOfGradients, SharesOfNoiseCostAsMuchAsTheWorstCliqueAllows) {
  plan_.grid = MakePrivacyPlan(request_).value().grid;
  const double alone = RhoOfRound(plan_, false).value();
  const double masked = RhoOfRound(plan_, true).value();
  EXPECT_NEAR(alone, privacy::dp::GaussianRho(plan_.grid.NoiseMultiplier()), 1e-12);
  EXPECT_NEAR(masked, alone, 0.1 * alone) << "without a third, the shares reach the whole noise";
}

TEST_F(PlanOfGradients, ATooWeakSignalIsRefusedWithTheFigures) {
  const PrivacyPlan privacy = MakePrivacyPlan(request_).value();
  plan_.grid = privacy.grid;
  RoundSampling sampling = SamplingOf(privacy);
  EXPECT_TRUE(RequireSignal(plan_, sampling, 1).ok());
  sampling.rate /= 100;
  const absl::Status refused = RequireSignal(plan_, sampling, 1);
  EXPECT_EQ(ReasonOf(refused), reasons::kSignalTooWeak);
  EXPECT_THAT(MessageOf(refused), HasSubstr("2000 lessons"));
  // The epsilon that the message names is enough and hardly more than that.
  std::smatch found;
  const std::string text = MessageOf(refused);
  ASSERT_TRUE(std::regex_search(text, found, std::regex("Epsilon ([0-9.]+) suffices"))) << text;
  const auto snr_within = [&](double epsilon) {
    sampling.rate =
        SamplingRateWithin(RhoOfRound(plan_, sampling.masked).value(), {.unit = plan_.unit,
                                                                        .epsilon = epsilon,
                                                                        .delta = sampling.delta,
                                                                        .rounds = sampling.rounds})
            .value();
    return PredictSnr(plan_, sampling).value();
  };
  const double epsilon = std::stod(found[1]);
  EXPECT_GT(snr_within(epsilon), 1);
  EXPECT_LT(snr_within(0.95 * epsilon), 1);
  sampling.rate = 1e-6;
  sampling.max_batch = 20;
  EXPECT_THAT(MessageOf(RequireSignal(plan_, sampling, 1)), HasSubstr("in time for 20"));
  sampling.units = 3;
  EXPECT_THAT(MessageOf(RequireSignal(plan_, sampling, 1)), HasSubstr("no epsilon suffices"));
  sampling.units = 2000;
  EXPECT_TRUE(RequireSignal(plan_, sampling, 0).ok()) << "0: any";
}

TEST_F(PlanOfGradients, ATooWeakSignalOfWholeNodesIsRefusedWithTheFigures) {
  plan_.grid = MakePrivacyPlan(request_).value().grid;
  plan_.unit = privacy::PrivacyUnit::kNode;
  const RoundSampling sampling{.masked = true, .nodes = 16, .units = 1, .rate = 0.01};
  const std::string text = MessageOf(RequireSignal(plan_, sampling, 1));
  EXPECT_THAT(text, HasSubstr("all lessons as one unit, of which a round samples 0.16"));
  EXPECT_THAT(text, HasSubstr("or add nodes, or choose a smaller rank"));
}

// What bench/experiments/round_arms.py measured of both models, by the lessons of a user.
TEST(PrivacyPlan, TheSignalOfUsersGrowsWithTheirLessons) {
  EXPECT_EQ(SignalOf(1, 0.09), 0.09);
  EXPECT_EQ(SignalOf(0.4, 0.09), 0.09) << "a unit has at least one lesson";
  EXPECT_NEAR(SignalOf(4, 0.089), 0.148, 0.016);
  EXPECT_NEAR(SignalOf(10, 0.089), 0.255, 0.036);
  EXPECT_NEAR(SignalOf(10, 0.125), 0.361, 0.05);
  EXPECT_EQ(SignalOf(2000, 0.09), SignalOf(16, 0.09)) << "a sample takes 16 lessons of a user";
  EXPECT_EQ(SignalOf(16, 0.9), 1);
}

}  // namespace
}  // namespace ruvd::federation
