// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/daf/daf_round.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <vector>

#include "base/random.h"
#include "base/reasons.h"
#include "base/status.h"
#include "federation/daf/robust_rules.h"
#include "federation/limits.h"

namespace ruvd::test {
namespace {

constexpr size_t kValues = 4;

privacy::NodeId Node(uint8_t number) {
  privacy::NodeId id{};
  id[0] = number;
  return id;
}

federation::AdapterUpdateRules Rules() {
  federation::AdapterUpdateRules rules;
  rules.model_hash.fill(1);
  rules.frame_id.fill(2);
  rules.modules = {{"m", 2, 2}};
  rules.max_norm = 10;
  return rules;
}

federation::AdapterUpdate UpdateOf(std::vector<float> boundaries,
                                   std::vector<std::vector<float>> banks, uint64_t round = 5) {
  const federation::AdapterUpdateRules rules = Rules();
  federation::AdapterUpdate update{.kind = rules.kind,
                                   .model_hash = rules.model_hash,
                                   .frame_id = rules.frame_id,
                                   .round = round,
                                   .boundaries = std::move(boundaries),
                                   .modules = rules.modules};
  for (uint32_t bank = 0; bank < banks.size(); ++bank) {
    if (!banks[bank].empty()) {
      update.banks.push_back({bank, banks[bank]});
    }
  }
  return update;
}

std::vector<float> Filled(float value) {
  return std::vector<float>(kValues, value);
}

// A node with two banks, at round 5.
struct World {
  federation::BankedValues current{Filled(0), Filled(0)};
  std::vector<federation::AdapterUpdate> updates;
  federation::DafRoundOptions options{.rules = Rules()};
  federation::ReputationTable reputation;
  uint64_t round = 5;

  federation::DafRoundInput Input() const {
    federation::DafRoundInput input{
        .self = Node(0), .round = round, .boundaries = {0.5F}, .current = &current};
    for (size_t i = 0; i < updates.size(); ++i) {
      input.updates.push_back({Node(static_cast<uint8_t>(i)), &updates[i]});
    }
    return input;
  }
  absl::StatusOr<federation::DafRoundResult> Run(
      const federation::ShadowEvaluation& measure = nullptr) {
    return AggregateRound(Input(), options, measure, &reputation);
  }
};

// Scores each bank by how near its mean value is to `wanted`, without error.
federation::ShadowEvaluation Wanting(float wanted, const federation::BankedValues& served) {
  return [=](const federation::BankedValues& candidate) -> absl::StatusOr<federation::ShadowScore> {
    federation::ShadowScore score;
    for (size_t bank = 0; bank < candidate.size(); ++bank) {
      score.banks.push_back(
          {.gain = std::abs(wanted - served[bank][0]) - std::abs(wanted - candidate[bank][0]),
           .standard_error = 0,
           .documents = 10});
    }
    return score;
  };
}

TEST(DafRound, AlignsBanksOfDifferentSchedules) {
  World world;
  static const federation::MeanRule kMean;
  world.options.rule = &kMean;
  world.options.rules.max_norm = 30;
  world.updates = {UpdateOf({0.5F}, {Filled(1), Filled(2)}), UpdateOf({}, {Filled(3)}),
                   UpdateOf({0.25F, 0.75F}, {Filled(4), Filled(6), Filled(8)})};
  const auto result = world.Run();
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->contributors, (std::vector<size_t>{3, 3}));
  EXPECT_FLOAT_EQ(result->delta[0][0], (1 + 3 + 5) / 3.0F);
  EXPECT_FLOAT_EQ(result->delta[1][0], (2 + 3 + 7) / 3.0F);
}

// Nodes do not share round numbers: an update that began from the frozen model is as fresh after a
// hundred rounds.
TEST(DafRound, WhatBeganFromTheFrozenModelIsNeverStale) {
  World world;
  world.round = 100;
  world.updates = {UpdateOf({0.5F}, {Filled(1), Filled(2)}, 0),
                   UpdateOf({0.5F}, {Filled(1), Filled(2)}, 5)};
  federation::DafRoundInput input = world.Input();
  input.from_frozen = true;
  const auto result = AggregateRound(input, world.options, nullptr, nullptr);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->contributors, (std::vector<size_t>{1, 1}));
  EXPECT_EQ(result->peers[0].staleness, 0u);
  EXPECT_EQ(result->peers[0].banks[0].weight, 1);
  EXPECT_EQ(ReasonOf(result->peers[1].refused), reasons::kUpdateInvalid);
  EXPECT_EQ(AggregateRound(world.Input(), world.options, nullptr, nullptr)->contributors,
            (std::vector<size_t>{0, 0}))
      << "too old both, where rounds are shared";
}

