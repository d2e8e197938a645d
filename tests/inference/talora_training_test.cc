// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Tests a trunk and bank residuals from training to serving.

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "base/reasons.h"
#include "base/status.h"
#include "inference/adapter/adapter_bytes.h"
#include "inference/evaluate/paired.h"
#include "inference/train/adapter_changes.h"
#include "inference/train/model_weights.h"
#include "inference/train/run.h"
#include "inference/transformer/cpu_transformer.h"
#include "tests/inference/text_model.h"

namespace ruvd::inference::train {
namespace {

const std::shared_ptr<const Model>& TestModel() {
  static const std::shared_ptr<const Model> model = std::make_shared<const test::TextModel>();
  return model;
}

std::vector<TrainingExample> Examples() {
  std::vector<TrainingExample> examples;
  for (const std::string text : {" hello world", " good night", "once upon"}) {
    const auto bytes = AsBytes(text);
    examples.push_back({.prompt = {}, .completion = {bytes.begin(), bytes.end()}});
  }
  return examples;
}

std::vector<Site> Sites() {
  return SitesFrom(TestModel()->config(), 0, true);
}

const TaloraPlan kPlan{.trunk_rank = 2,
                       .residual_ranks = {0, 1, 3},
                       .training = {.residual_rate = 0.3F, .residual_decay = 0.01F}};

// A joint run with everything it borrows.
struct JointRun {
  explicit JointRun(const BankSchedule& schedule, const RunOptions& options)
      : changes(NetworkShape::Of(TestModel()->config()), schedule) {
    RUVD_CHECK(AddTalora(*TestModel(), Sites(), kPlan, nullptr, 5, &changes).ok());
    objective = MakeObjective(*TestModel(), Examples(), {.batch = 4, .seed = 7}).value();
    held_out = HeldOutSequences(*TestModel(), Examples(), {}, 6, 8).value();
    run = std::make_unique<TrainingRun>(RunParts{.weights = weights.get(),
                                                 .changes = &changes,
                                                 .objective = objective.get(),
                                                 .held_out = held_out,
                                                 .runner = &SerialRunner()},
                                        options);
  }
  std::unique_ptr<ModelWeights> weights =
      ModelWeights::Create(TestModel(), nullptr, SerialRunner()).value();
  ChangeSet<float> changes;
  std::unique_ptr<Objective> objective;
  std::vector<TrainingSequence> held_out;
  std::unique_ptr<TrainingRun> run;
};

const BankSchedule kDiscrete;
const BankSchedule kLinear{.strategy = BankStrategy::kLinear};

TEST(TaloraTrainingTest, TrunkAndResidualsAreLearntTogether) {
  for (const BankSchedule& schedule : {kDiscrete, kLinear}) {
    JointRun joint(schedule, {.steps = 30, .learning_rate = 0.02});
    const std::vector<float> before = joint.changes.parameters();
    ASSERT_TRUE(joint.run->Advance().ok());
    EXPECT_LT(joint.run->held_out()[1], 0.9 * joint.run->held_out()[0]);
    for (const auto& entry : joint.changes.entries()) {
      const size_t last = entry.offset + entry.change.parameters() - 1;
      EXPECT_NE(joint.changes.parameters()[last], before[last]) << TensorOf(entry.site);
    }
  }
}

// What is served at every t is what was trained: NELBO and table by t of the serving path are
// compared with the pass of training on the same masks.
TEST(TaloraTrainingTest, ServesWhatWasTrained) {
  for (const BankSchedule& schedule : {kDiscrete, kLinear}) {
    JointRun joint(schedule, {.steps = 10, .learning_rate = 0.02});
    ASSERT_TRUE(joint.run->Advance().ok());
    const auto talora =
        TaloraOf(*TestModel(), joint.changes, {.name = "tale", .version = 4}, kPlan.training);
    EXPECT_EQ(talora->name, "tale");
    EXPECT_EQ(talora->version, 4U);
    EXPECT_EQ(talora->schedule.strategy, schedule.strategy);
    EXPECT_EQ(talora->training.residual_rate, 0.3F);
    ASSERT_EQ(talora->residuals.size(), 3U);
    ASSERT_TRUE(CheckTalora(*talora, *TestModel()).ok());
    CpuTransformer transformer(TestModel(), SerialRunner());
    NetworkPass<float> pass(*joint.weights, SerialRunner(), {});
    const std::vector<TrainingExample> examples = Examples();
    for (const TrainingExample& example : examples) {
      const ScoredText text{.tokens = example.completion};
      for (const Corruption& corruption : DrawCorruptions(SpansOf(text, 0), 9, 3)) {
        const TrainingSequence sequence =
            CorruptedSequence(RulesOf(*TestModel()).value(), example, corruption, {}, 1.0);
        pass.Run(std::span(&sequence, 1), {.changes = &joint.changes});
        AdapterMix mix;
        AppendMix(*talora, static_cast<float>(sequence.t), {}, 1.0F, &mix);
        std::vector<double> nats(corruption.masked.size());
        ASSERT_TRUE(ScoreMasked(transformer, text, corruption, 0, &mix, nats).ok());
        for (size_t i = 0; i < nats.size(); ++i) {
          EXPECT_NEAR(pass.nats(0)[i], nats[i], 1e-4);
        }
      }
    }
  }
}

TEST(TaloraTrainingTest, ACheckpointGoesOnBitForBit) {
  const RunOptions options{.steps = 5, .learning_rate = 0.02, .evaluate_every = 2, .patience = 2};
  JointRun whole(kLinear, options);
  ASSERT_TRUE(whole.run->Advance().ok());
  JointRun first(kLinear, options);
  for (int slices = 0; !first.run->done(); ++slices) {
    ASSERT_TRUE(first.run->Advance([] { return true; }).ok());
    if (slices % 7 == 0) {
      JointRun second(kLinear, options);
      ASSERT_TRUE(second.run->Restore(AsBytes(first.run->Checkpoint())).ok());
      ASSERT_TRUE(second.run->Advance().ok());
      EXPECT_EQ(second.run->Checkpoint(), whole.run->Checkpoint());
    }
  }
  JointRun other(kDiscrete, options);
  EXPECT_EQ(ReasonOf(other.run->Restore(AsBytes(whole.run->Checkpoint()))),
            reasons::kInvalidArgument);
}

TEST(TaloraTrainingTest, CoresShareTheFactorsOfTheirFrame) {
  std::vector<std::string> targets;
  for (const Site& site : Sites()) {
    targets.push_back(TensorOf(site));
  }
  const FrameSet frame = RandomFrameSet(*TestModel(), targets, 4, 1).value();
  ChangeSet<float> changes(NetworkShape::Of(TestModel()->config()));
  ASSERT_TRUE(AddTalora(*TestModel(), Sites(), {.trunk_rank = 4, .residual_ranks = {2, 2, 2}},
                        &frame, 1, &changes)
                  .ok());
  for (float& value : changes.parameters()) {
    value = 0.1F;
  }
  const AdapterLabels labels{
      .name = "tale", .version = 1, .kind = AdapterKind::kCore, .frame_id = frame.id};
  const auto talora = TaloraOf(*TestModel(), changes, labels, {});
  ASSERT_TRUE(CheckTalora(*talora, *TestModel()).ok());
  const ModuleFrame& module = frame.modules.at(targets[0]);
  const LowRank& trunk = talora->trunk->targets.at(targets[0]);
  EXPECT_EQ(trunk.rank, 4);
  EXPECT_EQ(trunk.a, module.q);
  const LowRank& residual = talora->residuals[1]->targets.at(targets[0]);
  EXPECT_EQ(residual.rank, 2);
  for (size_t o = 0; o < static_cast<size_t>(module.out); ++o) {  // P R with R all 0.1
    const float sum = module.p[o] + module.p[static_cast<size_t>(module.out) + o];
    EXPECT_NEAR(residual.b[2 * o], 0.1F * sum, 1e-6);
  }
}

TEST(TaloraTrainingTest, PlansAreChecked) {
  const auto reason = [](const TaloraPlan& plan) {
    ChangeSet<float> changes(NetworkShape::Of(TestModel()->config()));
    return ReasonOf(AddTalora(*TestModel(), Sites(), plan, nullptr, 1, &changes));
  };
  EXPECT_EQ(reason({.trunk_rank = 1}), "");
  EXPECT_EQ(reason({.trunk_rank = 0, .residual_ranks = {0, 0, 1}}), "");
  EXPECT_EQ(reason({.trunk_rank = 0}), reasons::kInvalidArgument);
  EXPECT_EQ(reason({.trunk_rank = 0, .residual_ranks = {0, 0, 0}}), reasons::kInvalidArgument);
  EXPECT_EQ(reason({.trunk_rank = 1, .residual_ranks = {1, 1}}), reasons::kInvalidArgument);
  EXPECT_EQ(reason({.trunk_rank = 10'000}), reasons::kInvalidArgument);
  EXPECT_EQ(reason({.residual_ranks = {1, 1, 1}, .training = {.residual_rate = 0}}),
            reasons::kInvalidArgument);
  EXPECT_EQ(reason({.residual_ranks = {1, 1, 1}, .training = {.residual_decay = 1}}),
            reasons::kInvalidArgument);
}

TEST(BeginFromTest, GoesOnWhereAnAdapterIs) {
  const NetworkShape shape = NetworkShape::Of(TestModel()->config());
  ChangeSet<float> first(shape);
  ASSERT_TRUE(AddLoras(*TestModel(), Sites(), 2, false, 1, &first).ok());
  for (size_t i = 0; i < first.parameters().size(); ++i) {
    first.parameters()[i] += 0.01F * static_cast<float>(i % 5);
  }
  const auto adapter = AdapterOf(*TestModel(), first, "first", 1);
  ChangeSet<float> second(shape);
  ASSERT_TRUE(AddTalora(*TestModel(), Sites(), {.trunk_rank = 2, .residual_ranks = {1, 1, 1}},
                        nullptr, 9, &second)
                  .ok());
  ASSERT_TRUE(InitialiseFrom(*adapter, &second).ok());
  const auto talora = TaloraOf(*TestModel(), second, {.name = "second"}, {});
  EXPECT_EQ(AdapterId(*talora->trunk), AdapterId(*adapter));
  ChangeSet<float> wider(shape);
  ASSERT_TRUE(AddLoras(*TestModel(), Sites(), 3, false, 1, &wider).ok());
  const std::vector<float> before = wider.parameters();
  EXPECT_EQ(ReasonOf(InitialiseFrom(*adapter, &wider)), reasons::kInvalidArgument);
  EXPECT_EQ(wider.parameters(), before);
}

// Training continues from a TALoRA in every bank, bit for bit.
TEST(BeginFromTest, GoesOnWhereATaloraIs) {
  TaloraPlan plan = kPlan;
  plan.residual_ranks = {1, 1, 3};  // a bank without changes would get one that was not trained
  ChangeSet<float> trained(NetworkShape::Of(TestModel()->config()));
  ASSERT_TRUE(AddTalora(*TestModel(), Sites(), plan, nullptr, 5, &trained).ok());
  for (size_t i = 0; i < trained.parameters().size(); ++i) {
    trained.parameters()[i] += 0.001F * static_cast<float>(i % 7);
  }
  const auto talora = TaloraOf(*TestModel(), trained, {.name = "t"}, plan.training);
  ChangeSet<float> next(NetworkShape::Of(TestModel()->config()));
  ASSERT_TRUE(AddTalora(*TestModel(), Sites(), plan, nullptr, 6, &next).ok());
  EXPECT_NE(next.parameters(), trained.parameters());
  ASSERT_TRUE(InitialiseFrom(*talora, &next).ok());
  EXPECT_EQ(next.parameters(), trained.parameters());

  ChangeSet<float> others(NetworkShape::Of(TestModel()->config()), {.boundaries = {0.5F}});
  plan.residual_ranks = {1, 1};
  ASSERT_TRUE(AddTalora(*TestModel(), Sites(), plan, nullptr, 6, &others).ok());
  const std::vector<float> before = others.parameters();
  EXPECT_EQ(ReasonOf(InitialiseFrom(*talora, &others)), reasons::kInvalidArgument) << "other banks";
  EXPECT_EQ(others.parameters(), before);
  // A static adapter becomes the trunk; the residuals begin unchanged.
  ASSERT_TRUE(InitialiseFrom(*StaticTalora(talora->trunk), &others).ok());
  EXPECT_NE(others.parameters(), before);
}

}  // namespace
}  // namespace ruvd::inference::train
