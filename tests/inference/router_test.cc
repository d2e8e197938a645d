// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/router/router.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <memory>
#include <vector>

#include "base/bytes.h"
#include "base/random.h"

namespace ruvd::inference {
namespace {

using Features = std::array<double, kRouterFeatures>;

// Returns a scorer for examples that are good with probability sigmoid(slope * x0 + offset).
std::shared_ptr<const Scorer> Linear(double slope, double offset) {
  Random random(1);
  std::unique_ptr<Scorer> scorer =
      Scorer::Create({.kind = ScorerKind::kLogistic, .inputs = kRouterFeatures}, random).value();
  scorer->parameters()[0] = slope;
  scorer->parameters()[kRouterFeatures] = offset;
  return scorer;
}

Router TwoRoutes(const RouterOptions& options) {
  return Router::Create({{.route = {.name = "small", .cost = 0.1}, .scorer = Linear(4, 0)},
                         {.route = {.name = "large", .cost = 0.5}, .scorer = Linear(0, 3)}},
                        options)
      .value();
}

TEST(RouterTest, TakesTheWayThatIsWorthMost) {
  Random random(1);
  const Router router = TwoRoutes({.value = 1, .exploration = 0});
  const RoutingDecision easy = router.Choose(Features{1}, random);
  EXPECT_EQ(easy.route, 0U);
  EXPECT_NEAR(easy.probability, Sigmoid(4), 1e-9);
  EXPECT_EQ(easy.propensity, 1);
  EXPECT_EQ(router.Choose(Features{-1}, random).route, 1U);
  // Where a good answer is worth little, the cheap way is taken.
  EXPECT_EQ(TwoRoutes({.value = 0.1, .exploration = 0}).Choose(Features{-1}, random).route, 0U);
}

TEST(RouterTest, ExploresAsOftenAsItIsToldAndSaysHowLikelyThatWas) {
  Random random(7);
  const Router router = TwoRoutes({.value = 1, .exploration = 0.2});
  constexpr int kDraws = 20'000;
  int other = 0;
  int explored = 0;
  for (int i = 0; i < kDraws; ++i) {
    const RoutingDecision decision = router.Choose(Features{1}, random);
    explored += decision.explored ? 1 : 0;
    other += decision.route == 1 ? 1 : 0;
    EXPECT_NEAR(decision.propensity, decision.route == 1 ? 0.1 : 0.9, 1e-12);
  }
  EXPECT_NEAR(static_cast<double>(explored) / kDraws, 0.2, 0.015);
  EXPECT_NEAR(static_cast<double>(other) / kDraws, 0.1, 0.015);
}

TEST(RouterTest, OnlyWaysThatAreOpenAreTaken) {
  const Router router = TwoRoutes({.value = 1, .exploration = 0});
  EXPECT_EQ(router.Best(Features{1}, RouteSet(0b11)).route, 0U);
  const RoutingDecision other = router.Best(Features{1}, RouteSet(0b10));
  EXPECT_EQ(other.route, 1U);
  EXPECT_NEAR(other.probability, Sigmoid(3), 1e-9);
}

TEST(RouterTest, ExploringDrawsFromTheOpenWaysAlike) {
  Random random(3);
  const RouteSet open(0b10110);
  std::array<int, 5> drawn{};
  constexpr int kDraws = 30'000;
  for (int i = 0; i < kDraws; ++i) {
    const RoutingDecision decision = Explore({.route = 2, .probability = 0.75}, open, 0.3, random);
    drawn.at(decision.route)++;
    EXPECT_NEAR(decision.propensity, decision.route == 2 ? 0.8 : 0.1, 1e-12);
    EXPECT_EQ(decision.probability, decision.route == 2 ? 0.75 : 0);
  }
  EXPECT_EQ(drawn[0] + drawn[3], 0);
  EXPECT_NEAR(drawn[1], 0.1 * kDraws, 0.01 * kDraws);
  EXPECT_NEAR(drawn[4], 0.1 * kDraws, 0.01 * kDraws);
  // Where no other route is open, nothing is drawn.
  EXPECT_EQ(Explore({.route = 1}, RouteSet(0b10), 1, random).propensity, 1);
}

TEST(RouterTest, RefusesWhatItCannotChooseFrom) {
  EXPECT_FALSE(Router::Create({}, {}).ok());
  EXPECT_FALSE(Router::Create({{.route = {.cost = -1}, .scorer = Linear(1, 0)}}, {}).ok());
  EXPECT_FALSE(Router::Create({{.route = {}, .scorer = nullptr}}, {}).ok());
  EXPECT_FALSE(Router::Create({{.route = {}, .scorer = Linear(1, 0)}}, {.exploration = 2}).ok());
  Random random(1);
  for (const uint32_t inputs : {1U, 3U, static_cast<uint32_t>(kRouterFeatures) + 1}) {
    std::shared_ptr<const Scorer> other =
        Scorer::Create({.kind = ScorerKind::kMlp, .inputs = inputs}, random).value();
    EXPECT_FALSE(Router::Create({{.scorer = Linear(1, 0)}, {.scorer = other}}, {}).ok());
    // Features have kRouterFeatures values: the scorer would read past them, or not all of them.
    EXPECT_FALSE(Router::Create({{.scorer = other}}, {}).ok());
  }
}

TEST(RouterFeaturesTest, AreOfOrderOneAndTellAMissingForwardApart) {
  const auto without = RouterFeatures({.prompt_tokens = 1023, .max_tokens = 64, .block = true});
  EXPECT_DOUBLE_EQ(without[0], 1);
  EXPECT_EQ(without[3], 1);
  EXPECT_EQ(without[13], 0);
  EXPECT_EQ(without[14], 1);
  const auto with = RouterFeatures({.first_entropy = 0.25F, .first_confidence = 0.5F});
  EXPECT_EQ(with[13], 1);
  EXPECT_EQ(with[14], 0.25);
  EXPECT_EQ(with[kConfidenceFeature], 0.5);
}

Router AllKinds() {
  Random random(9);
  std::vector<Router::Entry> entries;
  for (const ScorerKind kind :
       {ScorerKind::kLogistic, ScorerKind::kMlp, ScorerKind::kCascade, ScorerKind::kFastGrnn}) {
    std::unique_ptr<Scorer> scorer =
        Scorer::Create({.kind = kind, .inputs = kRouterFeatures, .steps = 2}, random).value();
    for (double& value : scorer->parameters()) {
      value += random.Normal();
    }
    entries.push_back({.route = {.name = std::string(ScorerName(kind)),
                                 .cost = 0.25,
                                 .precision = "exact",
                                 .tokens_per_step = 7,
                                 .cache = "approximate",
                                 .adapters = false,
                                 .model = "ruvdllm-5m"},
                       .scorer = std::move(scorer),
                       .calibration = {.slope = 0.5, .offset = -0.25}});
  }
  return Router::Create(std::move(entries), {}).value();
}

TEST(RouterBytesTest, RoutersComeBackFromTheirBytes) {
  const Router router = AllKinds();
  const std::string bytes = router.Serialize();
  const Router back = Router::Parse(bytes, {}).value();
  EXPECT_EQ(back.Serialize(), bytes);
  ASSERT_EQ(back.entries().size(), 4U);
  const Features x = {0.1, -0.2, 0.3, 0.4, -0.5, 0.6, 0.7, -0.8};
  for (size_t i = 0; i < 4; ++i) {
    const Route& route = back.entries()[i].route;
    EXPECT_EQ(route.name, router.entries()[i].route.name);
    EXPECT_EQ(route.tokens_per_step, 7);
    EXPECT_EQ(route.adapters, false);
    EXPECT_EQ(route.model, "ruvdllm-5m");
    EXPECT_EQ(back.entries()[i].calibration.offset, -0.25);
    // FastGRNN is rounded to bytes.
    const double tolerance = i == 3 ? 0.1 : 1e-5;
    EXPECT_NEAR(back.entries()[i].scorer->Logit(x), router.entries()[i].scorer->Logit(x),
                tolerance);
  }
  EXPECT_LT(bytes.size(), 3000U);
}

TEST(RouterBytesTest, RoundingToBytesIsWhatIsStored) {
  Random random(4);
  std::unique_ptr<Scorer> scorer =
      Scorer::Create({.kind = ScorerKind::kFastGrnn, .inputs = 8, .steps = 2}, random).value();
  const std::vector<double> before(scorer->parameters().begin(), scorer->parameters().end());
  QuantizeToBytes(scorer.get());
  const Scorer::Range matrix = scorer->matrices().front();
  bool changed = false;
  for (size_t i = matrix.begin; i < matrix.begin + matrix.size; ++i) {
    EXPECT_NEAR(scorer->parameters()[i], before[i], 0.01);
    changed = changed || scorer->parameters()[i] != before[i];
  }
  EXPECT_TRUE(changed);
  const std::vector<double> rounded(scorer->parameters().begin(), scorer->parameters().end());
  QuantizeToBytes(scorer.get());
  EXPECT_THAT(rounded, ::testing::ElementsAreArray(scorer->parameters()));
}

TEST(RouterBytesTest, BrokenBytesAreRefused) {
  const std::string bytes = AllKinds().Serialize();
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(Router::Parse(bytes.substr(0, size), {}).ok());
  }
  // The changed bytes get a checksum that fits.
  for (size_t at = 0; at + sizeof(Digest) < bytes.size(); ++at) {
    std::string changed = bytes.substr(0, bytes.size() - sizeof(Digest));
    changed[at] = static_cast<char>(changed[at] ^ 0x55);
    const Digest digest = Sha256(changed);
    changed += AsText(digest);
    const auto parsed = Router::Parse(changed, {});
    if (parsed.ok()) {  // another router, but a valid one
      EXPECT_EQ(Router::Parse(parsed->Serialize(), {})->entries().size(), parsed->entries().size());
    }
  }
  std::string longer = bytes.substr(0, bytes.size() - sizeof(Digest)) + "x";
  const Digest digest = Sha256(longer);
  longer += AsText(digest);
  EXPECT_FALSE(Router::Parse(longer, {}).ok());
}

}  // namespace
}  // namespace ruvd::inference
