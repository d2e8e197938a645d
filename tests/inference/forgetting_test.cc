// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// What keeps a model from forgetting while it learns: EWC with a running Fisher, replay, and replay
// that follows the frozen network.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "base/reasons.h"
#include "base/status.h"
#include "inference/train/adapter_changes.h"
#include "inference/train/ewc.h"
#include "inference/train/model_weights.h"
#include "inference/train/run.h"
#include "tests/inference/dense_network.h"
#include "tests/inference/differences.h"
#include "tests/inference/text_model.h"

namespace ruvd::inference::train {
namespace {

using test::DenseNetwork;
using test::ExpectGradient;
using test::RandomVector;
using test::Vector;

std::vector<TrainingExample> Examples(const std::vector<std::string>& texts) {
  std::vector<TrainingExample> examples;
  for (const std::string& text : texts) {
    const auto bytes = AsBytes(text);
    examples.push_back({.prompt = {}, .completion = {bytes.begin(), bytes.end()}});
  }
  return examples;
}

const std::vector<std::string> kNew = {" hello world", " good night"};
const std::vector<std::string> kOld = {"once upon", "a time there", " was a king"};

struct Setting {
  Setting() : changes(NetworkShape::Of(model->config())) {
    RUVD_CHECK(AddLoras(*model, SitesFrom(model->config(), 0, true), 2, false, 5, &changes).ok());
  }
  std::unique_ptr<Objective> On(const std::vector<std::string>& texts, int batch = 3) {
    return MakeObjective(*model, Examples(texts), {.batch = batch, .seed = 7}).value();
  }
  std::unique_ptr<Objective> Mixed(bool follow, double weight) {
    std::vector<ObjectivePart> parts(2);
    parts[0] = {.objective = On(kOld, 2), .weight = weight, .follow_frozen = follow};
    parts[1] = {.objective = On(kNew)};
    return MixObjectives(std::move(parts)).value();
  }
  // Trains to the end and returns the last checkpoint.
  std::string Train(const Objective& objective, const RunOptions& options,
                    const EwcMemory* remembered = nullptr) {
    TrainingRun run(Parts(objective, remembered), options);
    RUVD_CHECK(run.Advance().ok());
    return run.Checkpoint();
  }
  RunParts Parts(const Objective& objective, const EwcMemory* remembered = nullptr) {
    return {.weights = weights.get(),
            .changes = &changes,
            .objective = &objective,
            .held_out = {},
            .runner = &SerialRunner(),
            .remembered = remembered};
  }
  // Mean divergence of the predictions on old text from those of the frozen network.
  double Divergence() {
    std::vector<TrainingSequence> batch =
        HeldOutSequences(*model, Examples(kOld), {}, 12, 9).value();
    for (TrainingSequence& sequence : batch) {
      sequence.follows_frozen = true;
    }
    NetworkPass<float> pass(*weights, SerialRunner(), {});
    FrozenStates<float> frozen;
    pass.Run(batch, {.record = &frozen});
    return pass.Run(batch, {.changes = &changes, .frozen = &frozen});
  }

