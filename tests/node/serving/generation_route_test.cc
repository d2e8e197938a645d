// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Tests completions that a router serves.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "inference/adapter/adapter_file.h"
#include "node/serving/extensions/route_choice.h"
#include "tests/node/router_world.h"
#include "tests/node/serving/generation_fixture.h"

namespace ruvd::serving {
namespace {

class RoutedGenerationTest : public GenerationTaskTest {
 protected:
  // Takes `route` wherever it is open.
  void Route(size_t route, double exploration = 0) {
    router_ = std::make_unique<RequestRouter>(
        RequestRouterOptions{.kind = kind_, .exploration = exploration, .seed = 3});
    ASSERT_TRUE(router_->Serve(test::RouterThatTakes(route)).ok());
    route_choice_ = std::make_unique<RouteChoice>(*router_);
    services_.extensions = {route_choice_.get(), &session_memory_};
  }
  const std::optional<storage::TrajectoryRoute>& Taken() {
    trajectory_ = trajectories_->Get("r").value();
    return trajectory_.route;
  }
  std::vector<inference::TokenId> Tokens() const {
    std::vector<inference::TokenId> tokens;
    for (const inference::StepResult& step : listener_->steps) {
      for (const inference::Commit& commit : step.commits) {
        tokens.push_back(commit.token);
      }
    }
    return tokens;
  }

  const inference::SamplingOptions diffusion_ = {
      .mode = inference::DecodingMode::kDiffusion, .max_tokens = 12, .ignore_end_of_text = true};
  inference::ScorerKind kind_ = inference::ScorerKind::kLogistic;
  std::unique_ptr<RequestRouter> router_;
  std::unique_ptr<RouteChoice> route_choice_;
  storage::Trajectory trajectory_;
};

TEST_F(RoutedGenerationTest, WhatIsLeftOpenIsChosenAndRecorded) {
  Use(test::TinyTextModel());
  EXPECT_EQ(Run(diffusion_).steps, 12);
  EXPECT_FALSE(Taken().has_value()) << "nobody chose";
  Route(kRouteHalfSteps);
  const GenerationFinished finished = Run(diffusion_);
  EXPECT_EQ(finished.steps, 6);
  ASSERT_TRUE(finished.route.has_value());
  EXPECT_EQ(finished.route->name, "half_steps");
  EXPECT_FALSE(finished.route->explored);
  EXPECT_GT(finished.route->probability, 0.9);
  ASSERT_TRUE(Taken().has_value());
  const storage::TrajectoryRoute& taken = *trajectory_.route;
  EXPECT_EQ(taken.name, "half_steps");
  EXPECT_THAT(taken.others, ::testing::ElementsAre("as_asked", "approximate_cache"))
      << "no adapter would act";
  EXPECT_EQ(taken.propensity, 1);
  EXPECT_EQ(taken.tokens, 12u);
  ASSERT_EQ(taken.features.size(), inference::kRouterFeatures);
  EXPECT_EQ(taken.features[2], 1) << "diffusion";
  EXPECT_EQ(taken.features[13], 0) << "without a first forward";
}

TEST_F(RoutedGenerationTest, BlocksAndTheCacheAreServedAsChosen) {
  Use(test::TinyTextModel());
  Route(kRouteHalfSteps);
  const inference::SamplingOptions block = {
      .mode = inference::DecodingMode::kBlock, .max_tokens = 12, .ignore_end_of_text = true};
  EXPECT_LE(Run(block).steps, 8);
  EXPECT_EQ(Taken()->name, "half_steps");
  Route(kRouteApproximateCache);
  EXPECT_EQ(Run(diffusion_).route->name, "approximate_cache");
  EXPECT_EQ(Run(block).route->name, "as_asked") << "its cache is exact";
}

TEST_F(RoutedGenerationTest, WhatTheRequestAskedForStays) {
  Use(test::TinyTextModel());
  Route(kRouteHalfSteps);
  inference::SamplingOptions asked = diffusion_;
  asked.steps = 12;
  const GenerationFinished finished = Run(asked);
  EXPECT_EQ(finished.steps, 12);
  EXPECT_FALSE(finished.route.has_value()) << "nothing was open";
  EXPECT_FALSE(Taken().has_value());
  Run({.mode = inference::DecodingMode::kAutoregressive, .max_tokens = 4});
  EXPECT_FALSE(Taken().has_value());
}

TEST_F(RoutedGenerationTest, ServingAsAskedGivesWhatItGivesWithoutARouter) {
  Use(test::TinyTextModel());
  Run(diffusion_);
  const std::vector<inference::TokenId> without = Tokens();
  Route(kRouteUnchanged);
  EXPECT_EQ(Run(diffusion_).route->name, "as_asked");
  EXPECT_EQ(Tokens(), without);
}

TEST_F(RoutedGenerationTest, WithoutAdaptersNoneActs) {
  Use(test::TinyTextModel());
  const std::string target = "blk.1.attn_output.weight";
  const std::string file = folder_ / "one.gguf";
  ASSERT_TRUE(
      inference::SaveAdapterFile(
          *test::RandomAdapter(*model_, {{target, inference::FindMatrix(*model_, target)}}, 1),
          *model_, file)
          .ok());
  Run(diffusion_);
  const std::vector<inference::TokenId> base = Tokens();
  ASSERT_TRUE(catalog_->LoadConfigured(std::vector<std::string>{file}).ok());
  EXPECT_EQ(Run(diffusion_).adapters.size(), 1u);
  const std::vector<inference::TokenId> adapted = Tokens();
  ASSERT_NE(adapted, base);
  Route(kRouteNoAdapters);
  const GenerationFinished finished = Run(diffusion_);
  EXPECT_TRUE(finished.adapters.empty());
  EXPECT_EQ(finished.route->name, "no_adapters");
  EXPECT_EQ(Tokens(), base);
  EXPECT_TRUE(trajectories_->Get("r")->adapters.empty());
}

TEST_F(RoutedGenerationTest, ACascadeReadsTheFirstForward) {
  Use(test::TinyTextModel());
  kind_ = inference::ScorerKind::kCascade;
  Route(kRouteUnchanged);
  Run(diffusion_);
  ASSERT_TRUE(Taken().has_value());
  EXPECT_EQ(trajectory_.route->features[13], 1);
  EXPECT_GT(trajectory_.route->features[14], 0);
  EXPECT_GT(trajectory_.route->features[15], 0);
}

// The cache needs more memory than there is: the request is served as it asked, and that does not
// count as an outcome.
TEST_F(RoutedGenerationTest, AWayThatDoesNotFitIsNotTaken) {
  Use(test::TinyTextModel());
  auto pool =
      inference::KvPool::Create(model_->config(), inference::KvFormat::kF32, 1 << 30).value();
  const uint64_t page = pool->layout().page_bytes();
  const inference::SamplingOptions longer = {
      .mode = inference::DecodingMode::kDiffusion, .max_tokens = 50, .ignore_end_of_text = true};
  services_.prefixes = std::make_shared<inference::PrefixTree>(
      inference::KvPool::Create(model_->config(), inference::KvFormat::kF32, page).value());
  Route(kRouteApproximateCache);
  const GenerationFinished finished = Run(longer);
  EXPECT_EQ(finished.steps, 50);
  EXPECT_FALSE(finished.route.has_value());
  EXPECT_FALSE(Taken().has_value());
}

}  // namespace
}  // namespace ruvd::serving
