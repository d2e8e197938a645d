// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/hnsw/hnsw_index.h"

#include <gmock/gmock.h>

#include <limits>
#include <ostream>

#include "base/reasons.h"
#include "base/status.h"
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
using hnsw_test::Settle;
using hnsw_test::Similarity;

constexpr uint32_t kDimension = 48;
constexpr HnswOptions kOptions{.dimension = kDimension, .ef_construction = 100};

// One large index for the read-only tests, which search its graph.
class HnswTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    rows_ = new Rows(Clustered(6000, kDimension, 1, 11));
    queries_ = new Rows(Clustered(100, kDimension, 1, 12));
    index_ = Build(*rows_, kOptions).release();
  }
  static void TearDownTestSuite() {
    delete rows_;
    delete queries_;
    delete index_;
  }
  static Rows* rows_;
  static Rows* queries_;
  static HnswIndex* index_;
};
Rows* HnswTest::rows_ = nullptr;
Rows* HnswTest::queries_ = nullptr;
HnswIndex* HnswTest::index_ = nullptr;

TEST_F(HnswTest, WalksFindWhatBruteForceFinds) {
  const HnswQuery walk{.ef = 64, .path = HnswPath::kWalk};
  EXPECT_GE(Recall(*index_, *rows_, *queries_, walk, All), 0.97);
  const HnswQuery wide{.ef = 200, .path = HnswPath::kWalk};
  EXPECT_GE(Recall(*index_, *rows_, *queries_, wide, All), 0.99);
  const Rows far_from_every_cluster = Clustered(100, kDimension, 2, 13);
  EXPECT_GE(Recall(*index_, *rows_, far_from_every_cluster, wide, All), 0.95);
  HnswTrace trace;
  ASSERT_TRUE(index_->Search({.vector = queries_->front(), .path = HnswPath::kWalk}, &trace).ok());
  EXPECT_TRUE(trace.walked);
  EXPECT_FALSE(trace.scanned);
  EXPECT_LT(trace.measured, rows_->size() / 2);
}

TEST_F(HnswTest, ScansAreExactButForTheCodes) {
  const HnswQuery scan{.path = HnswPath::kScan};
  // The error of 12 bits sometimes swaps a tenth and an eleventh neighbour.
  EXPECT_GE(Recall(*index_, *rows_, *queries_, scan, All), 0.99);
}

TEST_F(HnswTest, MembersFindThemselves) {
  size_t found = 0;
  for (uint32_t i = 0; i < rows_->size(); i += 10) {
    HnswTrace trace;
    const auto hits =
        index_->Search({.vector = (*rows_)[i], .k = 1, .path = HnswPath::kWalk}, &trace);
    EXPECT_TRUE(trace.walked && !trace.scanned);
    found += hits->front().label == i ? 1 : 0;
  }
  EXPECT_GE(found, rows_->size() / 10 * 99 / 100);
}

TEST_F(HnswTest, HitsAreOrderedAndEfIsRaisedToK) {
  const auto hits = index_->Search({.vector = queries_->front(), .k = 300, .ef = 1});
  ASSERT_EQ(hits->size(), 300U);
  EXPECT_TRUE(std::is_sorted(hits->begin(), hits->end(), [](const HnswHit& a, const HnswHit& b) {
    return a.similarity > b.similarity;
  }));
}

TEST_F(HnswTest, SameChangesGiveTheSameGraph) {
  const std::unique_ptr<HnswIndex> again = Build(*rows_, kOptions);
  for (const std::vector<float>& query : *queries_) {
    const HnswQuery search{.vector = query, .ef = 16, .path = HnswPath::kWalk};
    HnswTrace trace_a;
    HnswTrace trace_b;
    const auto a = index_->Search(search, &trace_a);
    const auto b = again->Search(search, &trace_b);
    EXPECT_EQ(trace_a.measured, trace_b.measured);
    ASSERT_EQ(a->size(), b->size());
    for (size_t i = 0; i < a->size(); ++i) {
      EXPECT_EQ((*a)[i].label, (*b)[i].label);
      EXPECT_EQ((*a)[i].similarity, (*b)[i].similarity);
    }
  }
}

