// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Tests data that are unlike embeddings: far from the origin, binary, equal, of all lengths.

#include <gtest/gtest.h>

#include <ostream>

#include "storage/hnsw/hnsw_index.h"
#include "tests/storage/hnsw/hnsw_fixture.h"

namespace ruvd::storage {
namespace {

using hnsw_test::All;
using hnsw_test::Build;
using hnsw_test::Clustered;
using hnsw_test::Iso;
using hnsw_test::MakeIndex;
using hnsw_test::PutRow;
using hnsw_test::Recall;
using hnsw_test::Rows;
using hnsw_test::SettlesWithin;
using hnsw_test::TiedRecall;
using hnsw_test::Walk;

Rows Shifted(Rows rows, float offset) {
  for (std::vector<float>& row : rows) {
    for (float& value : row) {
      value += offset;
    }
  }
  return rows;
}

// Returns 60 rows of signs, and rows that differ from one of them in a twentieth of the values.
Rows Signs(size_t count, size_t dimension, uint64_t seed) {
  Random random(1);
  Rows centres = Iso(60, dimension, 2);
  random = Random(seed);
  Rows rows;
  for (size_t i = 0; i < count; ++i) {
    std::vector<float> row = centres[random.Below(centres.size())];
    for (float& value : row) {
      value = (value > 0) != random.Bernoulli(0.05) ? 1.0F : -1.0F;
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

std::unique_ptr<HnswIndex> Put(const Rows& rows, const HnswOptions& options) {
  auto index = MakeIndex(options);
  for (uint32_t i = 0; i < rows.size(); ++i) {
    PutRow(*index, i, rows[i]);
  }
  return index;
}

struct OffsetCase {
  HnswMetric metric;
  uint32_t dimension;
  float offset;
  double tolerance;

  // Names the case in the test runner's output.
  friend void PrintTo(const OffsetCase& value, std::ostream* out) {
    *out << hnsw_test::NameOf(value.metric) << "_" << value.dimension;
  }
};

class HnswOffsetTest : public testing::TestWithParam<OffsetCase> {};

// The error of a product grows with the norms; it must not reach the distances.
TEST_P(HnswOffsetTest, RowsFarFromTheOriginAreToldApart) {
  const OffsetCase& param = GetParam();
  const Rows rows = Shifted(Iso(3000, param.dimension, 71), param.offset);
  const Rows queries = Shifted(Iso(60, param.dimension, 72), param.offset);
  for (const HnswRescore rescore : {HnswRescore::kResidual, HnswRescore::kCodes}) {
    const auto index = Build(rows, {.dimension = param.dimension,
                                    .metric = param.metric,
                                    .ef_construction = 100,
                                    .rescore = rescore});
    const double least = rescore == HnswRescore::kResidual ? 0.99 : 0.95;
    EXPECT_GE(Recall(*index, rows, queries, {.path = HnswPath::kScan}, All, param.tolerance),
              least);
    EXPECT_GE(Recall(*index, rows, queries, Walk(150), All, param.tolerance), 0.95);
  }
}

INSTANTIATE_TEST_SUITE_P(All, HnswOffsetTest,
                         testing::Values(OffsetCase{HnswMetric::kL2, 24, 100.0F, 8.0},
                                         OffsetCase{HnswMetric::kCosine, 64, 20.0F, 2e-4}));

TEST(HnswHardDataTest, SignsAreFound) {
  const Rows rows = Signs(4000, 96, 73);
  const auto index = Build(rows, {.dimension = 96, .ef_construction = 100});
  const Rows queries = Signs(60, 96, 74);
  EXPECT_GE(TiedRecall(*index, rows, queries, {.path = HnswPath::kScan}), 0.99);
  EXPECT_GE(TiedRecall(*index, rows, queries, Walk(64)), 0.95);
}

TEST(HnswHardDataTest, RowsOfOneValueEachSettle) {
  Rows rows;
  for (size_t i = 0; i < 3000; ++i) {
    rows.emplace_back(64, 0.0F);
    rows.back()[i % 64] = 1.0F;
  }
  const auto index = Put(rows, {.dimension = 64, .ef_construction = 100});
  ASSERT_TRUE(SettlesWithin(*index, 200));
  EXPECT_EQ(index->Counts().pending, 0U);
  const auto hits = index->Search({.vector = rows[5], .k = 40, .ef = 200, .path = HnswPath::kWalk});
  ASSERT_EQ(hits->size(), 40U);
  EXPECT_GT(hits->back().similarity, 0.99F);
}

TEST(HnswHardDataTest, ManyEqualRowsAllHaveLinksThatLeadToThem) {
  constexpr uint32_t kCount = 3000;
  const auto index = Put(Rows(kCount, std::vector<float>(32, 1.0F)), {.dimension = 32});
  ASSERT_TRUE(SettlesWithin(*index, 200));
  EXPECT_EQ(index->Counts().pending, 0U);
  HnswTrace trace;
  const std::vector<float> query(32, 2.0F);
  const auto hits = index->Search(
      {.vector = query, .k = 1000, .ef = limits::kMaxSearchEf, .path = HnswPath::kWalk}, &trace);
  EXPECT_EQ(hits->size(), 1000U);
  EXPECT_TRUE(trace.walked);
  EXPECT_FALSE(trace.gave_up);
  // Removing and linking works as with other rows.
  for (uint32_t i = 0; i < kCount; i += 2) {
    EXPECT_TRUE(index->Remove(i));
  }
  ASSERT_TRUE(SettlesWithin(*index, 400));
  EXPECT_EQ(index->Counts().removed, 0U);
  EXPECT_EQ(index->Counts().pending, 0U);
}

TEST(HnswHardDataTest, CopiesOfARowDoNotHideEachOtherOrTheirNeighbours) {
  constexpr size_t kCopies = 200;
  Rows rows = Clustered(6000, 32, 1, 75);
  for (size_t i = 0; i < kCopies; ++i) {
    rows.insert(rows.begin() + static_cast<ptrdiff_t>(30 * i), rows[17]);
  }
  const auto index = Put(rows, {.dimension = 32, .ef_construction = 100});
  ASSERT_TRUE(SettlesWithin(*index, 400));
  EXPECT_EQ(index->Counts().pending, 0U);
  Rows at_copies = {rows[17]};
  for (uint64_t seed = 0; seed < 10; ++seed) {
    Random random(seed);
    at_copies.push_back(rows[17]);
    for (float& value : at_copies.back()) {
      value += static_cast<float>(0.02 * random.Normal());
    }
  }
  HnswQuery walk = Walk(100);
  walk.k = 100;
  EXPECT_GE(TiedRecall(*index, rows, at_copies, walk), 0.99);
  walk.k = 300;  // the copies and what is around them
  walk.ef = 400;
  EXPECT_GE(TiedRecall(*index, rows, at_copies, walk), 0.95);
  EXPECT_GE(TiedRecall(*index, rows, Clustered(60, 32, 1, 76), Walk(64)), 0.95);
}

TEST(HnswHardDataTest, ProductsWithRowsOfAllLengths) {
  Rows rows = Iso(3000, 24, 77);
  Random random(78);
  for (std::vector<float>& row : rows) {
    const auto length = static_cast<float>(std::exp(random.Normal()));
    for (float& value : row) {
      value *= length;
    }
  }
  const auto index =
      Put(rows, {.dimension = 24, .metric = HnswMetric::kDot, .ef_construction = 100});
  ASSERT_TRUE(SettlesWithin(*index, 400));
  const Rows queries = Iso(60, 24, 79);
  EXPECT_GE(Recall(*index, rows, queries, {.path = HnswPath::kScan}, All, 2.0), 0.99);
  EXPECT_GE(Recall(*index, rows, queries, Walk(150), All, 2.0), 0.95);
}

// Found by review: the product of two means was computed from squares that cancel.
TEST(HnswHardDataTest, ProductsWithRowsFarFromTheQuery) {
  Rows rows = Iso(500, 24, 80);
  for (std::vector<float>& row : rows) {
    for (float& value : row) {
      value += 30'000.0F;
    }
  }
  const auto index = Put(rows, {.dimension = 24, .metric = HnswMetric::kDot});
  EXPECT_GE(Recall(*index, rows, Iso(40, 24, 81), {.path = HnswPath::kScan}, All, 0.5), 0.95);
}

// A row that is farther than all others comes to a centre whose list is full. The list was cut and
// has room for the row, so that only what the cut removes is lost.
TEST(HnswHardDataTest, ARowThatNoListHasRoomForTakesNobodysPlace) {
  const auto index =
      MakeIndex({.dimension = 4, .metric = HnswMetric::kL2, .m = 2, .ef_construction = 20});
  const Rows rows = {{0, 0, 0, 0}, {1, 0, 0, 0},  {-1, 0, 0, 0},
                     {0, 1, 0, 0}, {0, -1, 0, 0}, {0, 0, 3, 0}};
  for (uint32_t i = 0; i < rows.size(); ++i) {
    PutRow(*index, i, rows[i]);
  }
  PutRow(*index, 100, rows[0], {.bank = 1});
  EXPECT_EQ(index->LinkBatch(100), rows.size() + 1);
  EXPECT_TRUE(index->Remove(100));  // makes a pass necessary
  while (index->RepairBatch(100, true)) {
  }
  EXPECT_LE(index->Counts().pending, 1U);
}

}  // namespace
}  // namespace ruvd::storage
