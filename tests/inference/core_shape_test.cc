// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/adapter/core_shape.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/reasons.h"
#include "base/status.h"
#include "inference/adapter/adapter_kinds.h"
#include "inference/limits.h"
#include "tests/inference/text_model.h"

namespace ruvd::inference {
namespace {

using Values = std::vector<std::vector<float>>;

const FrameSet& TestFrame() {
  static const FrameSet frame =
      RandomFrameSet(*test::TinyTextModel(), LinearTargets(*test::TinyTextModel(), Modules::kAll),
                     5, 1)
          .value();
  return frame;
}

Values RandomValues(const CoreShape& shape, uint64_t seed) {
  Random random(seed);
  Values banks(shape.banks(), std::vector<float>(shape.values_per_bank()));
  for (std::vector<float>& bank : banks) {
    std::ranges::generate(bank, [&] { return static_cast<float>(random.Normal()); });
  }
  return banks;
}

TEST(CoreShapeTest, NamesTheModulesOfTheFrameInOrder) {
  const CoreShape shape = CoreShapeOf(TestFrame(), 3, {0.3F, 0.6F}).value();
  EXPECT_EQ(shape.frame_id, TestFrame().id);
  EXPECT_EQ(shape.model_hash, test::TinyTextModel()->hash());
  ASSERT_EQ(shape.modules.size(), 14U);
  EXPECT_TRUE(std::ranges::is_sorted(shape.modules, {}, &CoreShape::Module::target));
  EXPECT_EQ(shape.modules[0], (CoreShape::Module{.target = "blk.0.attn_k.weight", .rank = 3}));
  EXPECT_EQ(shape.banks(), 3U);
  EXPECT_EQ(shape.values_per_bank(), 14U * 9);
  EXPECT_EQ(shape.values(), 3U * 14 * 9);
  EXPECT_EQ(CoreShapeOf(TestFrame(), 3)->banks(), 1U);
}

TEST(CoreShapeTest, RanksEndWhereTheFramesDo) {
  const std::vector<std::string> targets = {"blk.0.attn_k.weight", "blk.0.attn_q.weight"};
  const FrameSet frame = RandomFrameSet(*test::TinyTextModel(), targets, 40, 1).value();
  const CoreShape shape = CoreShapeOf(frame, 36).value();
  EXPECT_EQ(shape.modules[0].rank, 32);  // the matrix has 32 rows
  EXPECT_EQ(shape.modules[1].rank, 36);
  EXPECT_EQ(shape.values_per_bank(), 32U * 32 + 36 * 36);
}

TEST(CoreShapeTest, KnowsTheFishersInformationOfItsValues) {
  EXPECT_TRUE(CoreShapeOf(TestFrame(), 3)->fisher.empty());
  FrameSet frame = TestFrame();
  for (auto& [target, module] : frame.modules) {
    for (int i = 0; i < module.rank * module.rank; ++i) {
      module.fisher.push_back(static_cast<float>(i));
    }
  }
  const CoreShape shape = CoreShapeOf(frame, 2, {0.25F}).value();
  ASSERT_EQ(shape.fisher.size(), shape.values());
  // The leading rows and columns of a module of rank 5, with a quarter of t in the lower bank
  for (const auto& [place, whole] : {std::pair<size_t, float>{1, 1}, {2, 5}, {3, 6}, {7, 6}}) {
    EXPECT_EQ(shape.fisher[place], 0.25F * whole) << place;
    EXPECT_EQ(shape.fisher[shape.values_per_bank() + place], 0.75F * whole) << place;
  }
}

TEST(CoreShapeTest, WhatHasNoShapeIsRefused) {
  const auto reason = [](int rank, std::vector<float> boundaries) {
    return ReasonOf(CoreShapeOf(TestFrame(), rank, std::move(boundaries)).status());
  };
  EXPECT_EQ(reason(limits::kMaxAdapterRank, {}), "");
  EXPECT_EQ(reason(0, {}), reasons::kInvalidArgument);
  EXPECT_EQ(reason(limits::kMaxAdapterRank + 1, {}), reasons::kInvalidArgument);
  EXPECT_EQ(reason(3, {0.6F, 0.3F}), reasons::kInvalidArgument);
  EXPECT_EQ(reason(3, {1.0F}), reasons::kInvalidArgument);
  EXPECT_EQ(ReasonOf(CoreShapeOf({}, 3).status()), reasons::kInvalidArgument);
}

TEST(CoreShapeTest, AShapeMustFitItsFrame) {
  const CoreShape good = CoreShapeOf(TestFrame(), 3).value();
  const auto reason = [&](auto change) {
    CoreShape shape = good;
    change(shape);
    return ReasonOf(CheckCoreShape(shape, TestFrame()));
  };
  EXPECT_EQ(reason([](CoreShape&) {}), "");
  EXPECT_EQ(reason([](CoreShape& shape) { shape.modules.resize(2); }), "");
  EXPECT_EQ(reason([](CoreShape& shape) { shape.modules.clear(); }), reasons::kInvalidArgument);
  EXPECT_EQ(reason([](CoreShape& shape) { std::swap(shape.modules[0], shape.modules[1]); }),
            reasons::kInvalidArgument);
  EXPECT_EQ(reason([](CoreShape& shape) { shape.modules[1] = shape.modules[0]; }),
            reasons::kInvalidArgument);
  EXPECT_EQ(reason([](CoreShape& shape) { shape.boundaries = {0.5F, 0.5F}; }),
            reasons::kInvalidArgument);
  EXPECT_EQ(reason([](CoreShape& shape) { ++shape.frame_id[0]; }), reasons::kFrameMismatch);
  EXPECT_EQ(reason([](CoreShape& shape) { ++shape.model_hash[0]; }), reasons::kFrameMismatch);
  EXPECT_EQ(reason([](CoreShape& shape) { shape.modules[0].rank = 6; }), reasons::kFrameMismatch);
  EXPECT_EQ(reason([](CoreShape& shape) { shape.modules[0].rank = 0; }), reasons::kFrameMismatch);
  EXPECT_EQ(reason([](CoreShape& shape) { shape.modules.push_back({.target = "z", .rank = 1}); }),
            reasons::kFrameMismatch);
}

TEST(TaloraOfCoresTest, OneBankActsAtAllT) {
  const CoreShape shape = CoreShapeOf(TestFrame(), 3).value();
  const auto talora =
      TaloraOfCores(TestFrame(), shape, RandomValues(shape, 1), "global", 7).value();
  EXPECT_EQ(talora->name, "global");
  EXPECT_EQ(talora->version, 7U);
  EXPECT_TRUE(talora->residuals.empty());
  EXPECT_EQ(talora->trunk->kind, AdapterKind::kCore);
  EXPECT_EQ(talora->trunk->frame_id, TestFrame().id);
  EXPECT_TRUE(CheckTalora(*talora).ok());
  EXPECT_TRUE(CheckTalora(*talora, *test::TinyTextModel()).ok());
  EXPECT_TRUE(IsStatic(*talora));
}

TEST(TaloraOfCoresTest, EachBankActsInItsRangeOfT) {
  const CoreShape shape = CoreShapeOf(TestFrame(), 3, {0.25F, 0.5F}).value();
  const auto talora =
      TaloraOfCores(TestFrame(), shape, RandomValues(shape, 1), "global", 7).value();
  EXPECT_EQ(talora->trunk, nullptr);
  ASSERT_EQ(talora->residuals.size(), 3U);
  EXPECT_TRUE(CheckTalora(*talora).ok());
  EXPECT_TRUE(CheckTalora(*talora, *test::TinyTextModel()).ok());
  for (const auto& [t, bank] : {std::pair{0.1F, 0}, {0.25F, 1}, {0.4F, 1}, {0.9F, 2}}) {
    AdapterMix mix;
    AppendMix(*talora, t, {}, 1.0F, &mix);
    ASSERT_EQ(mix.parts.size(), 1U) << t;
    EXPECT_EQ(mix.parts[0].adapter, talora->residuals[static_cast<size_t>(bank)]) << t;
    EXPECT_EQ(mix.parts[0].weight, 1.0F) << t;
  }
}

// The change of a module is P R Q with the leading columns and rows of the frame, summed here in
// double.
TEST(TaloraOfCoresTest, AChangeIsTheCoreBetweenTheFramesFactors) {
  const CoreShape shape = CoreShapeOf(TestFrame(), 3).value();
  const Values values = RandomValues(shape, 2);
  const auto talora = TaloraOfCores(TestFrame(), shape, values, "global", 1).value();
  const size_t place = 4;
  const ModuleFrame& module = TestFrame().modules.at(shape.modules[place].target);
  const LowRank& change = talora->trunk->targets.at(shape.modules[place].target);
  const float* const core = values[0].data() + place * 9;
  const auto in = static_cast<size_t>(module.in);
  const auto out = static_cast<size_t>(module.out);
  ASSERT_EQ(change.rank, 3);
  for (size_t o = 0; o < out; o += 7) {
    for (size_t i = 0; i < in; i += 5) {
      double expected = 0;
      double served = 0;
      for (size_t k = 0; k < 3; ++k) {
        for (size_t j = 0; j < 3; ++j) {
          expected +=
              static_cast<double>(module.p[k * out + o]) * core[k * 3 + j] * module.q[j * in + i];
        }
        served += static_cast<double>(change.b[o * 3 + k]) * change.a[k * in + i] * change.scale;
      }
      EXPECT_NEAR(served, expected, 1e-6);
    }
  }
}

RC_GTEST_PROP(TaloraOfCoresTest, TheCoresAreInTheAdapter, ()) {
  const int rank = *rc::gen::inRange(1, 6);
  const bool banked = *rc::gen::arbitrary<bool>();
  const CoreShape shape =
      CoreShapeOf(TestFrame(), rank, banked ? std::vector<float>{0.5F} : std::vector<float>())
          .value();
  const Values values = RandomValues(shape, *rc::gen::arbitrary<uint64_t>());
  const auto talora = TaloraOfCores(TestFrame(), shape, values, "global", 1).value();
  for (size_t bank = 0; bank < shape.banks(); ++bank) {
    const CoreSet cores =
        CoresOf(banked ? *talora->residuals[bank] : *talora->trunk, TestFrame()).value();
    size_t place = 0;
    for (const auto& [target, core] : cores.cores) {
      for (const float value : core.values) {
        RC_ASSERT(std::abs(value - values[bank][place++]) < 1e-4F);
      }
    }
    RC_ASSERT(place == shape.values_per_bank());
  }
}

TEST(TaloraOfCoresTest, ValuesThatDoNotFitAreRefused) {
  const CoreShape shape = CoreShapeOf(TestFrame(), 2, {0.5F}).value();
  const auto reason = [&](auto change) {
    Values values = RandomValues(shape, 3);
    change(values);
    return ReasonOf(TaloraOfCores(TestFrame(), shape, values, "global", 1).status());
  };
  EXPECT_EQ(reason([](Values&) {}), "");
  EXPECT_EQ(reason([](Values& values) { values.pop_back(); }), reasons::kUpdateInvalid);
  EXPECT_EQ(reason([](Values& values) { values.emplace_back(); }), reasons::kUpdateInvalid);
  EXPECT_EQ(reason([](Values& values) { values[1].pop_back(); }), reasons::kUpdateInvalid);
  EXPECT_EQ(reason([](Values& values) { values[1].push_back(0); }), reasons::kUpdateInvalid);
  EXPECT_EQ(reason([](Values& values) { values[1][5] = std::numeric_limits<float>::quiet_NaN(); }),
            reasons::kUpdateInvalid);
  CoreShape other = shape;
  ++other.frame_id[0];
  EXPECT_EQ(
      ReasonOf(TaloraOfCores(TestFrame(), other, RandomValues(shape, 3), "global", 1).status()),
      reasons::kFrameMismatch);
}

}  // namespace
}  // namespace ruvd::inference
