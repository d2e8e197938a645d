// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/reasons.h"
#include "base/status.h"
#include "federation/daf/adapter_delta.h"
#include "federation/daf/aggregate.h"
#include "federation/limits.h"
#include "tests/federation/fixture.h"

namespace ruvd::test {
namespace {

AdapterDelta OneCore(std::vector<float> values, uint32_t bank = 0) {
  const auto rank = static_cast<uint32_t>(std::lround(std::sqrt(values.size())));
  return {.cores = {{.target = kTarget, .bank = bank, .rank = rank, .values = std::move(values)}}};
}

NodeId Origin(uint8_t number) {
  NodeId id{};
  id[0] = number;
  return id;
}

std::vector<float> AggregateValues(const std::vector<AdapterDelta>& deltas,
                                   const AggregationRule& rule) {
  std::vector<Contribution> contributions;
  for (size_t i = 0; i < deltas.size(); ++i) {
    contributions.push_back({.origin = Origin(static_cast<uint8_t>(i)), .delta = &deltas[i]});
  }
  return Aggregate(contributions, rule)->cores.at(0).values;
}

TEST(AdapterDelta, RoundTripsAndRefusesEveryTruncation) {
  const AdapterDelta delta = DeltaOf(1);
  const std::string bytes = EncodeAdapterDelta(delta);
  const auto decoded = DecodeAdapterDelta(AsBytes(bytes));
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(*decoded, delta);
  for (size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_EQ(ReasonOf(DecodeAdapterDelta(AsBytes(bytes.substr(0, length))).status()),
              reasons::kUpdateInvalid);
  }
  EXPECT_FALSE(DecodeAdapterDelta(AsBytes(bytes + "x")).ok());
}

TEST(AdapterDelta, HugeDeclaredSizesAreRefusedBeforeAllocation) {
  ByteWriter count;
  count.Write(uint16_t{1}).Write(UINT32_MAX);
  EXPECT_FALSE(DecodeAdapterDelta(AsBytes(count.str())).ok());
  ByteWriter rank;
  rank.Write(uint16_t{1}).Write(uint32_t{1}).Write(uint16_t{1}).WriteText("a").Write(uint32_t{0});
  rank.Write(UINT32_MAX);
  EXPECT_FALSE(DecodeAdapterDelta(AsBytes(rank.str())).ok());
}

TEST(AdapterDelta, UnsortedOrDoubleCoresAreNotCanonical) {
  AdapterDelta delta = DeltaOf(1);
  std::swap(delta.cores[0], delta.cores[1]);
  EXPECT_FALSE(DecodeAdapterDelta(AsBytes(EncodeAdapterDelta(delta))).ok());
  EXPECT_EQ(ReasonOf(CheckCores(delta.cores, Updates())), reasons::kUpdateInvalid);
  SortCores(delta.cores);
  EXPECT_TRUE(CheckCores(delta.cores, Updates()).ok());
  delta.cores.push_back(delta.cores.back());
  EXPECT_FALSE(DecodeAdapterDelta(AsBytes(EncodeAdapterDelta(delta))).ok());
  EXPECT_EQ(ReasonOf(CheckCores(delta.cores, Updates())), reasons::kUpdateInvalid);
}

TEST(AdapterDelta, ChecksShapeBankFinitenessAndNorm) {
  const auto reason_of = [](auto change) {
    AdapterDelta delta = DeltaOf(1);
    change(delta.cores[0]);
    return ReasonOf(CheckCores(delta.cores, Updates()));
  };
  EXPECT_EQ(reason_of([](CoreDelta&) {}), "");
  EXPECT_EQ(reason_of([](CoreDelta& c) { c.target = "blk.0.none"; }), reasons::kUpdateInvalid);
  EXPECT_EQ(reason_of([](CoreDelta& c) { c.rank = 3; }), reasons::kUpdateInvalid);
  EXPECT_EQ(reason_of([](CoreDelta& c) { c.values.pop_back(); }), reasons::kUpdateInvalid);
  EXPECT_EQ(reason_of([](CoreDelta& c) { c.bank = 2; }), reasons::kUpdateInvalid);
  EXPECT_EQ(reason_of([](CoreDelta& c) { c.values[3] = INFINITY; }), reasons::kUpdateInvalid);
  EXPECT_EQ(reason_of([](CoreDelta& c) { c.values[3] = 11; }), reasons::kUpdateInvalid);
  EXPECT_EQ(reason_of([](CoreDelta& c) { c.values[3] = std::numeric_limits<float>::max(); }),
            reasons::kUpdateInvalid);
}

TEST(TrimmedMean, DropsTheExtremesPerCoordinate) {
  const TrimmedMean rule;
  EXPECT_EQ(AggregateValues({OneCore({1}), OneCore({2}), OneCore({1000})}, rule),
            std::vector<float>{2});
  EXPECT_EQ(AggregateValues({OneCore({-9}), OneCore({2}), OneCore({4}), OneCore({1e30F})}, rule),
            std::vector<float>{3});
}

TEST(TrimmedMean, OfOneOrTwoClipsAndAverages) {
  const TrimmedMean rule(0.2, /*clip_norm=*/1.0);
  EXPECT_EQ(AggregateValues({OneCore({0.5F})}, rule), std::vector<float>{0.5F});
  EXPECT_EQ(AggregateValues({OneCore({0.5F}), OneCore({1000})}, rule),
            std::vector<float>{0.75F});  // the liar counts as 1
}

// f of n = 2f + 1 or more may say anything: the result stays inside the honest values.
RC_GTEST_PROP(TrimmedMean, StaysWithinHonestValuesUnderAttack, (uint64_t seed)) {
  Random random(seed);
  const size_t honest = 4 + random.Below(4);
  std::vector<AdapterDelta> deltas;
  float low = INFINITY;
  float high = -INFINITY;
  for (size_t i = 0; i < honest; ++i) {
    const auto value = static_cast<float>(random.Normal());
    low = std::min(low, value);
    high = std::max(high, value);
    deltas.push_back(OneCore({value}));
  }
  deltas.push_back(OneCore({static_cast<float>(1e6 * random.Normal())}));
  const float result = AggregateValues(deltas, TrimmedMean(0.2))[0];
  RC_ASSERT(result >= low && result <= high);
}

TEST(Aggregate, DoesNotDependOnTheOrderOfArrival) {
  std::vector<AdapterDelta> deltas;
  for (uint64_t i = 0; i < 7; ++i) {
    deltas.push_back(DeltaOf(i));
  }
  std::vector<Contribution> contributions;
  for (size_t i = 0; i < deltas.size(); ++i) {
    contributions.push_back({.origin = Origin(static_cast<uint8_t>(i)), .delta = &deltas[i]});
  }
  const auto expected = Aggregate(contributions, TrimmedMean());
  ASSERT_TRUE(expected.ok());
  Random random(1);
  for (int i = 0; i < 10; ++i) {
    random.Shuffle(std::span<Contribution>(contributions));
    EXPECT_EQ(*Aggregate(contributions, TrimmedMean()), *expected);
  }
}

TEST(Aggregate, CombinesEachTargetAndBankOverThoseThatHaveIt) {
  AdapterDelta a = OneCore({0.2F}, 0);
  AdapterDelta b = OneCore({0.4F}, 0);
  b.cores.push_back(OneCore({0.8F}, 1).cores[0]);
  const std::vector<Contribution> contributions = {{Origin(1), &a}, {Origin(2), &b}};
  const auto result = Aggregate(contributions, TrimmedMean());
  ASSERT_TRUE(result.ok());
  ASSERT_EQ(result->cores.size(), 2U);
  EXPECT_FLOAT_EQ(result->cores[0].values[0], 0.3F);
  EXPECT_FLOAT_EQ(result->cores[1].values[0], 0.8F);
  EXPECT_EQ(result->cores[1].bank, 1U);
}

TEST(Aggregate, RefusesNothingTwiceAndMixedRanks) {
  EXPECT_EQ(ReasonOf(Aggregate({}, TrimmedMean()).status()), reasons::kInvalidArgument);
  AdapterDelta a = OneCore({1});
  AdapterDelta b = OneCore({1, 2, 3, 4});
  const std::vector<Contribution> twice = {{Origin(1), &a}, {Origin(1), &a}};
  EXPECT_EQ(ReasonOf(Aggregate(twice, TrimmedMean()).status()), reasons::kInvalidArgument);
  const std::vector<Contribution> mixed = {{Origin(1), &a}, {Origin(2), &b}};
  EXPECT_EQ(ReasonOf(Aggregate(mixed, TrimmedMean()).status()), reasons::kUpdateInvalid);
}

}  // namespace
}  // namespace ruvd::test
