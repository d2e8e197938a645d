// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Tests rows that come and go.

#include <gtest/gtest.h>

#include <map>
#include <numeric>

#include "storage/hnsw/hnsw_index.h"
#include "tests/storage/hnsw/hnsw_fixture.h"

namespace ruvd::storage {
namespace {

using hnsw_test::All;
using hnsw_test::Build;
using hnsw_test::Clustered;
using hnsw_test::MakeIndex;
using hnsw_test::PutRow;
using hnsw_test::Recall;
using hnsw_test::Rows;
using hnsw_test::Settle;
using hnsw_test::SettlesWithin;
using hnsw_test::Walk;

constexpr uint32_t kDimension = 32;
constexpr HnswOptions kOptions{.dimension = kDimension, .ef_construction = 80};

TEST(HnswChurnTest, TenRoundsOfRemovingAFifthKeepRecallAndMemory) {
  const Rows rows = Clustered(4000, kDimension, 1, 31);
  const Rows queries = Clustered(100, kDimension, 1, 32);
  const std::unique_ptr<HnswIndex> index = Build(rows, kOptions);
  const double fresh = Recall(*index, rows, queries, Walk(64), All);
  Random random(5);
  std::vector<uint32_t> order(rows.size());
  std::iota(order.begin(), order.end(), 0U);
  size_t nodes = 0;
  for (uint32_t round = 0; round < 10; ++round) {
    random.Shuffle(std::span(order));
    for (size_t i = 0; i < rows.size() / 5; ++i) {
      EXPECT_TRUE(index->Remove(order[i]));
    }
    Settle(*index);
    EXPECT_EQ(index->Counts().removed, 0U);
    for (size_t i = 0; i < rows.size() / 5; ++i) {
      PutRow(*index, order[i], rows[order[i]], {}, round + 2);
    }
    Settle(*index);
    nodes = std::max(nodes, index->Counts().nodes);
    EXPECT_GE(Recall(*index, rows, queries, Walk(64), All), fresh - 0.005) << round;
  }
  EXPECT_EQ(nodes, rows.size());
  EXPECT_EQ(index->Counts().live, rows.size());
}

TEST(HnswChurnTest, RemovedRowsAreGoneAtOnceAndRecallStaysDuringRepairs) {
  Rows rows = Clustered(4000, kDimension, 1, 33);
  const Rows queries = Clustered(60, kDimension, 1, 34);
  const std::unique_ptr<HnswIndex> index = Build(rows, kOptions);
  for (uint32_t i = 0; i < rows.size(); i += 3) {
    EXPECT_TRUE(index->Remove(i));
    rows[i].clear();
  }
  const auto live = [](uint32_t label) { return label % 3 != 0; };
  EXPECT_GE(Recall(*index, rows, queries, Walk(64), live), 0.95);
  EXPECT_TRUE(index->RepairBatch(100));  // a third is more than a fifth
  EXPECT_GE(Recall(*index, rows, queries, Walk(64), live), 0.95);
  while (index->RepairBatch(500)) {
  }
  EXPECT_EQ(index->Counts().removed, 0U);
  Settle(*index);
  EXPECT_GE(Recall(*index, rows, queries, Walk(64), live), 0.95);
}

TEST(HnswChurnTest, FewRemovedRowsWaitForAVacuum) {
  const Rows rows = Clustered(1000, kDimension, 1, 35);
  const std::unique_ptr<HnswIndex> index = Build(rows, kOptions);
  for (uint32_t i = 0; i < 200; ++i) {
    index->Remove(i);
  }
  EXPECT_FALSE(index->RepairBatch(1000));  // not more than a fifth
  EXPECT_EQ(index->Counts().removed, 200U);
  index->Remove(200);
  EXPECT_TRUE(index->RepairBatch(10));
  EXPECT_FALSE(index->RepairBatch(5000));
  EXPECT_EQ(index->Counts().removed, 0U);
}

TEST(HnswChurnTest, RemovingAllAndStartingAnew) {
  const Rows rows = Clustered(900, kDimension, 1, 36);
  const std::unique_ptr<HnswIndex> index = Build(rows, kOptions);
  for (uint32_t i = 0; i < rows.size(); ++i) {
    EXPECT_TRUE(index->Remove(i));
  }
  EXPECT_TRUE(index->Search({.vector = rows[0]})->empty());
  PutRow(*index, 3, rows[3]);  // its graph has removed rows only
  index->LinkBatch(1);
  for (int settled = 0; settled < 2; ++settled) {
    HnswTrace trace;
    EXPECT_EQ(index->Search({.vector = rows[0], .path = HnswPath::kWalk}, &trace)->size(), 1U);
    EXPECT_TRUE(trace.walked);
    EXPECT_FALSE(trace.gave_up);
    Settle(*index);
  }
  for (uint32_t i = 0; i < rows.size(); ++i) {
    PutRow(*index, i, rows[i], {}, 2);
  }
  Settle(*index);
  EXPECT_GE(Recall(*index, rows, Clustered(40, kDimension, 1, 37), Walk(64), All), 0.95);
}

TEST(HnswChurnTest, AShrunkIndexGivesItsNodesBack) {
  const Rows rows = Clustered(6000, kDimension, 1, 38);
  const std::unique_ptr<HnswIndex> index = Build(rows, kOptions);
  const size_t full = index->Counts().memory_bytes;
  Rows kept = rows;
  for (uint32_t i = 0; i < rows.size(); ++i) {
    if (i % 20 != 7) {
      index->Remove(i);
      kept[i].clear();
    }
  }
  Settle(*index);
  Settle(*index);
  EXPECT_EQ(index->Counts().live, 300U);
  EXPECT_LT(index->Counts().nodes, 2000U);
  EXPECT_LT(index->Counts().memory_bytes, full * 2 / 3);
  const auto live = [](uint32_t label) { return label % 20 == 7; };
  EXPECT_GE(Recall(*index, kept, Clustered(40, kDimension, 1, 39), {}, live), 0.99);
}

// This is an owner that never asks for a pass, with more live rows than one pass can move.
TEST(HnswChurnTest, MemoryIsGivenBackWithoutAskingForAPass) {
  constexpr uint32_t kCount = 20000;
  const Rows rows = Clustered(kCount, 8, 1, 42);
  const auto index = MakeIndex({.dimension = 8, .m = 4, .ef_construction = 16});
  for (uint32_t i = 0; i < kCount; ++i) {
    PutRow(*index, i, rows[i]);
  }
  ASSERT_TRUE(SettlesWithin(*index, 1000, false));
  const size_t full = index->Counts().memory_bytes;
  Rows kept = rows;
  for (uint32_t i = 0; i < kCount; ++i) {
    if (i % 10 >= 3) {
      EXPECT_TRUE(index->Remove(i));
      kept[i].clear();
    }
  }
  ASSERT_TRUE(SettlesWithin(*index, 2000, false));
  EXPECT_EQ(index->Counts().live, kCount * 3 / 10);
  EXPECT_LE(index->Counts().nodes, 2 * index->Counts().live + 1024);
  EXPECT_LT(index->Counts().memory_bytes, full * 3 / 4);
  const auto live = [](uint32_t label) { return label % 10 < 3; };
  EXPECT_GE(Recall(*index, kept, Clustered(40, 8, 1, 43), Walk(64), live), 0.9);
}

TEST(HnswChurnTest, AnErasedRowLeavesMemoryWithTheNextPass) {
  const Rows rows = Clustered(1000, kDimension, 1, 44);
  const std::unique_ptr<HnswIndex> index = Build(rows, kOptions);
  EXPECT_TRUE(index->Remove(4));
  EXPECT_FALSE(index->RepairBatch(5000));  // one row in a thousand can wait
  EXPECT_EQ(index->Counts().removed, 1U);
  EXPECT_TRUE(index->Erase(5));
  EXPECT_FALSE(index->Erase(5));
  while (index->RepairBatch(100)) {
  }
  EXPECT_EQ(index->Counts().removed, 0U);
}

TEST(NodeStoreTest, AFreedNodeHasNoCodes) {
  hnsw::NodeStore nodes(hnsw::CodeLayout(20), 2, true);
  ASSERT_TRUE(nodes.Reserve(4).ok());
  ASSERT_EQ(nodes.Allocate({.level = 1}).value_or(9), 0U);
  const std::vector<float> row(20, 3.0F);
  nodes.header(0) = hnsw::EncodeRow(row, nodes.layout(), HnswMetric::kL2, nodes.high(0),
                                    nodes.low(0), nodes.residual(0));
  nodes.Free(0);
  for (const uint8_t* plane : {nodes.high(0), nodes.low(0), nodes.residual(0)}) {
    EXPECT_EQ(std::count(plane, plane + nodes.layout().plane_bytes, 0),
              static_cast<ptrdiff_t>(nodes.layout().plane_bytes));
  }
  EXPECT_EQ(nodes.header(0).scale, 0.0F);
}

TEST(HnswChurnTest, ARowPutAgainAndAgainWithoutLinkingKeepsTheTailShort) {
  constexpr size_t kKept = 20;
  const Rows rows = Clustered(kKept, kDimension, 1, 41);
  const auto index = MakeIndex(kOptions);
  for (uint32_t i = 0; i < kKept; ++i) {
    PutRow(*index, i, rows[i]);
  }
  for (uint32_t generation = 2; generation < 20000; ++generation) {
    PutRow(*index, 7, rows[7], {}, generation);
  }
  EXPECT_LE(index->Counts().tail_places, 2000U);
  EXPECT_EQ(index->Counts().pending, kKept);
  EXPECT_EQ(index->LinkBatch(2 * kKept), kKept);  // no row was left out
  EXPECT_EQ(index->Counts().pending, 0U);
  EXPECT_EQ(index->Counts().tail_places, 0U);
}

// Compares any order of puts, removals, links and repairs with a plain map.
TEST(HnswChurnTest, RandomChangesAgreeWithAMap) {
  const Rows pool = Clustered(300, 8, 1, 40);
  for (uint64_t seed = 0; seed < 6; ++seed) {
    Random random(seed);
    const auto index = MakeIndex({.dimension = 8, .m = 4, .ef_construction = 20});
    std::map<uint32_t, std::pair<size_t, uint32_t>> rows;  // label to row and bank
    size_t walked = 0;
    for (int step = 0; step < 1500; ++step) {
      const auto label = static_cast<uint32_t>(random.Below(200));
      const uint64_t kind = random.Below(10);
      if (kind < 5) {
        const size_t row = random.Below(pool.size());
        const auto bank = static_cast<uint32_t>(random.Below(3));
        PutRow(*index, label, pool[row], {.bank = bank}, static_cast<uint32_t>(step));
        rows[label] = {row, bank};
      } else if (kind < 8) {
        EXPECT_EQ(index->Remove(label), rows.erase(label) == 1);
      } else if (kind == 8) {
        index->LinkBatch(random.Below(20));
      } else {
        index->RepairBatch(random.Below(60), random.Bernoulli(0.5));
      }
      if (step % 50 == 0) {
        const HnswPath path = random.Bernoulli(0.5) ? HnswPath::kWalk : HnswPath::kAuto;
        HnswTrace trace;
        const auto hits = index->Search({.vector = pool[0], .k = 1000, .path = path}, &trace);
        walked += trace.walked ? 1 : 0;
        std::set<uint32_t> found;
        for (const HnswHit& hit : *hits) {
          EXPECT_TRUE(rows.contains(hit.label));
          found.insert(hit.label);
        }
        EXPECT_EQ(found.size(), rows.size()) << seed << " " << step;
      }
    }
    EXPECT_EQ(index->Counts().live, rows.size());
    EXPECT_GT(walked, 3U);
  }
}

}  // namespace
}  // namespace ruvd::storage