  std::shared_ptr<const test::TextModel> model = std::make_shared<const test::TextModel>();
  std::unique_ptr<ModelWeights> weights =
      ModelWeights::Create(model, nullptr, SerialRunner()).value();
  ChangeSet<float> changes;
};

TEST(KlDivergenceTest, IsTheDivergenceWithItsDerivative) {
  Random random(1);
  const Vector reference = RandomVector(7, random, 2.0);
  Vector logits = RandomVector(7, random, 2.0);
  Vector scratch(7);
  const auto divergence = [&] {
    Vector copy = logits;
    return 0.7 * KlDivergence<double>(reference, copy, 0.7, scratch);
  };
  Vector gradient = logits;
  KlDivergence<double>(reference, gradient, 0.7, scratch);
  ExpectGradient(&logits, gradient, divergence);
  EXPECT_GT(divergence(), 0.0);
  logits = reference;
  EXPECT_NEAR(divergence(), 0.0, 1e-12);
  // Computes the divergence by its definition.
  const Vector p = {std::log(0.25), std::log(0.75)};
  Vector q = {std::log(0.5), std::log(0.5)};
  Vector two(2);
  EXPECT_NEAR(KlDivergence<double>(p, q, 1.0, two), 0.25 * std::log(0.5) + 0.75 * std::log(1.5),
              1e-12);
}

// Goes through the whole network, beside a sequence with a loss of its own, for any memory limit.
TEST(FollowFrozenTest, AgreesWithDifferences) {
  for (const uint64_t memory : {uint64_t{1} << 20, uint64_t{1}}) {
    DenseNetwork weights({});
    ChangeSet<double> changes(weights.shape());
    Random random(2);
    for (const Site& site :
         {Site{0, Linear::kValue}, Site{2, Linear::kUp}, Site{3, Linear::kHead}}) {
      changes.AddLora(site, 2, 0.8, RandomVector(2 * weights.shape().In(site.linear), random));
    }
    changes.parameters() = RandomVector(changes.parameters().size(), random, 0.4);
    NetworkPass<double> pass(weights, SerialRunner(), {.memory_bytes = memory});
    std::vector<TrainingSequence> batch(3);
    for (size_t s = 0; s < batch.size(); ++s) {
      batch[s].tokens = {1, 2, static_cast<TokenId>(s), 4, 5};
      batch[s].predictions = {{.row = 1, .target = 3, .weight = 0.7},
                              {.row = 4, .target = 2, .weight = 0.4}};
      batch[s].follows_frozen = s > 0;
    }
    FrozenStates<double> frozen;
    pass.Run(std::span(batch).last(2), {.record = &frozen});
    frozen.hidden.insert(frozen.hidden.begin(), Vector());
    Vector gradient(changes.parameters().size());
    const std::vector<double*> places(batch.size(), gradient.data());
    pass.Run(batch, {.changes = &changes, .gradients = places, .frozen = &frozen});
    ExpectGradient(&changes.parameters(), gradient,
                   [&] { return pass.Run(batch, {.changes = &changes, .frozen = &frozen}); });
    EXPECT_GT(pass.nats(1)[0], 0.0);
    // Nothing has changed, so nothing diverges.
    pass.Run(batch, {.frozen = &frozen});
    EXPECT_GT(pass.nats(0)[0], 0.1);
    EXPECT_NEAR(pass.nats(1)[0], 0.0, 1e-12);
    EXPECT_NEAR(pass.nats(2)[1], 0.0, 1e-12);
  }
}

TEST(FollowFrozenTest, KeepsTheModelWhereItIsAsked) {
  Setting plain;
  plain.Train(*plain.On(kNew), {.steps = 30, .learning_rate = 0.02});
  Setting following;
  following.Train(*following.Mixed(true, 4.0), {.steps = 30, .learning_rate = 0.02});
  EXPECT_LT(following.Divergence(), 0.5 * plain.Divergence());
}

TEST(MixObjectivesTest, JoinsWeightedBatches) {
  Setting setting;
  const auto mixed = setting.Mixed(true, 0.5);
  const std::vector<TrainingSequence> batch = mixed->Draw(3);
  const std::vector<TrainingSequence> own = setting.On(kNew)->Draw(3);
  const std::vector<TrainingSequence> old = setting.On(kOld, 2)->Draw(3);
  ASSERT_EQ(batch.size(), 5U);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(batch[i].tokens, own[i].tokens);
    EXPECT_FALSE(batch[i].follows_frozen);
    EXPECT_EQ(batch[i].predictions[0].weight, own[i].predictions[0].weight);
  }
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(batch[3 + i].tokens, old[i].tokens);
    EXPECT_TRUE(batch[3 + i].follows_frozen);
    EXPECT_EQ(batch[3 + i].predictions[0].weight, 0.5 * old[i].predictions[0].weight);
  }
  EXPECT_FALSE(MixObjectives({}).ok());
  std::vector<ObjectivePart> bad(1);
  EXPECT_EQ(ReasonOf(MixObjectives(std::move(bad)).status()), reasons::kInvalidArgument);
  bad = std::vector<ObjectivePart>(1);
  bad[0] = {.objective = setting.On(kNew), .weight = 0};
  EXPECT_EQ(ReasonOf(MixObjectives(std::move(bad)).status()), reasons::kInvalidArgument);
  bad = std::vector<ObjectivePart>(1);
  bad[0].objective =
      MakePreferenceObjective(*setting.model, {{.prompt = {1}, .chosen = {2}, .rejected = {3}}}, {})
          .value();
  EXPECT_EQ(ReasonOf(MixObjectives(std::move(bad)).status()), reasons::kInvalidArgument);
}

