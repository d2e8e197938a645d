// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Tests filters of every selectivity, by every path.

#include <gtest/gtest.h>

#include "storage/hnsw/hnsw_index.h"
#include "tests/storage/hnsw/hnsw_fixture.h"

namespace ruvd::storage {
namespace {

using hnsw_test::Admits;
using hnsw_test::All;
using hnsw_test::Clustered;
using hnsw_test::MakeIndex;
using hnsw_test::PutRow;
using hnsw_test::Recall;
using hnsw_test::Rows;
using hnsw_test::Settle;

constexpr uint32_t kDimension = 32;
constexpr uint32_t kRows = 6000;

// Row i has bank i % 3 (a fourth bank is empty), owner i % 1000, task by halves, quality i / kRows.
HnswAttributes AttributesOf(uint32_t i) {
  return {.bank = i % 3,
          .task = i % 2,
          .tier = i % 4,
          .owner = i % 1000,
          .time_ms = i,
          .quality = static_cast<float>(i) / kRows};
}

class HnswFilterTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    rows_ = new Rows(Clustered(kRows, kDimension, 1, 21));
    queries_ = new Rows(Clustered(40, kDimension, 1, 22));
    index_ = MakeIndex({.dimension = kDimension, .ef_construction = 80}).release();
    for (uint32_t i = 0; i < kRows; ++i) {
      PutRow(*index_, i, (*rows_)[i], AttributesOf(i));
    }
    Settle(*index_);
  }
  static void TearDownTestSuite() {
    delete rows_;
    delete queries_;
    delete index_;
  }
  double RecallOf(const HnswFilter& filter, HnswPath path, const Admits& admits,
                  size_t* gave_up = nullptr) {
    return Recall(*index_, *rows_, *queries_, {.ef = 64, .filter = filter, .path = path}, admits,
                  1e-3, gave_up);
  }
  static Rows* rows_;
  static Rows* queries_;
  static HnswIndex* index_;
};
Rows* HnswFilterTest::rows_ = nullptr;
Rows* HnswFilterTest::queries_ = nullptr;
HnswIndex* HnswFilterTest::index_ = nullptr;

TEST_F(HnswFilterTest, EverySelectivityIsAnsweredWholeAndAlmostExactly) {
  struct Case {
    HnswFilter filter;
    Admits admits;
  };
  const std::vector<Case> cases = {
      {{}, All},
      {{.tasks = {0}}, [](uint32_t i) { return i % 2 == 0; }},
      {{.tiers = 0b0001}, [](uint32_t i) { return i % 4 == 0; }},
      {{.min_time_ms = 5400}, [](uint32_t i) { return i >= 5400; }},
      {{.min_quality = 0.5F, .max_quality = 0.51F},
       [](uint32_t i) {
         return static_cast<float>(i) / kRows >= 0.5F && static_cast<float>(i) / kRows <= 0.51F;
       }},
      {{.owner = 17}, [](uint32_t i) { return i % 1000 == 17; }},
      {{.owner = 999999}, [](uint32_t) { return false; }},
      {{.banks = 0b011}, [](uint32_t i) { return i % 3 < 2; }},
      {{.banks = 0b1000}, [](uint32_t) { return false; }},
      {{.banks = 0}, [](uint32_t) { return false; }},
      {{.banks = 0b001, .tiers = 0b0110, .tasks = {1}},
       [](uint32_t i) { return i % 3 == 0 && i % 2 == 1 && (i % 4 == 1 || i % 4 == 2); }},
  };
  for (const Case& one : cases) {
    EXPECT_GE(RecallOf(one.filter, HnswPath::kAuto, one.admits), 0.95);
    EXPECT_GE(RecallOf(one.filter, HnswPath::kScan, one.admits), 0.99);
    size_t gave_up = 0;
    EXPECT_GE(RecallOf(one.filter, HnswPath::kWalk, one.admits, &gave_up), 0.95);
    EXPECT_EQ(gave_up, 0U);  // the whole graph is connected, whatever a filter admits
    EXPECT_GE(RecallOf(one.filter, HnswPath::kTwoHop, one.admits), 0.90);
  }
}

TEST_F(HnswFilterTest, CountsAreExact) {
  HnswTrace trace;
  ASSERT_TRUE(
      index_->Search({.vector = queries_->front(), .filter = {.tiers = 0b0011}}, &trace).ok());
  EXPECT_EQ(trace.matching, kRows / 2);
}

TEST_F(HnswFilterTest, ChangedAttributesAreFilteredAtOnce) {
  const auto index = MakeIndex({.dimension = kDimension});
  PutRow(*index, 4, (*rows_)[0], {.bank = 1, .tier = 2});
  const HnswQuery query{.vector = (*rows_)[0], .filter = {.tiers = 1U << 5}};
  EXPECT_TRUE(index->Search(query)->empty());
  ASSERT_TRUE(index->SetAttributes(4, {.bank = 1, .tier = 5}).ok());
  EXPECT_EQ(index->Search(query)->size(), 1U);
  EXPECT_FALSE(index->SetAttributes(4, {.bank = 2}).ok());
  EXPECT_FALSE(index->SetAttributes(4, {.bank = 1, .tier = 9}).ok());
  EXPECT_FALSE(index->SetAttributes(5, {}).ok());
}

