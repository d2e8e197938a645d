// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Tests which routes are open for a request, and which of them a router takes.

#include "node/serving/extensions/request_router.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "node/serving/extensions/route_options.h"

namespace ruvd::serving {
namespace {

// Returns an entry that is good with probability sigmoid(offset) for every request.
inference::Router::Entry Entry(const std::string& name, double cost, double offset) {
  Random random(1);
  std::unique_ptr<inference::Scorer> scorer =
      inference::Scorer::Create(
          {.kind = inference::ScorerKind::kLogistic, .inputs = inference::kRouterFeatures}, random)
          .value();
  scorer->parameters().back() = offset;
  return {.route = {.name = name, .cost = cost}, .scorer = std::move(scorer), .calibration = {}};
}

std::shared_ptr<const inference::Router> Make(std::vector<inference::Router::Entry> entries) {
  return std::make_shared<const inference::Router>(
      inference::Router::Create(std::move(entries), {.value = 10, .exploration = 0}).value());
}

inference::RouteSet Open(std::initializer_list<size_t> others) {
  inference::RouteSet open;
  open.set(kRouteUnchanged);
  for (const size_t other : others) {
    open.set(other);
  }
  return open;
}

TEST(RequestRouterTest, BeforeItLearnedItOnlyExplores) {
  RequestRouter router({.exploration = 0.2, .seed = 5});
  std::array<int, kNodeRoutes> taken{};
  constexpr int kRequests = 20'000;
  for (int i = 0; i < kRequests; ++i) {
    const RoutedRequest routed = router.Choose({}, Open({kRouteHalfSteps, kRouteNoAdapters}));
    taken.at(routed.decision.route)++;
    const bool as_asked = routed.decision.route == kRouteUnchanged;
    EXPECT_NEAR(routed.decision.propensity, as_asked ? 0.8 + 0.2 / 3 : 0.2 / 3, 1e-12);
    EXPECT_EQ(routed.decision.probability, 0);
  }
  EXPECT_EQ(taken[kRouteApproximateCache], 0);
  EXPECT_NEAR(taken[kRouteHalfSteps], kRequests * 0.2 / 3, kRequests * 0.01);
  EXPECT_NEAR(taken[kRouteNoAdapters], kRequests * 0.2 / 3, kRequests * 0.01);
}

TEST(RequestRouterTest, TakesWhatIsWorthMostOfWhatIsOpen) {
  RequestRouter router({.exploration = 0});
  EXPECT_EQ(router.Choose({}, Open({kRouteHalfSteps})).decision.route, kRouteUnchanged);
  ASSERT_TRUE(router
                  .Serve(Make({Entry("no_adapters", 0.9, 3), Entry("as_asked", 1, 1),
                               Entry("half_steps", 0.5, 1)}))
                  .ok());
  const RoutedRequest best = router.Choose({}, Open({kRouteHalfSteps, kRouteNoAdapters}));
  EXPECT_EQ(best.decision.route, kRouteNoAdapters);
  EXPECT_NEAR(best.decision.probability, inference::Sigmoid(3), 1e-6);
  EXPECT_EQ(best.decision.propensity, 1);
  EXPECT_EQ(router.Choose({}, Open({kRouteHalfSteps})).decision.route, kRouteHalfSteps);
  EXPECT_EQ(router.Choose({}, Open({kRouteApproximateCache})).decision.route, kRouteUnchanged)
      << "a way that it knows nothing of is not taken";
  ASSERT_TRUE(router.Serve(nullptr).ok());
  EXPECT_EQ(router.Choose({}, Open({kRouteNoAdapters})).decision.route, kRouteUnchanged);
}

// Regression test: its calibration was taken for a confidence of 0 if the first forward had failed.
TEST(RequestRouterTest, ACascadeWithoutAFirstForwardServesAsAsked) {
  RequestRouter router({.kind = inference::ScorerKind::kCascade, .exploration = 0});
  ASSERT_TRUE(router.Serve(Make({Entry("as_asked", 1, 0), Entry("half_steps", 0.5, 3)})).ok());
  EXPECT_EQ(router.Choose({}, Open({kRouteHalfSteps})).decision.route, kRouteUnchanged);
  EXPECT_EQ(
      router.Choose({.first_entropy = 0.5F, .first_confidence = 0.5F}, Open({kRouteHalfSteps}))
          .decision.route,
      kRouteHalfSteps);
}

TEST(RequestRouterTest, WhereNobodyLearnsNothingIsExplored) {
  RequestRouter router({.exploration = 1, .seed = 5});
  router.SetExploring(false);
  for (int i = 0; i < 100; ++i) {
    const inference::RoutingDecision decision = router.Choose({}, Open({kRouteHalfSteps})).decision;
    EXPECT_EQ(decision.route, kRouteUnchanged);
    EXPECT_FALSE(decision.explored);
    EXPECT_EQ(decision.propensity, 1);
  }
  router.SetExploring(true);
  EXPECT_TRUE(router.Choose({}, Open({kRouteHalfSteps})).decision.explored);
}

TEST(RequestRouterTest, ARouterOfOtherWaysIsRefusedAndChangesNothing) {
  RequestRouter router({.exploration = 0});
  ASSERT_TRUE(router.Serve(Make({Entry("as_asked", 1, 0), Entry("half_steps", 0.5, 1)})).ok());
  EXPECT_TRUE(absl::IsInvalidArgument(
      router.Serve(Make({Entry("as_asked", 1, 0), Entry("by_post", 0.1, 9)}))));
  EXPECT_TRUE(absl::IsInvalidArgument(router.Serve(Make({Entry("half_steps", 0.5, 9)}))));
  EXPECT_EQ(router.Choose({}, Open({kRouteHalfSteps})).decision.route, kRouteHalfSteps);
}

TEST(RequestRouterTest, KindsAndRoutesHaveNames) {
  for (const char* name : {"logistic", "fastgrnn", "cascade"}) {
    EXPECT_EQ(inference::ScorerName(RouterKindByName(name).value()), name);
  }
  EXPECT_EQ(RouterKindByName("off"), std::nullopt);
  EXPECT_EQ(RouterKindByName("mlp"), std::nullopt);
  for (size_t i = 0; i < kNodeRoutes; ++i) {
    EXPECT_EQ(NodeRouteByName(NodeRoutes().at(i).name), i);
  }
}

GenerationJob Job(int tokens) {
  GenerationJob job;
  job.options.max_tokens = tokens;
  return job;
}

TEST(AvailableRoutesTest, WhatARequestAskedForIsNotOpen) {
  using enum inference::DecodingMode;
  GenerationJob job = Job(32);
  EXPECT_EQ(AvailableRoutes(job, kDiffusion, true),
            Open({kRouteHalfSteps, kRouteApproximateCache, kRouteNoAdapters}));
  EXPECT_EQ(AvailableRoutes(job, kBlock, true), Open({kRouteHalfSteps, kRouteNoAdapters}));
  EXPECT_EQ(AvailableRoutes(job, kAutoregressive, true), Open({kRouteNoAdapters}));
  EXPECT_EQ(AvailableRoutes(job, kAutoregressive, false), Open({}));
  const auto asked = [](const auto& ask) {
    GenerationJob asking = Job(32);
    ask(asking);
    return AvailableRoutes(asking, kDiffusion, true);
  };
  EXPECT_EQ(asked([](GenerationJob& j) { j.options.steps = 4; }), Open({kRouteNoAdapters}));
  EXPECT_EQ(asked([](GenerationJob& j) { j.options.approximate_cache_steps = 4; }),
            Open({kRouteNoAdapters}));
  EXPECT_EQ(asked([](GenerationJob& j) { j.options.sampler = inference::SamplerKind::kMargin; }),
            Open({kRouteNoAdapters}));
  EXPECT_EQ(asked([](GenerationJob& j) { j.options.confidence_threshold = 0.9F; }),
            Open({kRouteNoAdapters}));
  EXPECT_EQ(asked([](GenerationJob& j) { j.use_adapters = false; }),
            Open({kRouteHalfSteps, kRouteApproximateCache}));
  EXPECT_EQ(asked([](GenerationJob& j) { j.adapters = {{.name = "own"}}; }),
            Open({kRouteHalfSteps, kRouteApproximateCache}));
}

TEST(AvailableRoutesTest, OneTokenHasNoSteps) {
  EXPECT_EQ(AvailableRoutes(Job(1), inference::DecodingMode::kBlock, false), Open({}));
}

TEST(TokensToGenerateTest, AreThoseOfTheGapsWhereThereAreSome) {
  EXPECT_EQ(TokensToGenerate(Job(12)), 12);
  EXPECT_EQ(TokensToGenerate(Job(0)), 64) << "the default";
  GenerationJob gaps = Job(12);
  gaps.parts = {{.text = "a"}, {.gap = 3}, {.text = "b"}, {.gap = 4}};
  EXPECT_EQ(TokensToGenerate(gaps), 7);
}

TEST(WithRouteTest, ChangesOnlyWhatTheRouteNames) {
  const inference::SamplingOptions asked{.max_tokens = 33, .temperature = 0.5F};
  const inference::SamplingOptions same =
      WithRoute(NodeRoutes()[kRouteUnchanged], asked, inference::DecodingMode::kDiffusion, 33, 0);
  EXPECT_EQ(same.steps, 0);
  EXPECT_EQ(same.approximate_cache_steps, 0);
  const inference::Route& half = NodeRoutes()[kRouteHalfSteps];
  EXPECT_EQ(WithRoute(half, asked, inference::DecodingMode::kDiffusion, 33, 0).steps, 17);
  EXPECT_EQ(WithRoute(half, asked, inference::DecodingMode::kBlock, 33, 16).steps, 8)
      << "of a block";
  inference::SamplingOptions blocks = asked;
  blocks.block_length = 4;
  EXPECT_EQ(WithRoute(half, blocks, inference::DecodingMode::kBlock, 33, 16).steps, 2);
  const inference::SamplingOptions cached = WithRoute(NodeRoutes()[kRouteApproximateCache], asked,
                                                      inference::DecodingMode::kDiffusion, 33, 0);
  EXPECT_GT(cached.approximate_cache_steps, 0);
  EXPECT_EQ(cached.steps, 0);
  EXPECT_EQ(cached.temperature, 0.5F);
}

}  // namespace
}  // namespace ruvd::serving
