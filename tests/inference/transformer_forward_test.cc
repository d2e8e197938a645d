// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <memory>
#include <vector>

#include "base/parallel.h"
#include "base/reasons.h"
#include "base/status.h"
#include "inference/model/limits.h"
#include "inference/model/linear.h"
#include "inference/transformer/cpu_transformer.h"
#include "tests/inference/reference_transformer.h"
#include "tests/inference/tiny_model.h"

namespace ruvd::inference {
namespace {

using test::RandomTokens;
using test::RelativeRms;
using test::TinyModel;
using test::Values;

using test::Reference;
using test::Sees;

std::vector<float> Hidden(Transformer& transformer, const ForwardInput& input) {
  ForwardOutput output;
  const absl::Status status = transformer.Forward(input, &output);
  EXPECT_TRUE(status.ok()) << status;
  return output.hidden;
}

constexpr Attention kCausal{.kind = Attention::Kind::kCausal};
constexpr Attention kBlocks{.kind = Attention::Kind::kBlockCausal, .block_length = 5};
constexpr Attention kNoisy{.kind = Attention::Kind::kNoisyAndClean, .block_length = 5};

TEST(TransformerTest, MatchesTheReferenceInEveryAttentionKindAndFormat) {
  const auto identity = [](size_t i) { return static_cast<double>(i); };
  struct Case {
    Attention attention;
    Sees sees;
    std::function<double(size_t)> position;
  };
  const std::vector<Case> cases = {
      {{}, [](size_t, size_t) { return true; }, identity},
      {kCausal, [](size_t i, size_t j) { return j <= i; }, identity},
      {kBlocks, [](size_t i, size_t j) { return j / 5 <= i / 5; }, identity},
      {kNoisy,
       [](size_t i, size_t j) {
         const size_t qb = i % 24 / 5;
         const size_t kb = j % 24 / 5;
         if (i < 24) {
           return j < 24 ? qb == kb : kb < qb;
         }
         return j >= 24 && kb <= qb;
       },
       [](size_t i) { return static_cast<double>(i % 24); }},
  };
  const std::vector<TokenId> tokens = RandomTokens(48, 3);
  for (const TensorType type :
       {TensorType::kF32, TensorType::kF16, TensorType::kQ8_0, TensorType::kQ4_0}) {
    const auto model = std::make_shared<TinyModel>(TinyModel::Options{.type = type});
    CpuTransformer transformer(model, SerialRunner());
    for (const Case& c : cases) {
      const std::vector<float> expected = Reference(*model, c.sees, c.position).Hidden(tokens);
      const std::vector<float> hidden =
          Hidden(transformer, {.tokens = tokens, .attention = c.attention});
      EXPECT_LT(RelativeRms(hidden, expected), 3e-6)
          << TensorTypeName(type) << " attention " << static_cast<int>(c.attention.kind);
    }
  }
}

TEST(TransformerTest, TakesEveryHeadFromItsFileSizes) {
  // The heads are wider than the embedding allows; one key-value head, no biases, odd feed-forward
  // width.
  const TinyModel::Options options{
      .width = 48, .heads = 3, .kv_heads = 1, .head_size = 10, .ffn = 37, .biases = false};
  const auto model = std::make_shared<TinyModel>(options);
  CpuTransformer transformer(model, SerialRunner());
  const std::vector<TokenId> tokens = RandomTokens(19, 3);
  Reference reference(
      *model, [](size_t, size_t) { return true; }, [](size_t i) { return static_cast<double>(i); });
  EXPECT_LT(RelativeRms(Hidden(transformer, {.tokens = tokens}), reference.Hidden(tokens)), 3e-6);
}

// Feeding a text in pieces through the cache gives what one pass over the whole text gives.
void CheckCachedEqualsWhole(const Attention& attention, size_t piece) {
  const auto model = std::make_shared<TinyModel>(TinyModel::Options{});
  CpuTransformer transformer(model, SerialRunner());
  const std::vector<TokenId> tokens = RandomTokens(23, 3);
  const std::vector<float> whole = Hidden(transformer, {.tokens = tokens, .attention = attention});
  KvCache cache(model->config(), 30);
  std::vector<float> pieces;
  for (size_t begin = 0; begin < tokens.size(); begin += piece) {
    const size_t count = std::min(piece, tokens.size() - begin);
    const ForwardInput input{.tokens = std::span(tokens).subspan(begin, count),
                             .attention = attention,
                             .cache = &cache,
                             .extend_cache = true};
    // A forward that does not extend the cache leaves no trace.
    ForwardInput look = input;
    look.extend_cache = false;
    const std::vector<float> first = Hidden(transformer, look);
    EXPECT_EQ(cache.length(), static_cast<int>(begin));
    const std::vector<float> second = Hidden(transformer, input);
    EXPECT_EQ(first, second);
    EXPECT_EQ(cache.length(), static_cast<int>(begin + count));
    pieces.insert(pieces.end(), second.begin(), second.end());
  }
  EXPECT_LT(RelativeRms(pieces, whole), 1e-5);
  cache.Truncate(3);
  EXPECT_EQ(cache.length(), 3);
  cache.Truncate(9);
  EXPECT_EQ(cache.length(), 3) << "truncation never makes tokens appear";
}

TEST(TransformerTest, CachedCausalEqualsOnePass) {
  CheckCachedEqualsWhole(kCausal, 1);
  CheckCachedEqualsWhole(kCausal, 7);
}

TEST(TransformerTest, CachedBlockCausalEqualsOnePass) {
  CheckCachedEqualsWhole(kBlocks, 5);
  CheckCachedEqualsWhole(kBlocks, 10);
}

// Returns which rows of the output change when the token at `changed` does.
std::vector<bool> ChangedRows(Transformer& transformer, std::vector<TokenId> tokens,
                              const Attention& attention, size_t changed) {
  const std::vector<float> before = Hidden(transformer, {.tokens = tokens, .attention = attention});
  tokens[changed] = (tokens[changed] + 1) % 40;
  const std::vector<float> after = Hidden(transformer, {.tokens = tokens, .attention = attention});
  const size_t width = before.size() / tokens.size();
  std::vector<bool> rows(tokens.size());
  for (size_t i = 0; i < before.size(); ++i) {
    rows[i / width] = rows[i / width] || before[i] != after[i];
  }
  return rows;
}

// Tests the BD3-LM mask by perturbation: a noisy block sees itself and the clean blocks before it.
TEST(TransformerTest, NoisyBlocksSeeThemselvesAndEarlierCleanBlocksOnly) {
  const auto model = std::make_shared<TinyModel>(TinyModel::Options{});
  CpuTransformer transformer(model, SerialRunner());
  const size_t half = 18;  // blocks of 5, 5, 5 and 3
  const std::vector<TokenId> tokens = RandomTokens(2 * half, 3);
  for (size_t changed = 0; changed < 2 * half; ++changed) {
    const std::vector<bool> rows = ChangedRows(transformer, tokens, kNoisy, changed);
    const size_t block = changed % half / 5;
    for (size_t i = 0; i < 2 * half; ++i) {
      const size_t own = i % half / 5;
      const bool expected = changed < half ? (i < half && own == block)
                            : i < half     ? block < own
                                           : block <= own;
      EXPECT_EQ(rows[i], expected) << "token " << changed << " changed, row " << i;
    }
  }
}

TEST(TransformerTest, NoisyAndCleanEqualsCachedCleanPrefixes) {
  const auto model = std::make_shared<TinyModel>(TinyModel::Options{});
  CpuTransformer transformer(model, SerialRunner());
  const size_t half = 20;
  std::vector<TokenId> noisy = RandomTokens(half, 5);
  const std::vector<TokenId> clean = RandomTokens(half, 6);
  std::vector<TokenId> both = noisy;
  both.insert(both.end(), clean.begin(), clean.end());
  const std::vector<float> joint = Hidden(transformer, {.tokens = both, .attention = kNoisy});

  KvCache cache(model->config(), static_cast<int>(half));
  std::vector<float> noisy_rows;
  std::vector<float> clean_rows;
  for (size_t begin = 0; begin < half; begin += 5) {
    const auto run = [&](const std::vector<TokenId>& text, bool extend) {
      return Hidden(transformer, {.tokens = std::span(text).subspan(begin, 5),
                                  .attention = kBlocks,
                                  .cache = &cache,
                                  .extend_cache = extend});
    };
    const std::vector<float> a = run(noisy, false);
    noisy_rows.insert(noisy_rows.end(), a.begin(), a.end());
    const std::vector<float> b = run(clean, true);
    clean_rows.insert(clean_rows.end(), b.begin(), b.end());
  }
  noisy_rows.insert(noisy_rows.end(), clean_rows.begin(), clean_rows.end());
  EXPECT_LT(RelativeRms(joint, noisy_rows), 1e-5);
}

TEST(TransformerTest, ResultsAreEqualForAnyNumberOfThreads) {
  const TinyModel::Options options{.width = 256,
                                   .heads = 8,
                                   .kv_heads = 4,
                                   .head_size = 32,
                                   .ffn = 512,
                                   .type = TensorType::kQ8_0};
  const auto model = std::make_shared<TinyModel>(options);
  const std::vector<TokenId> tokens = RandomTokens(61, 3);
  std::vector<std::vector<float>> results;
  for (const int threads : {1, 2, 5}) {
    ThreadParallelRunner runner(threads);
    CpuTransformer transformer(model, runner);
    std::vector<float> all = Hidden(transformer, {.tokens = tokens});
    std::vector<float> logits(tokens.size() * 40);
    transformer.Logits(all, nullptr, logits);
    std::vector<float> back(all.size());
    MultiplyTransposed(runner, logits, model->output(), back);
    all.insert(all.end(), logits.begin(), logits.end());
    all.insert(all.end(), back.begin(), back.end());
    results.push_back(std::move(all));
  }
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(results[0], results[2]);
}

TEST(TransformerTest, MultipliesByTransposedWeights) {
  for (const TensorType type : {TensorType::kF32, TensorType::kF16, TensorType::kQ8_0}) {
    const TinyModel::Options options{.width = 288, .vocabulary = 71, .type = type};
    const auto model = std::make_shared<TinyModel>(options);
    const Matrix& w = model->output();
    const std::vector<float> values = Values(w);
    Random random(4);
    std::vector<float> dy(6 * 71), dx(6 * 288), expected(6 * 288);
    for (float& value : dy) {
      value = static_cast<float>(random.Normal());
    }
    MultiplyTransposed(SerialRunner(), dy, w, dx);
    for (size_t i = 0; i < 6; ++i) {
      for (size_t c = 0; c < 288; ++c) {
        double sum = 0;
        for (size_t o = 0; o < 71; ++o) {
          sum += static_cast<double>(dy[i * 71 + o]) * values[o * 288 + c];
        }
        expected[i * 288 + c] = static_cast<float>(sum);
      }
    }
    EXPECT_LT(RelativeRms(dx, expected), 1e-6) << TensorTypeName(type);
  }
}

TEST(TransformerTest, EmbeddingIsTheNormalisedMeanOfTheHiddenStates) {
  const auto model = std::make_shared<TinyModel>(TinyModel::Options{});
  CpuTransformer transformer(model, SerialRunner());
  const std::vector<TokenId> tokens = RandomTokens(7, 3);
  const std::vector<float> hidden = Hidden(transformer, {.tokens = tokens});
  const std::vector<float> embedding = EmbedTokens(transformer, tokens).value();
  ASSERT_EQ(embedding.size(), 64U);
  std::vector<double> mean(64);
  double squares = 0;
  for (size_t j = 0; j < 64; ++j) {
    for (size_t i = 0; i < 7; ++i) {
      mean[j] += hidden[i * 64 + j] / 7.0;
    }
    squares += mean[j] * mean[j];
  }
  for (size_t j = 0; j < 64; ++j) {
    EXPECT_NEAR(embedding[j], mean[j] / std::sqrt(squares), 1e-6);
  }
}

// Found by review: a model with a sliding window refused its own embedding, so it could not be
// served.
TEST(TransformerTest, EmbedsWithTheAttentionOfTheFile) {
  const auto model = std::make_shared<TinyModel>(TinyModel::Options{});
  model->mutable_config().causal = true;
  model->mutable_config().sliding_window = 4;
  CpuTransformer transformer(model, SerialRunner());
  const std::vector<TokenId> tokens = RandomTokens(9, 3);
  const auto embedding = EmbedTokens(transformer, tokens);
  ASSERT_TRUE(embedding.ok()) << embedding.status();
  std::vector<float> mean(64);
  const std::vector<float> hidden = Hidden(transformer, {.tokens = tokens, .attention = kCausal});
  for (size_t i = 0; i < hidden.size(); ++i) {
    mean[i % 64] += hidden[i];
  }
  double product = 0;
  double squares = 0;
  for (size_t j = 0; j < 64; ++j) {
    product += static_cast<double>(mean[j]) * (*embedding)[j];
    squares += static_cast<double>(mean[j]) * mean[j];
  }
  EXPECT_NEAR(product, std::sqrt(squares), 1e-5 * std::sqrt(squares));
}

// Found by review: the whole prompt was embedded in one forward, whose memory was never freed.
TEST(TransformerTest, EmbedsTheEndOfALongTextOnly) {
  TinyModel::Options options;
  options.context = 4000;
  const auto model = std::make_shared<TinyModel>(options);
  CpuTransformer transformer(model, SerialRunner());
  const std::vector<TokenId> tokens = RandomTokens(3000, 3);
  const std::span<const TokenId> end = std::span(tokens).last(limits::kEmbeddedTokens);
  EXPECT_EQ(EmbedTokens(transformer, tokens).value(), EmbedTokens(transformer, end).value());
  EXPECT_EQ(ReasonOf(EmbedTokens(transformer, RandomTokens(4001, 3)).status()),
            reasons::kContextTooLong);
}

TEST(TransformerTest, ALongForwardGivesItsMemoryBack) {
  TinyModel::Options options;
  options.context = 4000;
  options.type = TensorType::kQ8_0;
  const auto model = std::make_shared<TinyModel>(options);
  CpuTransformer transformer(PackedWeights::Pack(model, SerialRunner()), SerialRunner());
  const std::vector<float> before =
      Hidden(transformer, {.tokens = RandomTokens(limits::kKeptRows, 3)});
  const uint64_t bytes = transformer.activation_bytes();
  Hidden(transformer, {.tokens = RandomTokens(3000, 3)});
  EXPECT_GT(transformer.activation_bytes(), 4 * bytes);
  EXPECT_EQ(Hidden(transformer, {.tokens = RandomTokens(limits::kKeptRows, 3)}), before);
  EXPECT_LE(transformer.activation_bytes(), bytes);
}

TEST(TransformerTest, RefusesBadInputByName) {
  const auto model = std::make_shared<TinyModel>(TinyModel::Options{});
  CpuTransformer transformer(model, SerialRunner());
  ForwardOutput output;
  const auto reason = [&](const ForwardInput& input) {
    return ReasonOf(transformer.Forward(input, &output));
  };
  EXPECT_EQ(reason({}), reasons::kInvalidArgument);
  const std::vector<TokenId> foreign = {1, 40};
  EXPECT_EQ(reason({.tokens = foreign}), reasons::kInvalidArgument);
  const std::vector<TokenId> tokens = RandomTokens(65, 3);
  EXPECT_EQ(reason({.tokens = tokens}), reasons::kContextTooLong);
  const absl::Status too_long = transformer.Forward({.tokens = tokens}, &output);
  EXPECT_THAT(MessageOf(too_long), ::testing::HasSubstr("65 tokens are 1 more"));
  const std::span<const TokenId> some = std::span(tokens).first(6);
  EXPECT_EQ(reason({.tokens = some, .attention = {.kind = Attention::Kind::kBlockCausal}}),
            reasons::kInvalidArgument);
  EXPECT_EQ(reason({.tokens = some.first(5), .attention = kNoisy}), reasons::kInvalidArgument);
  KvCache cache(model->config(), 5);
  EXPECT_EQ(reason({.tokens = some, .attention = kNoisy, .cache = &cache}),
            reasons::kInvalidArgument);
  EXPECT_EQ(reason({.tokens = some, .attention = kCausal, .cache = &cache}),
            reasons::kContextTooLong);
  EXPECT_EQ(reason({.tokens = some}), "") << "still works after errors";
}

}  // namespace
}  // namespace ruvd::inference
