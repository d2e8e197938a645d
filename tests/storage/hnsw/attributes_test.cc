// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/hnsw/attributes.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/random.h"
#include "base/reasons.h"
#include "base/status.h"

namespace ruvd::storage::hnsw {
namespace {

constexpr uint32_t kNodes = 200;  // three words and a part of one

RC_GTEST_PROP(BitColumnTest, ComparesAsNumbersDo, ()) {
  const size_t bits = *rc::gen::inRange<size_t>(1, 65);
  const uint64_t all = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  Random random(*rc::gen::arbitrary<uint64_t>());
  BitColumn column;
  ASSERT_TRUE(column.Reserve(kNodes, bits).ok());
  ASSERT_TRUE(column.Grow(kNodes).ok());
  std::vector<uint64_t> values(kNodes);
  for (uint32_t i = 0; i < kNodes; ++i) {
    values[i] = random.Bernoulli(0.5) ? random.Next() & all : random.Below(4) & all;
    column.Set(i, random.Next() & all);  // overwritten
    column.Set(i, values[i]);
    RC_ASSERT(column.Get(i) == values[i]);
  }
  const uint64_t pivot = values[random.Below(kNodes)];
  const uint64_t mask = random.Next();
  for (uint32_t i = 0; i < kNodes; ++i) {
    const size_t word = i / kWordBits;
    const auto bit = [&](uint64_t found) { return ((found >> (i % kWordBits)) & 1U) != 0; };
    RC_ASSERT(bit(column.Equal(word, pivot, mask)) == (bit(mask) && values[i] == pivot));
    RC_ASSERT(bit(column.AtLeast(word, pivot, mask)) == (bit(mask) && values[i] >= pivot));
    RC_ASSERT(bit(column.AtMost(word, pivot, mask)) == (bit(mask) && values[i] <= pivot));
  }
}

HnswAttributes RandomAttributes(Random& random) {
  return {.bank = static_cast<uint32_t>(random.Below(3)),
          .task = static_cast<uint32_t>(random.Below(5)),
          .tier = static_cast<uint32_t>(random.Below(4)),
          .owner = static_cast<uint32_t>(random.Below(3) * 1000000),
          .time_ms = static_cast<int64_t>(1700000000000 + random.Below(100)),
          .quality = static_cast<float>(random.Below(10)) / 10.0F};
}

HnswFilter RandomFilter(Random& random) {
  HnswFilter filter;
  if (random.Bernoulli(0.4)) {
    filter.banks = random.Below(8);
  }
  if (random.Bernoulli(0.4)) {
    filter.tiers = static_cast<uint32_t>(random.Below(16));
  }
  if (random.Bernoulli(0.4)) {
    filter.tasks = {static_cast<uint32_t>(random.Below(5)), static_cast<uint32_t>(random.Below(5)),
                    70000};
  }
  if (random.Bernoulli(0.3)) {
    filter.owner = static_cast<uint32_t>(random.Below(3) * 1000000);
  }
  if (random.Bernoulli(0.4)) {
    filter.min_time_ms = static_cast<int64_t>(1700000000000 + random.Below(100));
    filter.max_time_ms = filter.min_time_ms + static_cast<int64_t>(random.Below(80));
  }
  if (random.Bernoulli(0.4)) {
    filter.min_quality = static_cast<float>(random.Below(10)) / 10.0F;
    filter.max_quality = filter.min_quality + 0.3F;
  }
  return filter;
}

bool Admits(const HnswFilter& filter, const HnswAttributes& row) {
  const bool task = filter.tasks.empty() || std::find(filter.tasks.begin(), filter.tasks.end(),
                                                      row.task) != filter.tasks.end();
  return task && ((filter.banks >> row.bank) & 1U) != 0 && ((filter.tiers >> row.tier) & 1U) != 0 &&
         (!filter.owner || *filter.owner == row.owner) && row.time_ms >= filter.min_time_ms &&
         row.time_ms <= filter.max_time_ms && row.quality >= filter.min_quality &&
         row.quality <= filter.max_quality;
}

RC_GTEST_PROP(AttributeTableTest, FiltersAreConjunctions, ()) {
  Random random(*rc::gen::arbitrary<uint64_t>());
  AttributeTable table;
  ASSERT_TRUE(table.Reserve(kNodes).ok());
  ASSERT_TRUE(table.Grow(kNodes).ok());
  std::vector<HnswAttributes> rows;
  for (uint32_t i = 0; i < kNodes; ++i) {
    rows.push_back(RandomAttributes(random));
    RC_ASSERT(CheckAttributes(rows.back()).ok());
    table.Set(i, rows.back());
    const HnswAttributes got = table.Get(i);
    RC_ASSERT(got.task == rows[i].task && got.owner == rows[i].owner &&
              got.time_ms == rows[i].time_ms && got.quality == rows[i].quality);
  }
  const HnswFilter filter = RandomFilter(random);
  RC_ASSERT(CheckFilter(filter).ok());
  for (uint32_t i = 0; i < kNodes; ++i) {
    const uint64_t found = table.Matches(i / kWordBits, filter, ~uint64_t{0});
    RC_ASSERT((((found >> (i % kWordBits)) & 1U) != 0) == Admits(filter, rows[i]));
    RC_ASSERT(table.Admits(i, filter) == Admits(filter, rows[i]));
  }
}

TEST(AttributesTest, RefusesWhatDoesNotFitAndNamesTheRange) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const HnswAttributes& bad :
       {HnswAttributes{.bank = 64}, HnswAttributes{.task = 65536}, HnswAttributes{.tier = 8},
        HnswAttributes{.time_ms = -1}, HnswAttributes{.time_ms = int64_t{1} << 48},
        HnswAttributes{.quality = -1}, HnswAttributes{.quality = kNan},
        HnswAttributes{.quality = kInfinity}}) {
    EXPECT_EQ(ReasonOf(CheckAttributes(bad)), reasons::kInvalidArgument);
  }
  EXPECT_EQ(ReasonOf(CheckFilter({.min_quality = kNan})), reasons::kInvalidArgument);
  EXPECT_EQ(ReasonOf(CheckFilter({.tasks = std::vector<uint32_t>(65)})), reasons::kInvalidArgument);
}

TEST(AttributesTest, TellsAFilterOfBanksFromOthers) {
  EXPECT_TRUE(HnswFilter{}.admits_all_of_its_banks());
  EXPECT_TRUE((HnswFilter{.banks = 1}).admits_all_of_its_banks());
  EXPECT_FALSE((HnswFilter{.tiers = 1}).admits_all_of_its_banks());
  EXPECT_FALSE((HnswFilter{.owner = 0}).admits_all_of_its_banks());
  EXPECT_FALSE((HnswFilter{.min_time_ms = 1}).admits_all_of_its_banks());
  EXPECT_FALSE((HnswFilter{.max_quality = 1}).admits_all_of_its_banks());
}

TEST(AttributesTest, AMaximumOfMinusInfinityAdmitsNothingAndIsAFilter) {
  const HnswFilter filter{.max_quality = -std::numeric_limits<float>::infinity()};
  EXPECT_FALSE(filter.admits_all_of_its_banks());
  AttributeTable table;
  ASSERT_TRUE(table.Reserve(1).ok());
  ASSERT_TRUE(table.Grow(1).ok());
  table.Set(0, {.quality = 0});
  EXPECT_EQ(table.Matches(0, filter, 1), 0U);
  EXPECT_EQ(table.Matches(0, HnswFilter{}, 1), 1U);
}

}  // namespace
}  // namespace ruvd::storage::hnsw
