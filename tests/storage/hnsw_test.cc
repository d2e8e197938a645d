// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <thread>

#include "base/random.h"
#include "base/reasons.h"
#include "base/status.h"
#include "storage/hnsw/dot.h"
#include "storage/hnsw/hnsw_index.h"
#include "storage/limits.h"

namespace ruvd {
namespace {

constexpr uint32_t kDimension = 32;
constexpr size_t kRows = 6000;  // well above what is scanned instead of walked
constexpr size_t kClusters = 60;

using Rows = std::vector<std::vector<float>>;

// Points around random centres: what embeddings look like, and harder for a graph than a ball.
Rows Clustered(size_t count, uint64_t centre_seed, uint64_t seed) {
  Random random(centre_seed);
  const auto normal = [&](double scale) {
    std::vector<float> row(kDimension);
    for (float& value : row) {
      value = static_cast<float>(scale * random.Normal());
    }
    return row;
  };
  Rows centres;
  for (size_t i = 0; i < kClusters; ++i) {
    centres.push_back(normal(1.0));
  }
  random = Random(seed);
  Rows rows;
  for (size_t i = 0; i < count; ++i) {
    std::vector<float> row = normal(0.4);
    const std::vector<float>& centre = centres[random.Below(kClusters)];
    for (size_t j = 0; j < row.size(); ++j) {
      row[j] += centre[j];
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

double Cosine(const std::vector<float>& a, const std::vector<float>& b) {
  double dot = 0;
  double aa = 0;
  double bb = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    dot += double{a[i]} * double{b[i]};
    aa += double{a[i]} * double{a[i]};
    bb += double{b[i]} * double{b[i]};
  }
  return dot / std::sqrt(aa * bb);
}

// The labels of the k nearest admitted rows, by brute force in double precision.
std::set<uint32_t> Nearest(const Rows& rows, const std::vector<float>& query, size_t k,
                           const std::function<bool(uint32_t)>& admits) {
  std::vector<std::pair<double, uint32_t>> all;
  for (uint32_t i = 0; i < rows.size(); ++i) {
    if (admits(i)) {
      all.emplace_back(-Cosine(rows[i], query), i);
    }
  }
  std::sort(all.begin(), all.end());
  std::set<uint32_t> labels;
  for (size_t i = 0; i < std::min(k, all.size()); ++i) {
    labels.insert(all[i].second);
  }
  return labels;
}

std::unique_ptr<HnswIndex> Build(const Rows& rows, uint64_t seed = 1) {
  auto index =
      HnswIndex::Create({.dimension = kDimension, .m = 16, .ef_construction = 100, .seed = seed});
  for (uint32_t i = 0; i < rows.size(); ++i) {
    EXPECT_TRUE((*index)->Insert(i, rows[i]).ok());
  }
  return std::move(*index);
}

double Recall(const HnswIndex& index, const Rows& rows, const Rows& queries, size_t ef,
              const std::function<bool(uint32_t)>& admits, bool filtered) {
  size_t right = 0;
  size_t wanted = 0;
  for (const std::vector<float>& query : queries) {
    HnswQuery search{.vector = query, .k = 10, .ef = ef};
    if (filtered) {
      search.filter = admits;
    }
    const auto hits = index.Search(search);
    EXPECT_TRUE(hits.ok()) << hits.status();
    const std::set<uint32_t> truth = Nearest(rows, query, 10, admits);
    wanted += truth.size();
    for (const HnswHit& hit : *hits) {
      EXPECT_TRUE(admits(hit.label));
      EXPECT_NEAR(hit.similarity, Cosine(rows[hit.label], query), 1e-5);
      right += truth.count(hit.label);
    }
  }
  return static_cast<double>(right) / static_cast<double>(wanted);
}

// One large index for the read-only tests.
class HnswTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    rows_ = new Rows(Clustered(kRows, 1, 11));
    queries_ = new Rows(Clustered(100, 1, 12));
    index_ = Build(*rows_).release();
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

TEST_F(HnswTest, RecallAgainstBruteForce) {
  const auto all = [](uint32_t) { return true; };
  const double recall = Recall(*index_, *rows_, *queries_, 64, all, false);
  RecordProperty("recall_at_10_ef_64", std::to_string(recall));
  EXPECT_GE(recall, 0.95);
  EXPECT_GE(Recall(*index_, *rows_, *queries_, 200, all, false), 0.99);
  const Rows far_from_every_cluster = Clustered(100, 2, 13);
  const double far = Recall(*index_, *rows_, far_from_every_cluster, 200, all, false);
  RecordProperty("recall_at_10_ef_200_far", std::to_string(far));
  EXPECT_GE(far, 0.95);
}

TEST_F(HnswTest, RecallOfMembersThemselves) {
  size_t found = 0;
  for (uint32_t i = 0; i < kRows; i += 10) {
    const auto hits = index_->Search({.vector = (*rows_)[i], .k = 1});
    found += hits->front().label == i ? 1 : 0;
  }
  EXPECT_GE(found, kRows / 10 * 99 / 100);
}

TEST_F(HnswTest, RecallUnderAWideFilterThatWalksTheGraph) {
  const auto half = [](uint32_t label) { return label % 2 == 0; };
  EXPECT_GE(Recall(*index_, *rows_, *queries_, 64, half, true), 0.95);
}

TEST_F(HnswTest, NarrowFiltersAreExact) {
  const auto few = [](uint32_t label) { return label % 50 == 7; };
  EXPECT_EQ(Recall(*index_, *rows_, *queries_, 16, few, true), 1.0);
  const auto five = [](uint32_t label) { return label < 5; };
  const auto hits = index_->Search({.vector = queries_->front(), .k = 10, .filter = five});
  EXPECT_EQ(hits->size(), 5U);
  const auto none = [](uint32_t) { return false; };
  EXPECT_TRUE(index_->Search({.vector = queries_->front(), .filter = none})->empty());
}

TEST_F(HnswTest, AWrongCountOfMatchesNeverShortensTheAnswer) {
  const auto few = [](uint32_t label) { return label % 500 == 7; };  // 12 rows
  const auto hits = index_->Search(
      {.vector = queries_->front(), .k = 10, .filter = few, .matching = size_t{5000}});
  EXPECT_EQ(hits->size(), 10U);
}

TEST_F(HnswTest, HitsAreOrderedAndEfIsRaisedToK) {
  const auto hits = index_->Search({.vector = queries_->front(), .k = 300, .ef = 1});
  ASSERT_EQ(hits->size(), 300U);
  EXPECT_TRUE(std::is_sorted(hits->begin(), hits->end(), [](const HnswHit& a, const HnswHit& b) {
    return a.similarity > b.similarity;
  }));
}

TEST_F(HnswTest, SameInsertsGiveTheSameAnswers) {
  const std::unique_ptr<HnswIndex> again = Build(*rows_);
  for (const std::vector<float>& query : *queries_) {
    const auto a = index_->Search({.vector = query, .k = 10, .ef = 16});
    const auto b = again->Search({.vector = query, .k = 10, .ef = 16});
    ASSERT_EQ(a->size(), b->size());
    for (size_t i = 0; i < a->size(); ++i) {
      EXPECT_EQ((*a)[i].label, (*b)[i].label);
      EXPECT_EQ((*a)[i].similarity, (*b)[i].similarity);
    }
  }
}

TEST_F(HnswTest, RemovedAndReplacedRowsAreNotFoundAndRecallStays) {
  Rows rows = *rows_;
  const std::unique_ptr<HnswIndex> index = Build(rows);
  const auto live = [](uint32_t label) { return label % 3 != 0; };
  for (uint32_t i = 0; i < kRows; i += 3) {
    EXPECT_TRUE(index->Remove(i));
    EXPECT_FALSE(index->Remove(i));
  }
  for (uint32_t i = 1; i < 100; i += 3) {
    rows[i] = queries_->at(i);
    ASSERT_TRUE(index->Insert(i, rows[i]).ok());
  }
  EXPECT_EQ(index->size(), kRows - kRows / 3);
  EXPECT_EQ(index->dead(), kRows / 3 + 33);
  EXPECT_GE(Recall(*index, rows, *queries_, 64, live, false), 0.95);
  const std::unique_ptr<HnswIndex> compacted = index->Compacted();
  EXPECT_EQ(compacted->size(), index->size());
  EXPECT_EQ(compacted->dead(), 0U);
  EXPECT_GE(Recall(*compacted, rows, *queries_, 64, live, false), 0.95);
}

TEST_F(HnswTest, SearchesWhileInsertingAndRemoving) {
  const Rows rows(rows_->begin(), rows_->begin() + 3000);
  const std::unique_ptr<HnswIndex> index = Build(Rows(rows.begin(), rows.begin() + 2500));
  std::vector<std::thread> readers;
  std::atomic<bool> stop = false;
  for (int t = 0; t < 2; ++t) {
    readers.emplace_back([&] {
      for (size_t i = 0; !stop || i < 50; ++i) {
        const auto hits = index->Search({.vector = (*queries_)[i % queries_->size()], .k = 10});
        EXPECT_EQ(hits->size(), 10U);
      }
    });
  }
  for (uint32_t i = 2500; i < 3000; ++i) {
    EXPECT_TRUE(index->Insert(i, rows[i]).ok());
    EXPECT_TRUE(index->Remove(i - 2500));
  }
  stop = true;
  for (std::thread& reader : readers) {
    reader.join();
  }
  EXPECT_EQ(index->size(), 2500U);
}

TEST(HnswSmallTest, EmptyAndTinyIndexes) {
  auto index = HnswIndex::Create({.dimension = 2});
  const std::vector<float> x = {1, 0};
  const std::vector<float> y = {0, 2};
  EXPECT_TRUE((*index)->Search({.vector = x})->empty());
  ASSERT_TRUE((*index)->Insert(7, x).ok());
  ASSERT_TRUE((*index)->Insert(9, y).ok());
  const auto hits = (*index)->Search({.vector = std::vector<float>{3, 1}, .k = 10});
  ASSERT_EQ(hits->size(), 2U);
  EXPECT_EQ((*hits)[0].label, 7U);
  EXPECT_NEAR((*hits)[0].similarity, 3 / std::sqrt(10.0), 1e-6);
  EXPECT_TRUE((*index)->Remove(7));
  EXPECT_EQ((*index)->Search({.vector = x})->size(), 1U);
  EXPECT_TRUE((*index)->Remove(9));
  EXPECT_TRUE((*index)->Search({.vector = x})->empty());
}

TEST(HnswSmallTest, RefusesWhatItCannotIndex) {
  auto index = HnswIndex::Create({.dimension = 3});
  const auto reason = [&](std::vector<float> vector) {
    const std::string of_search = ReasonOf((*index)->Search({.vector = vector}).status());
    EXPECT_EQ(of_search, ReasonOf((*index)->CheckInsert(vector)));
    EXPECT_EQ(of_search, ReasonOf((*index)->Insert(1, vector)));
    return of_search;
  };
  EXPECT_EQ(reason({1, 2}), reasons::kWrongDimension);
  EXPECT_EQ(reason({1, 2, 3, 4}), reasons::kWrongDimension);
  EXPECT_EQ(reason({0, 0, 0}), reasons::kInvalidArgument);
  EXPECT_EQ(reason({1, std::numeric_limits<float>::quiet_NaN(), 0}), reasons::kInvalidArgument);
  EXPECT_EQ(reason({1, std::numeric_limits<float>::infinity(), 0}), reasons::kInvalidArgument);
  EXPECT_EQ((*index)->size(), 0U);
  const std::vector<float> good = {1, 2, 3};
  for (const HnswQuery& query :
       {HnswQuery{.vector = good, .k = 0}, HnswQuery{.vector = good, .k = 1001},
        HnswQuery{.vector = good, .ef = limits::kMaxSearchEf + 1}}) {
    EXPECT_EQ(ReasonOf((*index)->Search(query).status()), reasons::kInvalidArgument);
  }
}

TEST(HnswSmallTest, RefusesOptionsOutsideTheLimits) {
  for (const HnswOptions& options :
       {HnswOptions{.dimension = 0}, HnswOptions{.dimension = limits::kMaxDimension + 1},
        HnswOptions{.dimension = 4, .m = 1}, HnswOptions{.dimension = 4, .m = 129},
        HnswOptions{.dimension = 4, .ef_construction = 0}}) {
    EXPECT_EQ(ReasonOf(HnswIndex::Create(options).status()), reasons::kInvalidArgument);
  }
}

TEST(HnswSmallTest, HugeAndTinyNormsAreTheSameDirection) {
  auto index = HnswIndex::Create({.dimension = 2});
  ASSERT_TRUE((*index)->Insert(1, std::vector<float>{1e30F, 1e30F}).ok());
  ASSERT_TRUE((*index)->Insert(2, std::vector<float>{1e-30F, -1e-30F}).ok());
  const auto hits = (*index)->Search({.vector = std::vector<float>{1e-20F, 1e-20F}, .k = 1});
  EXPECT_EQ(hits->front().label, 1U);
  EXPECT_NEAR(hits->front().similarity, 1.0, 1e-6);
}

TEST(HnswSmallTest, ManyEqualRowsAreAllFound) {
  auto index = HnswIndex::Create({.dimension = 2, .m = 4, .ef_construction = 16});
  for (uint32_t i = 0; i < 3000; ++i) {
    ASSERT_TRUE((*index)->Insert(i, std::vector<float>{1, 1}).ok());
  }
  EXPECT_EQ((*index)->Search({.vector = std::vector<float>{1, 1}, .k = 1000})->size(), 1000U);
}

RC_GTEST_PROP(DotTest, AgreesWithTheSumInDoublePrecision, ()) {
  const size_t n = hnsw::PaddedLength(*rc::gen::inRange<size_t>(1, 200));
  Random random(*rc::gen::arbitrary<uint64_t>());
  std::vector<float> a(n);
  std::vector<float> b(n);
  double sum = 0;
  for (size_t i = 0; i < n; ++i) {
    a[i] = static_cast<float>(random.Normal());
    b[i] = static_cast<float>(random.Normal());
    sum += double{a[i]} * double{b[i]};
  }
  RC_ASSERT(std::abs(static_cast<double>(hnsw::Dot(a.data(), b.data(), n)) - sum) < 1e-4);
}

}  // namespace
}  // namespace ruvd
