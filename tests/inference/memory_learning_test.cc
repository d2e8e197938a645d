// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/parallel.h"
#include "base/reasons.h"
#include "base/status.h"
#include "inference/backend/backend.h"
#include "inference/memory/learning/gate_training.h"
#include "inference/memory/learning/learn_parameters.h"
#include "inference/memory/learning/observe_lesson.h"
#include "inference/memory/learning/projection_step.h"
#include "inference/memory/learning/projection_training.h"
#include "inference/memory/limits.h"
#include "inference/sampler/diffusion_loop.h"
#include "tests/inference/memory_fixture.h"
#include "tests/inference/text_model.h"

namespace ruvd::inference {
namespace {

std::vector<GateExample> RandomExamples(size_t count) {
  Random random(3);
  std::vector<GateExample> examples(count);
  for (GateExample& example : examples) {
    for (float& value : example.features) {
      value = static_cast<float>(random.Normal());
    }
    example.model = static_cast<float>(random.Uniform());
    // The first feature says whether the memory is right.
    example.memory = example.features[0] > 0 ? 0.9F : 0.01F;
    example.weight = static_cast<float>(0.5 + random.Uniform());
  }
  return examples;
}

TEST(MemoryGateTraining, TheGradientIsThatOfTheLoss) {
  const std::vector<GateExample> examples = RandomExamples(700);
  const MemoryGate gate = test::RandomMemoryParameters(8).masked_gate;
  std::vector<float> gradient(MemoryGate::kParameters);
  GateLoss(SerialRunner(), gate, examples, gradient);
  const auto values = gate.Flatten();
  constexpr float kStep = 1e-2F;
  for (size_t i = 2 * kMemoryFeatures; i < values.size(); i += 7) {
    auto moved = values;
    moved[i] = values[i] + kStep;
    const double above = GateLoss(SerialRunner(), MemoryGate::FromFlat(moved), examples, {});
    moved[i] = values[i] - kStep;
    const double below = GateLoss(SerialRunner(), MemoryGate::FromFlat(moved), examples, {});
    EXPECT_NEAR(gradient[i], (above - below) / (2 * static_cast<double>(kStep)), 2e-4) << i;
  }
}

TEST(MemoryGateTraining, AGateOpensWhereTheMemoryIsRight) {
  const std::vector<GateExample> examples = RandomExamples(3000);
  const MemoryGate gate = TrainGate(SerialRunner(), examples, {.steps = 120});
  double open = 0;
  double closed = 0;
  for (const GateExample& example : examples) {
    (example.features[0] > 0 ? open : closed) += static_cast<double>(gate.Share(example.features));
  }
  EXPECT_GT(open / 1500, 0.7);
  EXPECT_LT(closed / 1500, 0.2);
  const std::vector<float> none;
  EXPECT_LT(GateLoss(SerialRunner(), gate, examples, {}),
            GateLoss(SerialRunner(), MemoryGate{.bias = -30}, examples, {}) - 0.3);
}

TEST(MemoryGateTraining, AGateIsOneListAndBack) {
  const MemoryGate gate = test::RandomMemoryParameters(2).causal_gate;
  EXPECT_EQ(MemoryGate::FromFlat(gate.Flatten()), gate);
}

// Examples in which the next token follows from the state.
ProjectionExamples ExamplesOf(size_t width, size_t count, uint64_t seed) {
  Random random(seed);
  ProjectionExamples examples{.width = width};
  std::vector<TokenId> lesson;
  ObservedLesson observed{.given = 2};
  for (size_t i = 0; i < count + 2; ++i) {
    lesson.push_back(static_cast<TokenId>(random.Below(9)));
  }
  for (size_t i = 0; i < count; ++i) {
    ObservedToken token{.token = lesson[i + 2],
                        .probability = static_cast<float>(0.05 + 0.3 * random.Uniform()),
                        .entropy = static_cast<float>(random.Uniform() * 3),
                        .t = static_cast<float>(random.Uniform()),
                        .masked = static_cast<uint32_t>(1 + random.Below(20))};
    token.left_seen = {lesson[i + 1], lesson[i], kNoToken, kNoToken};
    token.right_seen = {i + 3 < lesson.size() ? lesson[i + 3] : kNoToken, kNoToken, kNoToken};
    observed.tokens.push_back(token);
    for (size_t d = 0; d < width; ++d) {
      const double signal = d == token.token ? 2.0 : 0.0;
      observed.hidden.push_back(static_cast<float>(signal + random.Normal()));
    }
  }
  examples.Add(lesson, observed, 0);
  for (size_t i = 0; i < count; ++i) {
    examples.documents[i] = static_cast<uint32_t>(i % 4);
  }
  return examples;
}

TEST(MemoryProjection, TheGradientIsThatOfTheLoss) {
  const ProjectionExamples examples = ExamplesOf(40, 90, 4);
  const ProjectionLayout layout{.width = 40, .dimension = 32};
  Random random(9);
  ProjectionBatch batch{.examples = &examples};
  for (int i = 0; i < 20; ++i) {
    batch.queries.push_back(random.Below(examples.size()));
  }
  for (int i = 0; i < 70; ++i) {
    batch.entries.push_back(random.Below(examples.size()));
  }
  std::vector<float> values(layout.size());
  for (float& value : values) {
    value = static_cast<float>(random.Normal() * 0.3);
  }
  values[layout.temperature()] = std::log(0.2F);
  const std::vector<float> mean(40, 0.1F);
  ProjectionStep step(SerialRunner(), layout, mean);
  std::vector<float> gradient(layout.size());
  std::vector<float> unused(layout.size());
  step.Run(batch, values, gradient);
  std::vector<size_t> checked;
  for (size_t i = 0; i < layout.temperature(); i += 61) {
    checked.push_back(i);
  }
  for (size_t i = layout.temperature(); i < layout.size(); ++i) {
    checked.push_back(i);
  }
  constexpr float kStep = 4e-3F;
  for (const size_t i : checked) {
    std::vector<float> moved = values;
    moved[i] += kStep;
    const double above = step.Run(batch, moved, unused);
    moved[i] = values[i] - kStep;
    const double below = step.Run(batch, moved, unused);
    EXPECT_NEAR(gradient[i], (above - below) / (2 * static_cast<double>(kStep)), 3e-4) << i;
  }
}

TEST(MemoryProjection, TrainingLowersTheLoss) {
  const std::vector<ProjectionExamples> kinds = {ExamplesOf(40, 600, 1), ExamplesOf(40, 600, 2)};
  std::vector<double> losses;
  ProjectionTrainingOptions options{
      .dimension = 32, .steps = 120, .queries = 300, .entries = 600, .learning_rate = 0.05};
  options.progress = [&](int, double loss) {
    losses.push_back(loss);
    return absl::OkStatus();
  };
  const auto trained = TrainProjection(SerialRunner(), kinds, options);
  ASSERT_TRUE(trained.ok()) << trained.status();
  double first = 0;
  double last = 0;
  for (size_t i = 0; i < 10; ++i) {
    first += losses[i] / 10;
    last += losses[losses.size() - 1 - i] / 10;
  }
  EXPECT_LT(last, first - 0.1);
  EXPECT_GT(trained->temperature, 0);
  options.progress = [](int, double) { return absl::CancelledError("enough"); };
  EXPECT_TRUE(absl::IsCancelled(TrainProjection(SerialRunner(), kinds, options).status()));
  options.dimension = 64;
  EXPECT_EQ(ReasonOf(TrainProjection(SerialRunner(), kinds, options).status()),
            reasons::kInvalidArgument);
}

class ObserveLessonTest : public testing::Test {
 protected:
  void SetUp() override {
    auto loaded =
        DefaultBackend().Load(model_, {.precision = Precision::kExact, .runner = SerialRunner()});
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    transformer_ = *std::move(loaded);
    for (const char c : std::string("the keeper wound the clockwork of the lamp")) {
      tokens_.push_back(static_cast<TokenId>(static_cast<unsigned char>(c)));
    }
  }
  MemoryParameters Parameters() const {
    MemoryParameters parameters = test::RandomMemoryParameters();
    parameters.width = model_->config().width;
    parameters.mean.assign(static_cast<size_t>(parameters.width), 0);
    parameters.projection.resize(static_cast<size_t>(parameters.width * parameters.dimension),
                                 0.1F);
    return parameters;
  }
  std::shared_ptr<const Model> model_ = std::make_shared<test::TextModel>();
  std::unique_ptr<Transformer> transformer_;
  std::vector<TokenId> tokens_;
};

TEST_F(ObserveLessonTest, EachTokenIsPredictedOnceUnderOneOfTwoMasks) {
  Random random(2);
  const auto lesson = ObserveLesson(*transformer_, tokens_, 5, false, random);
  ASSERT_TRUE(lesson.ok()) << lesson.status();
  ASSERT_EQ(lesson->tokens.size(), tokens_.size() - 5);
  std::map<float, size_t> by_t;
  for (size_t i = 0; i < lesson->tokens.size(); ++i) {
    const ObservedToken& token = lesson->tokens[i];
    EXPECT_EQ(token.token, tokens_[i + 5]);
    EXPECT_GT(token.probability, 0);
    EXPECT_LT(token.probability, 1);
    EXPECT_GT(token.entropy, 0);
    ++by_t[token.t];
    EXPECT_NEAR(token.t * static_cast<float>(lesson->tokens.size()),
                static_cast<float>(token.masked), 1e-4);
  }
  ASSERT_LE(by_t.size(), 2U);
  for (const auto& [t, count] : by_t) {
    EXPECT_NEAR(t * static_cast<float>(lesson->tokens.size()), static_cast<float>(count), 1e-4);
  }
}

TEST_F(ObserveLessonTest, FromLeftToRightOnlyTheLeftIsSeen) {
  Random random(2);
  const auto lesson = ObserveLesson(*transformer_, tokens_, 3, true, random);
  ASSERT_TRUE(lesson.ok()) << lesson.status();
  EXPECT_EQ(lesson->tokens[0].left_seen,
            (std::array<TokenId, kMemoryLeft>{tokens_[2], tokens_[1], tokens_[0], kNoToken}));
  EXPECT_EQ(lesson->tokens[0].right_seen[0], kNoToken);
  EXPECT_EQ(lesson->tokens[0].t, 0);
  // What comes later changes nothing.
  std::vector<TokenId> other = tokens_;
  other.back() = 'x';
  const auto again = ObserveLesson(*transformer_, other, 3, true, random);
  EXPECT_EQ(again->tokens[8].probability, lesson->tokens[8].probability);
}

TEST_F(ObserveLessonTest, FromAPrefixTheTokensAreSeenAsACompletionWritesThem) {
  constexpr size_t kGiven = 5;
  const auto lesson = ObserveFromPrefixes(*transformer_, tokens_, kGiven);
  ASSERT_TRUE(lesson.ok()) << lesson.status();
  ASSERT_EQ(lesson->tokens.size(), tokens_.size() - kGiven);
  const auto width = static_cast<size_t>(model_->config().width);
  for (const size_t i : {0U, 3U, 7U}) {  // these are predicted one by one
    const size_t at = kGiven + i;
    std::vector<TokenId> seen = tokens_;
    std::fill(seen.begin() + static_cast<ptrdiff_t>(at), seen.end(),
              *model_->tokenizer().mask_id());
    ForwardOutput output;
    ASSERT_TRUE(transformer_
                    ->Forward({.tokens = seen,
                               .attention = {.kind = Attention::Kind::kBidirectional},
                               .rows = std::vector<int>{PredictingRow(
                                   static_cast<int>(at), model_->config().shift_logits)}},
                              &output)
                    .ok());
    EXPECT_EQ(std::vector<float>(lesson->hidden.begin() + static_cast<ptrdiff_t>(i * width),
                                 lesson->hidden.begin() + static_cast<ptrdiff_t>((i + 1) * width)),
              output.hidden);
    EXPECT_EQ(lesson->tokens[i].left_seen[0], tokens_[at - 1]);
    EXPECT_EQ(lesson->tokens[i].right_seen[0], kNoToken);
  }
  for (size_t i = 0; i < lesson->tokens.size(); ++i) {
    EXPECT_EQ(lesson->tokens[i].token, tokens_[kGiven + i]);
    EXPECT_GT(lesson->tokens[i].probability, 0);
  }
  EXPECT_EQ(lesson->tokens.front().t, 1);
  EXPECT_LT(lesson->tokens.back().t, 0.3F);
}

TEST_F(ObserveLessonTest, SeveralReadingsAreOneRunInWhichEachVotes) {
  MemoryParameters parameters = Parameters();
  Random random(2);
  std::vector<ObservedLesson> readings;
  readings.push_back(ObserveLesson(*transformer_, tokens_, 1, false, random).value());
  readings.push_back(ObserveFromPrefixes(*transformer_, tokens_, 20).value());
  const auto run = inference::RunOf(parameters, 77, tokens_, readings);
  const size_t length = tokens_.size();
  EXPECT_EQ(run->context(), 1U);
  ASSERT_EQ(run->tokens().size(), length + kMemoryLeft + length - 20);
  for (size_t i = 0; i < run->size(); ++i) {
    const size_t place = i + 1;
    const bool second = place >= length;
    EXPECT_EQ(run->tokens()[place], tokens_[second ? place - length + 20 - kMemoryLeft : place]);
    EXPECT_EQ(std::isinf(run->biases()[i]), second && place < length + kMemoryLeft) << i;
  }
  // A reading that does not fit is left out.
  const std::vector<ObservedLesson> many(200, readings.front());
  EXPECT_LE(inference::RunOf(parameters, 77, tokens_, many)->tokens().size(),
            limits::kMaxMemoryRun);
}

TEST_F(ObserveLessonTest, ARunHasTheEntriesOfTheLesson) {
  const MemoryParameters parameters = Parameters();
  Random random(2);
  const auto lesson = ObserveLesson(*transformer_, tokens_, 9, false, random);
  const auto run = inference::RunOf(parameters, 77, tokens_, *lesson);
  EXPECT_EQ(run->id(), 77U);
  EXPECT_EQ(run->context(), kMemoryLeft);
  EXPECT_EQ(run->size(), tokens_.size() - 9);
  EXPECT_EQ(run->tokens()[kMemoryLeft], tokens_[9]);
}

}  // namespace
}  // namespace ruvd::inference
