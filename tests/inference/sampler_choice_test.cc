// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "base/random.h"
#include "inference/sampler/commit_schedule.h"
#include "inference/sampler/proposal.h"
#include "inference/sampler/token_choice.h"

namespace ruvd::inference {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

std::vector<int> Histogram(const std::vector<float>& row, const TokenChoiceOptions& options,
                           int draws) {
  const auto choice = MakeTokenChoice(options);
  const RowSummary summary = Summarise(row, options.excluded);
  Random random(7);
  std::vector<int> counts(row.size());
  for (int i = 0; i < draws; ++i) {
    ++counts[choice->Choose(row, summary, random)];
  }
  return counts;
}

std::vector<float> LogOf(std::vector<float> probabilities) {
  for (float& p : probabilities) {
    p = std::log(p);
  }
  return probabilities;
}

constexpr int kDraws = 20000;

// Six standard deviations of a count of kDraws draws with probability p.
void ExpectShare(int count, double p) {
  EXPECT_NEAR(count, kDraws * p, 6 * std::sqrt(kDraws * p * (1 - p)) + 1e-9);
}

TEST(TokenChoiceTest, DrawsFromTheTemperedDistribution) {
  const std::vector<float> row = LogOf({0.5F, 0.3F, 0.2F});
  const std::vector<int> plain = Histogram(row, {.temperature = 1.0F}, kDraws);
  ExpectShare(plain[0], 0.5);
  ExpectShare(plain[1], 0.3);
  ExpectShare(plain[2], 0.2);
  const std::vector<int> sharp = Histogram(row, {.temperature = 0.5F}, kDraws);
  const double mass = 0.25 + 0.09 + 0.04;
  ExpectShare(sharp[0], 0.25 / mass);
  ExpectShare(sharp[2], 0.04 / mass);
}

TEST(TokenChoiceTest, NeverDrawsTheMask) {
  const std::vector<float> row = LogOf({0.2F, 0.7F, 0.1F});
  EXPECT_EQ(Histogram(row, {.temperature = 1.0F, .excluded = 1}, kDraws)[1], 0);
  EXPECT_EQ(Histogram(row, {.temperature = 1.0F, .top_k = 2, .excluded = 1}, kDraws)[1], 0);
}

TEST(TokenChoiceTest, TopKKeepsTheLikeliest) {
  const std::vector<float> row = LogOf({0.1F, 0.4F, 0.2F, 0.3F});
  const std::vector<int> counts = Histogram(row, {.temperature = 1.0F, .top_k = 2}, kDraws);
  EXPECT_EQ(counts[0] + counts[2], 0);
  ExpectShare(counts[1], 4.0 / 7);
  EXPECT_EQ(Histogram(row, {.temperature = 3.0F, .top_k = 1}, kDraws)[1], kDraws);
}

TEST(TokenChoiceTest, TopPKeepsTheSmallestSetOfThatMass) {
  const std::vector<float> row = LogOf({0.1F, 0.4F, 0.2F, 0.3F});
  const std::vector<int> counts = Histogram(row, {.temperature = 1.0F, .top_p = 0.65F}, kDraws);
  EXPECT_EQ(counts[0] + counts[2], 0);
  ExpectShare(counts[3], 3.0 / 7);
  EXPECT_EQ(Histogram(row, {.temperature = 1.0F, .top_p = 0.01F}, kDraws)[1], kDraws);
}

RC_GTEST_PROP(TokenChoiceTest, TopPAgreesWithAPlainImplementation, (uint64_t seed)) {
  Random random(seed);
  std::vector<float> row(*rc::gen::inRange<size_t>(2, 60));
  for (float& logit : row) {
    logit = static_cast<float>(random.Normal() * 2);
  }
  const float p = static_cast<float>(*rc::gen::inRange(1, 100)) / 100.0F;
  const RowSummary summary = Summarise(row, kNoToken);
  std::vector<size_t> order(row.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return row[a] > row[b]; });
  double mass = 0;
  size_t kept = 0;
  while (kept < order.size() && mass < p) {
    mass += summary.Probability(row[order[kept++]]);
  }
  const auto choice = MakeTokenChoice({.temperature = 1.0F, .top_p = p});
  for (int i = 0; i < 20; ++i) {
    const TokenId token = choice->Choose(row, summary, random);
    RC_ASSERT(std::find(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(kept), token) !=
              order.begin() + static_cast<std::ptrdiff_t>(kept));
  }
}

