// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/hnsw/distances.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/storage/hnsw/hnsw_fixture.h"

namespace ruvd::storage::hnsw {
namespace {

using hnsw_test::Rows;

constexpr size_t kDimension = 256;
constexpr size_t kCount = 2000;
constexpr float kAny = std::numeric_limits<float>::infinity();

std::vector<float> Signs(Random& random) {
  std::vector<float> row(kDimension);
  for (float& value : row) {
    value = random.Bernoulli(0.5) ? 1.0F : -1.0F;
  }
  return row;
}

std::vector<float> OneHot(Random& random) {
  std::vector<float> row(kDimension, 0.0F);
  row[random.Below(kDimension)] = 1.0F;
  return row;
}

std::vector<float> Sparse(Random& random) {
  std::vector<float> row(kDimension, 0.0F);
  for (int i = 0; i < 24; ++i) {
    row[random.Below(kDimension)] = static_cast<float>(random.Uniform());
  }
  return row;
}

std::vector<float> WithOutlier(Random& random) {
  std::vector<float> row = hnsw_test::Normal(random, kDimension, 1.0);
  row[3] += 60.0F;
  return row;
}

std::vector<float> Ordinary(Random& random) {
  return hnsw_test::Normal(random, kDimension, 1.0);
}

struct Kind {
  const char* name;
  std::vector<float> (*draw)(Random& random);
  double change;  // share of the values of a centre that its rows draw again
};

void PrintTo(const Kind& kind, std::ostream* out) {
  *out << kind.name;
}

class DistancesTest : public testing::TestWithParam<Kind> {
 protected:
  // Makes rows around 40 centres; the queries are further rows.
  void SetUp() override {
    const CodeLayout& layout = nodes_.layout();
    ASSERT_TRUE(nodes_.Reserve(kCount).ok());
    Random random(5);
    Rows centres;
    for (int i = 0; i < 40; ++i) {
      centres.push_back(GetParam().draw(random));
    }
    const auto draw = [&] {
      std::vector<float> row = centres[random.Below(centres.size())];
      const std::vector<float> other = GetParam().draw(random);
      for (size_t i = 0; i < kDimension; ++i) {
        row[i] = random.Bernoulli(GetParam().change) ? other[i] : row[i];
      }
      return row;
    };
    for (uint32_t i = 0; i < kCount; ++i) {
      const auto node = nodes_.Allocate({.label = i});
      ASSERT_TRUE(node.ok());
      nodes_.header(*node) = EncodeRow(draw(), layout, HnswMetric::kL2, nodes_.high(*node),
                                       nodes_.low(*node), nodes_.residual(*node));
      ids_.push_back(*node);
    }
    for (int i = 0; i < 30; ++i) {
      queries_.push_back(draw());
    }
  }

  // Returns the 8-bit distances of all rows.
  std::vector<float> All(const EncodedQuery& query) {
    DistanceBuffers buffers;
    const size_t n = Distances(nodes_, query, buffers).FilterWithin(ids_, kAny);
    EXPECT_EQ(n, ids_.size());
    return {buffers.distances.begin(), buffers.distances.begin() + static_cast<ptrdiff_t>(n)};
  }

  // Returns the value that a row's 8-bit code stands for, relative to the row's mean.
  double Value(uint32_t node, size_t i) const {
    const size_t bytes = nodes_.layout().plane_bytes;
    const auto nibble = [&](const uint8_t* plane) {
      return i < bytes ? plane[i] & 15 : plane[i - bytes] >> 4;
    };
    const RowHeader& header = nodes_.header(node);
    return double{header.scale} *
           (16 * nibble(nodes_.high(node)) + nibble(nodes_.low(node)) - 128 - header.mean_code);
  }

