// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/adapter/talora.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "base/reasons.h"
#include "base/status.h"
#include "inference/adapter/adapter_bytes.h"
#include "inference/adapter/adapter_file.h"
#include "inference/adapter/adapter_kinds.h"
#include "inference/adapter/merge.h"
#include "inference/adapter/refactor.h"
#include "inference/adapter/talora_file.h"
#include "inference/gguf/half.h"
#include "inference/limits.h"
#include "tests/inference/talora_fixture.h"

namespace ruvd::inference {
namespace {

using test::RandomTalora;

double Sum(const BankWeights& weights) {
  double sum = 0;
  for (const float weight : weights) {
    sum += static_cast<double>(weight);
  }
  return sum;
}

std::vector<float> Boundaries(size_t count, Random& random) {
  std::vector<float> boundaries;
  while (boundaries.size() < count) {
    boundaries.push_back(static_cast<float>(0.02 + 0.96 * random.Uniform()));
    std::sort(boundaries.begin(), boundaries.end());
    boundaries.erase(std::unique(boundaries.begin(), boundaries.end()), boundaries.end());
  }
  return boundaries;
}

constexpr BankStrategy kStrategies[] = {BankStrategy::kDiscrete, BankStrategy::kLinear,
                                        BankStrategy::kAttention, BankStrategy::kSoftBoundary};

BankRouter SomeRouter(size_t banks, uint64_t seed) {
  BankRouter router(banks, 4, 3);
  Random random(seed);
  for (double& value : router.parameters()) {
    value = random.Normal();
  }
  return router;
}

RC_GTEST_PROP(BankWeightsTest, SumToOneForEveryStrategyAndT, (uint64_t seed)) {
  Random random(seed);
  BankSchedule schedule{.boundaries = Boundaries(random.Below(limits::kMaxTimestepBanks), random)};
  RC_ASSERT(CheckSchedule(schedule).ok());
  const BankRouter router = SomeRouter(schedule.banks(), seed);
  for (const BankStrategy strategy : kStrategies) {
    schedule.strategy = strategy;
    const auto t = static_cast<float>(random.Uniform());
    const BankWeights weights = WeightsAt(schedule, &router, t, {});
    RC_ASSERT(std::abs(Sum(weights) - 1) < 1e-6);
    RC_ASSERT(*std::min_element(weights.begin(), weights.end()) >= 0);
    RC_ASSERT(std::all_of(weights.begin() + static_cast<std::ptrdiff_t>(schedule.banks()),
                          weights.end(), [](float weight) { return weight == 0; }));
  }
}

// Tests all strategies but discrete: a small step of t is a small step of the weights, at the
// boundaries as well.
RC_GTEST_PROP(BankWeightsTest, AreContinuousInT, (uint64_t seed)) {
  Random random(seed);
  BankSchedule schedule;
  const BankRouter router = SomeRouter(schedule.banks(), seed);
  for (const BankStrategy strategy :
       {BankStrategy::kLinear, BankStrategy::kAttention, BankStrategy::kSoftBoundary}) {
    schedule.strategy = strategy;
    BankWeights before = WeightsAt(schedule, &router, 0, {});
    constexpr int kSteps = 2000;
    for (int i = 1; i <= kSteps; ++i) {
      const BankWeights now = WeightsAt(schedule, &router, static_cast<float>(i) / kSteps, {});
      for (size_t k = 0; k < schedule.banks(); ++k) {
        RC_ASSERT(std::abs(now[k] - before[k]) < 0.03F);
      }
      before = now;
    }
  }
}

TEST(BankWeightsTest, DiscreteIsTheBankOfT) {
  const BankSchedule schedule;
  EXPECT_EQ(BankIndex(schedule, -1), 0U);
  EXPECT_EQ(BankIndex(schedule, 0.2999F), 0U);
  EXPECT_EQ(BankIndex(schedule, 0.3F), 1U);
  EXPECT_EQ(BankIndex(schedule, 0.6F), 2U);
  EXPECT_EQ(BankIndex(schedule, 1), 2U);
  EXPECT_EQ(WeightsAt(schedule, nullptr, 0.45F, {})[1], 1.0F);
}

TEST(BankWeightsTest, LinearMixesNeighboursByTheDistanceOfTheirMiddles) {
  const BankSchedule schedule{.strategy = BankStrategy::kLinear};  // middles 0.15, 0.45, 0.8
  EXPECT_EQ(WeightsAt(schedule, nullptr, 0.1F, {})[0], 1.0F);
  EXPECT_NEAR(WeightsAt(schedule, nullptr, 0.45F, {})[1], 1, 1e-6);
  const BankWeights between = WeightsAt(schedule, nullptr, 0.3F, {});
  EXPECT_NEAR(between[0], 0.5, 1e-6);
  EXPECT_NEAR(between[1], 0.5, 1e-6);
  EXPECT_NEAR(WeightsAt(schedule, nullptr, 0.52F, {})[2], 0.2, 1e-6);
  EXPECT_EQ(WeightsAt(schedule, nullptr, 0.9F, {})[2], 1.0F);
}

TEST(BankWeightsTest, ASharpSoftBoundaryIsDiscrete) {
  BankSchedule soft{.strategy = BankStrategy::kSoftBoundary,
                    .temperature = limits::kMinBankTemperature};
  const BankSchedule hard;
  for (const float t : {0.0F, 0.1F, 0.28F, 0.32F, 0.58F, 0.62F, 1.0F}) {
    const BankWeights a = WeightsAt(soft, nullptr, t, {});
    const BankWeights b = WeightsAt(hard, nullptr, t, {});
    for (size_t k = 0; k < 3; ++k) {
      EXPECT_NEAR(a[k], b[k], 1e-6) << t;
    }
  }
  soft.temperature = 0.05F;
  const BankWeights at = WeightsAt(soft, nullptr, 0.3F, {});
  EXPECT_NEAR(at[0], 0.5, 1e-6) << "half at the boundary";
}

TEST(BankWeightsTest, OneBankHasAllTheWeight) {
  BankSchedule schedule{.boundaries = {}};
  const BankRouter router = SomeRouter(1, 1);
  for (const BankStrategy strategy : kStrategies) {
    schedule.strategy = strategy;
    EXPECT_EQ(WeightsAt(schedule, &router, 0.7F, {})[0], 1.0F);
  }
}

TEST(BankWeightsTest, RefusesSchedulesThatCannotBe) {
  for (const std::vector<float>& boundaries : std::vector<std::vector<float>>{
           {0.6F, 0.3F}, {0.3F, 0.3F}, {0.0F}, {1.0F}, {-1}, {2}, {std::nanf("")}}) {
    EXPECT_EQ(ReasonOf(CheckSchedule({.boundaries = boundaries})), reasons::kAdapterInvalid);
  }
  Random random(1);
  EXPECT_FALSE(CheckSchedule({.boundaries = Boundaries(limits::kMaxTimestepBanks, random)}).ok());
  EXPECT_FALSE(CheckSchedule({.temperature = 0}).ok());
  for (const BankStrategy strategy : kStrategies) {
    EXPECT_EQ(BankStrategyByName(BankStrategyName(strategy)), strategy);
  }
}

// The weight that `adapter` has in a mix.
float WeightOf(const AdapterMix& mix, const std::shared_ptr<const Adapter>& adapter) {
  float weight = 0;
  for (const AdapterMix::Part& part : mix.parts) {
    weight += part.adapter == adapter ? part.weight : 0;
  }
  return weight;
}

TEST(TaloraTest, MixesTrunkAndBanks) {
  const test::TextModel model;
  Talora talora = RandomTalora(model, BankStrategy::kLinear);
  ASSERT_TRUE(CheckTalora(talora).ok());
  AdapterMix mix;
  AppendMix(talora, 0.3F, {}, 0.5F, &mix);
  EXPECT_EQ(mix.parts.size(), 3U);
  EXPECT_EQ(WeightOf(mix, talora.trunk), 0.5F);
  EXPECT_NEAR(WeightOf(mix, talora.residuals[0]), 0.25, 1e-6);
  EXPECT_NEAR(WeightOf(mix, talora.residuals[1]), 0.25, 1e-6);
  EXPECT_FALSE(IsStatic(talora));
}

TEST(TaloraTest, SpecialCases) {
  const test::TextModel model;
  Talora hard = RandomTalora(model, BankStrategy::kDiscrete);
  hard.trunk = nullptr;
  ASSERT_TRUE(CheckTalora(hard).ok());
  AdapterMix mix;
  AppendMix(hard, 0.9F, {}, 1, &mix);
  ASSERT_EQ(mix.parts.size(), 1U);
  EXPECT_EQ(mix.parts[0].adapter, hard.residuals[2]);

  const auto plain = RandomTalora(model, BankStrategy::kDiscrete).trunk;
  const auto still = StaticTalora(plain);
  ASSERT_TRUE(CheckTalora(*still).ok());
  EXPECT_TRUE(IsStatic(*still));
  EXPECT_EQ(AdapterId(*still), AdapterId(*plain));
  AdapterMix static_mix;
  AppendMix(*still, 0.2F, {}, 1, &static_mix);
  EXPECT_TRUE(SameMix(static_mix, AdapterMix{{{plain, 1.0F}}}));
}

// With residuals that are equal everywhere, every strategy is the static sum.
TEST(TaloraTest, EqualBanksAreOneBank) {
  const test::TextModel model;
  for (const BankStrategy strategy : kStrategies) {
    Talora talora = RandomTalora(model, strategy);
    talora.residuals.assign(3, talora.residuals[0]);
    for (const float t : {0.05F, 0.3F, 0.5F, 1.0F}) {
      AdapterMix mix;
      AppendMix(talora, t, {}, 1, &mix);
      EXPECT_NEAR(WeightOf(mix, talora.residuals[0]), 1, 2e-3) << t;
      EXPECT_EQ(WeightOf(mix, talora.trunk), 1.0F);
    }
  }
}

TEST(TaloraTest, RefusesPartsThatDoNotFit) {
  const test::TextModel model;
  const auto reason = [&](const std::function<void(Talora*)>& change) {
    Talora talora = RandomTalora(model, BankStrategy::kDiscrete);
    change(&talora);
    return ReasonOf(CheckTalora(talora));
  };
  EXPECT_EQ(reason([](Talora* t) { t->residuals.pop_back(); }), reasons::kAdapterInvalid);
  EXPECT_EQ(reason([](Talora* t) { t->residuals[1] = nullptr; }), reasons::kAdapterInvalid);
  EXPECT_EQ(reason([](Talora* t) { t->schedule.strategy = BankStrategy::kAttention; }),
            reasons::kAdapterInvalid);
  EXPECT_EQ(reason([](Talora* t) { t->router = SomeRouter(3, 1); }), reasons::kAdapterInvalid);
  EXPECT_EQ(reason([](Talora* t) { t->model_hash[0] ^= 1; }), reasons::kAdapterInvalid);
  EXPECT_EQ(reason([](Talora* t) {
              t->trunk = nullptr;
              t->residuals.clear();
            }),
            reasons::kAdapterInvalid);
  EXPECT_EQ(reason([](Talora* t) {
              auto other = std::make_shared<Adapter>(*t->trunk);
              other->kind = AdapterKind::kMicroLora;
              t->trunk = other;
            }),
            reasons::kAdapterInvalid);
  Talora routed = RandomTalora(model, BankStrategy::kAttention);
  EXPECT_TRUE(CheckTalora(routed, model).ok());
  routed.router = SomeRouter(3, 1);
  EXPECT_TRUE(CheckTalora(routed).ok());
  EXPECT_EQ(ReasonOf(CheckTalora(routed, model)), reasons::kAdapterInvalid)
      << "embeddings of 4 values";
}

// A trunk and five banks, each of the largest rank, on one matrix.
Talora WideTalora(const Model& model, BankStrategy strategy) {
  const std::string target = "blk.0.attn_q.weight";
  const Matrix* matrix = FindMatrix(model, target);
  LowRank change{.rank = limits::kMaxAdapterRank, .in = matrix->columns, .out = matrix->rows};
  change.a.resize(static_cast<size_t>(change.rank * change.in));
  change.b.resize(static_cast<size_t>(change.rank * change.out));
  auto part = std::make_shared<Adapter>();
  part->name = "part";
  part->version = 1;
  part->model_hash = model.hash();
  part->targets.emplace(target, std::move(change));
  Talora talora{.name = "wide", .version = 1, .model_hash = model.hash()};
  talora.schedule = {.boundaries = {0.2F, 0.4F, 0.6F, 0.8F}, .strategy = strategy};
  talora.trunk = part;
  talora.residuals.assign(talora.schedule.banks(), part);
  if (strategy == BankStrategy::kAttention) {
    talora.router = BankRouter(5, static_cast<size_t>(model.config().width), 4);
  }
  return talora;
}

// Found by review: the adapter was loaded, and every request that chose it was refused.
TEST(TaloraTest, RefusesRanksThatNoMixMayHave) {
  const test::TextModel model;
  for (const BankStrategy strategy : {BankStrategy::kDiscrete, BankStrategy::kLinear}) {
    EXPECT_TRUE(CheckTalora(WideTalora(model, strategy), model).ok());  // two or three at once
  }
  for (const BankStrategy strategy : {BankStrategy::kAttention, BankStrategy::kSoftBoundary}) {
    const Talora wide = WideTalora(model, strategy);
    EXPECT_TRUE(CheckTalora(wide).ok());
    EXPECT_EQ(ReasonOf(CheckTalora(wide, model)), reasons::kAdapterInvalid);
  }
}

TEST(TaloraTest, PlainAdaptersAreTrunkAndBankTogether) {
  const test::TextModel model;
  const Talora talora = RandomTalora(model, BankStrategy::kDiscrete);
  const auto bank = PlainAdapter(talora, 1).value();
  EXPECT_EQ(bank->name, "tale-bank1");
  for (const auto& [target, change] : bank->targets) {
    DenseMatrix expected = ToDenseMatrix(talora.trunk->targets.at(target));
    const DenseMatrix residual = ToDenseMatrix(talora.residuals[1]->targets.at(target));
    const DenseMatrix both = ToDenseMatrix(change);
    for (size_t i = 0; i < both.values.size(); ++i) {
      EXPECT_NEAR(both.values[i], expected.values[i] + residual.values[i], 1e-5);
    }
  }
  EXPECT_EQ(PlainAdapter(talora, std::nullopt).value()->name, "tale-trunk");
  EXPECT_EQ(ReasonOf(PlainAdapter(talora, 3).status()), reasons::kInvalidArgument);
  Talora hard = talora;
  hard.trunk = nullptr;
  EXPECT_EQ(ReasonOf(PlainAdapter(hard, std::nullopt).status()), reasons::kInvalidArgument);
  EXPECT_EQ(AdapterId(*PlainAdapter(hard, 0).value()), AdapterId(*hard.residuals[0]));
  const std::string file = SerializeAdapterFile(*bank, model).value();
  EXPECT_TRUE(ParseAdapterFile(AsBytes(file), model, "x").ok());
}

TEST(TaloraFileTest, RoundTrip) {
  const test::TextModel model;
  for (const BankStrategy strategy : kStrategies) {
    Talora talora = RandomTalora(model, strategy);
    talora.training = {.residual_rate = 0.25F, .residual_decay = 0.125F};
    const std::string bytes = SerializeTaloraFile(talora, model).value();
    const auto parsed = ParseTaloraFile(AsBytes(bytes), model, "file");
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    const Talora& read = **parsed;
    EXPECT_EQ(read.name, "tale");
    EXPECT_EQ(read.version, 3U);
    EXPECT_EQ(read.schedule.boundaries, talora.schedule.boundaries);
    EXPECT_EQ(read.schedule.strategy, strategy);
    EXPECT_EQ(read.schedule.temperature, talora.schedule.temperature);
    EXPECT_EQ(read.training.residual_rate, 0.25F);
    EXPECT_EQ(read.training.residual_decay, 0.125F);
    EXPECT_EQ(AdapterId(read), AdapterId(talora));
    EXPECT_EQ(FactorBytes(read), FactorBytes(talora));
  }
}

TEST(TaloraFileTest, WordsOfLessonsAreKept) {
  const test::TextModel model;
  for (const bool banks : {false, true}) {
    Talora talora = RandomTalora(model, BankStrategy::kDiscrete);
    if (!banks) {
      talora = *StaticTalora(talora.trunk);
    }
    const auto unknown =
        ParseTaloraFile(AsBytes(SerializeTaloraFile(talora, model).value()), model, "x").value();
    EXPECT_FALSE(unknown->words.has_value());
    talora.words = LessonWords{
        .lessons = 7, .counts = {{.token = 3, .lessons = 7}, {.token = 250, .lessons = 1}}};
    const std::string bytes = SerializeTaloraFile(talora, model).value();
    EXPECT_EQ(ParseTaloraFile(AsBytes(bytes), model, "x").value()->words, talora.words);
    talora.words->counts.push_back({.token = 258, .lessons = 1});
    EXPECT_EQ(ReasonOf(SerializeTaloraFile(talora, model).status()), reasons::kAdapterInvalid)
        << "a word of another vocabulary";
  }
}

// A file whose words were changed must be refused and not read in part.
TEST(TaloraFileTest, DamagedWordsAreRefused) {
  const test::TextModel model;
  const Adapter adapter = *RandomTalora(model, BankStrategy::kDiscrete).trunk;
  const auto refused = [&](const LessonWords& words) {
    const std::string bytes = SerializeAdapterFile(adapter, model, words).value();
    return ReasonOf(ParseTaloraFile(AsBytes(bytes), model, "x").status());
  };
  EXPECT_EQ(refused({.lessons = 1, .counts = {{.token = 300, .lessons = 1}}}),
            reasons::kAdapterInvalid);
  EXPECT_EQ(refused({.lessons = 1, .counts = {{.token = 3, .lessons = 2}}}),
            reasons::kAdapterInvalid);
  EXPECT_EQ(refused({.lessons = limits::kMaxWordLessons + 1, .counts = {}}),
            reasons::kAdapterInvalid);
  EXPECT_EQ(refused({.lessons = 1, .counts = {{.token = 3, .lessons = 1U << 31}}}),
            reasons::kAdapterInvalid);
}

// An adapter that is sent to peers is written with half the bytes.
TEST(TaloraFileTest, FactorsMayBeWrittenInHalfPrecision) {
  const test::TextModel model;
  for (const bool banks : {false, true}) {
    Talora talora = RandomTalora(model, BankStrategy::kDiscrete);
    if (!banks) {
      talora = *StaticTalora(talora.trunk);
    }
    const std::string whole = SerializeTaloraFile(talora, model).value();
    const std::string half = SerializeTaloraFile(talora, model, TensorType::kF16).value();
    EXPECT_LT(half.size(), whole.size());
    const auto parsed = ParseTaloraFile(AsBytes(half), model, "x").value();
    for (const auto& [name, change] : parsed->trunk->targets) {
      const LowRank& exact = talora.trunk->targets.at(name);
      for (size_t i = 0; i < change.a.size(); ++i) {
        EXPECT_EQ(change.a[i], HalfToFloat(FloatToHalf(exact.a[i])));
      }
    }
    EXPECT_EQ(SerializeTaloraFile(*parsed, model, TensorType::kF16).value(), half);
  }
}

TEST(TaloraFileTest, StaticOnesArePlainFiles) {
  const test::TextModel model;
  Talora talora = *StaticTalora(RandomTalora(model, BankStrategy::kDiscrete).trunk);
  talora.name = "still";
  talora.version = 9;
  const std::string bytes = SerializeTaloraFile(talora, model).value();
  EXPECT_EQ(ParseAdapterFile(AsBytes(bytes), model, "x").value()->version, 9U);
  const auto parsed = ParseTaloraFile(AsBytes(bytes), model, "x").value();
  EXPECT_EQ(parsed->name, "still");
  EXPECT_TRUE(IsStatic(*parsed));
}

TEST(TaloraFileTest, HardBanksNeedNoTrunk) {
  const test::TextModel model;
  Talora talora = RandomTalora(model, BankStrategy::kDiscrete);
  talora.trunk = nullptr;
  const std::string bytes = SerializeTaloraFile(talora, model).value();
  const auto parsed = ParseTaloraFile(AsBytes(bytes), model, "x");
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ((*parsed)->trunk, nullptr);
  EXPECT_EQ((*parsed)->residuals.size(), 3U);
  EXPECT_EQ(ReasonOf(ParseAdapterFile(AsBytes(bytes), model, "x").status()),
            reasons::kAdapterInvalid)
      << "nobody takes it for a plain one";
}

RC_GTEST_PROP(TaloraFileTest, DamageNeverCrashes, (uint64_t seed)) {
  static const test::TextModel model;
  static const std::string intact =
      SerializeTaloraFile(RandomTalora(model, BankStrategy::kAttention), model).value();
  Random random(seed);
  std::string bytes = intact;
  for (int i = 0; i < 3; ++i) {
    bytes[random.Below(std::min<size_t>(bytes.size(), 4096))] =
        static_cast<char>(random.Below(256));
  }
  const auto parsed = ParseTaloraFile(AsBytes(bytes), model, "x");
  const bool sound =
      !parsed.ok() || (CheckTalora(**parsed).ok() && CheckTalora(**parsed, model).ok());
  RC_ASSERT(sound);
}

}  // namespace
}  // namespace ruvd::inference
