// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <memory>
#include <numeric>
#include <span>
#include <vector>

#include "base/parallel.h"
#include "base/reasons.h"
#include "inference/evaluate/nelbo.h"
#include "inference/train/score.h"
#include "inference/transformer/cpu_transformer.h"
#include "tests/inference/tiny_model.h"

namespace ruvd::inference {
namespace {

using test::TinyModel;

// A pretend model over four positions returns -log p of position i given which positions are
// masked. Any numbers will do; the three forms of the NELBO agree for every such table.
constexpr size_t kLength = 4;
double FakeNats(size_t position, uint32_t mask) {
  return 1.0 + std::sin(static_cast<double>(7 * position + 3 * mask)) +
         0.1 * static_cast<double>(std::popcount(mask));
}

// Returns the mean of what the maskings say with that model.
double MeanNats(std::span<const Corruption> corruptions) {
  double sum = 0;
  for (const Corruption& corruption : corruptions) {
    uint32_t mask = 0;
    for (const Corruption::Position& p : corruption.masked) {
      mask |= 1U << p.index;
    }
    std::vector<double> nats;
    for (const Corruption::Position& p : corruption.masked) {
      nats.push_back(FakeNats(p.index, mask));
    }
    sum += WeightedNats(corruption, nats);
  }
  return sum / static_cast<double>(corruptions.size());
}

// Returns every k with every k-subset, repeated so that each k is equally frequent: 12 = lcm(4, 6,
// 1).
std::vector<Corruption> AllCorruptions() {
  std::vector<Corruption> all;
  for (uint32_t mask = 1; mask < 16; ++mask) {
    const int k = std::popcount(mask);
    const int subsets = k == 2 ? 6 : k == 4 ? 1 : 4;
    for (int copy = 0; copy < 12 / subsets; ++copy) {
      Corruption corruption{.masked = {}, .length = kLength};
      for (size_t i = 0; i < kLength; ++i) {
        if ((mask >> i & 1U) != 0) {
          corruption.masked.push_back({.index = i, .weight = 4.0 / k, .t = k / 4.0});
        }
      }
      all.push_back(corruption);
    }
  }
  return all;
}

// Returns the mean over all orders of revealing of the nats of each token when it is revealed, per
// token.
double AllOrdersAverage() {
  std::vector<size_t> order(kLength);
  std::iota(order.begin(), order.end(), size_t{0});
  double sum = 0;
  int orders = 0;
  do {
    uint32_t mask = 15;
    for (const size_t position : order) {
      sum += FakeNats(position, mask);
      mask &= ~(1U << position);
    }
    ++orders;
  } while (std::next_permutation(order.begin(), order.end()));
  return sum / orders / kLength;
}

// Returns the integral over t of (1/t) E[sum over masked of nats], each token masked with
// probability t: a polynomial in t, so Simpson's rule on a fine grid is exact enough. The limit at
// t = 0 is the sum over single masks.
double IntegralOverT() {
  const auto integrand = [](double t) {
    double sum = 0;
    for (uint32_t mask = 1; mask < 16; ++mask) {
      const int k = std::popcount(mask);
      double nats = 0;
      for (size_t i = 0; i < kLength; ++i) {
        nats += (mask >> i & 1U) != 0 ? FakeNats(i, mask) : 0.0;
      }
      sum += std::pow(t, k - 1) * std::pow(1 - t, 4 - k) * nats;
    }
    return sum / kLength;
  };
  const int steps = 1000;
  double sum = integrand(0) + integrand(1);
  for (int i = 1; i < steps; ++i) {
    sum += (i % 2 == 0 ? 2 : 4) * integrand(static_cast<double>(i) / steps);
  }
  return sum / steps / 3;
}

TEST(NelboTest, ExactCountAllOrdersAndIntegralAgree) {
  const double exact_count = MeanNats(AllCorruptions());
  EXPECT_NEAR(exact_count, AllOrdersAverage(), 1e-9);
  EXPECT_NEAR(exact_count, IntegralOverT(), 1e-6);
}

TEST(NelboTest, DrawsEstimateTheExactValue) {
  const double exact = MeanNats(AllCorruptions());
  const std::vector<size_t> spans = {kLength};
  const double estimate = MeanNats(DrawCorruptions(spans, 40000, 5));
  EXPECT_NEAR(estimate, exact, 0.01);
}

RC_GTEST_PROP(NelboTest, DrawsAreExactCountStratifiedAndReproducible, ()) {
  const auto lengths =
      *rc::gen::nonEmpty(rc::gen::container<std::vector<size_t>>(rc::gen::inRange<size_t>(1, 20)));
  const int count = *rc::gen::inRange(1, 30);
  const uint64_t seed = *rc::gen::arbitrary<uint64_t>();
  const std::vector<Corruption> draws = DrawCorruptions(lengths, count, seed);
  const std::vector<Corruption> again = DrawCorruptions(lengths, count, seed);
  RC_ASSERT(draws.size() == static_cast<size_t>(count));
  for (size_t d = 0; d < draws.size(); ++d) {
    RC_ASSERT(draws[d].length == std::accumulate(lengths.begin(), lengths.end(), size_t{0}));
    size_t begin = 0;
    auto it = draws[d].masked.begin();
    for (const size_t length : lengths) {
      const auto end = std::find_if(it, draws[d].masked.end(),
                                    [&](const auto& p) { return p.index >= begin + length; });
      const auto k = static_cast<size_t>(end - it);
      RC_ASSERT(k >= 1U && k <= length);
      for (size_t previous = begin; it != end; ++it) {
        RC_ASSERT(it->index >= previous);
        previous = it->index + 1;
        RC_ASSERT(std::abs(it->weight * static_cast<double>(k) - static_cast<double>(length)) <
                  1e-9);
        RC_ASSERT(std::abs(it->t * it->weight - 1.0) < 1e-12);
      }
      begin += length;
    }
    for (size_t i = 0; i < draws[d].masked.size(); ++i) {
      RC_ASSERT(draws[d].masked[i].index == again[d].masked[i].index);
    }
  }
}

// With as many draws as positions, every k appears exactly once.
TEST(NelboTest, DrawsCoverEveryCountEvenly) {
  const std::vector<size_t> spans = {16};
  std::map<size_t, int> counts;
  for (const Corruption& draw : DrawCorruptions(spans, 48, 9)) {
    ++counts[draw.masked.size()];
  }
  EXPECT_EQ(counts.size(), 16U);
  for (const auto& [k, times] : counts) {
    EXPECT_EQ(times, 3) << k;
  }
  EXPECT_NE(DrawCorruptions(spans, 1, 1)[0].masked.size() * 100 +
                DrawCorruptions(spans, 1, 1)[0].masked[0].index,
            DrawCorruptions(spans, 1, 2)[0].masked.size() * 100 +
                DrawCorruptions(spans, 1, 2)[0].masked[0].index)
      << "another seed, another mask";
}

TEST(NelboTest, SpansFollowTheGridOfBlocks) {
  const std::vector<TokenId> tokens(23);
  EXPECT_THAT(SpansOf({.tokens = tokens, .first = 6}, 0), ::testing::ElementsAre(17));
  EXPECT_THAT(SpansOf({.tokens = tokens, .first = 6}, 4), ::testing::ElementsAre(2, 4, 4, 4, 3));
  EXPECT_THAT(SpansOf({.tokens = tokens, .first = 8}, 8), ::testing::ElementsAre(8, 7));
}

class ScoreTest : public ::testing::Test {
 protected:
  // Returns -log softmax of one row of logits at `target`.
  double Nats(const std::vector<float>& hidden, size_t row, TokenId target) {
    std::vector<float> logits(40);
    transformer_.Logits(std::span(hidden).subspan(row * 64, 64), nullptr, logits);
    double sum = 0;
    for (const float value : logits) {
      sum += std::exp(static_cast<double>(value));
    }
    return std::log(sum) - static_cast<double>(logits[target]);
  }
  std::vector<float> Hidden(const std::vector<TokenId>& tokens, const Attention& attention) {
    ForwardOutput output;
    EXPECT_TRUE(transformer_.Forward({.tokens = tokens, .attention = attention}, &output).ok());
    return output.hidden;
  }