  NodeStore nodes_{CodeLayout(kDimension), 2, true};
  std::vector<uint32_t> ids_;
  Rows queries_;
};

TEST_P(DistancesTest, FewOfTheNearestAreRejectedByTheHighPlaneAlone) {
  size_t near = 0;
  size_t missed = 0;
  for (const std::vector<float>& values : queries_) {
    EncodedQuery query;
    EncodeQuery(values, nodes_.layout(), HnswMetric::kL2, &query);
    const std::vector<float> all = All(query);
    std::vector<float> sorted = all;
    for (const size_t rank : {10, 50, 400}) {
      std::nth_element(sorted.begin(), sorted.begin() + static_cast<ptrdiff_t>(rank), sorted.end());
      const float bound = sorted[rank];
      DistanceBuffers buffers;
      const size_t n = Distances(nodes_, query, buffers).FilterWithin(ids_, bound);
      std::vector<bool> kept(kCount, false);
      for (size_t i = 0; i < n; ++i) {
        kept[buffers.kept[i]] = true;
        EXPECT_EQ(buffers.distances[i], all[buffers.kept[i]]);
      }
      for (size_t i = 0; i < kCount; ++i) {
        near += all[i] < bound ? 1 : 0;
        missed += all[i] < bound && !kept[i] ? 1 : 0;
      }
    }
  }
  EXPECT_LE(missed, near / 100) << near;
}

TEST_P(DistancesTest, FewBoundsAreMisjudgedByTheHighPlaneAlone) {
  Random random(6);
  size_t wrong = 0;
  for (uint32_t node = 0; node < 60; ++node) {
    EncodedQuery query;
    QueryFromRow(nodes_.high(node), nodes_.low(node), nodes_.header(node), nodes_.layout(),
                 HnswMetric::kL2, &query);
    const std::vector<float> all = All(query);
    std::vector<float> bounds(kCount);
    for (float& bound : bounds) {
      bound = all[random.Below(kCount)];
    }
    DistanceBuffers buffers;
    const size_t n = Distances(nodes_, query, buffers).FindNotBelow(ids_, bounds);
    std::vector<bool> kept(kCount, false);
    for (size_t i = 0; i < n; ++i) {
      kept[buffers.kept[i]] = true;
    }
    for (size_t i = 0; i < kCount; ++i) {
      wrong += kept[i] != (all[i] >= bounds[i]) ? 1 : 0;
    }
  }
  EXPECT_LE(wrong, 60 * kCount / 100);
}

TEST_P(DistancesTest, RowsAreAsFarAsTheirCodes) {
  for (uint32_t node = 0; node < 20; ++node) {
    EncodedQuery query;
    QueryFromRow(nodes_.high(node), nodes_.low(node), nodes_.header(node), nodes_.layout(),
                 HnswMetric::kL2, &query);
    const std::vector<float> all = All(query);
    EXPECT_NEAR(all[node], 0.0F, 1e-6F * nodes_.header(node).bias);
    for (uint32_t other = 0; other < kCount; other += 97) {
      const double means = double{nodes_.header(node).mean} - double{nodes_.header(other).mean};
      double squares = kDimension * means * means;
      for (size_t i = 0; i < kDimension; ++i) {
        const double difference = Value(node, i) - Value(other, i);
        squares += difference * difference;
      }
      EXPECT_NEAR(all[other], squares, 1e-5 * (1.0 + double{nodes_.header(node).bias}));
    }
  }
}

// If most values of a row are equal, rounding moves all of them to one side.
TEST(DistancesOfMixedRowsTest, RowsRoundedToOneSideAreAsFarFromOthersAsTheyAre) {
  constexpr size_t kValues = 768;
  constexpr double kNonZero = 0.22;
  Random random(8);
  Rows rows;
  for (const size_t filled : {1, 3, 20, 100, 700}) {
    rows.emplace_back(kValues, 0.0F);
    for (size_t i = 0; i < filled; ++i) {
      rows.back()[7 * i % kValues] = static_cast<float>(kNonZero / std::sqrt(filled / 20.0));
    }
  }
  rows.push_back(hnsw_test::Normal(random, kValues, 0.02));
  for (float& value : rows.back()) {
    value += 0.03F;
  }
  for (const HnswMetric metric : {HnswMetric::kDot, HnswMetric::kL2}) {
    NodeStore nodes(CodeLayout(kValues), 2, true);
    ASSERT_TRUE(nodes.Reserve(rows.size()).ok());
    std::vector<uint32_t> ids;
    for (const std::vector<float>& row : rows) {
      ids.push_back(*nodes.Allocate({}));
      nodes.header(ids.back()) = EncodeRow(row, nodes.layout(), metric, nodes.high(ids.back()),
                                           nodes.low(ids.back()), nodes.residual(ids.back()));
    }
    for (const std::vector<float>& values : rows) {
      EncodedQuery query;
      EncodeQuery(values, nodes.layout(), metric, &query);
      DistanceBuffers buffers;
      const Distances distances(nodes, query, buffers);
      std::vector<float> fine(ids.size());
      distances.FineDistances(ids, fine);
      ASSERT_EQ(distances.FilterWithin(ids, kAny), ids.size());
      for (size_t i = 0; i < ids.size(); ++i) {
        const double right = -hnsw_test::Similarity(rows[i], values, metric);
        EXPECT_NEAR(buffers.distances[i], right, 1e-2) << i;
        EXPECT_NEAR(fine[i], right, 8e-4) << i;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, DistancesTest,
                         testing::Values(Kind{"ordinary", Ordinary, 0.3}, Kind{"signs", Signs, 0.1},
                                         Kind{"one_hot", OneHot, 0.1}, Kind{"sparse", Sparse, 0.3},
                                         Kind{"outlier", WithOutlier, 0.5}));

}  // namespace
}  // namespace ruvd::storage::hnsw
