// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/reasons.h"
#include "base/status.h"
#include "inference/adapter/adapter_kinds.h"
#include "inference/adapter/merge.h"
#include "inference/adapter/merge_entries.h"
#include "inference/adapter/refactor.h"
#include "tests/inference/text_model.h"

namespace ruvd::inference {
namespace {

constexpr char kOnlyTarget[] = "blk.0.attn_q.weight";

LowRank RandomChange(int rank, int out, int in, Random& random) {
  LowRank change{.rank = rank, .in = in, .out = out, .scale = 0.7F};
  for (int i = 0; i < rank * (in + out); ++i) {
    (i < rank * in ? change.a : change.b).push_back(static_cast<float>(random.Normal()));
  }
  return change;
}

std::shared_ptr<Adapter> MakePlain(uint64_t seed, int rank = 2,
                                   const std::string& target = kOnlyTarget) {
  Random random(seed);
  auto adapter = std::make_shared<Adapter>();
  adapter->name = "part";
  adapter->targets.emplace(target, RandomChange(rank, 6, 9, random));
  return adapter;
}

double Difference(const DenseMatrix& a, const DenseMatrix& b) {
  double sum = 0;
  for (size_t i = 0; i < a.values.size(); ++i) {
    sum = std::max(sum, std::abs(a.values[i] - b.values.at(i)));
  }
  return sum;
}

DenseMatrix Weighted(const LowRank& a, double x, const LowRank& b, double y) {
  DenseMatrix sum = ToDenseMatrix(a);
  const DenseMatrix other = ToDenseMatrix(b);
  for (size_t i = 0; i < sum.values.size(); ++i) {
    sum.values[i] = x * sum.values[i] + y * other.values[i];
  }
  return sum;
}

const LowRank& Only(const Adapter& adapter) {
  return adapter.targets.at(kOnlyTarget);
}

TEST(MergeTest, SumsAreExact) {
  const auto a = MakePlain(1, 2);
  const auto b = MakePlain(2, 3);
  const auto sum = MergeAdapters(std::vector<MergePart>{{a, 0.5F}, {b, -2}}, {}, "sum", 4).value();
  EXPECT_EQ(sum->name, "sum");
  EXPECT_EQ(sum->version, 4U);
  EXPECT_EQ(Only(*sum).rank, 5);
  EXPECT_LT(Difference(ToDenseMatrix(Only(*sum)), Weighted(Only(*a), 0.5, Only(*b), -2)), 1e-6);
}

TEST(MergeTest, SumsAboveTheMatrixAreFactoredAgain) {
  const auto a = MakePlain(1, 5);
  const auto b = MakePlain(2, 5);
  const auto sum = MergeAdapters(std::vector<MergePart>{{a, 1}, {b, 1}}, {}, "sum", 1).value();
  EXPECT_EQ(Only(*sum).rank, 6);
  EXPECT_LT(Difference(ToDenseMatrix(Only(*sum)), Weighted(Only(*a), 1, Only(*b), 1)), 1e-5);
}

// Found by review: the merged adapter was cut without a warning.
TEST(MergeTest, WhatIsTooLargeToBeExactIsNotCutUnasked) {
  std::vector<MergePart> parts;
  for (int i = 0; i < 2; ++i) {
    auto adapter = std::make_shared<Adapter>();
    adapter->name = "wide";
    adapter->version = 1;
    LowRank change{.rank = 150, .in = 300, .out = 300};
    change.a.assign(150 * 300, 0.5F);
    change.b.assign(150 * 300, 0.5F);
    adapter->targets.emplace(kOnlyTarget, std::move(change));
    parts.push_back({adapter, 1});
  }
  EXPECT_EQ(ReasonOf(MergeAdapters(parts, {}, "sum", 1).status()), reasons::kInvalidArgument);
  EXPECT_LE(Only(*MergeAdapters(parts, {.rank = 2}, "sum", 1).value()).rank, 2);
}

TEST(MergeTest, TargetsOfOneAdapterStay) {
  const auto a = MakePlain(1, 2, "blk.1.attn_q.weight");
  const auto b = MakePlain(2);
  const auto sum = MergeAdapters(std::vector<MergePart>{{a, 3}, {b, 1}}, {}, "sum", 1).value();
  ASSERT_EQ(sum->targets.size(), 2U);
  const LowRank& change = sum->targets.at("blk.1.attn_q.weight");
  EXPECT_LT(Difference(ToDenseMatrix(change), Weighted(a->targets.begin()->second, 3, change, 0)),
            1e-5);
}

TEST(MergeTest, FactoringAgainIsTheBestOfItsRank) {
  Random random(3);
  const LowRank change = RandomChange(6, 12, 10, random);
  const SvdFactors all = Svd(ToDenseMatrix(change));
  for (int rank = 1; rank <= 6; ++rank) {
    const LowRank cut = TruncateRank(change, rank);
    EXPECT_EQ(cut.rank, rank);
    const DenseMatrix left = Weighted(change, 1, cut, -1);
    double lost = 0;
    for (size_t i = static_cast<size_t>(rank); i < all.s.size(); ++i) {
      lost += all.s[i] * all.s[i];
    }
    EXPECT_NEAR(std::sqrt(Dot(left.values.data(), left.values.data(), left.values.size())),
                std::sqrt(lost), 1e-5);
  }
  LowRank negative = change;
  negative.scale = -0.7F;
  EXPECT_LT(Difference(ToDenseMatrix(TruncateRank(negative, 6)), ToDenseMatrix(negative)), 1e-5);
  EXPECT_EQ(TruncateRank(change, 100).rank, 6) << "no more than there is";
}

TEST(MergeTest, FactoringAChangeAgain) {
  LowRank zero = Only(*MakePlain(1, 4));
  EXPECT_LT(Difference(ToDenseMatrix(TruncateRank(zero, 4)), ToDenseMatrix(zero)), 1e-5);
  EXPECT_EQ(TruncateRank(zero, 1).rank, 1);
  zero.b.assign(zero.b.size(), 0.0F);
  EXPECT_EQ(TruncateRank(zero, 3).rank, 1);
}

TEST(MergeTest, ChangeDotIsThatOfTheMatrices) {
  Random random(4);
  const LowRank a = RandomChange(3, 7, 5, random);
  const LowRank b = RandomChange(2, 7, 5, random);
  const DenseMatrix x = ToDenseMatrix(a);
  const DenseMatrix y = ToDenseMatrix(b);
  EXPECT_NEAR(ChangeDot(a, b), Dot(x.values.data(), y.values.data(), x.values.size()), 1e-9);
}

// Each part keeps two of its three largest entries; signs are elected; the result is the mean of
// the values that agree.
TEST(MergeEntriesTest, TiesByHand) {
  std::vector<WeightedEntries> parts = {{.values = {4, -3, 0.1, 2}, .weight = 1},
                                        {.values = {2, 5, 0.2, -1}, .weight = 1}};
  const auto merged = MergeEntries(&parts, {.ties = true, .density = 0.75});
  // Kept: {4, -3, -, 2} and {2, 5, -, -1}.
  EXPECT_EQ(merged, (std::vector<double>{3, 5, 0, 2}));
  parts = {{.values = {1, -1}, .weight = 3}, {.values = {-2, 2}, .weight = 1}};
  EXPECT_EQ(MergeEntries(&parts, {.ties = true, .density = 1}), (std::vector<double>{1, -1}))
      << "mass 3 against 2";
}

TEST(MergeEntriesTest, DareKeepsTheMean) {
  Random random(5);
  double sum = 0;
  int kept = 0;
  constexpr int kEntries = 20'000;
  std::vector<WeightedEntries> parts = {
      {.values = std::vector<double>(kEntries, 1.0), .weight = 2}};
  for (const double value :
       MergeEntries(&parts, {.ties = false, .density = 0.25, .random = &random})) {
    EXPECT_TRUE(value == 0 || value == 8);
    sum += value;
    kept += value == 0 ? 0 : 1;
  }
  EXPECT_NEAR(sum / kEntries, 2, 0.1);
  EXPECT_NEAR(kept, kEntries / 4, 400);
}

TEST(MergeTest, DareIsSeededAndWithoutDropsTheSum) {
  const std::vector<MergePart> parts = {{MakePlain(1), 1}, {MakePlain(2), 0.5F}};
  MergeOptions options{.method = MergeMethod::kDare, .rank = 6, .density = 0.5F, .seed = 7};
  const auto first = MergeAdapters(parts, options, "dare", 1).value();
  EXPECT_EQ(Only(*first).b, Only(*MergeAdapters(parts, options, "dare", 1).value()).b);
  options.seed = 8;
  EXPECT_NE(Only(*first).b, Only(*MergeAdapters(parts, options, "dare", 1).value()).b);
  options.density = 1;
  const auto whole = MergeAdapters(parts, options, "dare", 1).value();
  EXPECT_LT(Difference(ToDenseMatrix(Only(*whole)),
                       Weighted(Only(*parts[0].adapter), 1, Only(*parts[1].adapter), 0.5)),
            1e-4);
}

TEST(MergeTest, TiesOfOneWithAllEntriesIsItself) {
  const auto a = MakePlain(1, 3);
  const auto merged = MergeAdapters(std::vector<MergePart>{{a, 1}},
                                    {.method = MergeMethod::kTies, .density = 1}, "ties", 1);
  EXPECT_LT(Difference(ToDenseMatrix(Only(**merged)), ToDenseMatrix(Only(*a))), 1e-4);
  EXPECT_EQ(Only(**merged).rank, 3);
}

TEST(MergeTest, SlerpGoesAlongTheGreatCircle) {
  const auto a = MakePlain(1, 2);
  auto b = std::make_shared<Adapter>(*MakePlain(2, 2));
  const double size = std::sqrt(ChangeDot(Only(*a), Only(*a)));
  b->targets.at(kOnlyTarget).scale *=
      static_cast<float>(size / std::sqrt(ChangeDot(Only(*b), Only(*b))));
  const std::vector<MergePart> parts = {{a, 1}, {b, 1}};
  const auto at = [&](float position) {
    return MergeAdapters(parts, {.method = MergeMethod::kSlerp, .position = position}, "slerp", 1)
        .value();
  };
  EXPECT_LT(Difference(ToDenseMatrix(Only(*at(0))), ToDenseMatrix(Only(*a))), 1e-5);
  EXPECT_LT(Difference(ToDenseMatrix(Only(*at(1))), ToDenseMatrix(Only(*b))), 1e-5);
  const auto middle = at(0.3F);
  EXPECT_NEAR(std::sqrt(ChangeDot(Only(*middle), Only(*middle))), size, 1e-4 * size)
      << "the size stays";
  const double angle = std::acos(ChangeDot(Only(*a), Only(*b)) / (size * size));
  EXPECT_NEAR(std::acos(ChangeDot(Only(*a), Only(*middle)) / (size * size)), 0.3 * angle, 1e-4);
}

TEST(MergeTest, SlerpOfEqualOnesIsALine) {
  const auto a = MakePlain(1);
  const auto merged = MergeAdapters(std::vector<MergePart>{{a, 1}, {a, 1}},
                                    {.method = MergeMethod::kSlerp}, "slerp", 1);
  EXPECT_LT(Difference(ToDenseMatrix(Only(**merged)), ToDenseMatrix(Only(*a))), 1e-5);
}

class FrameMergeTest : public ::testing::Test {
 protected:
  std::shared_ptr<const Adapter> Core(uint64_t seed) {
    Random random(seed);
    CoreSet cores{.frame_id = frame_.id, .model_hash = frame_.model_hash, .cores = {}};
    for (const auto& [target, module] : frame_.modules) {
      CoreSet::Core core{.rank = 4, .values = {}};
      for (int i = 0; i < 16; ++i) {
        core.values.push_back(static_cast<float>(random.Normal()));
      }
      cores.cores.emplace(target, core);
    }
    return AdapterFromCores(frame_, cores, "core", 1, 0.5F).value();
  }
  test::TextModel model_;
  FrameSet frame_ = RandomFrameSet(model_, LinearTargets(model_, Modules::kAll), 6, 3).value();
};

TEST_F(FrameMergeTest, MeansOfCoresAreThoseOfTheAdapters) {
  const auto a = Core(1);
  const auto b = Core(2);
  const auto mean =
      MergeAdapters(std::vector<MergePart>{{a, 0.5F}, {b, 0.5F}}, {}, "mean", 2).value();
  EXPECT_EQ(mean->kind, AdapterKind::kCore);
  EXPECT_EQ(mean->frame_id, frame_.id);
  const CoreSet x = CoresOf(*a, frame_).value();
  const CoreSet y = CoresOf(*b, frame_).value();
  const CoreSet z = CoresOf(*mean, frame_).value();
  for (const auto& [target, core] : z.cores) {
    EXPECT_EQ(core.rank, 4) << "the rank stays";
    for (size_t i = 0; i < core.values.size(); ++i) {
      EXPECT_NEAR(core.values[i],
                  0.5 * (x.cores.at(target).values[i] + y.cores.at(target).values[i]), 1e-6);
    }
  }
}

TEST_F(FrameMergeTest, OtherFramesAreMergedAsMatrices) {
  const auto a = Core(1);
  frame_ = RandomFrameSet(model_, LinearTargets(model_, Modules::kAll), 6, 4).value();
  const auto b = Core(2);
  const auto sum = MergeAdapters(std::vector<MergePart>{{a, 1}, {b, 1}}, {}, "sum", 1).value();
  EXPECT_EQ(sum->kind, AdapterKind::kLora);
  EXPECT_EQ(Only(*sum).rank, 8);
  EXPECT_LT(Difference(ToDenseMatrix(Only(*sum)), Weighted(Only(*a), 1, Only(*b), 1)), 1e-5);
}

TEST_F(FrameMergeTest, EntrywiseRulesStayInTheFrame) {
  const std::vector<MergePart> parts = {{Core(1), 1}, {Core(2), 1}};
  const auto merged =
      MergeAdapters(parts, {.method = MergeMethod::kTies, .density = 0.5F}, "ties", 1).value();
  EXPECT_EQ(merged->kind, AdapterKind::kFfa);
  EXPECT_EQ(Only(*merged).a, Only(*parts[0].adapter).a);
  EXPECT_TRUE(CheckKind(*merged).ok());
  EXPECT_EQ(ReasonOf(MergeAdapters(parts, {.rank = 2}, "x", 1).status()),
            reasons::kInvalidArgument);
}

TEST(MergeTest, RefusesWhatCannotBeMerged) {
  const auto a = MakePlain(1);
  auto foreign = std::make_shared<Adapter>(*a);
  foreign->model_hash[0] = 1;
  auto misshapen = std::make_shared<Adapter>(*a);
  Random random(1);
  misshapen->targets.at(kOnlyTarget) = RandomChange(2, 6, 8, random);
  const auto reason = [](const std::vector<MergePart>& parts, const MergeOptions& options) {
    return ReasonOf(MergeAdapters(parts, options, "x", 1).status());
  };
  EXPECT_EQ(reason({}, {}), reasons::kInvalidArgument);
  EXPECT_EQ(reason({{a, 1}, {foreign, 1}}, {}), reasons::kAdapterForOtherModel);
  EXPECT_EQ(reason({{a, 1}, {misshapen, 1}}, {}), reasons::kAdapterInvalid);
  EXPECT_EQ(reason({{a, 1}}, {.method = MergeMethod::kSlerp}), reasons::kInvalidArgument);
  EXPECT_EQ(reason({{a, -1}}, {.method = MergeMethod::kTies}), reasons::kInvalidArgument);
  EXPECT_EQ(reason({{a, std::numeric_limits<float>::infinity()}}, {}), reasons::kInvalidArgument);
  EXPECT_EQ(reason({{a, 1}}, {.rank = -1}), reasons::kInvalidArgument);
  EXPECT_EQ(reason({{a, 1}}, {.density = 0}), reasons::kInvalidArgument);
  EXPECT_EQ(reason({{a, 1}}, {.position = 2}), reasons::kInvalidArgument);
}

TEST(MergeTest, MethodsHaveNames) {
  for (const char* name : {"sum", "ties", "dare", "slerp"}) {
    EXPECT_EQ(MergeMethodName(MergeMethodByName(name).value()), name);
  }
  EXPECT_FALSE(MergeMethodByName("mean").has_value());
}

}  // namespace
}  // namespace ruvd::inference