  std::shared_ptr<TinyModel> model_ = std::make_shared<TinyModel>(TinyModel::Options{});
  CpuTransformer transformer_{model_, SerialRunner()};
  const std::vector<TokenId> prompt_ = {3, 1, 4, 1, 5, 9};
  const std::vector<TokenId> completion_ = {2, 6, 5, 3, 5};
};

// One completion token can be masked in one way only, so the score has a closed form: it is that of
// the row before it (shift).
TEST_F(ScoreTest, SingleTokenIsReadFromTheRowBefore) {
  std::vector<TokenId> tokens = prompt_;
  tokens.push_back(TinyModel::kMask);
  const double bidirectional = Nats(Hidden(tokens, {}), prompt_.size() - 1, 2);
  const std::vector<TokenId> one = {2};
  const ScoreOptions options{.samples = 3, .seed = 8};
  EXPECT_NEAR(ScoreCompletion(transformer_, prompt_, one, nullptr, options).value(), bidirectional,
              1e-5);
  model_->mutable_config().shift_logits = false;
  EXPECT_NEAR(ScoreCompletion(transformer_, prompt_, one, nullptr, options).value(),
              Nats(Hidden(tokens, {}), prompt_.size(), 2), 1e-5);
}

TEST_F(ScoreTest, IsGivenUpBetweenTwoForwards) {
  int asked = 0;
  ScoreOptions options{.samples = 10};
  options.cancelled = [&asked] { return ++asked > 2; };
  const auto score = ScoreCompletion(transformer_, prompt_, completion_, nullptr, options);
  EXPECT_EQ(score.status().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(asked, 3);
}

TEST_F(ScoreTest, AForwardAtATimeGivesTheSameScore) {
  for (const DecodingMode mode :
       {DecodingMode::kDiffusion, DecodingMode::kBlock, DecodingMode::kAutoregressive}) {
    const ScoreOptions options{.mode = mode, .samples = 5, .seed = 3, .block_length = 2};
    auto score = StepwiseScore::Begin(*model_, prompt_, completion_, options);
    ASSERT_TRUE(score.ok()) << score.status();
    int steps = 0;
    for (bool done = false; !done; ++steps) {
      const auto step = score->Step(transformer_, nullptr);
      ASSERT_TRUE(step.ok()) << step.status();
      done = *step;
    }
    EXPECT_EQ(steps, mode == DecodingMode::kAutoregressive ? 1 : 5);
    EXPECT_EQ(score->nats_per_token(),
              ScoreCompletion(transformer_, prompt_, completion_, nullptr, options).value());
  }
  // The score is the mean over the maskings.
  ScoreOptions options{.samples = 1, .seed = 3};
  const auto whole = ScoreCompletion(transformer_, prompt_, completion_, nullptr, options).value();
  EXPECT_GT(whole, 0);
  const std::vector<size_t> spans = {completion_.size()};
  std::vector<TokenId> tokens = prompt_;
  tokens.insert(tokens.end(), completion_.begin(), completion_.end());
  options.samples = 4;
  double sum = 0;
  for (const Corruption& corruption : DrawCorruptions(spans, options.samples, options.seed)) {
    std::vector<double> nats(corruption.masked.size());
    ASSERT_TRUE(ScoreMasked(transformer_, {.tokens = tokens, .first = prompt_.size()}, corruption,
                            0, nullptr, nats)
                    .ok());
    sum += WeightedNats(corruption, nats);
  }
  EXPECT_NEAR(ScoreCompletion(transformer_, prompt_, completion_, nullptr, options).value(),
              sum / 4, 1e-12);
}

TEST_F(ScoreTest, FirstTokenOfABlockIsReadFromTheCleanTokenBefore) {
  // The prompt has six tokens and blocks have three: the completion starts a block.
  std::vector<TokenId> tokens = prompt_;
  const double expected =
      Nats(Hidden(tokens, {.kind = Attention::Kind::kBlockCausal, .block_length = 3}), 5, 2);
  const std::vector<TokenId> one = {2};
  const ScoreOptions options{.mode = DecodingMode::kBlock, .samples = 2, .block_length = 3};
  EXPECT_NEAR(ScoreCompletion(transformer_, prompt_, one, nullptr, options).value(), expected,
              1e-5);
  // With blocks of four the token is the third of its block, read from the noisy token before it.
  tokens.push_back(TinyModel::kMask);
  ScoreOptions four = options;
  four.block_length = 4;
  EXPECT_NEAR(
      ScoreCompletion(transformer_, prompt_, one, nullptr, four).value(),
      Nats(Hidden(tokens, {.kind = Attention::Kind::kBlockCausal, .block_length = 4}), 5, 2), 1e-5);
}

TEST_F(ScoreTest, AutoregressiveIsTheMeanNextTokenCrossEntropy) {
  std::vector<TokenId> tokens = prompt_;
  tokens.insert(tokens.end(), completion_.begin(), completion_.end());
  const std::vector<float> hidden = Hidden(tokens, {.kind = Attention::Kind::kCausal});
  double sum = 0;
  for (size_t i = 0; i < completion_.size(); ++i) {
    sum += Nats(hidden, prompt_.size() - 1 + i, completion_[i]);
  }
  const ScoreOptions options{.mode = DecodingMode::kAutoregressive};
  EXPECT_NEAR(ScoreCompletion(transformer_, prompt_, completion_, nullptr, options).value(),
              sum / 5.0, 1e-5);
  // Without a prompt the first token is not scored.
  double rest = 0;
  const std::vector<float> alone = Hidden(completion_, {.kind = Attention::Kind::kCausal});
  for (size_t i = 1; i < completion_.size(); ++i) {
    rest += Nats(alone, i - 1, completion_[i]);
  }
  EXPECT_NEAR(ScoreCompletion(transformer_, {}, completion_, nullptr, options).value(), rest / 4.0,
              1e-5);
}

TEST_F(ScoreTest, EqualSeedsGiveEqualScoresAndAdaptersChangeThem) {
  const ScoreOptions options{.samples = 4, .seed = 11};
  const double base = ScoreCompletion(transformer_, prompt_, completion_, nullptr, options).value();
  EXPECT_EQ(ScoreCompletion(transformer_, prompt_, completion_, nullptr, options).value(), base);
  auto adapter = std::make_shared<Adapter>();
  adapter->targets["output.weight"] = {.rank = 1,
                                       .in = 64,
                                       .out = 40,
                                       .a = std::vector<float>(64, 0.1F),
                                       .b = std::vector<float>(40, 0.0F)};
  const AdapterMix nothing{{{adapter, 1.0F}}};
  EXPECT_EQ(ScoreCompletion(transformer_, prompt_, completion_, &nothing, options).value(), base)
      << "a change of zero on the same masks";
  auto other = std::make_shared<Adapter>(*adapter);
  other->targets["output.weight"].b[2] = 1.0F;
  const AdapterMix something{{{other, 1.0F}}};
  EXPECT_NE(ScoreCompletion(transformer_, prompt_, completion_, &something, options).value(), base);
}

TEST_F(ScoreTest, RefusesWhatHasNoScore) {
  const auto reason = [&](std::span<const TokenId> prompt, std::span<const TokenId> completion,
                          const ScoreOptions& options) {
    return ReasonOf(ScoreCompletion(transformer_, prompt, completion, nullptr, options).status());
  };
  EXPECT_EQ(reason(prompt_, {}, {}), reasons::kInvalidArgument);
  EXPECT_EQ(reason(prompt_, completion_, {.samples = 0}), reasons::kInvalidArgument);
  EXPECT_EQ(reason(prompt_, completion_, {.mode = DecodingMode::kBlock, .block_length = 0}),
            reasons::kInvalidArgument);
  const std::vector<TokenId> one = {1};
  EXPECT_EQ(reason({}, one, {.mode = DecodingMode::kAutoregressive}), reasons::kInvalidArgument);
  const std::vector<TokenId> long_text(70, 1);
  EXPECT_EQ(reason({}, long_text, {}), reasons::kContextTooLong);
}

}  // namespace
}  // namespace ruvd::inference
