// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/instant/instant_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "base/random.h"
#include "inference/instant/instant_step.h"

namespace ruvd::inference {
namespace {

constexpr int kWidth = 32;
constexpr size_t kVocabulary = 50;

// Hidden states, targets and candidates of one request, drawn at random.
struct Request {
  std::vector<std::vector<float>> hidden;
  std::vector<std::vector<TokenProbability>> candidates;
  std::vector<InstantLesson> lessons;
};

Request Draw(Random& random, size_t positions) {
  Request request;
  request.hidden.reserve(positions);
  request.candidates.reserve(positions);
  for (size_t i = 0; i < positions; ++i) {
    std::vector<float>& hidden = request.hidden.emplace_back();
    for (int j = 0; j < kWidth; ++j) {
      hidden.push_back(static_cast<float>(random.Normal()));
    }
    std::vector<TokenProbability>& candidates = request.candidates.emplace_back();
    for (int j = 0; j < 3; ++j) {
      candidates.push_back({static_cast<TokenId>(random.Below(kVocabulary)), 0.2F});
    }
    request.lessons.push_back({.token = static_cast<TokenId>(random.Below(kVocabulary)),
                               .weight = 1,
                               .hidden = hidden,
                               .candidates = candidates,
                               .probability = 0.1F});
  }
  return request;
}

std::shared_ptr<const InstantStep> StepOf(const std::string& id, const Request& request,
                                          const InstantStepOptions& options = {}) {
  return InstantStep::Make(id, kWidth, request.lessons, options);
}

std::vector<float> Adjusted(const InstantMemory& memory, std::span<const float> hidden,
                            std::vector<float> logits, size_t rows = 1) {
  memory.Adjust(hidden, rows, logits);
  return logits;
}

std::vector<float> RandomLogits(Random& random, size_t rows = 1) {
  std::vector<float> logits(rows * kVocabulary);
  for (float& logit : logits) {
    logit = static_cast<float>(2 * random.Normal());
  }
  return logits;
}

std::vector<double> Softmax(std::span<const float> logits) {
  std::vector<double> p(logits.begin(), logits.end());
  double sum = 0;
  for (double& value : p) {
    sum += value = std::exp(value);
  }
  for (double& value : p) {
    value /= sum;
  }
  return p;
}

TEST(InstantMemoryTest, AnEmptyMemoryChangesNothing) {
  Random random(1);
  const std::vector<float> logits = RandomLogits(random);
  const Request request = Draw(random, 1);
  EXPECT_EQ(Adjusted(InstantMemory({}), request.hidden[0], logits), logits);
}

// Builds dE as a matrix, as the documentation of InstantStep defines it, and applies it to h'.
RC_GTEST_PROP(InstantMemoryTest, RowsAreTheGradientOfTheCrossEntropy, (uint64_t seed)) {
  Random random(seed);
  const Request first = Draw(random, 1 + random.Below(12));
  Request second = Draw(random, 3);
  second.lessons[1].weight = 0.4F;
  second.lessons[2].weight = -0.5F;
  const InstantStepOptions step{.step = 0.7F, .rejection = 0.1F};
  const InstantMemoryOptions options{.neighbour_share = 0, .decay = 0.9F};
  const auto memory =
      InstantMemory(options).With(StepOf("a", first, step))->With(StepOf("b", second, step));

  std::vector<double> rows(kVocabulary * kWidth);
  const auto learn = [&](const Request& request, double decay) {
    for (const InstantLesson& lesson : request.lessons) {
      double squares = 0;
      for (const float h : lesson.hidden) {
        squares += static_cast<double>(h) * h;
      }
      const auto add = [&](TokenId token, double error) {
        for (size_t j = 0; j < kWidth; ++j) {
          rows[token * kWidth + j] -= decay * step.step / squares * error * lesson.hidden[j];
        }
      };
      if (lesson.weight < 0) {
        add(lesson.token, -lesson.weight * step.rejection * lesson.probability);
        continue;
      }
      add(lesson.token, lesson.weight * (lesson.probability - 1.0));
      for (const TokenProbability& candidate : lesson.candidates) {
        if (candidate.token != lesson.token) {
          add(candidate.token, lesson.weight * candidate.probability);
        }
      }
    }
  };
  learn(first, 0.9);
  learn(second, 1);

  const Request query = Draw(random, 1);
  const std::vector<float> logits = RandomLogits(random);
  const std::vector<float> adjusted = Adjusted(*memory, query.hidden[0], logits);
  for (size_t k = 0; k < kVocabulary; ++k) {
    const double change =
        std::inner_product(query.hidden[0].begin(), query.hidden[0].end(),
                           rows.begin() + static_cast<ptrdiff_t>(k * kWidth), 0.0);
    RC_ASSERT(std::abs(adjusted[k] - logits[k] - change) < 0.02);
  }
}

TEST(InstantMemoryTest, NeighboursMixTheirTokensIntoTheDistribution) {
  Random random(7);
  Request request = Draw(random, 3);
  // Two positions near the query, one on the other side.
  request.hidden[1] = request.hidden[0];
  request.hidden[1][0] += 0.5F;
  for (size_t j = 0; j < kWidth; ++j) {
    request.hidden[2][j] = -request.hidden[0][j];
  }
  for (size_t i = 0; i < 3; ++i) {
    request.lessons[i].hidden = request.hidden[i];
    request.lessons[i].token = static_cast<TokenId>(10 + i);
  }
  const InstantMemoryOptions options{
      .neighbour_share = 0.4F, .neighbours = 2, .temperature = 0.1F, .prior = 0, .rows = false};
  const auto memory = InstantMemory(options).With(StepOf("a", request));
  const std::vector<float> logits = RandomLogits(random);
  const std::vector<double> before = Softmax(logits);
  const std::vector<double> after = Softmax(Adjusted(*memory, request.hidden[0], logits));

  const auto length = [](std::span<const float> x) {
    return std::sqrt(std::inner_product(x.begin(), x.end(), x.begin(), 0.0));
  };
  const double cosine = std::inner_product(request.hidden[0].begin(), request.hidden[0].end(),
                                           request.hidden[1].begin(), 0.0) /
                        length(request.hidden[0]) / length(request.hidden[1]);
  const double second = std::exp((cosine - 1) / 0.1);
  for (size_t k = 0; k < kVocabulary; ++k) {
    const double votes = k == 10 ? 1 / (1 + second) : k == 11 ? second / (1 + second) : 0;
    EXPECT_NEAR(after[k], 0.6 * before[k] + 0.4 * votes, 2e-3) << k;
  }
}

TEST(InstantMemoryTest, RejectedTokensDoNotVoteAndFallByABoundedStep) {
  Random random(3);
  Request request = Draw(random, 1);
  request.lessons[0].weight = -1;
  request.lessons[0].probability = 0.9F;
  const TokenId token = request.lessons[0].token;
  const InstantStepOptions step{.step = 1, .rejection = 0.1F};
  const auto memory = InstantMemory({}).With(StepOf("a", request, step));
  const std::vector<float> logits = RandomLogits(random);
  std::vector<float> expected = logits;
  expected[token] -= 0.09F;
  EXPECT_THAT(Adjusted(*memory, request.hidden[0], logits),
              ::testing::Pointwise(::testing::FloatNear(1e-3F), expected));
}

RC_GTEST_PROP(InstantMemoryTest, UndoIsExact, (uint64_t seed)) {
  Random random(seed);
  InstantMemory start({.decay = 0.9F});
  auto with = start.With(StepOf("0", Draw(random, 1 + random.Below(6))));
  auto without = with;
  const Request undone = Draw(random, 1 + random.Below(6));
  with = with->With(StepOf("undone", undone));
  const uint64_t later = random.Below(4);
  for (uint64_t i = 1; i <= later; ++i) {
    const auto step = StepOf(std::to_string(i), Draw(random, random.Below(6)));
    with = with->With(step);
    without = without->With(step);
  }
  const std::vector<float> logits = RandomLogits(random);
  const Request query = Draw(random, 1);
  const auto back = with->Without("undone");
  RC_ASSERT(with->Has("undone") && !back->Has("undone"));
  RC_ASSERT(back->positions() == without->positions());
  RC_ASSERT(Adjusted(*back, query.hidden[0], logits) ==
            Adjusted(*without, query.hidden[0], logits));
  RC_ASSERT(Adjusted(*with, undone.hidden[0], logits) !=
            Adjusted(*without, undone.hidden[0], logits));
}

TEST(InstantMemoryTest, ARequestThatIsLearnedAgainReplacesItself) {
  Random random(5);
  const Request first = Draw(random, 2);
  const Request second = Draw(random, 3);
  const auto memory = InstantMemory({}).With(StepOf("a", first))->With(StepOf("a", second));
  EXPECT_EQ(memory->steps(), 1U);
  EXPECT_EQ(memory->positions(), 3U);
}

TEST(InstantMemoryTest, AStepThatReplacesItselfTakesNoRoomFromOthers) {
  Random random(5);
  const auto neighbour = StepOf("a", Draw(random, 4));
  const Request later = Draw(random, 4);
  const InstantMemory start({.capacity = 10, .reserve = 0});
  const auto memory =
      start.With(neighbour)->With(StepOf("b", Draw(random, 4)))->With(StepOf("b", later));
  EXPECT_TRUE(memory->Has("a"));
  EXPECT_EQ(memory->steps(), 2U);
  const std::vector<float> logits = RandomLogits(random);
  EXPECT_EQ(Adjusted(*memory, later.hidden[0], logits),
            Adjusted(*start.With(neighbour)->With(StepOf("b", later)), later.hidden[0], logits));
  // Steps of another model are dropped, so they displace no steps either.
  const InstantLesson narrow{
      .token = 1, .weight = 1, .hidden = std::span(later.hidden[0]).first(8)};
  const auto other = start.With(InstantStep::Make("n", 8, std::vector(10, narrow), {}))
                         ->With(neighbour)
                         ->With(StepOf("b", later));
  EXPECT_EQ(other->steps(), 2U);
}

// Steps that were displaced come back, as far as the reserve goes.
RC_GTEST_PROP(InstantMemoryTest, UndoIsExactWhereStepsGaveWay, (uint64_t seed)) {
  Random random(seed);
  InstantMemory start({.decay = 0.9F, .capacity = 12, .reserve = 6});
  auto with = start.With(StepOf("first", Draw(random, 4)));
  auto without = with;
  const uint64_t steps = 1 + random.Below(8);
  const uint64_t undone = random.Below(steps);
  const uint64_t later = random.Below(steps);
  for (uint64_t i = 0; i < steps; ++i) {
    const auto step = StepOf(std::to_string(i), Draw(random, 1 + random.Below(6)));
    with = with->With(step);
    without = i == undone ? without : without->With(step);
    if (i == std::max(undone, later)) {
      with = with->Without(std::to_string(undone));
    }
  }
  const std::vector<float> logits = RandomLogits(random);
  const Request query = Draw(random, 1);
  RC_ASSERT(with->steps() == without->steps());
  RC_ASSERT(with->positions() == without->positions());
  RC_ASSERT(Adjusted(*with, query.hidden[0], logits) ==
            Adjusted(*without, query.hidden[0], logits));
}

TEST(InstantMemoryTest, WhatGaveWayBeyondTheReserveIsGone) {
  Random random(5);
  const InstantMemory start({.capacity = 10, .reserve = 3});
  const auto memory = start.With(StepOf("a", Draw(random, 4)))
                          ->With(StepOf("b", Draw(random, 4)))
                          ->With(StepOf("large", Draw(random, 9)));
  EXPECT_EQ(memory->steps(), 1U);
  EXPECT_FALSE(memory->Has("a"));
  EXPECT_EQ(memory->Without("large")->steps(), 1U);  // only b
}

TEST(InstantMemoryTest, TheOldestStepsGoWhenThereAreMorePositionsThanItHolds) {
  Random random(5);
  auto memory =
      std::make_shared<const InstantMemory>(InstantMemoryOptions{.capacity = 10, .reserve = 0});
  for (const char* id : {"a", "b", "c", "d"}) {
    memory = memory->With(StepOf(id, Draw(random, 4)));
    EXPECT_LE(memory->positions(), 10U);
  }
  EXPECT_FALSE(memory->Has("a"));
  EXPECT_FALSE(memory->Has("b"));
  EXPECT_TRUE(memory->Has("c"));
  EXPECT_TRUE(memory->Has("d"));
  EXPECT_GT(memory->bytes(), 8 * kWidth * sizeof(uint16_t));
}

RC_GTEST_PROP(InstantMemoryTest, ARowDoesNotDependOnTheOthers, (uint64_t seed)) {
  Random random(seed);
  InstantMemory start({});
  const auto memory = start.With(StepOf("a", Draw(random, 1 + random.Below(100))))
                          ->With(StepOf("b", Draw(random, 1 + random.Below(5))));
  const size_t rows = 1 + random.Below(20);
  const Request queries = Draw(random, rows);
  std::vector<float> hidden;
  for (const std::vector<float>& query : queries.hidden) {
    hidden.insert(hidden.end(), query.begin(), query.end());
  }
  const std::vector<float> logits = RandomLogits(random, rows);
  const std::vector<float> together = Adjusted(*memory, hidden, logits, rows);
  for (size_t row = 0; row < rows; ++row) {
    const auto at = static_cast<ptrdiff_t>(row * kVocabulary);
    const std::vector<float> own(logits.begin() + at, logits.begin() + at + kVocabulary);
    const std::vector<float> expected(together.begin() + at, together.begin() + at + kVocabulary);
    RC_ASSERT(Adjusted(*memory, queries.hidden[row], own) == expected);
  }
}

TEST(InstantMemoryTest, LessonsWithoutProbabilitiesTeachNothing) {
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  Random random(2);
  Request request = Draw(random, 7);
  request.lessons[0].probability = kNaN;
  request.lessons[1].probability = kInfinity;
  request.lessons[2].probability = -0.5F;
  request.lessons[2].weight = -1;
  request.candidates[3][1].probability = kInfinity;
  request.candidates[4][2].probability = kNaN;
  request.lessons[5].weight = kNaN;
  EXPECT_EQ(StepOf("a", request)->size(), 1U);
}

TEST(InstantMemoryTest, BrokenStatesTeachAndChangeNothing) {
  Random random(2);
  Request request = Draw(random, 3);
  request.hidden[0][3] = std::numeric_limits<float>::quiet_NaN();
  request.hidden[1].assign(kWidth, 0);
  const auto step = StepOf("a", request);
  EXPECT_EQ(step->size(), 1U);
  const auto memory = InstantMemory({}).With(step);
  const std::vector<float> logits = RandomLogits(random);
  EXPECT_EQ(Adjusted(*memory, request.hidden[0], logits), logits);
  EXPECT_EQ(Adjusted(*memory, request.hidden[1], logits), logits);
  const std::vector<float> narrow(kWidth / 2, 1.0F);
  EXPECT_EQ(Adjusted(*memory, narrow, logits), logits);
}

}  // namespace
}  // namespace ruvd::inference
