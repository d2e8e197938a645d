// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Tests the gradients of single maskings.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/parallel.h"
#include "base/random.h"
#include "base/reasons.h"
#include "base/status.h"
#include "inference/evaluate/nelbo.h"
#include "inference/train/core_trainer.h"
#include "tests/inference/core_trainer_fixture.h"

namespace ruvd::inference::train {
namespace {

using test::CoreExamples;
using test::CoresByHand;
using test::CoreValues;
using test::CoreWorkshop;
using test::kTwoBanks;
using test::TinyTextModel;

std::vector<CoreTrainer::Draw> Draws(size_t count) {
  std::vector<CoreTrainer::Draw> draws;
  for (size_t i = 0; i < count; ++i) {
    draws.push_back({.text = &CoreExamples()[i % CoreExamples().size()], .seed = 100 + i});
  }
  return draws;
}

// Gradients by draw, and the masked shares.
struct DrawnGradients {
  CoreValues gradients;
  std::vector<double> shares;
};

DrawnGradients GradientsOf(const CoreWorkshop& shop, const CoreValues& at,
                           const std::vector<CoreTrainer::Draw>& draws) {
  DrawnGradients drawn{
      .gradients = CoreValues(draws.size(), std::vector<float>(shop.shape().values())),
      .shares = std::vector<double>(draws.size())};
  std::vector<float*> places;
  for (std::vector<float>& gradient : drawn.gradients) {
    places.push_back(gradient.data());
  }
  EXPECT_TRUE(shop.trainer->Gradients(at, draws, places, drawn.shares).ok());
  return drawn;
}

TEST(CoreGradientsTest, AreThoseOfTheNetworkPass) {
  for (const std::vector<float>& boundaries : {std::vector<float>(), kTwoBanks}) {
    CoreWorkshop shop(boundaries);
    const CoreValues at = shop.SomeValues();
    const auto draws = Draws(6);
    const auto [gradients, shares] = GradientsOf(shop, at, draws);
    CoresByHand by_hand(shop.shape(), at);
    NetworkPass<float> pass(*shop.weights, SerialRunner(), {});
    for (size_t i = 0; i < draws.size(); ++i) {
      Random random(draws[i].seed);
      const std::vector<std::vector<size_t>> spans = {{draws[i].text->completion.size()}};
      const TrainingSequence sequence =
          CorruptedSequence(RulesOf(*TinyTextModel()).value(), *draws[i].text,
                            DrawCorruptions(spans, random).front(), {}, 1.0);
      std::vector<float> expected(gradients[i].size());
      float* const place = expected.data();
      pass.Run(std::span(&sequence, 1),
               {.changes = &by_hand.changes, .gradients = std::span(&place, 1)});
      EXPECT_EQ(shares[i], sequence.t);
      EXPECT_GT(Norm(gradients[i]), 0);
      for (const auto& entry : by_hand.changes.entries()) {
        const size_t begin = *entry.placement.bank * shop.shape().values_per_bank() +
                             CoresByHand::PlaceOf(shop.shape(), entry.site);
        for (size_t j = 0; j < 9; ++j) {
          EXPECT_EQ(gradients[i][begin + j], expected[entry.offset + j]) << TensorOf(entry.site);
        }
      }
    }
  }
}

TEST(CoreGradientsTest, ADrawDependsOnItsOwnSeedAlone) {
  CoreWorkshop shop(kTwoBanks);
  const CoreValues at = shop.SomeValues();
  std::vector<CoreTrainer::Draw> draws = Draws(7);
  const CoreValues together = GradientsOf(shop, at, draws).gradients;
  for (size_t i = 0; i < draws.size(); ++i) {
    EXPECT_EQ(GradientsOf(shop, at, {draws[i]}).gradients[0], together[i]) << i;
  }
  // The others change their places, their maskings and their groups.
  CoreWorkshop little_memory(kTwoBanks, SerialRunner(), {.memory_bytes = 60'000});
  std::ranges::reverse(draws);
  for (size_t i = 0; i + 1 < draws.size(); ++i) {
    draws[i].seed += 1000;
  }
  const CoreValues others = GradientsOf(little_memory, at, draws).gradients;
  EXPECT_EQ(others.back(), together.front());
  EXPECT_NE(others.front(), together.back());
}

TEST(CoreGradientsTest, DoNotDependOnThreads) {
  ThreadParallelRunner threads(3);
  CoreWorkshop one(kTwoBanks);
  CoreWorkshop three(kTwoBanks, threads);
  EXPECT_EQ(GradientsOf(one, one.SomeValues(), Draws(5)).gradients,
            GradientsOf(three, one.SomeValues(), Draws(5)).gradients);
}

TEST(CoreGradientsTest, GiveWayBetweenSlicesAndEndIfAsked) {
  CoreWorkshop shop(kTwoBanks);
  const CoreValues at = shop.SomeValues();
  const auto draws = Draws(3);
  std::vector<float> gradient(shop.shape().values());
  const std::vector<float*> places(draws.size(), gradient.data());
  std::vector<double> shares(draws.size());
  size_t slices = 0;
  const auto count = [&](uint64_t bytes) {
    ++slices;
    EXPECT_GT(bytes, (draws.size() + 1) * gradient.size() * sizeof(float));
    return absl::OkStatus();
  };
  ASSERT_TRUE(shop.trainer->Gradients(at, draws, places, shares, count).ok());
  EXPECT_GT(slices, 3U);
  const auto stop = [&](uint64_t) {
    return Error(absl::StatusCode::kCancelled, reasons::kCancelled, "the node stops");
  };
  EXPECT_EQ(ReasonOf(shop.trainer->Gradients(at, draws, places, shares, stop)),
            reasons::kCancelled);
  // The pass that ended early leaves nothing behind.
  CoreWorkshop other(kTwoBanks);
  EXPECT_EQ(GradientsOf(shop, at, draws).gradients, GradientsOf(other, at, draws).gradients);
}

TEST(CoreGradientsTest, EqualPlacesGiveASum) {
  CoreWorkshop shop;
  const auto draws = Draws(3);
  const CoreValues each = GradientsOf(shop, shop.SomeValues(), draws).gradients;
  std::vector<float> sum(shop.shape().values(), 1.0F);
  const std::vector<float*> places(draws.size(), sum.data());
  std::vector<double> shares(draws.size());
  ASSERT_TRUE(shop.trainer->Gradients(shop.SomeValues(), draws, places, shares).ok());
  for (size_t j = 0; j < sum.size(); ++j) {
    EXPECT_NEAR(sum[j], 1 + each[0][j] + each[1][j] + each[2][j], 1e-5);
  }
}

TEST(CoreGradientsTest, TextsThatCannotBeMaskedAreRefused) {
  CoreWorkshop shop;
  std::vector<float> gradient(shop.shape().values());
  float* const place = gradient.data();
  double share = 0;
  const auto reason = [&](const TrainingExample& text, const CoreValues& at) {
    const CoreTrainer::Draw draw{.text = &text};
    return ReasonOf(shop.trainer->Gradients(at, std::span(&draw, 1), std::span(&place, 1),
                                            std::span(&share, 1)));
  };
  const CoreValues zeros = shop.Zeros();
  EXPECT_EQ(reason({.prompt = {1}, .completion = {}}, zeros), reasons::kInvalidArgument);
  EXPECT_EQ(reason({.prompt = {9000}, .completion = {1}}, zeros), reasons::kInvalidArgument);
  EXPECT_EQ(reason({.prompt = {}, .completion = std::vector<TokenId>(97, 1)}, zeros),
            reasons::kContextTooLong);
  EXPECT_EQ(reason({.prompt = {}, .completion = {1}, .weight = NAN}, zeros),
            reasons::kInvalidArgument);
  EXPECT_EQ(reason(CoreExamples()[0], {}), reasons::kInvalidArgument);
  EXPECT_EQ(gradient, std::vector<float>(gradient.size()));
  EXPECT_EQ(reason(CoreExamples()[0], zeros), "");
}

}  // namespace
}  // namespace ruvd::inference::train