TEST_F(HnswTest, BatchesAnswerAsSingleSearchesDo) {
  std::vector<std::span<const float>> vectors(queries_->begin(), queries_->end());
  const auto answers = index_->SearchBatch(vectors, {.k = 5, .ef = 32});
  ASSERT_TRUE(answers.ok());
  ASSERT_EQ(answers->size(), vectors.size());
  for (size_t i = 0; i < vectors.size(); ++i) {
    const auto single = index_->Search({.vector = vectors[i], .k = 5, .ef = 32});
    ASSERT_EQ((*answers)[i].size(), 5U);
    EXPECT_EQ((*answers)[i].front().label, single->front().label);
  }
  EXPECT_EQ(ReasonOf(index_->SearchBatch(std::vector<std::span<const float>>(1025), {}).status()),
            reasons::kLimitExceeded);
}

TEST_F(HnswTest, RangeSearchReturnsAllWithinASimilarity) {
  for (const float similarity : {0.95F, 0.8F, 0.6F, 1.1F}) {
    const std::vector<float>& query = queries_->front();
    std::set<uint32_t> truth;
    for (uint32_t i = 0; i < rows_->size(); ++i) {
      if (Similarity((*rows_)[i], query, HnswMetric::kCosine) >= double{similarity}) {
        truth.insert(i);
      }
    }
    const auto hits = index_->SearchRange({.vector = query}, similarity);
    ASSERT_TRUE(hits.ok());
    size_t right = 0;
    for (const HnswHit& hit : *hits) {
      right += truth.count(hit.label);
    }
    EXPECT_GE(right + truth.size() / 50, truth.size()) << similarity;
    EXPECT_LE(hits->size(), right + 2 + truth.size() / 50) << similarity;
  }
}

struct MetricCase {
  HnswMetric metric;
  uint32_t dimension;
  bool clustered;

  // Names the case in the test runner's output.
  friend void PrintTo(const MetricCase& value, std::ostream* out) {
    *out << hnsw_test::NameOf(value.metric) << "_" << value.dimension
         << (value.clustered ? "_clustered" : "");
  }
};

class HnswMetricTest : public testing::TestWithParam<MetricCase> {};

TEST_P(HnswMetricTest, RecallOnDataOfEveryKind) {
  const MetricCase& param = GetParam();
  const size_t n = 3000;
  const Rows rows =
      param.clustered ? Clustered(n, param.dimension, 3, 4) : Iso(n, param.dimension, 5);
  const Rows queries =
      param.clustered ? Clustered(40, param.dimension, 3, 6) : Iso(40, param.dimension, 7);
  for (const HnswRescore rescore : {HnswRescore::kResidual, HnswRescore::kCodes}) {
    const std::unique_ptr<HnswIndex> index = Build(rows, {.dimension = param.dimension,
                                                          .metric = param.metric,
                                                          .ef_construction = 100,
                                                          .rescore = rescore});
    const double tolerance = param.metric == HnswMetric::kCosine ? 4e-3 : 2.0;
    const HnswQuery walk{.ef = 150, .path = HnswPath::kWalk};
    EXPECT_GE(Recall(*index, rows, queries, walk, All, tolerance), 0.93);
    const HnswQuery scan{.path = HnswPath::kScan};
    EXPECT_GE(Recall(*index, rows, queries, scan, All, tolerance),
              rescore == HnswRescore::kResidual ? 0.99 : 0.95);
  }
}