TEST(DafRound, DoesNotDependOnTheOrderOfUpdatesBitForBit) {
  World world;
  Random random(3);
  for (int i = 0; i < 9; ++i) {
    std::vector<std::vector<float>> banks(2, Filled(0));
    for (auto& bank : banks) {
      for (float& v : bank) {
        v = static_cast<float>(random.Normal());
      }
    }
    world.updates.push_back(UpdateOf({0.4F}, banks));
  }
  for (const federation::Strategy strategy :
       {federation::Strategy::kTimestepAligned, federation::Strategy::kScheduleSimilarity,
        federation::Strategy::kHybrid}) {
    world.options.strategy = {.strategy = strategy, .quality_weight = 0};
    federation::DafRoundInput input = world.Input();
    const auto expected = AggregateRound(input, world.options, nullptr, nullptr);
    ASSERT_TRUE(expected.ok()) << expected.status();
    for (int i = 0; i < 5; ++i) {
      random.Shuffle(std::span<federation::PeerUpdate>(input.updates));
      const auto result = AggregateRound(input, world.options, nullptr, nullptr);
      EXPECT_EQ(result->delta, expected->delta);
    }
  }
}

TEST(DafRound, RefusesWhatDoesNotFitAndRecordsWhy) {
  World world;
  world.updates = {UpdateOf({0.5F}, {Filled(1), Filled(1)}), UpdateOf({}, {Filled(1)}),
                   UpdateOf({}, {Filled(9)}), UpdateOf({}, {Filled(1)}, 6),
                   UpdateOf({}, {Filled(1)}, 5)};
  world.updates[1].frame_id[0] = 9;
  const auto result = world.Run();
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(result->peers[0].refused.ok());
  EXPECT_EQ(ReasonOf(result->peers[1].refused), reasons::kFrameMismatch);
  EXPECT_EQ(ReasonOf(result->peers[2].refused), reasons::kUpdateInvalid);  // norm 18
  EXPECT_EQ(ReasonOf(result->peers[3].refused), reasons::kUpdateInvalid);  // from the future
  EXPECT_TRUE(result->peers[4].refused.ok());
  EXPECT_EQ(result->contributors, (std::vector<size_t>{2, 2}));
}

TEST(DafRound, ASliverOfOverlapIsNoUpdate) {
  World world;
  world.updates = {UpdateOf({0.5F}, {Filled(1), Filled(1)})};
  for (int i = 0; i < 4; ++i) {
    world.updates.push_back(UpdateOf({0.5000001F}, {Filled(-4), {}}));
  }
  const auto result = world.Run();
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->contributors, (std::vector<size_t>{5, 1}));
  EXPECT_EQ(result->delta[1], Filled(1));
  EXPECT_EQ(result->peers[1].banks[1].coverage, 0);
}

TEST(DafRound, StaleUpdatesCountLessAndTheOldestNot) {
  World world;
  static const federation::MeanRule kMean;
  world.options.rule = &kMean;
  world.current = {Filled(0), Filled(0)};
  world.updates = {UpdateOf({}, {Filled(0)}, 40), UpdateOf({}, {Filled(3)}, 37),
                   UpdateOf({}, {Filled(9)}, 40 - limits::kMaxStaleness - 1)};
  federation::DafRoundInput input = world.Input();
  input.round = 40;
  const auto result = AggregateRound(input, world.options, nullptr, nullptr);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->peers[1].staleness, 3U);
  EXPECT_FALSE(result->peers[2].refused.ok());
  // The weights are 1 and (1 + 3)^-1/2.
  EXPECT_NEAR(result->delta[0][0], 3 * 0.5 / 1.5, 1e-6);
}

