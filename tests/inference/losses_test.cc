// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/train/losses.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "base/reasons.h"
#include "base/status.h"
#include "tests/inference/text_model.h"

namespace ruvd::inference::train {
namespace {

constexpr double kExact = std::numeric_limits<double>::infinity();

TrainingExample Example(const std::string& prompt, const std::string& completion,
                        float weight = 1.0F) {
  const auto tokens = [](const std::string& text) {
    const auto bytes = AsBytes(text);
    return std::vector<TokenId>(bytes.begin(), bytes.end());
  };
  return {.prompt = tokens(prompt), .completion = tokens(completion), .weight = weight};
}

// Returns -log p of a token given which of the others are seen: any function will do.
double Nats(size_t position, unsigned seen) {
  return 1.0 + std::sin(static_cast<double>(7 * seen + 3 * position));
}

// Exact-count masking, the average over all orders of revealing, and the integral over t of the
// 1/t-weighted loss are equal.
TEST(MaskedDiffusionTest, ExactCountsEqualAllOrdersAndTheIntegral) {
  constexpr size_t kLength = 4;
  double exact = 0;
  std::map<size_t, int> subsets;
  for (unsigned masked = 1; masked < (1U << kLength); ++masked) {
    ++subsets[static_cast<size_t>(std::popcount(masked))];
  }
  const auto sum_of_masked = [&](unsigned masked) {
    double sum = 0;
    for (size_t i = 0; i < kLength; ++i) {
      sum += (masked >> i & 1U) != 0 ? Nats(i, ~masked & ((1U << kLength) - 1)) : 0.0;
    }
    return sum;
  };
  // The weights are those of the code: a corruption with that mask, made into a sequence.
  for (unsigned masked = 1; masked < (1U << kLength); ++masked) {
    const auto k = static_cast<size_t>(std::popcount(masked));
    Corruption corruption{.masked = {}, .length = kLength};
    for (size_t i = 0; i < kLength; ++i) {
      if ((masked >> i & 1U) != 0) {
        corruption.masked.push_back({.index = i, .weight = double{kLength} / double(k)});
      }
    }
    const TrainingSequence sequence =
        CorruptedSequence({.mask = 257, .shift = false}, Example("", "abcd"), corruption,
                          {.weight_clamp = kExact}, 1.0);
    double loss = 0;
    for (const Prediction& prediction : sequence.predictions) {
      loss += prediction.weight * Nats(prediction.row, ~masked & ((1U << kLength) - 1));
    }
    exact += loss / kLength / subsets[k];
  }
  double orders = 0;
  std::vector<size_t> order = {0, 1, 2, 3};
  int count = 0;
  do {
    unsigned seen = 0;
    for (const size_t i : order) {
      orders += Nats(i, seen) / kLength;
      seen |= 1U << i;
    }
    ++count;
  } while (std::ranges::next_permutation(order).found);
  orders /= count;
  double integral = 0;
  constexpr int kSteps = 200'000;
  for (int step = 0; step < kSteps; ++step) {
    const double t = (step + 0.5) / kSteps;
    for (unsigned masked = 1; masked < (1U << kLength); ++masked) {
      const int k = std::popcount(masked);
      integral += std::pow(t, k) * std::pow(1 - t, int{kLength} - k) / t * sum_of_masked(masked) /
                  kLength / kSteps;
    }
  }
  EXPECT_NEAR(exact, orders, 1e-12);
  EXPECT_NEAR(integral, orders, 1e-6);
}

TEST(MaskedDiffusionTest, OnlyTheCompletionIsMaskedAndTheRowBeforePredicts) {
  const test::TextModel model;
  const auto objective =
      MakeObjective(model, {Example("abcd", "efghij")}, {.batch = 12, .seed = 3}).value();
  std::vector<int> counts(7);
  for (const TrainingSequence& sequence : objective->Draw(0)) {
    const std::vector<TokenId> text = Example("abcdefghij", "").prompt;
    size_t masked = 0;
    for (size_t i = 0; i < text.size(); ++i) {
      EXPECT_TRUE(sequence.tokens[i] == text[i] || (i >= 4 && sequence.tokens[i] == 257));
      masked += sequence.tokens[i] == 257 ? 1 : 0;
    }
    ASSERT_EQ(sequence.predictions.size(), masked);
    ++counts[masked];
    for (const Prediction& prediction : sequence.predictions) {
      EXPECT_EQ(sequence.tokens[prediction.row + 1], 257U);
      EXPECT_EQ(prediction.target, text[prediction.row + 1]);
      EXPECT_NEAR(prediction.weight, std::min(6.0 / double(masked), 4.0) / 6 / 12, 1e-12);
    }
  }
  for (size_t k = 1; k <= 6; ++k) {
    EXPECT_EQ(counts[k], 2);  // stratified: twelve strata, six values
  }
}

TEST(BlockDiffusionTest, EveryBlockIsMaskedBehindItsCleanText) {
  const test::TextModel model;
  const auto objective =
      MakeObjective(model, {Example("abcdef", "ghijklm")},
                    {.loss = {.kind = LossKind::kBlockDiffusion, .block_length = 4}, .batch = 3})
          .value();
  const std::vector<TokenId> text = Example("abcdefghijklm", "").prompt;
  for (const TrainingSequence& sequence : objective->Draw(2)) {
    EXPECT_EQ(sequence.attention.kind, Attention::Kind::kNoisyAndClean);
    ASSERT_EQ(sequence.tokens.size(), 26U);
    std::vector<size_t> masked(4);
    for (size_t i = 0; i < 13; ++i) {
      EXPECT_EQ(sequence.tokens[13 + i], text[i]);
      EXPECT_TRUE(i >= 6 || sequence.tokens[i] == text[i]);
      masked[i / 4] += sequence.tokens[i] == 257 ? 1 : 0;
    }
    EXPECT_EQ(masked[0], 0U);
    EXPECT_GE(masked[1], 1U);  // of g, h
    EXPECT_GE(masked[2], 1U);
    EXPECT_EQ(masked[3], 1U);  // of m
    for (const Prediction& prediction : sequence.predictions) {
      // The first token of a block is read from the clean token before it.
      const bool clean = prediction.row >= 13;
      const size_t position = (clean ? prediction.row - 13 : prediction.row) + 1;
      EXPECT_EQ(clean, position % 4 == 0);
      EXPECT_EQ(prediction.target, text[position]);
      EXPECT_EQ(sequence.tokens[position], 257U);
      const size_t block = position / 4;
      const double length = block == 1 ? 2 : block == 2 ? 4 : 1;
      EXPECT_NEAR(prediction.weight,
                  std::min(length / static_cast<double>(masked[block]), 4.0) / 7 / 3, 1e-12);
    }
  }
}

TEST(NextTokenTest, PredictsTheCompletionOnly) {
  const TrainingSequence sequence = NextTokenSequence(Example("ab", "cde", 0.5F), 2.0);
  EXPECT_EQ(sequence.attention.kind, Attention::Kind::kCausal);
  ASSERT_EQ(sequence.tokens.size(), 4U);
  ASSERT_EQ(sequence.predictions.size(), 3U);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(sequence.predictions[i].row, i + 1);
    EXPECT_EQ(sequence.predictions[i].target, static_cast<TokenId>('c' + i));
    EXPECT_NEAR(sequence.predictions[i].weight, 1.0 / 3, 1e-12);
  }
  EXPECT_EQ(NextTokenSequence(Example("", "cde"), 1.0).predictions.size(), 2U);
}

TEST(ObjectiveTest, ABatchDependsOnSeedAndStepOnly) {
  const test::TextModel model;
  const auto make = [&](uint64_t seed) {
    return MakeObjective(model,
                         {Example("a", "bcdefg"), Example("h", "ijklmn", 2.0F), Example("", "op")},
                         {.batch = 2, .seed = seed})
        .value();
  };
  const auto one = make(1), same = make(1), other = make(2);
  static_cast<void>(one->Draw(0));
  bool differs = false;
  std::map<TokenId, int> first_tokens;
  for (uint64_t step = 0; step < 6; ++step) {
    const auto a = one->Draw(5 - step), b = same->Draw(5 - step), c = other->Draw(5 - step);
    for (size_t i = 0; i < 2; ++i) {
      EXPECT_EQ(a[i].tokens, b[i].tokens);
      differs = differs || a[i].tokens != c[i].tokens;
      ++first_tokens[static_cast<TokenId>(a[i].tokens.size())];
    }
  }
  EXPECT_TRUE(differs);
  EXPECT_EQ(first_tokens[2], 4);  // twelve places, three examples in turn
  EXPECT_EQ(first_tokens[7], 8);
}

// Compares the gradient of the objective by each loss with differences of the published formula.
TEST(PreferenceTest, WeightsAreTheDerivativeOfTheObjective) {
  const test::TextModel model;
  const PreferencePair pair{.prompt = {1, 2}, .chosen = {3, 4, 5}, .rejected = {6, 7}};
  const auto objective =
      MakePreferenceObjective(model, {pair}, {.beta = 0.7, .samples = 2, .pairs = 1}).value();
  EXPECT_TRUE(objective->compares());
  const std::vector<TrainingSequence> batch = objective->Draw(0);
  ASSERT_EQ(batch.size(), 4U);
  std::vector<double> policy = {1.0, 2.0, 0.5, 3.0};
  const std::vector<double> reference = {1.5, 1.8, 0.9, 2.0};
  const auto value = [&] {
    const double chosen = -(policy[0] + policy[1]) + reference[0] + reference[1];
    const double rejected = -(policy[2] + policy[3]) + reference[2] + reference[3];
    return std::log1p(std::exp(-0.7 * (chosen - rejected)));
  };
  std::vector<TrainingSequence> weighted = batch;
  EXPECT_NEAR(objective->Compare(policy, reference, weighted), value(), 1e-12);
  for (size_t i = 0; i < 4; ++i) {
    policy[i] += 1e-6;
    const double above = value();
    policy[i] -= 2e-6;
    const double below = value();
    policy[i] += 1e-6;
    const double slope = (above - below) / 2e-6;
    for (size_t j = 0; j < batch[i].predictions.size(); ++j) {
      EXPECT_NEAR(weighted[i].predictions[j].weight, slope * batch[i].predictions[j].weight, 1e-8);
    }
  }
}

// The bounds are for whole completions: with every token masked the weights of a sample add up to
// the length, divided by the samples.
TEST(PreferenceTest, BoundsAreInNatsOfTheWholeCompletion) {
  const test::TextModel model;
  const PreferencePair pair{.prompt = {1}, .chosen = {3, 4, 5, 6}, .rejected = {6, 7}};
  const auto batch = MakePreferenceObjective(model, {pair}, {.samples = 4}).value()->Draw(0);
  for (size_t i = 0; i < batch.size(); ++i) {
    double sum = 0;
    for (const Prediction& prediction : batch[i].predictions) {
      sum += prediction.weight;
    }
    EXPECT_NEAR(sum, (i < 4 ? 4.0 : 2.0) / 4, 1e-12);
  }
}

TEST(LossesTest, RefusesBadInput) {
  const test::TextModel model;
  const auto reason = [&](std::vector<TrainingExample> examples, const ObjectiveOptions& options) {
    return ReasonOf(MakeObjective(model, std::move(examples), options).status());
  };
  const TrainingExample good = Example("a", "bc");
  EXPECT_EQ(reason({good}, {}), "");
  EXPECT_EQ(reason({}, {}), reasons::kInvalidArgument);
  EXPECT_EQ(reason({Example("a", "")}, {}), reasons::kInvalidArgument);
  EXPECT_EQ(reason({Example("a", "b", std::nanf(""))}, {}), reasons::kInvalidArgument);
  EXPECT_EQ(reason({{.prompt = {300}, .completion = {2}}}, {}), reasons::kInvalidArgument);
  EXPECT_EQ(reason({Example("", std::string(97, 'x'))}, {}), reasons::kContextTooLong);
  EXPECT_EQ(reason({good}, {.batch = 0}), reasons::kInvalidArgument);
  EXPECT_EQ(reason({good}, {.loss = {.weight_clamp = 0}}), reasons::kInvalidArgument);
  EXPECT_EQ(reason({good}, {.loss = {.kind = LossKind::kBlockDiffusion, .block_length = 0}}),
            reasons::kInvalidArgument);
  EXPECT_EQ(reason({Example("", "b")}, {.loss = {.kind = LossKind::kNextToken}}),
            reasons::kInvalidArgument);
  EXPECT_FALSE(MakePreferenceObjective(model, {}, {}).ok());
  EXPECT_FALSE(MakePreferenceObjective(model, {{{1}, {2}, {3}}}, {.beta = 0}).ok());
  EXPECT_FALSE(MakePreferenceObjective(model, {{{1}, {2}, {}}}, {}).ok());
  EXPECT_FALSE(HeldOutSequences(model, {}, {}, 4, 1).ok());
}

}  // namespace
}  // namespace ruvd::inference::train