// Defines the choice: all tokens are sorted, cut, and drawn from by inversion, with the same
// floating-point operations in the same order.
TokenId ChooseBySorting(const std::vector<float>& row, const TokenChoiceOptions& options,
                        Random& random) {
  const RowSummary summary = Summarise(row, options.excluded);
  // Where the excluded token holds more than 1 - p, the nucleus ends here.
  float least = summary.maximum + summary.log_mass +
                std::log((1.0F - options.top_p) / static_cast<float>(row.size()));
  if (options.min_p > 0) {
    least = std::max(least, row[summary.best] + std::log(options.min_p));
  }
  std::vector<TokenLogit> kept;
  for (size_t i = 0; i < row.size(); ++i) {
    if (row[i] >= least && i != options.excluded) {
      kept.push_back({row[i], static_cast<TokenId>(i)});
    }
  }
  std::stable_sort(kept.begin(), kept.end(),
                   [](const TokenLogit& a, const TokenLogit& b) { return a.logit > b.logit; });
  if (options.top_k > 0) {
    kept.resize(std::min(kept.size(), static_cast<size_t>(options.top_k)));
  }
  double mass = 0;
  for (size_t i = 0; i < kept.size(); ++i) {
    mass += ExpNonPositive(summary.LogProbability(kept[i].logit));
    if (mass >= options.top_p) {
      kept.resize(i + 1);
    }
  }
  const auto weight = [&](const TokenLogit& entry) {
    return ExpNonPositive((entry.logit - summary.maximum) * (1.0F / options.temperature));
  };
  mass = 0;
  for (const TokenLogit& entry : kept) {
    mass += weight(entry);
  }
  double left = random.Uniform() * mass;
  for (const TokenLogit& entry : kept) {
    left -= weight(entry);
    if (left < 0) {
      return entry.token;
    }
  }
  return summary.best;
}

// Returns peaked, flat and almost equal rows, and coarse rows with many ties, with a few hopeless
// tokens.
std::vector<float> AnyRow(Random& random) {
  constexpr std::array<double, 5> kSpreads = {0, 0.01, 1, 3, 10};
  const double spread = kSpreads[random.Below(kSpreads.size())];
  const double grid = random.Below(2) == 0 ? 0 : 0.5;
  std::vector<float> row(2 + random.Below(3000));
  for (float& logit : row) {
    const double value = random.Normal() * spread;
    logit = static_cast<float>(grid > 0 ? std::round(value / grid) * grid : value);
    logit = random.Below(200) == 0 ? kForbidden : logit;
  }
  return row;
}

RC_GTEST_PROP(TokenChoiceTest, TruncationDrawsWhatSortingTheWholeRowWould, (uint64_t seed)) {
  Random random(seed);
  const std::vector<float> row = AnyRow(random);
  TokenChoiceOptions options;
  options.temperature = static_cast<float>(*rc::gen::inRange(1, 15)) / 10.0F;
  options.top_p = static_cast<float>(*rc::gen::inRange(1, 100)) / 100.0F;
  options.top_k = *rc::gen::element(0, 0, 1, 40);
  options.min_p = *rc::gen::element(0.0F, 0.0F, 0.05F);
  options.excluded = *rc::gen::element(TokenId(kNoToken), TokenId(0), TokenId(1));
  const auto choice = MakeTokenChoice(options);
  const RowSummary summary = Summarise(row, options.excluded);
  for (uint64_t draw = 0; draw < 8; ++draw) {
    Random one(seed + draw);
    Random other(seed + draw);
    RC_ASSERT(choice->Choose(row, summary, one) == ChooseBySorting(row, options, other));
  }
}

// llama.cpp samples at temperature 1 when it is given 0.
TEST(PeerDefectTest, TemperatureZeroIsGreedyWhateverTheSeed) {
  const std::vector<float> row = LogOf({0.3F, 0.36F, 0.34F});
  EXPECT_EQ(Histogram(row, {.temperature = 0.0F}, 100)[1], 100);
  EXPECT_EQ(Histogram(row, {.temperature = 0.0F, .top_k = 40, .top_p = 0.95F}, 100)[1], 100);
}

// llama.cpp perturbs row 0 only: here every masked row must get randomness of its own.
TEST(PeerDefectTest, RandomnessReachesEveryRow) {
  Proposer proposer({.choice = {.temperature = 1.0F}, .seed = 11});
  std::vector<float> row(64, 0.0F);
  std::vector<TokenId> tokens;
  for (int position = 0; position < 8; ++position) {
    tokens.push_back(proposer.Propose(position, row).token);
  }
  std::sort(tokens.begin(), tokens.end());
  EXPECT_GT(std::unique(tokens.begin(), tokens.end()) - tokens.begin(), 4);
}

