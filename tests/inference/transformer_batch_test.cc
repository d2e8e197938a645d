// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "base/parallel.h"
#include "base/reasons.h"
#include "inference/transformer/cpu_transformer.h"
#include "tests/inference/random_adapter.h"
#include "tests/inference/tiny_model.h"

namespace ruvd::inference {
namespace {

using test::RandomAdapter;
using test::RandomTokens;
using test::RelativeRms;
using test::TinyModel;

constexpr Attention kCausal{.kind = Attention::Kind::kCausal};
constexpr Attention kBlocks{.kind = Attention::Kind::kBlockCausal, .block_length = 5};
constexpr Attention kNoisy{.kind = Attention::Kind::kNoisyAndClean, .block_length = 5};
constexpr size_t kWidth = 64;

ForwardOutput Outputs(Transformer& transformer, const ForwardInput& input) {
  ForwardOutput output;
  const absl::Status status = transformer.Forward(input, &output);
  EXPECT_TRUE(status.ok()) << status;
  return output;
}

std::vector<float> RowsOf(const std::vector<float>& all, const std::vector<int>& rows,
                          size_t width = kWidth) {
  std::vector<float> some;
  for (const int row : rows) {
    const auto begin = all.begin() + static_cast<ptrdiff_t>(static_cast<size_t>(row) * width);
    some.insert(some.end(), begin, begin + static_cast<ptrdiff_t>(width));
  }
  return some;
}

class TransformerBatchTest : public ::testing::Test {
 protected:
  const std::shared_ptr<const TinyModel> model_ = std::make_shared<TinyModel>(TinyModel::Options{});
  CpuTransformer transformer_{model_, SerialRunner()};
};

// The result of a sequence depends on nothing but itself, bit for bit: alone or with others, for
// any lengths, attention, adapters and wanted rows, and with any number of threads.
TEST_F(TransformerBatchTest, SequencesOfABatchDoNotMeet) {
  const AdapterMix one{{{RandomAdapter(*model_, 4), 1.0F}}};
  const AdapterMix two{{{RandomAdapter(*model_, 5), 0.5F}, {one.parts[0].adapter, -0.25F}}};
  const std::vector<std::vector<TokenId>> texts = {RandomTokens(23, 1), RandomTokens(1, 2),
                                                   RandomTokens(40, 3), RandomTokens(17, 4),
                                                   RandomTokens(6, 5)};
  const std::vector<ForwardInput> batch = {
      {.tokens = texts[0], .adapters = &one},
      {.tokens = texts[1], .attention = kCausal, .adapters = &two},
      {.tokens = texts[2], .attention = kNoisy, .rows = std::vector<int>{39, 3, 4}},
      {.tokens = texts[3], .attention = kBlocks, .adapters = &one, .rows = std::vector<int>{}},
      {.tokens = texts[4], .attention = kCausal, .adapters = &one, .rows = std::vector<int>{5}},
  };
  for (const int threads : {1, 3}) {
    ThreadParallelRunner runner(threads);
    CpuTransformer together(model_, runner);
    std::vector<ForwardOutput> outputs(batch.size());
    ASSERT_TRUE(together.Forward(batch, outputs).ok());
    std::vector<LogitsInput> rows;
    std::vector<float> expected_logits;
    for (size_t i = 0; i < batch.size(); ++i) {
      const ForwardOutput alone = Outputs(transformer_, batch[i]);
      EXPECT_EQ(outputs[i].hidden, alone.hidden) << "sequence " << i;
      rows.push_back({.hidden = outputs[i].hidden, .adapters = batch[i].adapters});
      std::vector<float> logits(alone.hidden.size() / kWidth * 40);
      transformer_.Logits(alone.hidden, batch[i].adapters, logits);
      expected_logits.insert(expected_logits.end(), logits.begin(), logits.end());
    }
    std::vector<float> logits(expected_logits.size());
    together.Logits(rows, logits);
    EXPECT_EQ(logits, expected_logits);
  }
}

TEST_F(TransformerBatchTest, WantedRowsAreThoseOfAllRows) {
  const std::vector<TokenId> tokens = RandomTokens(21, 6);
  const std::vector<int> wanted = {20, 2, 7, 2};
  for (const Attention& attention : {Attention{}, kCausal, kBlocks}) {
    const ForwardOutput all = Outputs(transformer_, {.tokens = tokens, .attention = attention});
    const ForwardOutput some =
        Outputs(transformer_, {.tokens = tokens, .attention = attention, .rows = wanted});
    EXPECT_EQ(some.hidden, RowsOf(all.hidden, wanted));
  }
}

TEST_F(TransformerBatchTest, NoWantedRowStillFillsTheCache) {
  const std::vector<TokenId> tokens = RandomTokens(20, 7);
  const auto next_token = [&](const std::optional<std::vector<int>>& rows) {
    KvCache cache(model_->config(), 20);
    const ForwardOutput prefix = Outputs(transformer_, {.tokens = std::span(tokens).first(19),
                                                        .attention = kCausal,
                                                        .cache = &cache,
                                                        .extend_cache = true,
                                                        .rows = rows});
    EXPECT_EQ(prefix.hidden.empty(), rows.has_value());
    EXPECT_EQ(cache.length(), 19);
    return Outputs(transformer_,
                   {.tokens = std::span(tokens).last(1), .attention = kCausal, .cache = &cache})
        .hidden;
  };
  EXPECT_EQ(next_token(std::vector<int>()), next_token(std::nullopt));
}

// If every token's keys and values are recomputed from the same text, replacing changes nothing.
// With other tokens, the layers above the first see stale keys, but a call that does not extend the
// cache leaves no trace.
TEST_F(TransformerBatchTest, ReplacesCachedPositions) {
  const std::vector<TokenId> text = RandomTokens(24, 8);
  const std::vector<float> whole = Outputs(transformer_, {.tokens = text}).hidden;
  KvCache cache(model_->config(), 30);
  Outputs(transformer_, {.tokens = text, .cache = &cache, .extend_cache = true});
  ForwardInput window{.tokens = std::span(text).subspan(8, 6), .cache = &cache, .position = 8};
  const std::vector<int> rows = {8, 9, 10, 11, 12, 13};
  EXPECT_LT(RelativeRms(Outputs(transformer_, window).hidden, RowsOf(whole, rows)), 1e-5);

  const std::vector<TokenId> other = RandomTokens(6, 9);
  window.tokens = other;
  const std::vector<float> looked = Outputs(transformer_, window).hidden;
  EXPECT_GT(RelativeRms(looked, RowsOf(whole, rows)), 0.1);
  window.tokens = std::span(text).subspan(8, 6);
  EXPECT_LT(RelativeRms(Outputs(transformer_, window).hidden, RowsOf(whole, rows)), 1e-5);

  window.tokens = other;
  window.extend_cache = true;
  EXPECT_EQ(Outputs(transformer_, window).hidden, looked);
  EXPECT_EQ(cache.length(), 24) << "tokens behind the replaced ones stay";
  const ForwardInput tail{
      .tokens = std::span(text).subspan(20, 4), .cache = &cache, .position = 20};
  EXPECT_GT(RelativeRms(Outputs(transformer_, tail).hidden, RowsOf(whole, {20, 21, 22, 23})), 1e-3)
      << "the replaced keys are seen by later calls";
}

TEST_F(TransformerBatchTest, ReplacingMayGrowTheCache) {
  const std::vector<TokenId> text = RandomTokens(20, 10);
  const std::vector<float> whole =
      Outputs(transformer_, {.tokens = text, .attention = kCausal}).hidden;
  KvCache cache(model_->config(), 20);
  Outputs(transformer_, {.tokens = std::span(text).first(12),
                         .attention = kCausal,
                         .cache = &cache,
                         .extend_cache = true});
  const ForwardOutput rest = Outputs(transformer_, {.tokens = std::span(text).subspan(9),
                                                    .attention = kCausal,
                                                    .cache = &cache,
                                                    .extend_cache = true,
                                                    .position = 9});
  EXPECT_EQ(cache.length(), 20);
  EXPECT_LT(RelativeRms(rest.hidden, RowsOf(whole, {9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19})),
            1e-5);
}

TEST_F(TransformerBatchTest, RefusesBatchesByName) {
  const std::vector<TokenId> tokens = RandomTokens(6, 11);
  const ForwardInput good{.tokens = tokens};
  KvCache cache(model_->config(), 30);
  const auto reason = [&](const ForwardInput& bad) {
    const std::vector<ForwardInput> batch = {good, bad};
    std::array<ForwardOutput, 2> outputs;
    return ReasonOf(transformer_.Forward(batch, outputs));
  };
  EXPECT_EQ(reason(good), "");
  EXPECT_EQ(reason({.tokens = tokens, .rows = std::vector<int>{6}}), reasons::kInvalidArgument);
  EXPECT_EQ(reason({.tokens = tokens, .rows = std::vector<int>{-1}}), reasons::kInvalidArgument);
  EXPECT_EQ(reason({.tokens = tokens, .position = 1}), reasons::kInvalidArgument);
  EXPECT_EQ(reason({.tokens = tokens, .cache = &cache, .position = 1}), reasons::kInvalidArgument);
  EXPECT_EQ(reason({.tokens = tokens, .cache = &cache, .position = -2}), reasons::kInvalidArgument);
  const ForwardInput shared{.tokens = tokens, .cache = &cache};
  ForwardInput extending = shared;
  extending.extend_cache = true;
  std::array<ForwardOutput, 2> outputs;
  EXPECT_TRUE(transformer_.Forward(std::vector{shared, shared}, outputs).ok());
  EXPECT_EQ(ReasonOf(transformer_.Forward(std::vector{shared, extending}, outputs)),
            reasons::kInvalidArgument);
  EXPECT_EQ(cache.length(), 0);
  EXPECT_TRUE(transformer_.Forward(std::span<const ForwardInput>(), {}).ok());
}

}  // namespace
}  // namespace ruvd::inference
