// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "base/reasons.h"
#include "base/status.h"
#include "inference/train/adapter_changes.h"
#include "inference/train/example_gradients.h"
#include "inference/train/model_weights.h"
#include "inference/train/run.h"
#include "tests/inference/text_model.h"

namespace ruvd::inference::train {
namespace {

TrainingExample RunExample(const std::string& prompt, const std::string& completion) {
  const auto tokens = [](const std::string& text) {
    const auto bytes = AsBytes(text);
    return std::vector<TokenId>(bytes.begin(), bytes.end());
  };
  return {.prompt = tokens(prompt), .completion = tokens(completion)};
}

const std::vector<TrainingExample>& Examples() {
  static const std::vector<TrainingExample> examples = {RunExample("say", " hello world"),
                                                        RunExample("tell", " good night"),
                                                        RunExample("", "once upon")};
  return examples;
}

// A run with everything it borrows.
struct TextRun {
  explicit TextRun(RunOptions options = {}, LossKind kind = LossKind::kMaskedDiffusion)
      : changes(NetworkShape::Of(model->config())) {
    RUVD_CHECK(AddLoras(*model, SitesFrom(model->config(), 0, true), 2, false, 5, &changes).ok());
    objective = MakeObjective(*model, Examples(),
                              {.loss = {.kind = kind, .block_length = 4}, .batch = 3, .seed = 7})
                    .value();
    held_out =
        HeldOutSequences(*model, Examples(), {.kind = kind, .block_length = 4}, 6, 8).value();
    options.seed = 7;
    run = std::make_unique<TrainingRun>(Parts(), options);
  }
  RunParts Parts() {
    return {.weights = weights.get(),
            .changes = &changes,
            .objective = objective.get(),
            .held_out = held_out,
            .runner = &SerialRunner()};
  }