INSTANTIATE_TEST_SUITE_P(All, HnswMetricTest,
                         testing::Values(MetricCase{HnswMetric::kCosine, 24, false},
                                         MetricCase{HnswMetric::kCosine, 200, true},
                                         MetricCase{HnswMetric::kDot, 24, false},
                                         MetricCase{HnswMetric::kL2, 24, true},
                                         MetricCase{HnswMetric::kL2, 130, false},
                                         MetricCase{HnswMetric::kL2, 3, true}));

class KeptRows : public HnswRowSource {
 public:
  explicit KeptRows(const Rows& rows) : rows_(rows) {}
  bool Read(uint32_t label, uint32_t generation, std::span<float> row) const override {
    EXPECT_EQ(generation, 1U);
    std::copy(rows_[label].begin(), rows_[label].end(), row.begin());
    return true;
  }

 private:
  const Rows& rows_;
};

TEST(HnswRescoreTest, TheSourceOfRowsMakesSimilaritiesExact) {
  const Rows rows = Clustered(1500, 32, 1, 2);
  const KeptRows source(rows);
  const HnswOptions options{
      .dimension = 32, .ef_construction = 60, .rescore = HnswRescore::kSource, .rows = &source};
  const std::unique_ptr<HnswIndex> index = Build(rows, options);
  EXPECT_EQ(Recall(*index, rows, Clustered(40, 32, 1, 3), {.path = HnswPath::kScan}, All, 1e-6),
            1.0);
  EXPECT_FALSE(HnswIndex::Create({.dimension = 32, .rescore = HnswRescore::kSource}).ok());
  EXPECT_FALSE(HnswIndex::Create({.dimension = 32, .rows = &source}).ok());
}

TEST(HnswSmallTest, EmptyAndTinyIndexes) {
  const auto index = MakeIndex({.dimension = 2});
  const std::vector<float> x = {1, 0};
  const std::vector<float> y = {0, 2};
  EXPECT_TRUE(index->Search({.vector = x})->empty());
  EXPECT_EQ(index->LinkBatch(10), 0U);
  PutRow(*index, 7, x);
  PutRow(*index, 9, y);
  for (int linked = 0; linked < 2; ++linked) {
    const auto hits = index->Search({.vector = std::vector<float>{3, 1}, .k = 10});
    ASSERT_EQ(hits->size(), 2U);
    EXPECT_EQ((*hits)[0].label, 7U);
    EXPECT_NEAR((*hits)[0].similarity, 3 / std::sqrt(10.0), 1e-4);
    EXPECT_EQ(index->LinkBatch(10), linked == 0 ? 2U : 0U);
  }
  EXPECT_TRUE(index->Remove(7));
  EXPECT_FALSE(index->Remove(7));
  EXPECT_EQ(index->Search({.vector = x})->size(), 1U);
  EXPECT_TRUE(index->Remove(9));
  EXPECT_TRUE(index->Search({.vector = x})->empty());
  Settle(*index);
  EXPECT_EQ(index->Counts().removed, 0U);
}

TEST(HnswSmallTest, RefusesWhatItCannotIndex) {
  const auto index = MakeIndex({.dimension = 3});
  const auto reason = [&](std::vector<float> vector) {
    const std::string of_search = ReasonOf(index->Search({.vector = vector}).status());
    EXPECT_EQ(of_search, ReasonOf(index->Check({.vector = vector})));
    EXPECT_EQ(of_search, ReasonOf(index->Put({.vector = vector})));
    return of_search;
  };
  EXPECT_EQ(reason({1, 2}), reasons::kWrongDimension);
  EXPECT_EQ(reason({1, 2, 3, 4}), reasons::kWrongDimension);
  EXPECT_EQ(reason({0, 0, 0}), reasons::kInvalidArgument);
  EXPECT_EQ(reason({1, std::numeric_limits<float>::quiet_NaN(), 0}), reasons::kInvalidArgument);
  EXPECT_EQ(reason({1, std::numeric_limits<float>::infinity(), 0}), reasons::kInvalidArgument);
  const std::vector<float> good = {1, 2, 3};
  EXPECT_EQ(ReasonOf(index->Put({.label = limits::kMaxPatterns, .vector = good})),
            reasons::kInvalidArgument);
  EXPECT_EQ(ReasonOf(index->Put({.vector = good, .attributes = {.bank = 64}})),
            reasons::kInvalidArgument);
  EXPECT_EQ(index->Counts().live, 0U);
  for (const HnswQuery& query :
       {HnswQuery{.vector = good, .k = 0}, HnswQuery{.vector = good, .k = 1001},
        HnswQuery{.vector = good, .ef = limits::kMaxSearchEf + 1}}) {
    EXPECT_EQ(ReasonOf(index->Search(query).status()), reasons::kInvalidArgument);
  }
}