TEST_F(HnswFilterTest, TheTailIsFilteredToo) {
  const auto index = MakeIndex({.dimension = kDimension, .ef_construction = 40});
  for (uint32_t i = 0; i < 3000; ++i) {
    PutRow(*index, i, (*rows_)[i], AttributesOf(i));
  }
  index->LinkBatch(2000);
  EXPECT_EQ(index->Counts().pending, 1000U);
  const HnswQuery how{.ef = 100, .filter = {.tasks = {1}}};
  const Rows rows(rows_->begin(), rows_->begin() + 3000);
  EXPECT_GE(Recall(*index, rows, *queries_, how, [](uint32_t i) { return i % 2 == 1; }), 0.95);
}

// Tests one bank that is large enough for the planner to walk. The tier tells on which side of a
// plane a row lies.
class HnswLargeBankTest : public testing::Test {
 protected:
  static constexpr uint32_t kCount = 12000;
  static constexpr uint32_t kWide = 16;

  static void SetUpTestSuite() {
    rows_ = new Rows(Clustered(kCount, kWide, 1, 23));
    index_ = MakeIndex({.dimension = kWide, .m = 8, .ef_construction = 60}).release();
    for (uint32_t i = 0; i < kCount; ++i) {
      PutRow(*index_, i, (*rows_)[i],
             {.task = i % 2,
              .tier = IsRight(i) ? 1U : 0U,
              .owner = 1,
              .quality = IsFarRight(i) ? 1.0F : 0.0F});
    }
    Settle(*index_);
  }
  static void TearDownTestSuite() {
    delete rows_;
    delete index_;
  }
  static bool IsRight(uint32_t i) { return (*rows_)[i][0] > 0; }
  static bool IsFarRight(uint32_t i) { return (*rows_)[i][0] > 2; }
  // Returns queries far on the left of the plane.
  static Rows FarLeft() {
    Rows queries = Clustered(30, kWide, 1, 24);
    for (std::vector<float>& query : queries) {
      query[0] = -8;
    }
    return queries;
  }
  static Rows* rows_;
  static HnswIndex* index_;
};
Rows* HnswLargeBankTest::rows_ = nullptr;
HnswIndex* HnswLargeBankTest::index_ = nullptr;

TEST_F(HnswLargeBankTest, ThePlannerWalksUnderAFilterThatAdmitsMany) {
  for (const std::vector<float>& query : Clustered(30, kWide, 1, 25)) {
    HnswTrace trace;
    ASSERT_TRUE(index_->Search({.vector = query, .ef = 32, .filter = {.tasks = {1}}}, &trace).ok());
    EXPECT_TRUE(trace.walked);
    EXPECT_FALSE(trace.scanned);
    EXPECT_LT(trace.measured, trace.matching / 2);
  }
  const HnswQuery how{.ef = 32, .filter = {.tasks = {1}}};
  EXPECT_GE(Recall(*index_, *rows_, Clustered(60, kWide, 1, 26), how,
                   [](uint32_t i) { return i % 2 == 1; }),
            0.95);
}

TEST_F(HnswLargeBankTest, AWalkGivesUpBeforeItCostsMoreThanAScan) {
  size_t gave_up = 0;
  for (const std::vector<float>& query : FarLeft()) {
    HnswTrace trace;
    ASSERT_TRUE(
        index_->Search({.vector = query, .ef = 32, .filter = {.tiers = 0b10}}, &trace).ok());
    EXPECT_TRUE(trace.walked);
    EXPECT_LE(trace.measured, 2 * trace.matching + 300);
    gave_up += trace.gave_up ? 1 : 0;
  }
  EXPECT_GT(gave_up, 10U);
  const HnswQuery how{.ef = 32, .filter = {.tiers = 0b10}};
  EXPECT_GE(Recall(*index_, *rows_, FarLeft(), how, IsRight), 0.95);
}

// Rows of the tail count for a walk only if the filter admits them.
TEST_F(HnswLargeBankTest, FilteredPendingRowsDoNotMakeAnAnswerComplete) {
  for (uint32_t i = 0; i < 10; ++i) {
    PutRow(*index_, kCount + i, FarLeft()[i], {.owner = 2, .quality = 1.0F});
  }
  const HnswQuery how{
      .ef = 16, .filter = {.owner = 1, .min_quality = 0.5F}, .path = HnswPath::kTwoHop};
  size_t gave_up = 0;
  Recall(*index_, *rows_, FarLeft(), how, IsFarRight, 1e-3,
         &gave_up);  // wants k hits of each search
  EXPECT_GT(gave_up, 0U);
  for (uint32_t i = 0; i < 10; ++i) {
    index_->Remove(kCount + i);
  }
}

}  // namespace
}  // namespace ruvd::storage