TEST(DafRound, QualityIsWhatThisNodeMeasuresNotWhatIsClaimed) {
  World world;
  static const federation::MeanRule kMean;
  world.options.rule = &kMean;
  world.options.strategy.strategy = federation::Strategy::kQualityWeighted;
  world.updates = {UpdateOf({}, {Filled(0.5F)}), UpdateOf({}, {Filled(1)}),
                   UpdateOf({}, {Filled(-2)})};
  world.updates[2].examples = 1'000'000'000;
  EXPECT_EQ(ReasonOf(world.Run().status()), reasons::kInvalidArgument);  // nothing measures
  const auto result = world.Run(Wanting(1, world.current));
  ASSERT_TRUE(result.ok()) << result.status();
  // The gains are 0.5 and 1 and a loss, so the weights are 1/2, 1 and 0.
  EXPECT_NEAR(result->delta[0][0], (0.5 * 0.5 + 1) / 1.5, 1e-6);
  EXPECT_EQ(result->peers[2].banks[0].weight, 0);
  EXPECT_EQ(result->peers[2].banks[0].alone.gain, -2);
  EXPECT_EQ(result->peers[2].examples, 1'000'000'000U);
}

TEST(DafRound, ReputationComesFromMeasurementsAndExcludes) {
  World world;
  world.updates = {UpdateOf({}, {Filled(1)}), UpdateOf({}, {Filled(1)}),
                   UpdateOf({}, {Filled(-2)})};
  const federation::ShadowEvaluation measure = Wanting(1, world.current);
  for (uint64_t i = 0; i < 2; ++i) {
    world.updates[1].examples = world.updates[2].examples = i;  // another update
    ASSERT_TRUE(world.Run(measure).ok());
  }
  EXPECT_GT(world.reputation.Of(Node(1), 5), 0.6);
  EXPECT_LT(world.reputation.Of(Node(2), 5), 0.3);
  const auto result = world.Run(measure);
  EXPECT_FALSE(result->peers[2].refused.ok());
  EXPECT_EQ(result->contributors[0], 2U);
  EXPECT_EQ(world.reputation.Of(Node(0), 5), 0.5);  // a node does not judge itself
  world.round = 15;
  EXPECT_TRUE(world.Run(measure)->peers[2].refused.ok());  // measured again
  EXPECT_NEAR(world.reputation.Of(Node(2), 15), 1 / (3 + std::pow(0.9, 10)), 1e-9);
}

TEST(DafRound, AnUpdateIsOneVerdictInAllItsRounds) {
  World world;
  world.updates = {UpdateOf({}, {Filled(1)}), UpdateOf({}, {Filled(-1)})};
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(world.Run(Wanting(1, world.current))->peers[1].refused.ok());
  }
  EXPECT_NEAR(world.reputation.Of(Node(1), 5), 1 / 3.0, 1e-9);
}

TEST(DafRound, AFailedMeasurementLeavesNoVerdicts) {
  World world;
  world.updates = {UpdateOf({}, {Filled(1)}), UpdateOf({}, {Filled(-1)}),
                   UpdateOf({}, {Filled(1)})};
  const federation::ShadowEvaluation wanting = Wanting(1, world.current);
  const federation::ShadowEvaluation fails =
      [&, call = 0](const federation::BankedValues& candidate) mutable {
        return ++call < 3 ? wanting(candidate) : absl::UnavailableError("no model");
      };
  EXPECT_FALSE(world.Run(fails).ok());
  EXPECT_EQ(world.reputation.size(), 0U);
}

TEST(DafRound, OnlyShownGainsAreQuality) {
  const std::vector<federation::BankScore> unshown = {
      {.gain = 5, .standard_error = 6, .documents = 10},
      {.gain = 5, .standard_error = 0, .documents = 1},
      {.gain = INFINITY, .standard_error = 0, .documents = 10},
      {.gain = NAN, .standard_error = 0, .documents = 10}};
  for (const federation::BankScore& score : unshown) {
    World world;
    world.options.strategy.strategy = federation::Strategy::kQualityWeighted;
    world.updates = {UpdateOf({}, {Filled(1)}), UpdateOf({}, {Filled(-1)})};
    const federation::BankScore shown{.gain = 1, .standard_error = 0, .documents = 10};
    const auto result = world.Run([&, call = 0](const federation::BankedValues&) mutable
                                      -> absl::StatusOr<federation::ShadowScore> {
      return federation::ShadowScore{
          .banks = std::vector<federation::BankScore>(2, ++call == 1 ? shown : score)};
    });
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(result->peers[0].banks[0].weight, 1);
    EXPECT_EQ(result->peers[1].banks[0].weight, 0);
    EXPECT_EQ(result->delta[0], Filled(1));
  }
}

