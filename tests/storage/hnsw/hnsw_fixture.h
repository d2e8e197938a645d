// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "base/random.h"
#include "storage/hnsw/hnsw_index.h"

// Data and oracles of the vector index's tests.
namespace ruvd::storage::hnsw_test {

using Rows = std::vector<std::vector<float>>;
using Admits = std::function<bool(uint32_t)>;

// Returns the name of a metric for the test runner's output.
inline const char* NameOf(HnswMetric metric) {
  switch (metric) {
    case HnswMetric::kCosine:
      return "cosine";
    case HnswMetric::kDot:
      return "dot";
    case HnswMetric::kL2:
      return "l2";
  }
  return "unknown";
}

inline std::vector<float> Normal(Random& random, size_t dimension, double scale) {
  std::vector<float> row(dimension);
  for (float& value : row) {
    value = static_cast<float>(scale * random.Normal());
  }
  return row;
}

// Points around random centres: this is how embeddings look, and it is harder for a graph than a
// ball.
inline Rows Clustered(size_t count, size_t dimension, uint64_t centre_seed, uint64_t seed) {
  constexpr size_t kClusters = 60;
  Random random(centre_seed);
  Rows centres;
  for (size_t i = 0; i < kClusters; ++i) {
    centres.push_back(Normal(random, dimension, 1.0));
  }
  random = Random(seed);
  Rows rows;
  for (size_t i = 0; i < count; ++i) {
    std::vector<float> row = Normal(random, dimension, 0.4);
    const std::vector<float>& centre = centres[random.Below(kClusters)];
    for (size_t j = 0; j < row.size(); ++j) {
      row[j] += centre[j];
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

inline Rows Iso(size_t count, size_t dimension, uint64_t seed) {
  Random random(seed);
  Rows rows;
  for (size_t i = 0; i < count; ++i) {
    rows.push_back(Normal(random, dimension, 1.0));
  }
  return rows;
}

// Computes HnswHit::similarity in double precision.
inline double Similarity(const std::vector<float>& a, const std::vector<float>& b,
                         HnswMetric metric) {
  double dot = 0;
  double aa = 0;
  double bb = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    dot += double{a[i]} * double{b[i]};
    aa += double{a[i]} * double{a[i]};
    bb += double{b[i]} * double{b[i]};
  }
  return metric == HnswMetric::kCosine ? dot / std::sqrt(aa * bb)
         : metric == HnswMetric::kDot  ? dot
                                       : 2 * dot - aa - bb;
}

// Returns the labels of the k nearest admitted rows by brute force; empty rows are not there.
inline std::set<uint32_t> Nearest(const Rows& rows, const std::vector<float>& query, size_t k,
                                  HnswMetric metric, const Admits& admits) {
  std::vector<std::pair<double, uint32_t>> all;
  for (uint32_t i = 0; i < rows.size(); ++i) {
    if (!rows[i].empty() && admits(i)) {
      all.emplace_back(-Similarity(rows[i], query, metric), i);
    }
  }
  std::sort(all.begin(), all.end());
  std::set<uint32_t> labels;
  for (size_t i = 0; i < std::min(k, all.size()); ++i) {
    labels.insert(all[i].second);
  }
  return labels;
}

inline std::unique_ptr<HnswIndex> MakeIndex(const HnswOptions& options) {
  auto index = HnswIndex::Create(options);
  EXPECT_TRUE(index.ok()) << index.status();
  return std::move(*index);
}

inline void PutRow(HnswIndex& index, uint32_t label, const std::vector<float>& row,
                   const HnswAttributes& attributes = {}, uint32_t generation = 1) {
  const absl::Status put = index.Put(
      {.label = label, .generation = generation, .vector = row, .attributes = attributes});
  ASSERT_TRUE(put.ok()) << put;
}

// Links and repairs until nothing is left to do.
inline void Settle(HnswIndex& index) {
  constexpr size_t kStep = 512;
  do {
    while (index.RepairBatch(kStep, true)) {
    }
  } while (index.LinkBatch(kStep) > 0);
}

inline std::unique_ptr<HnswIndex> Build(const Rows& rows, const HnswOptions& options) {
  std::unique_ptr<HnswIndex> index = MakeIndex(options);
  for (uint32_t i = 0; i < rows.size(); ++i) {
    PutRow(*index, i, rows[i]);
  }
  Settle(*index);
  EXPECT_EQ(index->Counts().pending, 0U);
  return index;
}

// Returns recall@k over the queries against brute force. Every hit must be admitted, and its
// similarity must be right to `tolerance`. A path that the query names must be taken. `gave_up`
// counts walks that a scan had to finish.
inline double Recall(const HnswIndex& index, const Rows& rows, const Rows& queries,
                     const HnswQuery& how, const Admits& admits, double tolerance = 1e-3,
                     size_t* gave_up = nullptr) {
  const HnswMetric metric = index.options().metric;
  const bool walk = how.path == HnswPath::kWalk || how.path == HnswPath::kTwoHop;
  size_t right = 0;
  size_t wanted = 0;
  for (const std::vector<float>& query : queries) {
    HnswQuery search = how;
    search.vector = query;
    HnswTrace trace;
    const auto hits = index.Search(search, &trace);
    EXPECT_TRUE(hits.ok()) << hits.status();
    const std::set<uint32_t> truth = Nearest(rows, query, how.k, metric, admits);
    EXPECT_TRUE(trace.walked || !walk || truth.empty());
    *(gave_up != nullptr ? gave_up : &wanted) += gave_up != nullptr && trace.gave_up ? 1 : 0;
    EXPECT_EQ(hits->size(), truth.size());
    wanted += truth.size();
    for (const HnswHit& hit : *hits) {
      EXPECT_TRUE(admits(hit.label)) << hit.label;
      EXPECT_NEAR(hit.similarity, Similarity(rows[hit.label], query, metric), tolerance);
      right += truth.count(hit.label);
    }
  }
  return wanted == 0 ? 1.0 : static_cast<double>(right) / static_cast<double>(wanted);
}

// Does the same for rows that are equally far: returns the part of the hits that are as near as the
// k-th best.
inline double TiedRecall(const HnswIndex& index, const Rows& rows, const Rows& queries,
                         const HnswQuery& how) {
  const HnswMetric metric = index.options().metric;
  size_t right = 0;
  for (const std::vector<float>& query : queries) {
    std::vector<double> all;
    for (const std::vector<float>& row : rows) {
      all.push_back(Similarity(row, query, metric));
    }
    std::sort(all.begin(), all.end(), std::greater<>());
    HnswQuery search = how;
    search.vector = query;
    HnswTrace trace;
    const auto hits = index.Search(search, &trace);
    EXPECT_EQ(hits->size(), how.k);
    EXPECT_EQ(trace.walked, how.path == HnswPath::kWalk);
    EXPECT_FALSE(trace.gave_up);
    for (const HnswHit& hit : *hits) {
      right += Similarity(rows[hit.label], query, metric) >= all[how.k - 1] - 1e-9 ? 1 : 0;
    }
  }
  return static_cast<double>(right) / static_cast<double>(how.k * queries.size());
}

// Links and repairs in steps of 512 until nothing is left to do; returns false if `steps` of them
// are not enough.
inline bool SettlesWithin(HnswIndex& index, size_t steps, bool now = true) {
  constexpr size_t kStep = 512;
  for (size_t step = 0; step < steps; ++step) {
    const bool in_pass = index.RepairBatch(kStep, now);
    if (index.LinkBatch(in_pass ? 0 : kStep) == 0 && !in_pass) {
      return true;
    }
  }
  return false;
}

// Returns a search that has to walk the graph.
inline HnswQuery Walk(size_t ef) {
  return {.ef = ef, .path = HnswPath::kWalk};
}

inline bool All(uint32_t) {
  return true;
}

}  // namespace ruvd::storage::hnsw_test