TEST(EwcTest, ThePenaltyHasItsDerivative) {
  const EwcMemory memory{.anchor = {0.5F, -1.0F, 2.0F}, .fisher = {1.0, 0.25, 0.0}};
  std::vector<float> x = {1.0F, 1.0F, 1.0F};
  std::vector<float> gradient = {0.1F, 0.1F, 0.1F};
  EXPECT_NEAR(AddEwcPenalty(memory, 3.0, x, gradient), 1.5 * (0.25 + 0.25 * 4), 1e-12);
  EXPECT_NEAR(gradient[0], 0.1 + 3 * 0.5, 1e-6);
  EXPECT_NEAR(gradient[1], 0.1 + 3 * 0.25 * 2, 1e-6);
  EXPECT_NEAR(gradient[2], 0.1, 1e-6);
}

TEST(EwcTest, TheRunningFisherIsOfExamples) {
  std::vector<double> fisher;
  const std::vector<float> first = {1.0F, 2.0F, -1.0F, 0.0F};  // two examples that cancel at [0]
  UpdateFisher(first, std::vector{2.0, 2.0}, 0.25, &fisher);
  ASSERT_EQ(fisher.size(), 2U);
  EXPECT_NEAR(fisher[0], 4 * 1.0, 1e-12);
  EXPECT_NEAR(fisher[1], 4 * 2.0, 1e-12);
  const std::vector<float> second = {0.0F, 1.0F};
  UpdateFisher(second, std::vector{1.0}, 0.25, &fisher);
  EXPECT_NEAR(fisher[0], 0.75 * 4, 1e-12);
  EXPECT_NEAR(fisher[1], 0.75 * 8 + 0.25, 1e-12);
}

// After one step the Fisher is the mean square of the gradients of the first examples, each of its
// own loss. Following it changes nothing else but the order of sums.
TEST(EwcTest, ARunFollowsTheFisherOfItsExamples) {
  Setting setting;
  const auto objective = setting.On(kNew);
  const std::vector<TrainingSequence> batch = objective->Draw(0);
  const size_t parameters = setting.changes.parameters().size();
  NetworkPass<float> pass(*setting.weights, SerialRunner(), {});
  std::vector<double> expected(parameters);
  for (size_t i = 0; i < 2; ++i) {
    std::vector<float> gradient(parameters);
    float* const place = gradient.data();
    pass.Run(std::span(&batch[i], 1),
             {.changes = &setting.changes, .gradients = std::span(&place, 1)});
    for (size_t j = 0; j < parameters; ++j) {
      expected[j] += 0.5 * 9 * static_cast<double>(gradient[j]) * static_cast<double>(gradient[j]);
    }
  }
  const RunOptions options{
      .steps = 1, .learning_rate = 0.02, .ewc = {.fisher_rate = 0.1, .examples = 2}};
  const EwcMemory memory = EwcMemoryOf(AsBytes(setting.Train(*objective, options))).value();
  ASSERT_EQ(memory.fisher.size(), parameters);
  EXPECT_EQ(memory.anchor, setting.changes.parameters());
  for (size_t j = 0; j < parameters; ++j) {
    EXPECT_NEAR(memory.fisher[j], expected[j], 1e-4 * expected[j] + 1e-9);
  }
  Setting plain;
  const std::string checkpoint = plain.Train(*objective, {.steps = 1, .learning_rate = 0.02});
  for (size_t j = 0; j < parameters; ++j) {
    EXPECT_NEAR(plain.changes.parameters()[j], memory.anchor[j], 1e-4);
  }
  EXPECT_EQ(ReasonOf(EwcMemoryOf(AsBytes(checkpoint)).status()), reasons::kInvalidArgument);
}