TEST(DafRound, AlignmentDoesNotLengthenAnUpdateBeyondTheBound) {
  World world;
  world.updates = {UpdateOf({}, {Filled(4.5F)})};  // norm 9 in one bank, 12.7 in two
  const auto result = world.Run();
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_NEAR(result->peers[0].banks[0].norm, 10 / std::sqrt(2.0), 1e-5);
  EXPECT_NEAR(result->peers[0].banks[1].norm, 10 / std::sqrt(2.0), 1e-5);
}

TEST(DafRound, RefusesInputsAndOptionsOutOfRange) {
  World world;
  world.updates = {UpdateOf({}, {Filled(1)})};
  const auto reason = [&](auto change) {
    federation::DafRoundInput input = world.Input();
    federation::DafRoundOptions options = world.options;
    change(input, options);
    return ReasonOf(AggregateRound(input, options, nullptr, nullptr).status());
  };
  EXPECT_EQ(reason([](federation::DafRoundInput&, federation::DafRoundOptions&) {}), "");
  for (const float boundary : {0.0F, 1.0F, -1.0F, NAN}) {
    EXPECT_EQ(reason([&](federation::DafRoundInput& i, federation::DafRoundOptions&) {
                i.boundaries = {boundary};
              }),
              reasons::kInvalidArgument);
  }
  const std::vector<std::function<void(federation::DafRoundOptions&)>> changes = {
      [](federation::DafRoundOptions& o) { o.least_reputation = NAN; },
      [](federation::DafRoundOptions& o) { o.least_reputation = 1.5; },
      [](federation::DafRoundOptions& o) { o.rules.max_norm = INFINITY; },
      [](federation::DafRoundOptions& o) { o.rules.max_norm = 0; },
      [](federation::DafRoundOptions& o) { o.gate.standard_errors = -1; }};
  for (size_t i = 0; i < changes.size(); ++i) {
    EXPECT_EQ(
        reason([&](federation::DafRoundInput&, federation::DafRoundOptions& o) { changes[i](o); }),
        reasons::kInvalidArgument)
        << i;
  }
}

TEST(DafRound, RecordsContributionAndEffect) {
  World world;
  world.updates = {UpdateOf({0.5F}, {Filled(1), {}}), UpdateOf({0.5F}, {Filled(1), Filled(1)})};
  const auto result = world.Run();
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->contributors, (std::vector<size_t>{2, 1}));
  const federation::BankEffect& effect = result->peers[0].banks[0];
  EXPECT_EQ(effect.coverage, 1);
  EXPECT_EQ(effect.weight, 1);
  EXPECT_NEAR(effect.norm, 2, 1e-6);
  EXPECT_NEAR(effect.distance, 0, 1e-6);
  EXPECT_NEAR(effect.cosine, 1, 1e-6);
  EXPECT_EQ(result->peers[0].banks[1].coverage, 0);
}

TEST(DafRound, RefusesTwoOfOneOriginAndTooMany) {
  World world;
  world.updates = {UpdateOf({}, {Filled(1)})};
  federation::DafRoundInput input = world.Input();
  input.updates.push_back(input.updates[0]);
  EXPECT_EQ(ReasonOf(AggregateRound(input, world.options, nullptr, nullptr).status()),
            reasons::kInvalidArgument);
  input.updates.resize(limits::kMaxContributions + 1, input.updates[0]);
  EXPECT_EQ(ReasonOf(AggregateRound(input, world.options, nullptr, nullptr).status()),
            reasons::kInvalidArgument);
}

TEST(Strategy, ClustersByTotalVariation) {
  const federation::TimestepHistogram low =
      federation::HistogramOf({10, 10, 10, 0, 0, 0, 0, 0, 0, 0});
  const federation::TimestepHistogram near =
      federation::HistogramOf({10, 10, 12, 0, 0, 0, 0, 0, 0, 0});
  const federation::TimestepHistogram high =
      federation::HistogramOf({0, 0, 0, 0, 0, 0, 0, 10, 10, 10});
  EXPECT_EQ(federation::ScheduleSimilarity(low, low), 1);
  EXPECT_NEAR(federation::ScheduleSimilarity(low, high), 0, 1e-9);
  const std::vector<federation::TimestepHistogram> schedules = {low, high, near, high, low};
  EXPECT_EQ(federation::ClusterSchedules(schedules, 0.25), (std::vector<size_t>{0, 1, 0, 1, 0}));
  EXPECT_EQ(federation::ClusterSchedules(schedules, 1), (std::vector<size_t>(5, 0)));
}

