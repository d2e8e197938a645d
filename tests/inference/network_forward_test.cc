// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Compares the network of training with the transformer that serves.

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "base/reasons.h"
#include "base/status.h"
#include "inference/adapter/adapter_bytes.h"
#include "inference/train/adapter_changes.h"
#include "inference/train/model_weights.h"
#include "inference/train/network_pass.h"
#include "inference/transformer/cpu_transformer.h"
#include "tests/inference/text_model.h"
#include "tests/paths.h"

namespace ruvd::inference::train {
namespace {

const Attention kCausal{.kind = Attention::Kind::kCausal};
const Attention kBlocks{.kind = Attention::Kind::kBlockCausal, .block_length = 16};
const Attention kNoisy{.kind = Attention::Kind::kNoisyAndClean, .block_length = 16};

TrainingSequence Sequence(const ModelConfig& config, size_t tokens, const Attention& attention,
                          uint64_t seed) {
  Random random(seed);
  const auto token = [&] {
    return static_cast<TokenId>(random.Below(static_cast<uint64_t>(config.vocabulary)));
  };
  TrainingSequence sequence{.tokens = {}, .attention = attention, .predictions = {}};
  for (size_t i = 0; i < tokens; ++i) {
    sequence.tokens.push_back(token());
  }
  for (size_t i = 0; i < tokens; i += 3) {
    sequence.predictions.push_back({.row = static_cast<uint32_t>(i), .target = token()});
  }
  return sequence;
}

// Cross-entropies as the transformer computes them, sums in double.
std::vector<double> TransformerNats(Transformer& transformer, const TrainingSequence& sequence,
                                    const AdapterMix* adapters) {
  const auto width = static_cast<size_t>(transformer.model().config().width);
  const auto vocabulary = static_cast<size_t>(transformer.model().config().vocabulary);
  ForwardOutput output;
  RUVD_CHECK(
      transformer
          .Forward(
              {.tokens = sequence.tokens, .attention = sequence.attention, .adapters = adapters},
              &output)
          .ok());
  std::vector<double> nats;
  for (const Prediction& prediction : sequence.predictions) {
    std::vector<float> logits(vocabulary);
    transformer.Logits(std::span(output.hidden).subspan(prediction.row * width, width), adapters,
                       logits);
    double mass = 0;
    for (const float logit : logits) {
      mass += std::exp(static_cast<double>(logit));
    }
    nats.push_back(std::log(mass) - static_cast<double>(logits[prediction.target]));
  }
  return nats;
}

void ExpectSameNats(const std::shared_ptr<const Model>& model, const AdapterMix* base,
                    ChangeSet<float>* changes, const AdapterMix* whole) {
  CpuTransformer transformer(model, SerialRunner());
  const ModelConfig& config = model->config();
  const std::vector<TrainingSequence> batch = {
      Sequence(config, 40, {}, 1), Sequence(config, 33, kCausal, 2),
      Sequence(config, 64, kNoisy, 3), Sequence(config, 37, kBlocks, 4)};
  ASSERT_TRUE(CheckSequences(config, batch).ok());
  const auto weights = ModelWeights::Create(model, base, SerialRunner());
  ASSERT_TRUE(weights.ok()) << weights.status();
  NetworkPass<float> pass(**weights, SerialRunner(), {});
  pass.Run(batch, {.changes = changes});
  for (size_t i = 0; i < batch.size(); ++i) {
    const std::vector<double> expected = TransformerNats(transformer, batch[i], whole);
    for (size_t j = 0; j < expected.size(); ++j) {
      EXPECT_NEAR(pass.nats(i)[j], expected[j], 1e-5 * std::max(1.0, expected[j]));
    }
  }
}

TEST(NetworkForwardTest, EqualsTheTransformerOnShippedModels) {
  for (const char* name : {"ruvdllm-5m.q8_0.gguf", "ruvdllm-29m.q8_0.gguf"}) {
    const auto model = Model::Load(test::SourceDir() + "/deploy/models/" + name);
    ASSERT_TRUE(model.ok()) << model.status();
    ExpectSameNats(*model, nullptr, nullptr, nullptr);
  }
}

// Compares changes on every linear layer above adapters beneath with the transformer, which has
// both as adapters.
TEST(NetworkForwardTest, ChangesAndAdaptersBeneathAreThoseOfTheTransformer) {
  const auto model = std::make_shared<const test::TextModel>();
  const std::vector<Site> sites = SitesFrom(model->config(), 0, true);
  Random random(3);
  const auto fill = [&](ChangeSet<float>* changes) {
    for (float& value : changes->parameters()) {
      value += static_cast<float>(0.05 * random.Normal());
    }
  };
  ChangeSet<float> beneath(NetworkShape::Of(model->config()));
  ASSERT_TRUE(AddLoras(*model, sites, 3, false, 1, &beneath).ok());
  fill(&beneath);
  ChangeSet<float> changes(NetworkShape::Of(model->config()));
  ASSERT_TRUE(AddLoras(*model, std::span(sites).first(8), 2, true, 2, &changes).ok());
  ASSERT_TRUE(AddLoras(*model, std::span(sites).subspan(8), 4, false, 3, &changes).ok());
  fill(&changes);
  const AdapterMix base{.parts = {{AdapterOf(*model, beneath, "base", 1), 0.5F}}};
  AdapterMix whole = base;
  whole.parts.push_back({AdapterOf(*model, changes, "change", 1), 1.0F});
  EXPECT_TRUE(CheckAdapter(*whole.parts[1].adapter, *model).ok());
  ExpectSameNats(model, &base, &changes, &whole);
}

TEST(NetworkForwardTest, ThreadsChangeNothing) {
  const auto model = std::make_shared<const test::TextModel>();
  ChangeSet<float> changes(NetworkShape::Of(model->config()));
  ASSERT_TRUE(AddLoras(*model, SitesFrom(model->config(), 0, true), 4, false, 3, &changes).ok());
  for (size_t i = 0; i < changes.parameters().size(); ++i) {
    changes.parameters()[i] += 0.01F * static_cast<float>(i % 7);
  }
  const std::vector<TrainingSequence> batch = {Sequence(model->config(), 40, {}, 1),
                                               Sequence(model->config(), 64, kNoisy, 3)};
  std::vector<std::vector<float>> gradients;
  for (const int threads : {1, 2, 5}) {
    ThreadParallelRunner runner(threads);
    const auto weights = ModelWeights::Create(model, nullptr, runner).value();
    NetworkPass<float> pass(*weights, runner, {});
    std::vector<float>& gradient = gradients.emplace_back(changes.parameters().size());
    const std::vector<float*> places(batch.size(), gradient.data());
    pass.Run(batch, {.changes = &changes, .gradients = places});
  }
  EXPECT_EQ(gradients[0], gradients[1]);
  EXPECT_EQ(gradients[0], gradients[2]);
}

TEST(CheckSequencesTest, RefusesWhatDoesNotFit) {
  const test::TextModel model;
  const ModelConfig& config = model.config();
  const auto reason = [&](TrainingSequence sequence) {
    return ReasonOf(CheckSequences(config, std::span(&sequence, 1)));
  };
  const TrainingSequence good = Sequence(config, 8, {}, 1);
  EXPECT_EQ(reason(good), "");
  EXPECT_EQ(ReasonOf(CheckSequences(config, {})), reasons::kInvalidArgument);
  TrainingSequence bad = good;
  bad.tokens[3] = 258;
  EXPECT_EQ(reason(bad), reasons::kInvalidArgument);
  bad = good;
  bad.predictions.clear();
  EXPECT_EQ(reason(bad), reasons::kInvalidArgument);
  bad = good;
  bad.predictions[0].row = 8;
  EXPECT_EQ(reason(bad), reasons::kInvalidArgument);
  bad = good;
  bad.predictions[0].target = 258;
  EXPECT_EQ(reason(bad), reasons::kInvalidArgument);
  bad = good;
  bad.predictions[0].weight = std::nan("");
  EXPECT_EQ(reason(bad), reasons::kInvalidArgument);
  for (const double t : {-0.1, 1.1, std::nan("")}) {
    bad = good;
    bad.t = t;
    EXPECT_EQ(reason(bad), reasons::kInvalidArgument);
  }
  bad = good;
  bad.attention = {.kind = Attention::Kind::kBlockCausal};
  EXPECT_EQ(reason(bad), reasons::kInvalidArgument);
  bad = Sequence(config, 7, kNoisy, 1);
  EXPECT_EQ(reason(bad), reasons::kInvalidArgument);
  EXPECT_EQ(reason(Sequence(config, 97, {}, 1)), reasons::kContextTooLong);
  EXPECT_EQ(reason(Sequence(config, 192, kNoisy, 1)), "");
}

TEST(SiteTest, NamesAreThoseOfTensors) {
  const test::TextModel model;
  const std::vector<Site> sites = SitesFrom(model.config(), 0, true);
  EXPECT_EQ(sites.size(), 15U);
  const NetworkShape shape = NetworkShape::Of(model.config());
  for (const Site& site : sites) {
    const Matrix* matrix = FindMatrix(model, TensorOf(site));
    ASSERT_NE(matrix, nullptr);
    EXPECT_EQ(static_cast<size_t>(matrix->rows), shape.Out(site.linear));
    EXPECT_EQ(static_cast<size_t>(matrix->columns), shape.In(site.linear));
    EXPECT_EQ(SiteOf(model.config(), TensorOf(site)).value(), site);
  }
  EXPECT_FALSE(SiteOf(model.config(), "blk.2.attn_q.weight").ok());
  EXPECT_FALSE(SiteOf(model.config(), "token_embd.weight").ok());
}

}  // namespace
}  // namespace ruvd::inference::train