// If parts have unequal shares of the loss, each example's gradient is that of its own loss, and no
// part is left out.
TEST(EwcTest, TheFisherOfAMixtureIsOfItsExamplesOwnLosses) {
  Setting setting;
  const auto mixed = setting.Mixed(false, 0.25);
  const size_t parameters = setting.changes.parameters().size();
  NetworkPass<float> pass(*setting.weights, SerialRunner(), {});
  // Two old sequences with an eighth of the loss each, three new ones with a third; two examples.
  const std::vector<TrainingSequence> batch = mixed->Draw(0);
  ASSERT_EQ(batch.size(), 5U);
  std::vector<double> expected(parameters);
  for (const auto& [place, parts] : {std::pair<size_t, double>{0, 8}, {2, 3}}) {
    std::vector<float> gradient(parameters);
    float* const pointer = gradient.data();
    pass.Run(std::span(&batch[place], 1),
             {.changes = &setting.changes, .gradients = std::span(&pointer, 1)});
    for (size_t i = 0; i < parameters; ++i) {
      const double own = parts * static_cast<double>(gradient[i]);
      expected[i] += 0.5 * own * own;
    }
  }
  const RunOptions options{
      .steps = 1, .learning_rate = 0.02, .ewc = {.fisher_rate = 0.1, .examples = 2}};
  const EwcMemory memory = EwcMemoryOf(AsBytes(setting.Train(*mixed, options))).value();
  for (size_t i = 0; i < parameters; ++i) {
    EXPECT_NEAR(memory.fisher[i], expected[i], 1e-4 * expected[i] + 1e-9);
  }
}

// With a large strength the parameters that mattered stay where they were, more than without.
TEST(EwcTest, AnchorsWhatMattered) {
  const RunOptions options{
      .steps = 25, .learning_rate = 0.02, .ewc = {.fisher_rate = 0.1, .examples = 3}};
  std::vector<double> moved;
  for (const double strength : {0.0, 1e5}) {
    Setting setting;
    const EwcMemory memory =
        EwcMemoryOf(AsBytes(setting.Train(*setting.On(kOld), options))).value();
    RunOptions next = options;
    next.ewc.strength = strength;
    const auto objective = setting.On(kNew);
    TrainingRun run(setting.Parts(*objective, &memory), next);
    ASSERT_TRUE(run.Advance().ok());
    EXPECT_EQ(run.penalty() > 0, strength > 0);
    double sum = 0;
    for (size_t i = 0; i < memory.anchor.size(); ++i) {
      const double away = static_cast<double>(setting.changes.parameters()[i] - memory.anchor[i]);
      sum += memory.fisher[i] * away * away;
    }
    moved.push_back(sum);
  }
  EXPECT_LT(moved[1], 0.1 * moved[0]);
}

TEST(EwcTest, ACheckpointGoesOnBitForBit) {
  Setting before;
  const RunOptions options{.steps = 4,
                           .accumulate = 2,
                           .learning_rate = 0.02,
                           .ewc = {.strength = 10, .fisher_rate = 0.2, .examples = 2}};
  const EwcMemory memory = EwcMemoryOf(AsBytes(before.Train(*before.On(kOld), options))).value();
  Setting whole;
  const auto objective = whole.Mixed(true, 1.0);
  const std::string end = whole.Train(*objective, options, &memory);
  Setting first;
  TrainingRun run(first.Parts(*objective, &memory), options);
  for (int slices = 0; !run.done(); ++slices) {
    ASSERT_TRUE(run.Advance([] { return true; }).ok());
    if (slices % 7 == 0) {
      Setting second;
      TrainingRun resumed(second.Parts(*objective, &memory), options);
      ASSERT_TRUE(resumed.Restore(AsBytes(run.Checkpoint())).ok());
      ASSERT_TRUE(resumed.Advance().ok());
      EXPECT_EQ(resumed.Checkpoint(), end);
    }
  }
  // With another memory it is another run.
  EwcMemory other = memory;
  other.fisher[0] += 1;
  Setting third;
  TrainingRun another(third.Parts(*objective, &other), options);
  EXPECT_EQ(ReasonOf(another.Restore(AsBytes(end))), reasons::kInvalidArgument);
}

TEST(EwcTest, OptionsAreChecked) {
  EXPECT_EQ(ReasonOf(CheckEwcOptions({})), "");
  for (const EwcOptions& options :
       {EwcOptions{.strength = -1}, EwcOptions{.strength = std::nan("")},
        EwcOptions{.strength = std::numeric_limits<double>::infinity()},
        EwcOptions{.fisher_rate = 1}, EwcOptions{.fisher_rate = -0.1}, EwcOptions{.examples = 0},
        EwcOptions{.examples = 1000}}) {
    EXPECT_EQ(ReasonOf(CheckEwcOptions(options)), reasons::kInvalidArgument);
    EXPECT_EQ(ReasonOf(CheckRunOptions({.ewc = options})), reasons::kInvalidArgument);
  }
}

}  // namespace
}  // namespace ruvd::inference::train