// With top-k 1, llama.cpp's confidences all become 1 and the order degenerates.
TEST(PeerDefectTest, ConfidenceIsTakenBeforeTruncation) {
  Proposer proposer({.choice = {.temperature = 1.0F, .top_k = 1}});
  std::vector<float> row = LogOf({0.6F, 0.4F});
  EXPECT_NEAR(proposer.Propose(0, row).confidence, 0.6, 1e-6);
}

TEST(ProposerTest, SameSeedSameTokens) {
  const std::vector<float> row(32, 1.0F);
  for (const uint64_t seed : {1, 2, 3}) {
    Proposer a({.choice = {.temperature = 1.0F}, .seed = seed});
    Proposer b({.choice = {.temperature = 1.0F}, .seed = seed});
    for (int i = 0; i < 10; ++i) {
      std::vector<float> x = row;
      std::vector<float> y = row;
      EXPECT_EQ(a.Propose(i, x).token, b.Propose(i, y).token);
    }
  }
}

// LLaDA draws by argmax(logit + T * gumbel), which is the distribution that ours has at temperature
// T.
TEST(ProposerTest, TemperatureEqualsGumbelNoiseOfThatScale) {
  const std::vector<float> row = {0.4F, 1.5F, -0.7F, 0.9F};
  const double temperature = 0.8;
  Random random(5);
  std::vector<int> gumbel(row.size());
  for (int draw = 0; draw < kDraws; ++draw) {
    std::vector<double> noisy;
    for (const float logit : row) {
      noisy.push_back(logit - temperature * std::log(-std::log(random.Uniform())));
    }
    ++gumbel[static_cast<size_t>(std::max_element(noisy.begin(), noisy.end()) - noisy.begin())];
  }
  const std::vector<int> ours = Histogram(row, {.temperature = 0.8F}, kDraws);
  for (size_t i = 0; i < row.size(); ++i) {
    EXPECT_NEAR(ours[i], gumbel[i], 6 * std::sqrt(kDraws * 0.5));
  }
}

TEST(TokenChoiceTest, MinPDropsWhatIsFarBelowTheBest) {
  const std::vector<float> row = LogOf({0.1F, 0.5F, 0.2F, 0.2F});
  const std::vector<int> counts = Histogram(row, {.temperature = 1.0F, .min_p = 0.3F}, kDraws);
  EXPECT_EQ(counts[0], 0);
  ExpectShare(counts[1], 5.0 / 9);
}

RC_GTEST_PROP(TopTokensTest, AgreesWithSorting, (std::vector<uint8_t> values)) {
  std::vector<float> row(values.begin(), values.end());
  const auto count = *rc::gen::inRange<size_t>(0, 12);
  const auto excluded = *rc::gen::inRange<TokenId>(0, 10);
  const float least = static_cast<float>(*rc::gen::inRange(0, 200));
  std::vector<TokenLogit> all;
  for (size_t i = 0; i < row.size(); ++i) {
    if (i != excluded && row[i] >= least) {
      all.push_back({row[i], static_cast<TokenId>(i)});
    }
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const TokenLogit& a, const TokenLogit& b) { return a.logit > b.logit; });
  all.resize(count == 0 ? all.size() : std::min(count, all.size()));
  const std::vector<TokenLogit> found = TopTokens(row, count, least, excluded);
  RC_ASSERT(found.size() == all.size());
  for (size_t i = 0; i < all.size(); ++i) {
    RC_ASSERT(found[i].token == all[i].token && found[i].logit == all[i].logit);
  }
}

RC_GTEST_PROP(SortByLikelihoodTest, AgreesWithAStableSort, (uint64_t seed)) {
  Random random(seed);
  const std::vector<float> row = AnyRow(random);
  const float least = *rc::gen::element(-std::numeric_limits<float>::infinity(), -1.0F, 1.0F);
  const auto excluded = *rc::gen::element(TokenId(kNoToken), TokenId(1));
  std::vector<TokenLogit> sorted;
  for (size_t i = 0; i < row.size(); ++i) {
    if (row[i] >= least && i != excluded) {
      sorted.push_back({row[i], static_cast<TokenId>(i)});
    }
  }
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const TokenLogit& a, const TokenLogit& b) { return a.logit > b.logit; });
  std::vector<TokenLogit> tokens = TokensAbove(row, least, excluded);
  SortByLikelihood(least, *std::max_element(row.begin(), row.end()), &tokens);
  RC_ASSERT(tokens.size() == sorted.size());
  for (size_t i = 0; i < sorted.size(); ++i) {
    RC_ASSERT(tokens[i].token == sorted[i].token && tokens[i].logit == sorted[i].logit);
  }
}

