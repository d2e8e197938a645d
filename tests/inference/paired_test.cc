// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/evaluate/paired.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "base/reasons.h"
#include "base/status.h"
#include "inference/adapter/adapter_bytes.h"
#include "inference/train/score.h"
#include "inference/transformer/cpu_transformer.h"
#include "tests/inference/text_model.h"

namespace ruvd::inference {
namespace {

class EvaluateNelboTest : public ::testing::Test {
 protected:
  NelboTable Evaluate(const std::vector<ScoredDocument>& documents, const NelboOptions& options,
                      const AdaptersOfStep& adapters = nullptr) {
    const auto table = EvaluateNelbo(transformer_, documents, adapters, options);
    RUVD_CHECK(table.ok());
    return *table;
  }

  std::shared_ptr<const test::TextModel> model_ = std::make_shared<const test::TextModel>();
  CpuTransformer transformer_{model_, SerialRunner()};
  const std::vector<ScoredDocument> documents_ = {
      {.prompt = {65, 66}, .completion = {67, 68, 69, 70, 71}},
      {.prompt = {}, .completion = {72, 73, 74}},
      {.prompt = {75}, .completion = {76, 77, 78, 79, 80, 81, 82}}};
};

TEST_F(EvaluateNelboTest, ADocumentsMasksDependOnItsPlaceAndTheSeed) {
  for (const DecodingMode mode :
       {DecodingMode::kDiffusion, DecodingMode::kBlock, DecodingMode::kAutoregressive}) {
    const NelboOptions options{.mode = mode, .draws = 6, .block_length = 4, .seed = 3};
    const NelboTable all = Evaluate(documents_, options);
    const NelboTable two = Evaluate({documents_[0], documents_[1]}, options);
    EXPECT_EQ(all.nats[0], two.nats[0]);
    EXPECT_EQ(all.nats[1], two.nats[1]);
    NelboOptions other = options;
    other.seed = 4;
    if (mode != DecodingMode::kAutoregressive) {
      EXPECT_NE(Evaluate(documents_, other).nats[0], all.nats[0]);
    }
  }
}

TEST_F(EvaluateNelboTest, RefusesTokensOfAnotherModel) {
  const auto beyond = static_cast<TokenId>(model_->config().vocabulary);
  for (const DecodingMode mode :
       {DecodingMode::kDiffusion, DecodingMode::kBlock, DecodingMode::kAutoregressive}) {
    for (const ScoredDocument& document :
         {ScoredDocument{.prompt = {65, beyond}, .completion = {66}},
          ScoredDocument{.prompt = {65}, .completion = {66, beyond}}}) {
      const auto table =
          EvaluateNelbo(transformer_, std::span(&document, 1), nullptr, {.mode = mode});
      EXPECT_EQ(ReasonOf(table.status()), reasons::kInvalidArgument);
    }
  }
}

TEST_F(EvaluateNelboTest, AgreesWithTheScoreOfCompletions) {
  for (const DecodingMode mode :
       {DecodingMode::kDiffusion, DecodingMode::kBlock, DecodingMode::kAutoregressive}) {
    const NelboTable table =
        Evaluate({documents_[2]}, {.mode = mode, .draws = 3000, .block_length = 4});
    const double score =
        ScoreCompletion(transformer_, documents_[2].prompt, documents_[2].completion, nullptr,
                        {.mode = mode, .samples = 3000, .seed = 9, .block_length = 4})
            .value();
    EXPECT_NEAR(table.nats[0], score, 0.02 * score);
  }
}

TEST_F(EvaluateNelboTest, TheTableByTHoldsEveryMaskedToken) {
  const NelboTable table = Evaluate(documents_, {.draws = 7, .seed = 1});
  int64_t tokens = 0;
  for (size_t i = 0; i < 10; ++i) {
    tokens += table.tokens_by_t[i];
    EXPECT_EQ(table.tokens_by_t[i] > 0, table.nats_by_t[i] > 0);
  }
  EXPECT_GT(tokens, 7 * 3);
  EXPECT_EQ(table.tokens, (std::vector<size_t>{5, 3, 7}));
  EXPECT_NEAR(table.NatsPerToken(),
              (5 * table.nats[0] + 3 * table.nats[1] + 7 * table.nats[2]) / 15, 1e-12);
}

// Adapters are chosen by t: with an adapter above 0.5 only, a document whose masks are all below
// keeps its value.
TEST_F(EvaluateNelboTest, AdaptersAreThoseOfT) {
  const auto adapter = test::RandomAdapter(
      *model_, {{"blk.1.attn_output.weight", &model_->layer(1).output}}, 3, 0.5);
  const AdapterMix mix{.parts = {{adapter, 1.0F}}};
  std::vector<double> asked;
  const NelboOptions options{.draws = 5, .seed = 2};
  const NelboTable none = Evaluate(documents_, options);
  const NelboTable banks = Evaluate(documents_, options, [&](const ReadingStep& step) {
    asked.push_back(step.t);
    return step.t > 0.5 ? &mix : nullptr;
  });
  EXPECT_EQ(asked.size(), 15U);
  for (const double t : asked) {
    EXPECT_TRUE(t > 0 && t <= 1);
  }
  EXPECT_EQ(none.tokens_by_t, banks.tokens_by_t);  // the same masks
  EXPECT_NE(none.nats_by_t[9], banks.nats_by_t[9]);
  EXPECT_EQ(none.nats_by_t[1], banks.nats_by_t[1]);
}

TEST_F(EvaluateNelboTest, AStepSaysWhatIsKnownOfTheDocument) {
  size_t steps = 0;
  Evaluate(documents_, {.draws = 5, .seed = 2}, [&](const ReadingStep& step) {
    const ScoredDocument& document = documents_[steps++ / 5];
    EXPECT_EQ(std::vector<TokenId>(step.prompt.begin(), step.prompt.end()), document.prompt);
    const double length = static_cast<double>(document.completion.size());
    EXPECT_NEAR(static_cast<double>(step.known.size()), (1 - step.t) * length, 1e-9);
    // What is known is a part of the completion, in order.
    auto at = document.completion.begin();
    for (const TokenId token : step.known) {
      at = std::find(at, document.completion.end(), token);
      EXPECT_NE(at, document.completion.end());
      at += at != document.completion.end() ? 1 : 0;
    }
    return nullptr;
  });
  EXPECT_EQ(steps, 15U);
}

// Regression test: adapters were asked for with the masked share of the whole completion; serving
// asks with that of a block.
TEST_F(EvaluateNelboTest, AdaptersByTCannotBeScoredBlockByBlock) {
  const auto one = test::RandomAdapter(
      *model_, {{"blk.0.attn_q.weight", FindMatrix(*model_, "blk.0.attn_q.weight")}}, 1);
  const AdapterMix low{.parts = {{one, 0.5F}}};
  const AdapterMix high{.parts = {{one, 1.0F}}};
  const AdaptersOfStep by_t = [&](const ReadingStep& step) { return step.t < 0.6 ? &low : &high; };
  const AdaptersOfStep always = [&](const ReadingStep&) { return &low; };
  const NelboOptions options{
      .mode = DecodingMode::kBlock, .draws = 6, .block_length = 4, .seed = 3};
  EXPECT_EQ(ReasonOf(EvaluateNelbo(transformer_, documents_, by_t, options).status()),
            reasons::kInvalidArgument);
  EXPECT_TRUE(EvaluateNelbo(transformer_, documents_, always, options).ok());
  NelboOptions diffusion = options;
  diffusion.mode = DecodingMode::kDiffusion;
  EXPECT_TRUE(EvaluateNelbo(transformer_, documents_, by_t, diffusion).ok());
}

TEST_F(EvaluateNelboTest, RefusesBadInput) {
  const auto reason = [&](const std::vector<ScoredDocument>& documents,
                          const NelboOptions& options) {
    return ReasonOf(EvaluateNelbo(transformer_, documents, nullptr, options).status());
  };
  EXPECT_EQ(reason({}, {}), reasons::kInvalidArgument);
  EXPECT_EQ(reason({{.prompt = {1}, .completion = {}}}, {}), reasons::kInvalidArgument);
  EXPECT_EQ(reason({{.prompt = {}, .completion = {1}}}, {.mode = DecodingMode::kAutoregressive}),
            reasons::kInvalidArgument);
  EXPECT_EQ(reason(documents_, {.draws = 0}), reasons::kInvalidArgument);
  EXPECT_EQ(reason({{.prompt = {}, .completion = std::vector<TokenId>(97, 1)}}, {}),
            reasons::kContextTooLong);
  NelboOptions cancelled;
  cancelled.cancelled = [] { return true; };
  EXPECT_EQ(reason(documents_, cancelled), reasons::kCancelled);
}

}  // namespace
}  // namespace ruvd::inference