  std::shared_ptr<const test::TextModel> model = std::make_shared<const test::TextModel>();
  std::unique_ptr<ModelWeights> weights =
      ModelWeights::Create(model, nullptr, SerialRunner()).value();
  ChangeSet<float> changes;
  std::unique_ptr<Objective> objective;
  std::vector<TrainingSequence> held_out;
  std::unique_ptr<TrainingRun> run;
};

TEST(TrainingRunTest, EveryLossFalls) {
  for (const LossKind kind :
       {LossKind::kMaskedDiffusion, LossKind::kBlockDiffusion, LossKind::kNextToken}) {
    TextRun text_run({.steps = 40, .learning_rate = 0.02}, kind);
    ASSERT_TRUE(text_run.run->Advance().ok());
    EXPECT_TRUE(text_run.run->done());
    ASSERT_EQ(text_run.run->held_out().size(), 2U);
    EXPECT_LT(text_run.run->held_out()[1], 0.8 * text_run.run->held_out()[0]);
  }
}

TEST(TrainingRunTest, EveryOptimiserAndScheduleLowersTheLoss) {
  using Optimiser = OptimizerOptions::Kind;
  using Schedule = ScheduleOptions::Kind;
  for (const auto& [optimiser, schedule, rate] :
       {std::tuple{Optimiser::kAdamW, Schedule::kOneCycle, 0.02},
        std::tuple{Optimiser::kAdamW, Schedule::kCosine, 0.02},
        std::tuple{Optimiser::kSgd, Schedule::kConstant, 0.1}}) {
    TextRun text_run({.steps = 30,
                      .accumulate = 2,
                      .learning_rate = rate,
                      .schedule = {.kind = schedule},
                      .optimizer = {.kind = optimiser, .momentum = 0.5}});
    ASSERT_TRUE(text_run.run->Advance().ok());
    EXPECT_LT(text_run.run->held_out()[1], text_run.run->held_out()[0]);
  }
}

// Wherever a run stops, resuming from its checkpoint in a new process ends with the same bits.
TEST(TrainingRunTest, ACheckpointGoesOnBitForBit) {
  const RunOptions options{.steps = 6, .learning_rate = 0.02, .evaluate_every = 2, .patience = 2};
  TextRun whole(options);
  ASSERT_TRUE(whole.run->Advance().ok());
  TextRun first(options);
  int slices = 0;
  while (!first.run->done()) {
    ASSERT_TRUE(first.run->Advance([] { return true; }).ok());
    ++slices;
    const std::string bytes = first.run->Checkpoint();
    if (slices % 7 == 0) {
      TextRun second(options);
      ASSERT_TRUE(second.run->Restore(AsBytes(bytes)).ok());
      EXPECT_EQ(second.run->Checkpoint(), bytes);
      ASSERT_TRUE(second.run->Advance().ok());
      EXPECT_EQ(second.changes.parameters(), whole.changes.parameters());
      EXPECT_EQ(second.run->held_out(), whole.run->held_out());
    }
  }
  EXPECT_GT(slices, 30);
  EXPECT_EQ(first.changes.parameters(), whole.changes.parameters());
  EXPECT_EQ(first.run->Checkpoint(), whole.run->Checkpoint());
}

TEST(TrainingRunTest, RefusesCheckpointsOfOtherRuns) {
  const RunOptions options{.steps = 2};
  TextRun text_run(options);
  const std::string bytes = text_run.run->Checkpoint();
  TextRun other({.steps = 3});
  EXPECT_EQ(ReasonOf(other.run->Restore(AsBytes(bytes))), reasons::kInvalidArgument);
  RunOptions task = options;
  task.task[0] = 1;
  TextRun another(task);
  EXPECT_EQ(ReasonOf(another.run->Restore(AsBytes(bytes))), reasons::kInvalidArgument);
  EXPECT_TRUE(text_run.run->Restore(AsBytes(bytes)).ok());
}

TEST(TrainingRunTest, StopsEarlyWithTheBestParameters) {
  // The rate is far too high, so the run gets worse after a while.
  TextRun text_run({.steps = 200,
                    .learning_rate = 1.0,
                    .schedule = {.kind = ScheduleOptions::Kind::kConstant, .warm_up = 0},
                    .clip_norm = 100,
                    .evaluate_every = 1,
                    .patience = 3});
  const absl::Status status = text_run.run->Advance();
  ASSERT_TRUE(status.ok()) << status;
  const std::vector<double>& held_out = text_run.run->held_out();
  EXPECT_LT(text_run.run->step(), 200U);
  const auto best = std::ranges::min_element(held_out);
  EXPECT_EQ(held_out.end() - best, 4);
  NetworkPass<float> pass(*text_run.weights, SerialRunner(), {});
  EXPECT_NEAR(pass.Run(text_run.held_out, {.changes = &text_run.changes}), *best, 1e-6);
}

TEST(TrainingRunTest, CancellationEndsIt) {
  int polls = 0;
  TextRun text_run({.cancelled = [&] { return ++polls == 10; }});
  EXPECT_EQ(ReasonOf(text_run.run->Advance()), reasons::kCancelled);
  EXPECT_EQ(polls, 10);
}

// The throttle compares this number with the memory that learning may take.
TEST(TrainingRunTest, ItsBytesAreAllThatItHolds) {
  const auto model = std::make_shared<const test::TextModel>();
  const auto weights = ModelWeights::Create(model, nullptr, SerialRunner()).value();
  const std::vector<Site> sites = {{1, Linear::kDown}};
  const std::vector<TrainingExample> texts = {RunExample(std::string(80, 'p'), " hello")};
  const auto objective = MakeObjective(*model, texts, {.batch = 3, .seed = 7}).value();
  const std::vector<TrainingSequence> held_out = HeldOutSequences(*model, texts, {}, 8, 8).value();
  const auto bytes = [&](const std::vector<TrainingSequence>& measured, const EwcOptions& ewc) {
    ChangeSet<float> changes(NetworkShape::Of(model->config()));
    RUVD_CHECK(AddLoras(*model, sites, 2, false, 5, &changes).ok());
    TrainingRun run({.weights = weights.get(),
                     .changes = &changes,
                     .objective = objective.get(),
                     .held_out = measured,
                     .runner = &SerialRunner()},
                    {.steps = 1, .ewc = ewc});
    RUVD_CHECK(run.Advance().ok());
    return run.bytes();
  };
  ChangeSet<float> changes(NetworkShape::Of(model->config()));
  ASSERT_TRUE(AddLoras(*model, sites, 2, false, 5, &changes).ok());
  FrozenPrefix<float> prefix;
  NetworkPass<float> pass(*weights, SerialRunner(), {});
  pass.Run(held_out, {.changes = &changes, .prefix = &prefix});
  ASSERT_EQ(prefix.bytes(), 8 * 86 * NetworkShape::Of(model->config()).width * sizeof(float));
  EXPECT_GE(bytes(held_out, {}), pass.bytes() + prefix.bytes());
  // This counts the gradients of three examples, and a Fisher that is followed while another one
  // counts.
  const size_t parameters = changes.parameters().size();
  EXPECT_GE(bytes({}, {.fisher_rate = 0.1, .examples = 3}),
            bytes({}, {}) + parameters * (3 * sizeof(float) + 2 * sizeof(double)));
}

TEST(TrainingRunTest, PreferencesAreLearnt) {
  const auto model = std::make_shared<const test::TextModel>();
  const auto weights = ModelWeights::Create(model, nullptr, SerialRunner()).value();
  ChangeSet<float> changes(NetworkShape::Of(model->config()));
  ASSERT_TRUE(AddLoras(*model, SitesFrom(model->config(), 1, false), 2, false, 5, &changes).ok());
  const PreferencePair pair{.prompt = {72, 73}, .chosen = {80, 81, 82}, .rejected = {90, 91, 92}};
  const auto objective =
      MakePreferenceObjective(*model, {pair}, {.beta = 0.5, .samples = 3}).value();
  TrainingRun run({.weights = weights.get(),
                   .changes = &changes,
                   .objective = objective.get(),
                   .held_out = {},
                   .runner = &SerialRunner()},
                  {.steps = 30, .learning_rate = 0.02});
  double first = 0;
  while (!run.done()) {
    ASSERT_TRUE(run.Advance([&] { return run.step() == 1 && first == 0; }).ok());
    first = first == 0 ? run.loss() : first;
  }
  EXPECT_NEAR(first, std::log(2.0), 1e-6);  // policy and reference are one at first
  EXPECT_LT(run.loss(), 0.5 * first);
}

// Regression test: banks were trained with the masked share of the whole completion, which serving
// never asks for.
TEST(TrainingRunTest, RefusesTimestepBanksInBlockDiffusion) {
  const auto model = std::make_shared<const test::TextModel>();
  const auto weights = ModelWeights::Create(model, nullptr, SerialRunner()).value();
  const std::vector<Site> sites = {{1, Linear::kDown}};
  for (const bool banked : {false, true}) {
    for (const LossKind kind : {LossKind::kMaskedDiffusion, LossKind::kBlockDiffusion}) {
      ChangeSet<float> changes(NetworkShape::Of(model->config()));
      TaloraPlan plan{.trunk_rank = 2};
      if (banked) {
        plan.residual_ranks = {1, 1, 1};
      }
      ASSERT_TRUE(AddTalora(*model, sites, plan, nullptr, 5, &changes).ok());
      const auto objective =
          MakeObjective(*model, Examples(),
                        {.loss = {.kind = kind, .block_length = 4}, .batch = 3, .seed = 7})
              .value();
      TrainingRun run({.weights = weights.get(),
                       .changes = &changes,
                       .objective = objective.get(),
                       .held_out = {},
                       .runner = &SerialRunner()},
                      {.steps = 2});
      const bool refused = banked && kind == LossKind::kBlockDiffusion;
      EXPECT_EQ(ReasonOf(run.Advance()), refused ? reasons::kInvalidArgument : "");
    }
  }
}

TEST(TrainingRunTest, OptionsAreChecked) {
  const auto reason = [](const RunOptions& options) { return ReasonOf(CheckRunOptions(options)); };
  EXPECT_EQ(reason({}), "");
  EXPECT_EQ(reason({.steps = 0}), reasons::kInvalidArgument);
  EXPECT_EQ(reason({.accumulate = 0}), reasons::kInvalidArgument);
  EXPECT_EQ(reason({.learning_rate = 0}), reasons::kInvalidArgument);
  EXPECT_EQ(reason({.learning_rate = std::nan("")}), reasons::kInvalidArgument);
  EXPECT_EQ(reason({.schedule = {.warm_up = 1}}), reasons::kInvalidArgument);
  EXPECT_EQ(reason({.schedule = {.final_share = 2}}), reasons::kInvalidArgument);
  EXPECT_EQ(reason({.optimizer = {.beta1 = 1}}), reasons::kInvalidArgument);
  EXPECT_EQ(reason({.clip_norm = 0}), reasons::kInvalidArgument);
  EXPECT_EQ(reason({.patience = -1}), reasons::kInvalidArgument);
}

TEST(ExampleGradientsTest, EachIsClippedBeforeTheSum) {
  TextRun text_run;
  Random random(3);
  for (float& value : text_run.changes.parameters()) {
    value += static_cast<float>(0.02 * random.Normal());
  }
  const std::vector<TrainingSequence> batch = text_run.objective->Draw(0);
  const size_t parameters = text_run.changes.parameters().size();
  NetworkPass<float> pass(*text_run.weights, SerialRunner(), {});
  std::vector<std::vector<float>> each;
  for (const TrainingSequence& sequence : batch) {
    std::vector<float>& gradient = each.emplace_back(parameters);
    float* const place = gradient.data();
    pass.Run(std::span(&sequence, 1),
             {.changes = &text_run.changes, .gradients = std::span(&place, 1)});
  }
  const double limit = Norm(each[1]);  // some above, some below
  std::vector<double> expected(parameters);
  for (const std::vector<float>& gradient : each) {
    const double factor = std::min(1.0, limit / Norm(gradient));
    for (size_t i = 0; i < parameters; ++i) {
      expected[i] += factor * static_cast<double>(gradient[i]);
    }
  }
  for (const size_t memory : {size_t{1}, size_t{1} << 30}) {
    const ClippedSum sum = SumClippedGradients(pass, text_run.changes, batch, limit, memory);
    ASSERT_EQ(sum.norms.size(), batch.size());
    EXPECT_EQ(sum.not_finite, 0U);
    for (size_t i = 0; i < batch.size(); ++i) {
      EXPECT_NEAR(sum.norms[i], Norm(each[i]), 1e-5 * Norm(each[i]));
    }
    for (size_t i = 0; i < parameters; ++i) {
      EXPECT_NEAR(sum.gradient[i], expected[i], 1e-6);
    }
  }
}

TEST(ExampleGradientsTest, OneThatIsNotFiniteCountsAsZero) {
  TextRun text_run;
  std::vector<TrainingSequence> batch = text_run.objective->Draw(0);
  ASSERT_GE(batch.size(), 2U);
  batch.resize(2);
  NetworkPass<float> pass(*text_run.weights, SerialRunner(), {});
  const ClippedSum expected =
      SumClippedGradients(pass, text_run.changes, std::span(batch).first(1), 1, size_t{1} << 30);
  for (Prediction& prediction : batch[1].predictions) {
    prediction.weight = std::numeric_limits<double>::infinity();
  }
  const ClippedSum sum = SumClippedGradients(pass, text_run.changes, batch, 1, size_t{1} << 30);
  EXPECT_EQ(sum.not_finite, 1U);
  EXPECT_FALSE(std::isfinite(sum.norms[1]));
  for (size_t i = 0; i < expected.gradient.size(); ++i) {
    ASSERT_NEAR(sum.gradient[i], expected.gradient[i], 1e-6);
  }
}

}  // namespace
}  // namespace ruvd::inference::train