TEST(SortByLikelihoodTest, SurvivesInfinitiesAndTinySpreads) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const auto& [low, high] : std::vector<std::pair<float, float>>{
           {0.0F, 1e-40F}, {-kInfinity, kInfinity}, {-3e38F, 3e38F}, {1.0F, 1.0F}}) {
    std::vector<TokenLogit> tokens;
    for (TokenId i = 0; i < 100; ++i) {
      tokens.push_back({i % 3 == 0 ? low : high, i});
    }
    SortByLikelihood(low, high, &tokens);
    EXPECT_TRUE(std::is_sorted(tokens.begin(), tokens.end(), [](const auto& a, const auto& b) {
      return a.logit != b.logit ? a.logit > b.logit : a.token < b.token;
    }));
  }
}

// The interface promises the full softmax at temperature 1, before penalties.
TEST(ProposerTest, LogprobsIgnoreTemperatureTruncationAndPenalties) {
  Proposer proposer({.choice = {.temperature = 0.5F, .top_k = 2},
                     .penalties = {.repetition = 5.0F, .presence = 1.0F},
                     .logprobs = 2});
  const std::vector<TokenId> window = {0, 1};
  proposer.Observe(window);
  std::vector<float> row = LogOf({0.2F, 0.5F, 0.3F});
  for (float& logit : row) {
    logit += 3.0F;
  }
  const std::vector<float> before = row;
  const Proposal proposal = proposer.Propose(2, row);
  ASSERT_EQ(proposal.likeliest.size(), 2U);
  EXPECT_EQ(proposal.likeliest[0].token, 1U);
  EXPECT_NEAR(proposal.likeliest[0].logprob, std::log(0.5), 1e-5);
  EXPECT_EQ(proposal.likeliest[1].token, 2U);
  EXPECT_NEAR(proposal.logprob, before[proposal.token] - 3.0F, 1e-5);
}

Proposal At(int position, float confidence, float margin, float entropy) {
  return {.position = position, .confidence = confidence, .margin = margin, .entropy = entropy};
}

TEST(ThresholdTest, TakesAllAboveButAtLeastOne) {
  const std::vector<Proposal> ranked = {At(0, 0.9F, 0, 0), At(1, 0.7F, 0, 0), At(2, 0.2F, 0, 0)};
  EXPECT_EQ(CountConfident(ranked, 0.7F), 2);
  EXPECT_EQ(CountConfident(ranked, 0.1F), 3);
  EXPECT_EQ(CountConfident(ranked, 0.99F), 1);
  EXPECT_EQ(CountConfident(ranked, 0), 0);
  EXPECT_EQ(CountConfident({}, 0.5F), 0);
}

TEST(ScheduleTest, EvenGivesTheRemainderFirst) {
  const EvenSchedule schedule(4);
  std::vector<int> counts;
  int masked = 10;
  for (int step = 0; step < 4; ++step) {
    counts.push_back(schedule.Count(step, masked));
    masked -= counts.back();
  }
  EXPECT_THAT(counts, ElementsAre(3, 3, 2, 2));
}

// llama.cpp leaves masks behind, draws with probability 0 and evaluates steps that commit nothing;
// here the count of such steps is known before the forward.
RC_GTEST_PROP(PeerDefectTest, SchedulesCommitEveryMaskExactlyOnce, ()) {
  const int masks = *rc::gen::inRange(0, 200);
  const int steps = *rc::gen::inRange(1, 300);
  const EvenSchedule even(steps);
  const TimestepSchedule timestep(steps, 0.001);
  for (const CommitSchedule* schedule :
       std::initializer_list<const CommitSchedule*>{&even, &timestep}) {
    int left = masks;
    for (int step = 0; step < steps; ++step) {
      const int count = schedule->Count(step, left);
      RC_ASSERT(count >= 0);
      RC_ASSERT(count <= left);
      left -= count;
    }
    RC_ASSERT(left == 0);
  }
}

}  // namespace
}  // namespace ruvd::inference
