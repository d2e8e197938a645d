// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Tests what is learned from requests whose outcome is known.

#include "node/learning/router_training.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "tests/node/router_world.h"

namespace ruvd::learning {
namespace {

using test::RouterWorld;

constexpr double kValue = 10;
constexpr float kLeastRating = 0.7F;

std::vector<RouterOutcome> Outcomes(RouterWorld& world, serving::RequestRouter& router, int count) {
  std::vector<RouterOutcome> outcomes;
  for (int i = 0; i < count; ++i) {
    outcomes.push_back(OutcomeOf(world.Serve(router, "r"), kLeastRating).value());
  }
  return outcomes;
}

class RouterKindsTest : public ::testing::TestWithParam<inference::ScorerKind> {};

INSTANTIATE_TEST_SUITE_P(Kinds, RouterKindsTest,
                         ::testing::Values(inference::ScorerKind::kLogistic,
                                           inference::ScorerKind::kFastGrnn),
                         [](const auto& kind) {
                           return std::string(inference::ScorerName(kind.param));
                         });

TEST_P(RouterKindsTest, FindsTheBetterWayAndBeatsServingAllAlike) {
  RouterWorld world(1);
  serving::RequestRouter router({.kind = GetParam(), .exploration = 0.3, .seed = 2});
  const int outcomes =
      GetParam() == inference::ScorerKind::kLogistic ? 1500 : 1000;  // it needs more
  Random random(3);
  const TrainedRouter trained = TrainRequestRouter(Outcomes(world, router, outcomes),
                                                   {.kind = GetParam(), .value = kValue}, random)
                                    .value();
  ASSERT_NE(trained.router, nullptr);
  EXPECT_TRUE(trained.better(false)) << trained.gain.mean << " +- " << trained.gain.standard_error;
  serving::RequestRouter greedy({.kind = GetParam(), .exploration = 0});
  ASSERT_TRUE(greedy.Serve(trained.router).ok());
  double learned = 0;
  std::array<double, serving::kNodeRoutes> alike{};
  double best = 0;
  constexpr int kRequests = 1000;
  for (int i = 0; i < kRequests; ++i) {
    const inference::RequestFeatures facts = world.Request();
    const size_t route = greedy.Choose(facts, RouterWorld::Open()).decision.route;
    learned += RouterWorld::Worth(facts, route, kValue) / kRequests;
    for (const size_t fixed :
         {serving::kRouteUnchanged, serving::kRouteHalfSteps, serving::kRouteNoAdapters}) {
      alike.at(fixed) += RouterWorld::Worth(facts, fixed, kValue) / kRequests;
    }
    best += std::max(RouterWorld::Worth(facts, serving::kRouteUnchanged, kValue),
                     RouterWorld::Worth(facts, serving::kRouteHalfSteps, kValue)) /
            kRequests;
  }
  for (const size_t fixed :
       {serving::kRouteUnchanged, serving::kRouteHalfSteps, serving::kRouteNoAdapters}) {
    EXPECT_GT(learned, alike.at(fixed) + 0.5) << serving::NodeRoutes().at(fixed).name;
  }
  EXPECT_GT(learned, best - 0.3);
  // The estimate is close to the true gain.
  EXPECT_NEAR(trained.gain.mean, learned - alike[serving::kRouteUnchanged],
              4 * trained.gain.standard_error);
}

TEST(RouterTrainingTest, CostsAreMeasuredBesideServingAsAsked) {
  RouterWorld world(4);
  serving::RequestRouter router({.exploration = 0.3, .seed = 5});
  Random random(6);
  const TrainedRouter trained =
      TrainRequestRouter(Outcomes(world, router, 1000), {}, random).value();
  ASSERT_EQ(trained.router->entries().size(), 3U);
  EXPECT_NEAR(trained.router->entries()[0].route.cost, 1, 1e-6);
  EXPECT_NEAR(trained.router->entries()[1].route.cost, 0.5, 0.02);
  EXPECT_EQ(trained.router->entries()[1].route.name, "half_steps");
  EXPECT_NEAR(trained.router->entries()[2].route.cost, 1, 0.03);
}

TEST(RouterTrainingTest, WithTooFewOutcomesNothingIsLearned) {
  RouterWorld world(7);
  serving::RequestRouter router({.exploration = 0.3, .seed = 7});
  Random random(8);
  std::vector<RouterOutcome> outcomes = Outcomes(world, router, 300);
  std::erase_if(outcomes,
                [](const RouterOutcome& one) { return one.route != serving::kRouteUnchanged; });
  ASSERT_GT(outcomes.size(), kMinRouteOutcomes);
  EXPECT_EQ(TrainRequestRouter(outcomes, {}, random)->router, nullptr) << "all of one way";
  EXPECT_EQ(TrainRequestRouter({}, {}, random)->router, nullptr);
}

// Returns outcomes of users who do not care how they are served.
std::vector<RouterOutcome> Indifferent(uint64_t seed, int count) {
  RouterWorld world(seed);
  serving::RequestRouter router({.exploration = 0.3, .seed = 9});
  Random random(seed);
  std::vector<RouterOutcome> outcomes = Outcomes(world, router, count);
  for (RouterOutcome& outcome : outcomes) {
    outcome.good = random.Bernoulli(0.6);
    outcome.cost = 1;
  }
  return outcomes;
}

// Regression test: one standard error was required after each 64 outcomes, and three of four such
// worlds got a router at some time.
TEST(RouterTrainingTest, ManyLooksDoNotMakeAnEqualRouterBetter) {
  constexpr uint64_t kWorlds = 8;
  constexpr size_t kLooks = 12;
  size_t called_better = 0;
  for (uint64_t seed = 0; seed < kWorlds; ++seed) {
    const std::vector<RouterOutcome> outcomes = Indifferent(seed, 64 * kLooks);
    Random random(seed);
    bool ever = false;
    for (size_t look = 1; look <= kLooks && !ever; ++look) {
      const auto seen = std::span(outcomes).first(64 * look);
      ever = TrainRequestRouter(seen, {.value = kValue}, random)->better(false);
    }
    called_better += ever ? 1 : 0;
  }
  EXPECT_LE(called_better, 1U);
}

TEST(RouterGainTest, NeedsMoreThanThreeStandardErrorsAndSomeOutcomes) {
  for (const size_t outcomes : {64U, 500U, 4096U}) {
    EXPECT_GT(RouterGain({.standard_error = 1, .outcomes = outcomes}).width(), 3) << outcomes;
    EXPECT_LT(RouterGain({.standard_error = 1, .outcomes = outcomes}).width(), 3.7) << outcomes;
  }
  EXPECT_TRUE(RouterGain({.mean = 4, .standard_error = 1, .outcomes = 64}).positive());
  EXPECT_FALSE(RouterGain({.mean = 3, .standard_error = 1, .outcomes = 64}).positive());
  EXPECT_FALSE(RouterGain({.mean = 4, .standard_error = 0, .outcomes = 1}).positive());
  EXPECT_TRUE(RouterGain({.mean = -4, .standard_error = 1, .outcomes = 64}).negative());
  EXPECT_FALSE(RouterGain({.mean = -3, .standard_error = 1, .outcomes = 64}).negative());
}

TEST(RouterTrainingTest, RequestsSinceItsTrainingJudgeTheServingRouter) {
  RouterWorld world(14);
  serving::RequestRouter router({.exploration = 0.3, .seed = 15});
  const auto serving = test::RouterThatTakes(serving::kRouteNoAdapters);  // it is never better
  ASSERT_TRUE(router.Serve(serving).ok());
  constexpr size_t kCount = 4000;
  std::vector<RouterOutcome> outcomes = Outcomes(world, router, kCount);
  for (size_t i = 0; i < outcomes.size(); ++i) {
    outcomes[i].created_ms = static_cast<int64_t>(i);
  }
  Random random(16);
  const auto judged = [&](int64_t since) {
    return TrainRequestRouter(
               outcomes, {.value = kValue, .serving = serving.get(), .serving_since_ms = since},
               random)
        .value();
  };
  EXPECT_TRUE(judged(-1).serving.negative());
  EXPECT_EQ(judged(-1).serving.outcomes, kCount);
  EXPECT_TRUE(judged(-1).better(true));
  EXPECT_EQ(judged(kCount - 10).serving.outcomes, 9U);
  EXPECT_FALSE(judged(kCount - 10).serving.negative()) << "too few";
  EXPECT_FALSE(judged(kCount - 10).better(true)) << "not known to beat it";
}

TEST(RouterTrainingTest, ATrainingThatIsNotWantedEnds) {
  RouterWorld world(10);
  serving::RequestRouter router({.exploration = 0.3, .seed = 11});
  Random random(12);
  const auto stopped = [] { return absl::CancelledError("stop"); };
  EXPECT_TRUE(absl::IsCancelled(
      TrainRequestRouter(Outcomes(world, router, 400), {.between_pieces = stopped}, random)
          .status()));
}

storage::Trajectory Routed() {
  storage::Trajectory trajectory{.response_id = "r"};
  trajectory.route = {.name = "half_steps",
                      .others = {"as_asked", "by_post"},
                      .features = std::vector<float>(inference::kRouterFeatures, 0.5F),
                      .propensity = 0.25F,
                      .seconds = 2,
                      .tokens = 8};
  return trajectory;
}

TEST(OutcomeTest, IsWhatUsersSaidBeforeWhatTheyDid) {
  const auto good = [](const auto& say) {
    storage::Trajectory trajectory = Routed();
    say(trajectory);
    const auto outcome = OutcomeOf(trajectory, kLeastRating);
    return outcome ? std::optional(outcome->good) : std::nullopt;
  };
  EXPECT_EQ(good([](storage::Trajectory&) {}), std::nullopt);
  EXPECT_EQ(good([](storage::Trajectory& t) { t.rating = 0.7F; }), true);
  EXPECT_EQ(good([](storage::Trajectory& t) { t.rating = 0.6F; }), false);
  EXPECT_EQ(good([](storage::Trajectory& t) { t.accepted = true; }), true);
  EXPECT_EQ(good([](storage::Trajectory& t) { t.accepted = false; }), false);
  EXPECT_EQ(good([](storage::Trajectory& t) { t.edited_text = "better"; }), false);
  EXPECT_EQ(good([](storage::Trajectory& t) { t.copied = true; }), true);
  EXPECT_EQ(good([](storage::Trajectory& t) { t.regenerated = true; }), false);
  EXPECT_EQ(good([](storage::Trajectory& t) {
              t.rating = 1;
              t.regenerated = true;
            }),
            true);
}

TEST(OutcomeTest, HasWhatWasOpenAndWhatItCost) {
  storage::Trajectory trajectory = Routed();
  trajectory.rating = 1;
  const RouterOutcome outcome = OutcomeOf(trajectory, kLeastRating).value();
  EXPECT_EQ(outcome.route, serving::kRouteHalfSteps);
  EXPECT_EQ(outcome.open, inference::RouteSet(0b11)) << "ways of other programs are passed over";
  EXPECT_EQ(outcome.cost, 0.25);
  EXPECT_EQ(outcome.propensity, 0.25);
  EXPECT_EQ(outcome.features[3], 0.5);
  // A route with propensity 1 although others were open would count for routes that were never
  // tried.
  trajectory.route->propensity = 1;
  EXPECT_FALSE(OutcomeOf(trajectory, kLeastRating).has_value());
  trajectory.route->others.clear();
  EXPECT_TRUE(OutcomeOf(trajectory, kLeastRating).has_value());
  trajectory.route->features.pop_back();
  EXPECT_FALSE(OutcomeOf(trajectory, kLeastRating).has_value());
  trajectory = Routed();
  trajectory.rating = 1;
  trajectory.route->name = "by_post";
  EXPECT_FALSE(OutcomeOf(trajectory, kLeastRating).has_value());
  trajectory.route.reset();
  EXPECT_FALSE(OutcomeOf(trajectory, kLeastRating).has_value());
}

}  // namespace
}  // namespace ruvd::learning
