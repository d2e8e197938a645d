// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "base/reasons.h"
#include "base/status.h"
#include "federation/daf/core_delta.h"
#include "federation/daf/robust_rules.h"
#include "federation/limits.h"
#include "tests/federation/fixture.h"

namespace ruvd::test {
namespace {

std::vector<float> Combined(const std::vector<std::vector<float>>& updates,
                            const federation::AggregationRule& rule) {
  const std::vector<std::span<const float>> spans(updates.begin(), updates.end());
  std::vector<float> out(spans.front().size());
  rule.Combine({.updates = spans}, out);
  return out;
}

absl::StatusOr<std::vector<federation::CoreDelta>> Read(std::string_view bytes) {
  ByteReader reader(AsBytes(bytes));
  return federation::ReadCores(reader);
}

std::string Written(std::span<const federation::CoreDelta> cores) {
  ByteWriter writer;
  federation::WriteCores(cores, writer);
  return writer.Take();
}

TEST(CoreDelta, RoundTripsAndRefusesEveryTruncation) {
  const std::vector<federation::CoreDelta> cores = SomeCores(1);
  const std::string bytes = Written(cores);
  const auto decoded = Read(bytes);
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(*decoded, cores);
  for (size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_EQ(ReasonOf(Read(bytes.substr(0, length)).status()), reasons::kUpdateInvalid);
  }
}

TEST(CoreDelta, HugeDeclaredSizesAreRefusedBeforeAllocation) {
  ByteWriter count;
  count.Write(UINT32_MAX);
  EXPECT_FALSE(Read(count.str()).ok());
  ByteWriter rank;
  rank.Write(uint32_t{1}).Write(uint16_t{1}).WriteText("a").Write(uint32_t{0});
  rank.Write(UINT32_MAX);
  EXPECT_FALSE(Read(rank.str()).ok());
}

TEST(CoreDelta, UnsortedOrDoubleCoresAreNotCanonical) {
  std::vector<federation::CoreDelta> cores = SomeCores(1);
  std::swap(cores[0], cores[1]);
  EXPECT_FALSE(Read(Written(cores)).ok());
  EXPECT_EQ(ReasonOf(federation::CheckCores(cores, Updates())), reasons::kUpdateInvalid);
  federation::SortCores(cores);
  EXPECT_TRUE(federation::CheckCores(cores, Updates()).ok());
  cores.push_back(cores.back());
  EXPECT_FALSE(Read(Written(cores)).ok());
  EXPECT_EQ(ReasonOf(federation::CheckCores(cores, Updates())), reasons::kUpdateInvalid);
}

TEST(CoreDelta, ChecksShapeBankFormAndNorm) {
  const auto reason_of = [](auto change) {
    std::vector<federation::CoreDelta> cores = SomeCores(1);
    change(cores[0]);
    return ReasonOf(federation::CheckCores(cores, Updates()));
  };
  EXPECT_EQ(reason_of([](federation::CoreDelta&) {}), "");
  EXPECT_EQ(reason_of([](federation::CoreDelta& c) { c.target = "blk.0.none"; }),
            reasons::kUpdateInvalid);
  EXPECT_EQ(reason_of([](federation::CoreDelta& c) { c.rank = 3; }), reasons::kUpdateInvalid);
  EXPECT_EQ(reason_of([](federation::CoreDelta& c) { c.values.steps.pop_back(); }),
            reasons::kUpdateInvalid);
  EXPECT_EQ(reason_of([](federation::CoreDelta& c) { c.bank = 2; }), reasons::kUpdateInvalid);
  EXPECT_EQ(reason_of([](federation::CoreDelta& c) { c.values.steps[3] = -128; }),
            reasons::kUpdateInvalid);
  EXPECT_EQ(reason_of([](federation::CoreDelta& c) { c.values.exponent = 127; }),
            reasons::kUpdateInvalid);
  EXPECT_EQ(reason_of([](federation::CoreDelta& c) { c.values.exponent += 8; }),
            reasons::kUpdateInvalid);
}

// Equal cores have one encoding, so that no pattern can come twice under two message ids.
TEST(CoreDelta, ValuesThatFitOnAFinerGridAreRefused) {
  std::vector<federation::CoreDelta> cores = SomeCores(1);
  ASSERT_TRUE(Read(Written(cores)).ok());
  for (int8_t& steps : cores[0].values.steps) {
    steps = static_cast<int8_t>(steps / 2);
  }
  EXPECT_EQ(ReasonOf(Read(Written(cores)).status()), reasons::kUpdateInvalid);
}

TEST(TrimmedMean, DropsTheExtremesPerCoordinate) {
  const federation::TrimmedMean rule;
  EXPECT_EQ(Combined({{1}, {2}, {1000}}, rule), std::vector<float>{2});
  EXPECT_EQ(Combined({{-9}, {2}, {4}, {1e30F}}, rule), std::vector<float>{3});
}

TEST(TrimmedMean, OfOneOrTwoClipsAndAverages) {
  const federation::TrimmedMean rule(0.2, /*clip_norm=*/1.0);
  EXPECT_EQ(Combined({{0.5F}}, rule), std::vector<float>{0.5F});
  EXPECT_EQ(Combined({{0.5F}, {1000}}, rule), std::vector<float>{0.75F});  // the liar counts as 1
}

// With n = 2f + 1 or more, f members may send anything: the result stays inside the honest values.
RC_GTEST_PROP(TrimmedMean, StaysWithinHonestValuesUnderAttack, (uint64_t seed)) {
  Random random(seed);
  const size_t honest = 4 + random.Below(4);
  std::vector<std::vector<float>> updates;
  float low = INFINITY;
  float high = -INFINITY;
  for (size_t i = 0; i < honest; ++i) {
    const auto value = static_cast<float>(random.Normal());
    low = std::min(low, value);
    high = std::max(high, value);
    updates.push_back({value});
  }
  updates.push_back({static_cast<float>(1e6 * random.Normal())});
  const float result = Combined(updates, federation::TrimmedMean(0.2))[0];
  RC_ASSERT(result >= low && result <= high);
}

}  // namespace
}  // namespace ruvd::test
