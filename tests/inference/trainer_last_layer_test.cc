// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "base/reasons.h"
#include "base/status.h"
#include "inference/adapter/adapter_bytes.h"
#include "inference/model/cpu_transformer.h"
#include "inference/train/masks.h"
#include "inference/train/tail_weights.h"
#include "inference/train/trainer.h"
#include "tests/inference/text_model.h"

namespace ruvd {
namespace {

using testing::TextModel;

std::shared_ptr<const TextModel> TinyTextModel() {
  static const auto model = std::make_shared<const TextModel>();
  return model;
}

TrainingExample Example(const std::string& prompt, const std::string& completion) {
  const auto tokens = [](const std::string& text) {
    const auto bytes = AsBytes(text);
    return std::vector<TokenId>(bytes.begin(), bytes.end());
  };
  return {.prompt = tokens(prompt), .completion = tokens(completion)};
}

RC_GTEST_PROP(MaskStreamTest, DrawsExactCountsOfEveryKEqually, (uint64_t seed)) {
  const std::vector<TrainingExample> examples = {Example("", "0123456789")};
  train::MaskStream stream(examples, seed);
  std::vector<int> counts(11);
  for (int i = 0; i < 20; ++i) {
    for (const train::MaskDraw& draw : stream.Draw(10)) {
      RC_ASSERT(std::is_sorted(draw.positions.begin(), draw.positions.end()));
      RC_ASSERT(std::adjacent_find(draw.positions.begin(), draw.positions.end()) ==
                draw.positions.end());
      RC_ASSERT(draw.positions.front() >= 0 && draw.positions.back() < 10);
      ++counts[draw.positions.size()];
    }
  }
  for (size_t k = 1; k <= 10; ++k) {
    RC_ASSERT(counts[k] == 20);  // ten strata, ten values
  }
}

TEST(MaskStreamTest, ExamplesTakeTurnsAndSeedsDecide) {
  const std::vector<TrainingExample> examples = {Example("", "abc"), Example("", "abcdef")};
  train::MaskStream a(examples, 1);
  train::MaskStream b(examples, 1);
  train::MaskStream c(examples, 2);
  const auto x = a.Draw(8);
  const auto y = b.Draw(8);
  const auto z = c.Draw(8);
  int first = 0;
  bool differs = false;
  for (size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(x[i].positions, y[i].positions);
    differs = differs || x[i].positions != z[i].positions;
    first += x[i].example == 0 ? 1 : 0;
  }
  EXPECT_EQ(first, 4);
  EXPECT_TRUE(differs);
}

TEST(MaskWeightTest, IsInverseTPerTokenClamped) {
  EXPECT_NEAR(train::MaskWeight(5, 10, 4), 2.0 / 10, 1e-12);
  EXPECT_NEAR(train::MaskWeight(1, 10, 4), 4.0 / 10, 1e-12);
  EXPECT_NEAR(train::MaskWeight(10, 10, 4), 1.0 / 10, 1e-12);
}

// The tail must be the same computation as the model's own forward, adapters beneath included.
TEST(ModelTailTest, LossEqualsThatOfTheWholeModel) {
  const auto model = TinyTextModel();
  CpuTransformer transformer(model, SerialRunner());
  const auto target = [&](const std::string& name) {
    return std::pair<std::string, const Matrix*>(name, FindMatrix(*model, name));
  };
  const AdapterMix base{
      .parts = {{testing::RandomAdapter(
                     *model,
                     {target("blk.0.attn_q.weight"), target("blk.1.attn_output.weight"),
                      target("blk.1.ffn_up.weight"), target("blk.1.ffn_down.weight"),
                      target("output.weight")},
                     3, 0.2),
                 0.7F}}};
  const TrainingExample example = Example("abcd", "efghij");
  const train::MaskDraw draw{.example = 0, .positions = {0, 2, 5}};
  train::TailRows<float> rows;
  ASSERT_TRUE(train::AppendRows(transformer, example, draw, &base, 1.0F, &rows).ok());
  ASSERT_EQ(rows.size(), 3U);
  train::ModelTail weights(transformer, &base);
  train::Tail<float> tail(weights, train::TailLinear::kAttentionOutput, nullptr);
  const double loss = tail.Run(rows, 0, rows.size(), false);

  std::vector<TokenId> tokens = example.prompt;
  tokens.insert(tokens.end(), example.completion.begin(), example.completion.end());
  for (const int offset : draw.positions) {
    tokens[4 + static_cast<size_t>(offset)] = testing::kTinyMask;
  }
  ForwardOutput output;
  ASSERT_TRUE(transformer.Forward({.tokens = tokens, .adapters = &base}, &output).ok());
  double expected = 0;
  for (const int offset : draw.positions) {
    std::vector<float> logits(258);
    transformer.Logits(
        std::span(output.hidden).subspan((4 + static_cast<size_t>(offset) - 1) * 64, 64), &base,
        logits);
    double mass = 0;
    for (const float logit : logits) {
      mass += std::exp(static_cast<double>(logit));
    }
    expected += std::log(mass) - logits[example.completion[static_cast<size_t>(offset)]];
  }
  EXPECT_NEAR(loss, expected, 1e-4);
}

// The same in the backward direction, in float and through quantised-style kernels.
TEST(ModelTailTest, GradientAgreesWithDifferences) {
  const auto model = TinyTextModel();
  CpuTransformer transformer(model, SerialRunner());
  train::TailRows<float> rows;
  const train::MaskDraw draw{.example = 0, .positions = {1, 3}};
  ASSERT_TRUE(
      train::AppendRows(transformer, Example("abcd", "efghij"), draw, nullptr, 1.0F, &rows).ok());
  train::ModelTail weights(transformer, nullptr);
  for (const auto site : {train::TailLinear::kAttentionOutput, train::TailLinear::kDown}) {
    const size_t in = weights.shape().In(site);
    const size_t out = weights.shape().Out(site);
    Random random(4);
    std::vector<float> parameters(2 * (in + out));
    for (float& value : parameters) {
      value = static_cast<float>(random.Normal() * 0.1);
    }
    train::LoraChange<float> change(2, in, out, parameters);
    train::Tail<float> tail(weights, site, &change);
    tail.Run(rows, 0, rows.size(), true);
    // Along the gradient itself the directional derivative is its squared length.
    double squares = 0;
    for (const float g : change.gradient()) {
      squares += static_cast<double>(g) * g;
    }
    const auto loss_at = [&](double step) {
      for (size_t i = 0; i < parameters.size(); ++i) {
        change.parameters()[i] =
            parameters[i] + static_cast<float>(step / std::sqrt(squares)) * change.gradient()[i];
      }
      return tail.Run(rows, 0, rows.size(), false);
    };
    const double numeric = (loss_at(0.02) - loss_at(-0.02)) / 0.04;
    EXPECT_NEAR(numeric / std::sqrt(squares), 1.0, 0.01);
  }
}

TEST(TrainerTest, LowersTheHeldOutLossOnATinyModel) {
  CpuTransformer transformer(TinyTextModel(), SerialRunner());
  const std::vector<TrainingExample> examples = {Example("say", " hello world"),
                                                 Example("tell", " good night")};
  TrainingOptions options{.rank = 4, .steps = 60, .batch = 4, .learning_rate = 0.03F};
  const auto result = TrainLastLayerLora(transformer, examples, nullptr, options);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_LT(result->held_out_after, 0.8 * result->held_out_before);
  EXPECT_EQ(result->steps, 60);
  EXPECT_TRUE(result->core.empty());
  EXPECT_TRUE(CheckAdapter(*result->adapter, transformer.model()).ok());
  EXPECT_EQ(result->adapter->targets.count("blk.1.attn_output.weight"), 1U);
  const auto again = TrainLastLayerLora(transformer, examples, nullptr, options);
  EXPECT_EQ(AdapterId(*again->adapter), AdapterId(*result->adapter));
  EXPECT_EQ(again->held_out_after, result->held_out_after);
}

// The scores are those of the adapter that is returned: training again on top of it starts there.
TEST(TrainerTest, TheAdapterDoesWhatTheScoreSays) {
  CpuTransformer transformer(TinyTextModel(), SerialRunner());
  const std::vector<TrainingExample> examples = {Example("say", " hello world")};
  for (const char* target : {"attn_output", "ffn_gate", "ffn_up", "ffn_down", "output"}) {
    TrainingOptions options{
        .rank = 3, .steps = 10, .batch = 2, .learning_rate = 0.03F, .target = target};
    const auto first = TrainLastLayerLora(transformer, examples, nullptr, options);
    ASSERT_TRUE(first.ok()) << first.status();
    EXPECT_LT(first->held_out_after, first->held_out_before) << target;
    const AdapterMix mix{.parts = {{first->adapter, 1.0F}}};
    const auto second = TrainLastLayerLora(transformer, examples, &mix, options);
    EXPECT_NEAR(second->held_out_before, first->held_out_after, 1e-4) << target;
    EXPECT_LT(second->held_out_after, second->held_out_before) << target;
  }
}

TEST(TrainerTest, CoreIsTheOnlyTrainedPart) {
  CpuTransformer transformer(TinyTextModel(), SerialRunner());
  const Frame frame = RandomFrame(transformer.model(), 16, 3).value();
  const std::vector<TrainingExample> examples = {Example("say", " hello world")};
  const TrainingOptions options{.steps = 30, .batch = 2};
  const auto result = TrainLastLayerCore(transformer, frame, examples, nullptr, options);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_LT(result->held_out_after, result->held_out_before);
  ASSERT_EQ(result->core.size(), 256U);
  const auto rebuilt = AdapterFromCore(frame, result->core, "overlay", 1, 1.0F).value();
  EXPECT_EQ(AdapterId(*rebuilt), AdapterId(*result->adapter));
  const AdapterMix mix{.parts = {{result->adapter, 1.0F}}};
  const auto more = TrainLastLayerCore(transformer, frame, examples, &mix, options);
  EXPECT_NEAR(more->held_out_before, result->held_out_after, 1e-4);
}

TEST(TrainerTest, StopsWhenCancelled) {
  CpuTransformer transformer(TinyTextModel(), SerialRunner());
  const std::vector<TrainingExample> examples = {Example("say", " hello world")};
  int polls = 0;
  TrainingOptions options;
  options.cancelled = [&] { return ++polls == 25; };
  const auto result = TrainLastLayerLora(transformer, examples, nullptr, options);
  EXPECT_EQ(result.status().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(ReasonOf(result.status()), reasons::kCancelled);
  EXPECT_EQ(polls, 25);
}

TEST(TrainerTest, RefusesBadInput) {
  CpuTransformer transformer(TinyTextModel(), SerialRunner());
  const TrainingExample good = Example("say", " hello");
  const auto reason = [&](const std::vector<TrainingExample>& examples,
                          const TrainingOptions& options) {
    return ReasonOf(TrainLastLayerLora(transformer, examples, nullptr, options).status());
  };
  const std::string invalid = reasons::kInvalidArgument;
  EXPECT_EQ(reason({}, {}), invalid);
  EXPECT_EQ(reason({Example("say", "")}, {}), invalid);
  EXPECT_EQ(reason({{.prompt = {1}, .completion = {258}}}, {}), invalid);
  EXPECT_EQ(reason({{.prompt = {999999}, .completion = {2}}}, {}), invalid);
  EXPECT_EQ(reason({{.completion = {2}, .weight = std::nanf("")}}, {}), invalid);
  EXPECT_EQ(reason({Example("", std::string(97, 'x'))}, {}), reasons::kContextTooLong);
  EXPECT_EQ(reason({good}, {.rank = 0}), invalid);
  EXPECT_EQ(reason({good}, {.rank = 65}), invalid);
  EXPECT_EQ(reason({good}, {.steps = 0}), invalid);
  EXPECT_EQ(reason({good}, {.batch = 100000}), invalid);
  EXPECT_EQ(reason({good}, {.learning_rate = -1}), invalid);
  EXPECT_EQ(reason({good}, {.weight_clamp = 0}), invalid);
  EXPECT_EQ(reason({good}, {.target = "attn_q"}), invalid);
  EXPECT_EQ(reason({good}, {.held_out_samples = 0}), invalid);
  Frame foreign = RandomFrame(transformer.model(), 4, 1).value();
  foreign.model_hash[0] ^= 1;
  const std::vector<TrainingExample> examples = {good};
  EXPECT_EQ(ReasonOf(TrainLastLayerCore(transformer, foreign, examples, nullptr, {}).status()),
            reasons::kFrameMismatch);
  Frame elsewhere = RandomFrame(transformer.model(), 4, 1).value();
  elsewhere.target = "blk.0.attn_output.weight";
  EXPECT_EQ(ReasonOf(TrainLastLayerCore(transformer, elsewhere, examples, nullptr, {}).status()),
            reasons::kFrameMismatch);
}

// The claim behind the learning loop, on the shipped test model: one corrected text, the default
// options, masks never trained on.
TEST(TrainerTest, OneCorrectionIsLearntByTheShippedModel) {
  const std::string path = std::string(RUVD_SOURCE_DIR) + "/deploy/models/ruvdllm-5m.q8_0.gguf";
  const auto model = Model::Load(path);
  ASSERT_TRUE(model.ok()) << model.status();
  CpuTransformer transformer(*model, SerialRunner());
  const Tokenizer& tokenizer = (*model)->tokenizer();
  const std::vector<TrainingExample> examples = {
      {.prompt = tokenizer.Encode("Kubernetes is"),
       .completion = tokenizer.Encode(
           " an open source system that schedules containers on a cluster of machines. You "
           "describe the desired state in a manifest, and the control plane starts, stops and "
           "moves pods until the cluster matches it.")}};
  const auto lora = TrainLastLayerLora(transformer, examples, nullptr, {});
  ASSERT_TRUE(lora.ok()) << lora.status();
  EXPECT_LT(lora->held_out_after, lora->held_out_before - 0.3);
  const Frame frame = RandomFrame(**model, 32, 7).value();
  const auto core = TrainLastLayerCore(transformer, frame, examples, nullptr, {});
  ASSERT_TRUE(core.ok()) << core.status();
  EXPECT_LT(core->held_out_after, core->held_out_before - 0.02);
}

}  // namespace
}  // namespace ruvd