TEST(HnswSmallTest, RefusesOptionsOutsideTheLimits) {
  for (const HnswOptions& options :
       {HnswOptions{.dimension = 0}, HnswOptions{.dimension = limits::kMaxDimension + 1},
        HnswOptions{.dimension = 4, .m = 1}, HnswOptions{.dimension = 4, .m = 129},
        HnswOptions{.dimension = 4, .ef_construction = 0},
        HnswOptions{.dimension = 4, .max_rows = 0}}) {
    EXPECT_EQ(ReasonOf(HnswIndex::Create(options).status()), reasons::kInvalidArgument);
  }
}

TEST(HnswSmallTest, RowsBeyondTheLimitAreRefusedUntilOthersGo) {
  const auto index = MakeIndex({.dimension = 2, .max_rows = 3});
  const std::vector<float> row = {1, 1};
  for (uint32_t label = 0; label < 3; ++label) {
    PutRow(*index, label, row);
  }
  EXPECT_EQ(ReasonOf(index->Put({.label = 3, .vector = row})), reasons::kLimitExceeded);
  PutRow(*index, 2, row);  // a replacement
  EXPECT_TRUE(index->Remove(0));
  PutRow(*index, 3, row);
}

TEST(HnswSmallTest, HugeAndTinyNormsAreTheSameDirection) {
  const auto index = MakeIndex({.dimension = 2});
  PutRow(*index, 1, {1e30F, 1e30F});
  PutRow(*index, 2, {1e-30F, -1e-30F});
  const auto hits = index->Search({.vector = std::vector<float>{1e-20F, 1e-20F}, .k = 1});
  EXPECT_EQ(hits->front().label, 1U);
  EXPECT_NEAR(hits->front().similarity, 1.0, 1e-3);
}

TEST(HnswSmallTest, ManyEqualRowsAreAllFound) {
  const auto index = MakeIndex({.dimension = 2, .m = 4, .ef_construction = 16});
  for (uint32_t i = 0; i < 3000; ++i) {
    PutRow(*index, i, {1, 1});
  }
  index->LinkBatch(3000);
  HnswTrace trace;
  const std::vector<float> vector = {1, 1};
  const HnswQuery query{.vector = vector, .k = 1000, .path = HnswPath::kWalk};
  EXPECT_EQ(index->Search(query, &trace)->size(), 1000U);
  EXPECT_TRUE(trace.walked);
  EXPECT_FALSE(trace.gave_up);
}

TEST(HnswSmallTest, AReplacedRowIsFoundOnceAndWithItsNewGeneration) {
  const auto index = MakeIndex({.dimension = 2});
  PutRow(*index, 5, {1, 0});
  index->LinkBatch(1);
  PutRow(*index, 5, {0, 1}, {}, 2);
  const auto hits = index->Search({.vector = std::vector<float>{1, 1}});
  ASSERT_EQ(hits->size(), 1U);
  EXPECT_EQ(hits->front().generation, 2U);
  EXPECT_NEAR(hits->front().similarity, std::sqrt(0.5), 1e-3);
  EXPECT_EQ(index->Counts().live, 1U);
  EXPECT_EQ(index->Counts().removed, 1U);
}

}  // namespace
}  // namespace ruvd::storage
