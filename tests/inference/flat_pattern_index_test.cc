// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/retrieval/flat_pattern_index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/reasons.h"
#include "base/status.h"

namespace ruvd::inference {
namespace {

constexpr size_t kWidth = 64;

std::vector<float> Direction(Random& random) {
  std::vector<float> values(kWidth);
  double norm = 0;
  for (float& value : values) {
    value = static_cast<float>(random.Normal());
    norm += static_cast<double>(value) * static_cast<double>(value);
  }
  for (float& value : values) {
    value /= static_cast<float>(std::sqrt(norm));
  }
  return values;
}

double Cosine(const std::vector<float>& a, const std::vector<float>& b) {
  double dot = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    dot += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  }
  return dot;
}

std::array<std::vector<FlatPattern>, kTimestepBanks> Patterns(size_t count, uint64_t seed) {
  Random random(seed);
  std::array<std::vector<FlatPattern>, kTimestepBanks> banks;
  for (size_t bank = 0; bank < banks.size(); ++bank) {
    for (size_t i = 0; i < count; ++i) {
      banks[bank].push_back({.pattern_id = std::to_string(bank) + "-" + std::to_string(i),
                             .embedding = Direction(random),
                             .adapter = "a" + std::to_string(i),
                             .version = 2});
    }
  }
  return banks;
}

TEST(FlatPatternIndexTest, FindsWhatAnExactScanFinds) {
  const auto banks = Patterns(333, 1);
  const FlatPatternIndex index = FlatPatternIndex::Build(kWidth, banks).value();
  Random random(2);
  for (int i = 0; i < 20; ++i) {
    const std::vector<float> query = Direction(random);
    for (const TimestepBank bank : {TimestepBank::kLow, TimestepBank::kHigh}) {
      const std::vector<FlatPattern>& rows = banks[static_cast<size_t>(bank)];
      std::vector<std::pair<double, std::string>> expected;
      for (const FlatPattern& row : rows) {
        expected.emplace_back(-Cosine(query, row.embedding), row.pattern_id);
      }
      std::sort(expected.begin(), expected.end());
      const auto hits = index.Search(query, bank, 5).value();
      ASSERT_EQ(hits.size(), 5U);
      for (size_t k = 0; k < hits.size(); ++k) {
        EXPECT_EQ(hits[k].pattern_id, expected[k].second);
        EXPECT_NEAR(hits[k].similarity, -expected[k].first, 1e-6);
        EXPECT_EQ(hits[k].version, 2U);
      }
    }
  }
}

TEST(FlatPatternIndexTest, EqualOnesComeByTheirIds) {
  Random random(1);
  const std::vector<float> same = Direction(random);
  std::array<std::vector<FlatPattern>, kTimestepBanks> banks;
  for (const char* id : {"c", "a", "b"}) {
    banks[1].push_back({.pattern_id = id, .embedding = same, .adapter = id, .version = 1});
  }
  const FlatPatternIndex index = FlatPatternIndex::Build(kWidth, banks).value();
  const auto hits = index.Search(same, TimestepBank::kMiddle, 2).value();
  ASSERT_EQ(hits.size(), 2U);
  EXPECT_EQ(hits[0].pattern_id, "a");
  EXPECT_EQ(hits[1].pattern_id, "b");
  EXPECT_NEAR(hits[0].similarity, 1, 1e-6);
  EXPECT_TRUE(index.Search(same, TimestepBank::kLow, 2)->empty());
  EXPECT_TRUE(index.Search(same, TimestepBank::kMiddle, 0)->empty());
  EXPECT_EQ(index.Search(same, TimestepBank::kMiddle, 9)->size(), 3U);
}

TEST(FlatPatternIndexTest, RefusesOtherWidths) {
  const auto banks = Patterns(2, 1);
  EXPECT_EQ(ReasonOf(FlatPatternIndex::Build(96, banks).status()), reasons::kInvalidArgument);
  EXPECT_EQ(ReasonOf(FlatPatternIndex::Build(33, {}).status()), reasons::kInvalidArgument);
  const FlatPatternIndex index = FlatPatternIndex::Build(kWidth, banks).value();
  EXPECT_EQ(ReasonOf(index.Search(std::vector<float>(32), TimestepBank::kLow, 1).status()),
            reasons::kInvalidArgument);
}

}  // namespace
}  // namespace ruvd::inference
