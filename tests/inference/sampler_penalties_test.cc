// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <vector>

#include "base/random.h"
#include "inference/limits.h"
#include "inference/sampler/penalties.h"

namespace ruvd::inference {
namespace {

using ::testing::ElementsAre;

constexpr TokenId kMask = 9;

std::vector<float> Applied(const PenaltyOptions& options, const std::vector<TokenId>& tokens,
                           int position, std::vector<float> row) {
  Penalties penalties(options, kMask);
  penalties.Observe(tokens);
  penalties.Apply(position, row, {});
  return row;
}

TEST(PenaltiesTest, RepetitionDividesPositiveAndMultipliesNegativeLogits) {
  EXPECT_THAT(Applied({.repetition = 2.0F}, {0, 1, 0, kMask}, 3, {2.0F, -2.0F, 3.0F}),
              ElementsAre(1.0F, -4.0F, 3.0F));
}

TEST(PenaltiesTest, PresenceCountsOnceAndFrequencyEveryTime) {
  EXPECT_THAT(Applied({.presence = 1.0F, .frequency = 0.5F}, {0, 1, 0, kMask}, 3, {4, 4, 4}),
              ElementsAre(2.0F, 2.5F, 4.0F));
}

TEST(PenaltiesTest, TheWindowReachesToBothSides) {
  const std::vector<TokenId> tokens = {0, 1, kMask, 2, 3};
  EXPECT_THAT(Applied({.presence = 1.0F, .window = 1}, tokens, 2, {4, 4, 4, 4}),
              ElementsAre(4.0F, 3.0F, 3.0F, 4.0F));
  EXPECT_THAT(Applied({.presence = 1.0F, .window = 1}, {0, 1}, 2, {4, 4}), ElementsAre(4.0F, 3.0F));
}

TEST(PenaltiesTest, OffChangesNothing) {
  EXPECT_THAT(Applied({.repetition = 1.0F}, {0, 1}, 2, {4, 4}), ElementsAre(4.0F, 4.0F));
}

TEST(PenaltiesTest, ForbidsTokensAndRemembersWhatTheyWere) {
  Penalties penalties({.presence = 1.0F}, kMask);
  std::vector<float> row = {5.0F, 6.0F, 7.0F};
  const std::vector<TokenId> tokens = {1};
  const std::vector<TokenId> forbidden = {1, 2};
  penalties.Observe(tokens);
  penalties.Apply(1, row, forbidden);
  EXPECT_EQ(row[2], kForbidden);
  EXPECT_EQ(penalties.OriginalLogit(2, row), 7.0F);
  EXPECT_EQ(row[1], kForbidden);
  EXPECT_EQ(penalties.OriginalLogit(1, row), 6.0F);
  EXPECT_EQ(penalties.OriginalLogit(0, row), 5.0F);
}

RC_GTEST_PROP(PenaltiesTest, UndoBringsBackTheRowAndItsMass, (uint64_t seed)) {
  Random random(seed);
  std::vector<float> row(40);
  for (float& logit : row) {
    logit = static_cast<float>(4 * random.Normal());
  }
  std::vector<TokenId> tokens(random.Below(30));
  for (TokenId& token : tokens) {
    token = static_cast<TokenId>(random.Below(row.size()));
  }
  Penalties penalties({.repetition = 1.5F, .presence = random.Bernoulli(0.5) ? -1.0F : 1.0F}, 39);
  const std::vector<float> before = row;
  const std::vector<TokenId> forbidden = {3, static_cast<TokenId>(random.Below(row.size()))};
  penalties.Observe(tokens);
  penalties.Apply(0, row, forbidden);
  const RowSummary summary = Summarise(row, 39);
  RowSummary undone = summary;
  undone.log_mass = penalties.Undo(row, summary);
  RC_ASSERT(row == before);
  const RowSummary expected = Summarise(before, 39);
  for (const float logit : before) {
    RC_ASSERT(std::abs(undone.LogProbability(logit) - expected.LogProbability(logit)) < 1e-3F);
  }
}

// Tests all penalties that requests may ask for; some leave no probability for the other tokens.
RC_GTEST_PROP(PenaltiesTest, UndoHoldsForEveryPenaltyThatIsAllowed, (uint64_t seed)) {
  Random random(seed);
  std::vector<float> row(40);
  for (float& logit : row) {
    logit = static_cast<float>(4 * random.Normal());
  }
  std::vector<TokenId> tokens(random.Below(30));
  const size_t kinds = 1 + random.Below(5);
  for (TokenId& token : tokens) {
    token = static_cast<TokenId>(random.Below(kinds));
  }
  const auto between = [&random](double low, double high) {
    return static_cast<float>(low + (high - low) * random.Uniform());
  };
  Penalties penalties({.repetition = between(0.1, limits::kMaxRepetitionPenalty),
                       .presence = between(-limits::kMaxCountPenalty, limits::kMaxCountPenalty),
                       .frequency = between(-limits::kMaxCountPenalty, limits::kMaxCountPenalty)},
                      39);
  const std::vector<float> before = row;
  penalties.Observe(tokens);
  penalties.Apply(0, row, {});
  RowSummary undone = Summarise(row, 39);
  undone.log_mass = penalties.Undo(row, undone);
  RC_ASSERT(row == before);
  const RowSummary expected = Summarise(before, 39);
  for (const float logit : before) {
    const float error = undone.LogProbability(logit) - expected.LogProbability(logit);
    RC_ASSERT(std::abs(error) < 1e-3F);
  }
}

TEST(PenaltiesTest, UndoFindsWhatAHugeBonusHid) {
  Penalties penalties({.frequency = -2}, 3);
  const std::vector<TokenId> tokens(9, 0);
  std::vector<float> row = {0, 1, 2, 0};
  penalties.Observe(tokens);
  penalties.Apply(9, row, {});
  RowSummary undone = Summarise(row, 3);
  undone.log_mass = penalties.Undo(row, undone);
  const double mass = 1 + std::exp(1) + std::exp(2) + 1;
  EXPECT_NEAR(undone.Probability(row[2]), std::exp(2) / mass, 1e-5);
}

// A mask between tokens has n-grams on both sides.
RC_GTEST_PROP(PenaltiesTest, BlockedTokensAreThoseThatWouldRepeatAnNgram, (uint64_t seed)) {
  Random random(seed);
  const int n = *rc::gen::inRange(1, 4);
  std::vector<TokenId> tokens(*rc::gen::inRange<size_t>(1, 24));
  for (TokenId& token : tokens) {
    token = random.Bernoulli(0.2) ? kMask : static_cast<TokenId>(random.Below(3));
  }
  const auto position = static_cast<size_t>(*rc::gen::inRange<size_t>(0, tokens.size() + 1));
  std::vector<TokenId> full = tokens;
  full.resize(std::max(full.size(), position + 1), kMask);
  const auto ngram_at = [&](const std::vector<TokenId>& text, size_t i) {
    return std::vector<TokenId>(text.begin() + static_cast<std::ptrdiff_t>(i),
                                text.begin() + static_cast<std::ptrdiff_t>(i) + n);
  };
  full[position] = kMask;
  std::vector<TokenId> given = full;
  given.resize(tokens.size());
  const std::vector<float> row = Applied({.no_repeat_ngram = n}, given, static_cast<int>(position),
                                         std::vector<float>(3, 1.0F));
  for (TokenId token = 0; token < 3; ++token) {
    std::vector<TokenId> text = full;
    text[position] = token;
    bool repeats = false;
    const auto size = static_cast<size_t>(n);
    for (size_t i = 0; i + size <= text.size(); ++i) {
      for (size_t j = 0; j + size <= text.size(); ++j) {
        const auto a = ngram_at(text, i);
        const bool holds = i <= position && position < i + size;
        const bool whole = std::find(a.begin(), a.end(), kMask) == a.end();
        repeats = repeats || (i != j && holds && whole && a == ngram_at(text, j));
      }
    }
    RC_ASSERT((row[token] == kForbidden) == repeats);
  }
}

}  // namespace
}  // namespace ruvd::inference
