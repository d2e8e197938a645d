// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/retrieval/denoising_guided.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <vector>

#include "base/random.h"
#include "base/reasons.h"
#include "base/status.h"

namespace ruvd::inference {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pointwise;

StepUncertainty Step(float t, float entropy, float margin = 0.5F, float movement = 0) {
  return {.t = t, .positions = 4, .entropy = entropy, .margin = margin, .movement = movement};
}

bool Queries(const DgrOptions& options, const StepUncertainty& now, int step = 10, float usual = 0,
             const DgrHistory& history = {}) {
  return DecideRetrieval(options, history, now, step, usual).query;
}

TEST(DgrTest, StrategiesHaveNames) {
  for (const DgrStrategy strategy : {DgrStrategy::kEntropy, DgrStrategy::kConfidenceGap,
                                     DgrStrategy::kHybrid, DgrStrategy::kAdaptive}) {
    EXPECT_EQ(DgrStrategyByName(DgrStrategyName(strategy)), strategy);
  }
  EXPECT_EQ(DgrStrategyByName("off"), std::nullopt);
}

TEST(DgrTest, EntropyAboveItsThresholdQueries) {
  const DgrOptions options{.strategy = DgrStrategy::kEntropy, .entropy_threshold = 0.5F};
  EXPECT_TRUE(Queries(options, Step(0.9F, 0.51F)));
  EXPECT_FALSE(Queries(options, Step(0.9F, 0.5F)));
}

TEST(DgrTest, AMarginBelowTheGapQueries) {
  const DgrOptions options{.strategy = DgrStrategy::kConfidenceGap, .min_gap = 0.2F};
  EXPECT_TRUE(Queries(options, Step(0.9F, 0, 0.19F)));
  EXPECT_FALSE(Queries(options, Step(0.9F, 0, 0.2F)));
}

TEST(DgrTest, HybridQueriesAtIntervalsAndSpikes) {
  const DgrOptions options{
      .strategy = DgrStrategy::kHybrid, .interval = 6, .spike = 2, .min_interval = 2};
  EXPECT_FALSE(Queries(options, Step(0.9F, 0.5F), 5));
  EXPECT_TRUE(Queries(options, Step(0.9F, 0.5F), 6));
  EXPECT_TRUE(Queries(options, Step(0.9F, 0.5F), 3, 2.1F));
  const DgrHistory history{.retrievals = 1, .last_step = 6};
  EXPECT_FALSE(Queries(options, Step(0.9F, 0.5F), 11, 0, history));
  EXPECT_TRUE(Queries(options, Step(0.9F, 0.5F), 12, 0, history));
}

TEST(DgrTest, AdaptiveQueriesWhereEntropyIsUnusual) {
  const DgrOptions options{.strategy = DgrStrategy::kAdaptive, .spike = 1.5F};
  EXPECT_FALSE(Queries(options, Step(0.9F, 0.99F), 10, 1.5F));
  EXPECT_TRUE(Queries(options, Step(0.9F, 0.01F), 10, 1.6F));
}

TEST(DgrTest, LimitsHoldWhateverTheStrategy) {
  for (const DgrStrategy strategy : {DgrStrategy::kEntropy, DgrStrategy::kConfidenceGap,
                                     DgrStrategy::kHybrid, DgrStrategy::kAdaptive}) {
    const DgrOptions options{
        .strategy = strategy, .interval = 1, .max_retrievals = 2, .min_interval = 3, .min_t = 0.4F};
    const StepUncertainty urgent = Step(0.9F, 1, 0);
    EXPECT_TRUE(Queries(options, urgent, 9, 9));
    EXPECT_FALSE(Queries(options, Step(0.39F, 1, 0), 9, 9));
    EXPECT_FALSE(Queries(options, urgent, 9, 9, {.retrievals = 2, .last_step = 1}));
    EXPECT_FALSE(Queries(options, urgent, 9, 9, {.retrievals = 1, .last_step = 7}));
    EXPECT_TRUE(Queries(options, urgent, 9, 9, {.retrievals = 1, .last_step = 6}));
    EXPECT_FALSE(Queries(options, UncertaintyOf({}, 0.9F), 9, 9));
  }
}

TEST(DgrTest, TellsKindsOfUncertaintyApart) {
  EXPECT_EQ(KindOf(Step(0.9F, 0.8F)), UncertaintyKind::kDiffuse);
  EXPECT_EQ(KindOf(Step(0.9F, 0.2F)), UncertaintyKind::kContested);
  EXPECT_EQ(KindOf(Step(0.9F, 0.2F, 0.1F, 0.9F)), UncertaintyKind::kUnstable);
}

TEST(DgrTest, ChecksRanges) {
  EXPECT_TRUE(CheckDgrOptions({}).ok());
  const absl::Status status = CheckDgrOptions({.min_t = 1.5F});
  EXPECT_EQ(ReasonOf(status), reasons::kInvalidArgument);
  EXPECT_THAT(MessageOf(status), HasSubstr("min_t is 1.5; choose a value between 0 and 1"));
  EXPECT_FALSE(CheckDgrOptions({.min_interval = 0}).ok());
  EXPECT_FALSE(CheckDgrOptions({.spike = std::nanf("")}).ok());
}

TEST(AugmentedQueryTest, MovesFromThePromptTowardsTheUncertainPositions) {
  const std::vector<float> prompt = {1, 0, 0};
  // The second position is certain, so only the first counts.
  const std::vector<float> hidden = {0, 5, 0, 0, 0, 9};
  const std::vector<PositionUncertainty> positions = {{.entropy = 0.5F}, {.entropy = 0}};
  EXPECT_THAT(AugmentedQuery(prompt, hidden, positions, nullptr, 0.5F),
              Pointwise(FloatNear(1e-6F), {std::sqrt(0.5F), std::sqrt(0.5F), 0.0F}));
  EXPECT_THAT(AugmentedQuery(prompt, hidden, positions, nullptr, 1), ElementsAre(0, 1, 0));
  EXPECT_THAT(AugmentedQuery(prompt, hidden, positions, nullptr, 0), ElementsAre(1, 0, 0));
  EXPECT_THAT(AugmentedQuery(prompt, {}, {}, nullptr, 1), ElementsAre(1, 0, 0));
}

TEST(AugmentedQueryTest, WhitensTheUncertainPartAsEmbeddingsAre) {
  Random random(3);
  std::vector<float> rows(40 * 3);
  for (float& value : rows) {
    value = static_cast<float>(random.Normal());
  }
  const Whitening whitening = Whitening::Estimate(Digest{}, rows, 3, 0.1F).value();
  const std::vector<float> prompt = {1, 0, 0};
  const std::vector<float> hidden = {0, 3, 4};
  const std::vector<PositionUncertainty> positions = {{.entropy = 1}};
  EXPECT_THAT(AugmentedQuery(prompt, hidden, positions, &whitening, 1),
              Pointwise(FloatNear(1e-5F), whitening.Apply(std::vector<float>{0, 0.6F, 0.8F})));
}

TEST(FilterByKindTest, KeepsWhatFitsTheKind) {
  const std::vector<RetrievedPattern> hits = {{.pattern_id = "a", .similarity = 0.9F},
                                              {.pattern_id = "b", .similarity = 0.7F}};
  const std::vector<RetrievedPattern> in_use = {{.pattern_id = "a", .similarity = 0.8F}};
  const std::vector<RetrievedPattern> far = {{.pattern_id = "c", .similarity = 0.8F}};
  const std::vector<RetrievedPattern> all = {{.pattern_id = "a", .similarity = 0.1F},
                                             {.pattern_id = "b", .similarity = 0.1F}};
  const auto kept = [&](UncertaintyKind kind, const std::vector<RetrievedPattern>& used) {
    std::string ids;
    for (const RetrievedPattern& hit : FilterByKind(hits, kind, used)) {
      ids += hit.pattern_id;
    }
    return ids;
  };
  EXPECT_EQ(kept(UncertaintyKind::kDiffuse, in_use), "ab");
  EXPECT_EQ(kept(UncertaintyKind::kUnstable, in_use), "b");
  EXPECT_EQ(kept(UncertaintyKind::kContested, in_use), "");
  EXPECT_EQ(kept(UncertaintyKind::kContested, far), "a");
  EXPECT_EQ(kept(UncertaintyKind::kDiffuse, far), "ab");
  for (const UncertaintyKind kind : {UncertaintyKind::kNone, UncertaintyKind::kDiffuse,
                                     UncertaintyKind::kUnstable, UncertaintyKind::kContested}) {
    EXPECT_EQ(kept(kind, all), "");
  }
  EXPECT_EQ(kept(UncertaintyKind::kContested, {}), "ab");
  EXPECT_EQ(kept(UncertaintyKind::kUnstable, {}), "ab");
}

}  // namespace
}  // namespace ruvd::inference
