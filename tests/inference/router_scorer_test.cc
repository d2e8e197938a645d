// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/random.h"
#include "inference/router/scorer.h"
#include "inference/router/train_scorer.h"

namespace ruvd::inference {
namespace {

std::vector<ScorerShape> Shapes() {
  return {{.kind = ScorerKind::kLogistic, .inputs = 6},
          {.kind = ScorerKind::kMlp, .inputs = 6, .hidden = 5},
          {.kind = ScorerKind::kCascade, .inputs = 6, .confidence = 2},
          {.kind = ScorerKind::kFastGrnn,
           .inputs = 6,
           .hidden = 5,
           .steps = 3,
           .rank_w = 2,
           .rank_u = 3},
          {.kind = ScorerKind::kFastGrnn,
           .inputs = 6,
           .hidden = 4,
           .steps = 1,
           .rank_w = 3,
           .rank_u = 2}};
}

std::vector<double> Draw(Random& random, size_t size, double spread = 1) {
  std::vector<double> values(size);
  for (double& value : values) {
    value = spread * random.Normal();
  }
  return values;
}

TEST(ScorerTest, GradientsAreThoseOfCentralDifferences) {
  constexpr double kStep = 1e-6;
  Random random(11);
  for (const ScorerShape& shape : Shapes()) {
    const auto scorer = Scorer::Create(shape, random).value();
    for (double& value : scorer->parameters()) {
      value += 0.3 * random.Normal();
    }
    const std::vector<double> x = Draw(random, shape.inputs);
    std::vector<double> gradient(scorer->parameters().size(), 0.5);
    scorer->AddGradient(x, -1.7, gradient);
    for (size_t i = 0; i < gradient.size(); ++i) {
      double& parameter = scorer->parameters()[i];
      const double value = parameter;
      parameter = value + kStep;
      const double above = scorer->Logit(x);
      parameter = value - kStep;
      const double below = scorer->Logit(x);
      parameter = value;
      EXPECT_NEAR(gradient[i], 0.5 - 1.7 * (above - below) / (2 * kStep), 1e-7)
          << ScorerName(shape.kind) << " parameter " << i;
    }
  }
}

// Writes out one step of the cell for hidden size 1 and rank 1.
TEST(ScorerTest, FastGrnnIsTheCellOfThePaper) {
  Random random(1);
  const auto cell = Scorer::Create({.kind = ScorerKind::kFastGrnn,
                                    .inputs = 2,
                                    .hidden = 1,
                                    .steps = 2,
                                    .rank_w = 1,
                                    .rank_u = 1},
                                   random)
                        .value();
  const std::vector<double> p = {0.5, -0.7, 0.9, 1.1, 0.2, -0.3, 0.4, -2, 1.5, 0.1};
  ASSERT_EQ(cell->parameters().size(), p.size());
  std::copy(p.begin(), p.end(), cell->parameters().begin());
  const double w = 0.5 * -0.7;
  const double u = 0.9 * 1.1;
  const double zeta = Sigmoid(0.4);
  const double nu = Sigmoid(-2);
  double h = 0;
  for (const double x : {0.8, -1.2}) {
    const double z = Sigmoid(w * x + u * h + 0.2);
    const double c = std::tanh(w * x + u * h - 0.3);
    h = (zeta * (1 - z) + nu) * c + z * h;
  }
  EXPECT_NEAR(cell->Logit(std::vector<double>{0.8, -1.2}), 1.5 * h + 0.1, 1e-12);
}

TEST(ScorerTest, ImpossibleShapesAreRefused) {
  Random random(1);
  for (const ScorerShape& shape :
       {ScorerShape{.inputs = 0}, ScorerShape{.inputs = 1000}, ScorerShape{.inputs = 4, .steps = 3},
        ScorerShape{.inputs = 4, .hidden = 0}, ScorerShape{.inputs = 4, .rank_u = 1000},
        ScorerShape{.kind = static_cast<ScorerKind>(9), .inputs = 4},
        ScorerShape{.inputs = 4, .confidence = 4}}) {
    EXPECT_EQ(Scorer::Create(shape, random).status().code(), absl::StatusCode::kInvalidArgument);
  }
}

// Examples are good where x0 > 0 (learnable by all but the cascade, which sees x2 only) or x0 x1 >
// 0.
std::vector<RoutingExample> Examples(Random& random, size_t count, bool exclusive) {
  std::vector<RoutingExample> examples;
  for (size_t i = 0; i < count; ++i) {
    RoutingExample example{.features = Draw(random, 6)};
    const double first = example.features[0];
    example.good = exclusive ? first * example.features[1] > 0 : first > 0;
    examples.push_back(std::move(example));
  }
  return examples;
}

double MeanLoss(const Scorer& scorer, std::span<const RoutingExample> examples) {
  double sum = 0;
  for (const RoutingExample& example : examples) {
    sum += LogisticLoss(scorer.Logit(example.features), example.good);
  }
  return sum / static_cast<double>(examples.size());
}

TEST(TrainScorerTest, LearnsWhatItsKindCanExpress) {
  for (const ScorerShape& shape : Shapes()) {
    for (const bool exclusive : {false, true}) {
      Random random(5);
      const auto train = Examples(random, 800, exclusive);
      const auto test = Examples(random, 400, exclusive);
      const auto scorer = Scorer::Create(shape, random).value();
      ASSERT_TRUE(
          TrainScorer(train, {.epochs = 80, .learning_rate = 0.02}, random, scorer.get()).ok());
      const bool sees =
          shape.kind != ScorerKind::kCascade && (!exclusive || shape.kind != ScorerKind::kLogistic);
      if (sees) {
        EXPECT_LT(MeanLoss(*scorer, test), 0.58) << ScorerName(shape.kind) << exclusive;
      } else {
        EXPECT_GT(MeanLoss(*scorer, test), 0.62) << ScorerName(shape.kind) << exclusive;
      }
    }
  }
}

// Regression test: a batch was divided by its own weights, so in batches of one all examples
// counted alike.
TEST(TrainScorerTest, TheWeightedMeanIsMinimisedWhateverTheBatch) {
  for (const int batch : {1, 4, 1000}) {
    std::vector<RoutingExample> examples;
    for (int i = 0; i < 200; ++i) {  // one of ten is good and weighs as much as the nine others
      examples.push_back({.features = {1}, .good = i % 10 == 0, .weight = i % 10 == 0 ? 9.0 : 1.0});
    }
    Random random(3);
    const auto scorer =
        Scorer::Create({.kind = ScorerKind::kLogistic, .inputs = 1}, random).value();
    ASSERT_TRUE(TrainScorer(examples,
                            {.epochs = batch == 1000 ? 2000 : 100,
                             .batch = batch,
                             .learning_rate = 0.003,
                             .weight_decay = 0},
                            random, scorer.get())
                    .ok());
    EXPECT_NEAR(Sigmoid(scorer->Logit(std::vector{1.0})), 0.5, 0.1) << batch;
  }
}

TEST(TrainScorerTest, SparsityLeavesTheAskedShareOfEveryMatrix) {
  Random random(2);
  const auto train = Examples(random, 200, false);
  const auto scorer = Scorer::Create(Shapes()[3], random).value();
  ASSERT_TRUE(TrainScorer(train, {.epochs = 30, .density = 0.4}, random, scorer.get()).ok());
  for (const Scorer::Range& matrix : scorer->matrices()) {
    const auto values = scorer->parameters().subspan(matrix.begin, matrix.size);
    const auto kept = std::count_if(values.begin(), values.end(), [](double v) { return v != 0; });
    EXPECT_LE(kept, std::ceil(0.4 * static_cast<double>(matrix.size)));
    EXPECT_GT(kept, 0);
  }
  EXPECT_LT(MeanLoss(*scorer, train), 0.5);
}

TEST(TrainScorerTest, RefusesWhatCannotBeLearnedFrom) {
  Random random(2);
  const auto scorer = Scorer::Create(Shapes()[0], random).value();
  EXPECT_FALSE(TrainScorer({}, {}, random, scorer.get()).ok());
  std::vector<RoutingExample> examples = {{.features = {1, 2}}};
  EXPECT_FALSE(TrainScorer(examples, {}, random, scorer.get()).ok());
  examples[0].features = {1, 2, 3, 4, 5, std::nan("")};
  EXPECT_FALSE(TrainScorer(examples, {}, random, scorer.get()).ok());
  examples[0].features.back() = 6;
  EXPECT_FALSE(TrainScorer(examples, {.density = 0}, random, scorer.get()).ok());
  EXPECT_TRUE(TrainScorer(examples, {}, random, scorer.get()).ok());
}

TEST(CalibrationTest, FindsTheSlopeAndOffsetThatOutcomesFollow) {
  Random random(8);
  const auto scorer = Scorer::Create({.kind = ScorerKind::kLogistic, .inputs = 1}, random).value();
  scorer->parameters()[0] = 4;  // far too sure
  std::vector<RoutingExample> examples;
  for (int i = 0; i < 20'000; ++i) {
    const double x = random.Normal();
    examples.push_back({.features = {x}, .good = random.Bernoulli(Sigmoid(1.5 * x - 0.5))});
  }
  const Calibration calibration = FitCalibration(*scorer, examples);
  EXPECT_NEAR(4 * calibration.slope, 1.5, 0.1);
  EXPECT_NEAR(calibration.offset, -0.5, 0.06);
}

TEST(CalibrationTest, FewExamplesGiveNoCertainty) {
  Random random(8);
  const auto scorer = Scorer::Create({.kind = ScorerKind::kLogistic, .inputs = 1}, random).value();
  scorer->parameters()[0] = 1;
  const std::vector<RoutingExample> examples = {{.features = {1}, .good = true}};
  const Calibration calibration = FitCalibration(*scorer, examples);
  EXPECT_NEAR(calibration.Probability(1), 2.0 / 3, 1e-3);
  EXPECT_EQ(FitCalibration(*scorer, {}).slope, 1);
}

TEST(CalibrationTest, NeverTurnsAScorerRound) {
  Random random(8);
  const auto scorer = Scorer::Create({.kind = ScorerKind::kLogistic, .inputs = 1}, random).value();
  scorer->parameters()[0] = 1;
  const std::vector<RoutingExample> examples = {{.features = {-1}, .good = true},
                                                {.features = {1}, .good = false}};
  const Calibration calibration = FitCalibration(*scorer, examples);
  EXPECT_EQ(calibration.slope, 0);
  EXPECT_DOUBLE_EQ(calibration.Probability(1), 0.5);
}

// Regression test: targets were made of weights, so two examples with large weights were taken for
// many.
TEST(CalibrationTest, HeavyExamplesAreNotManyExamples) {
  Random random(8);
  const auto scorer = Scorer::Create({.kind = ScorerKind::kLogistic, .inputs = 1}, random).value();
  scorer->parameters()[0] = 1;
  const std::vector<RoutingExample> examples = {{.features = {1}, .good = true, .weight = 1000},
                                                {.features = {-1}, .good = false, .weight = 1000}};
  const Calibration calibration = FitCalibration(*scorer, examples);
  EXPECT_NEAR(calibration.Probability(scorer->Logit(std::vector{1.0})), 2.0 / 3, 1e-3);
  EXPECT_NEAR(calibration.Probability(scorer->Logit(std::vector{-1.0})), 1.0 / 3, 1e-3);
}

}  // namespace
}  // namespace ruvd::inference