// A liar that invents its own schedule is alone in a cluster; it must not get the weight of a whole
// cluster.
TEST(Strategy, ALoneScheduleIsOneOfNNotOneOfTheClusters) {
  const federation::TimestepHistogram honest =
      federation::HistogramOf({1, 1, 1, 1, 1, 1, 1, 1, 1, 1});
  const federation::TimestepHistogram odd = federation::HistogramOf({1, 0, 0, 0, 0, 0, 0, 0, 0, 0});
  const std::vector<std::vector<float>> values = {{1}, {1.1F}, {0.9F}, {1}, {1.05F}, {0.95F}, {-9}};
  const std::vector<federation::TimestepHistogram> schedules = {honest, honest, honest, honest,
                                                                honest, honest, odd};
  const std::vector<std::span<const float>> updates(values.begin(), values.end());
  std::vector<float> out(1);
  federation::CombineByStrategy({.strategy = federation::Strategy::kScheduleSimilarity},
                                federation::DefaultRule(), {.updates = updates, .own = 0},
                                schedules, out);
  EXPECT_NEAR(out[0], 1, 0.1);
}

TEST(Strategy, HybridWeighsThree) {
  const federation::StrategyOptions options{.strategy = federation::Strategy::kHybrid,
                                            .timestep_weight = 1,
                                            .quality_weight = 2,
                                            .schedule_weight = 1,
                                            .staleness_exponent = 0.5};
  const std::vector<federation::UpdateView> views = {
      {.coverage = 1, .staleness = 0, .improvement = 0.2, .similarity = 1},
      {.coverage = 0.5, .staleness = 0, .improvement = 0.1, .similarity = 0.5},
      {.coverage = 1, .staleness = 3, .improvement = -0.1, .similarity = 0},
      {.coverage = 0, .staleness = 0, .improvement = 0.2, .similarity = 1}};
  const std::vector<double> weights = federation::WeightsOf(options, views);
  EXPECT_DOUBLE_EQ(weights[0], 1);
  EXPECT_DOUBLE_EQ(weights[1], (0.5 + 2 * 0.5 + 0.5) / 4);
  EXPECT_DOUBLE_EQ(weights[2], 0.25 / 2);
  EXPECT_EQ(weights[3], 0);  // has no values for the bank
  EXPECT_FALSE(
      federation::CheckStrategy({.timestep_weight = 0, .quality_weight = 0, .schedule_weight = 0})
          .ok());
  EXPECT_FALSE(federation::CheckStrategy({.cluster_distance = 2}).ok());
}

// Other exponents would need a power function, whose last bits depend on the machine.
TEST(Strategy, StalenessIsARootAQuotientOrNothing) {
  for (const double exponent : {0.0, 0.5, 1.0}) {
    EXPECT_TRUE(federation::CheckStrategy({.staleness_exponent = exponent}).ok());
    EXPECT_EQ(federation::StalenessFactor(exponent, 0), 1);
  }
  EXPECT_EQ(federation::StalenessFactor(0, 15), 1);
  EXPECT_EQ(federation::StalenessFactor(0.5, 15), 0.25);
  EXPECT_EQ(federation::StalenessFactor(1, 15), 0.0625);
  for (const double exponent : {-0.5, 0.25, 0.75, 2.0}) {
    EXPECT_FALSE(federation::CheckStrategy({.staleness_exponent = exponent}).ok()) << exponent;
  }
}

TEST(Strategy, SimilarityToAMeanCountsWeights) {
  const federation::TimestepHistogram low = federation::HistogramOf({1, 0, 0, 0, 0, 0, 0, 0, 0, 0});
  const federation::TimestepHistogram high =
      federation::HistogramOf({0, 0, 0, 0, 0, 0, 0, 0, 0, 1});
  const std::vector<federation::TimestepHistogram> schedules = {low, high};
  const auto mean = federation::MeanSchedule(schedules, std::vector<double>{3, 1});
  EXPECT_DOUBLE_EQ(mean.front(), 0.75);
  EXPECT_DOUBLE_EQ(federation::ScheduleSimilarity(low, mean), 0.75);
  EXPECT_DOUBLE_EQ(federation::ScheduleSimilarity(high, mean), 0.25);
  const auto even = federation::MeanSchedule(schedules, std::vector<double>{0, 0});
  EXPECT_DOUBLE_EQ(federation::ScheduleSimilarity(high, even), 0.5);
}

}  // namespace
}  // namespace ruvd::test
