// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Tests rows that were removed and are still in the graph: what they cost others, and when they go.

#include <gtest/gtest.h>

#include "storage/hnsw/checkpoint.h"
#include "tests/storage/hnsw/hnsw_fixture.h"

namespace ruvd::storage {
namespace {

using hnsw_test::Build;
using hnsw_test::Clustered;
using hnsw_test::Iso;
using hnsw_test::MakeIndex;
using hnsw_test::PutRow;
using hnsw_test::Recall;
using hnsw_test::Rows;
using hnsw_test::Settle;

constexpr uint32_t kDimension = 16;
constexpr HnswOptions kOptions{.dimension = kDimension, .m = 8, .ef_construction = 40};

Rows Around(float centre, size_t count, uint64_t seed) {
  Rows rows = Iso(count, kDimension, seed);
  for (std::vector<float>& row : rows) {
    row[0] += centre;
  }
  return rows;
}

// Found by review: the walk kept every removed row that was nearer than the live ones, sorted by
// insertion.
TEST(HnswRemovedRowsTest, ASearchAmongRemovedRowsCostsNoMoreThanTwoScans) {
  constexpr uint32_t kNear = 12'000;
  constexpr uint32_t kFar = 2000;
  Rows rows = Around(20, kNear, 1);
  const Rows far = Around(-20, kFar, 2);
  rows.insert(rows.end(), far.begin(), far.end());
  const auto index = Build(rows, kOptions);
  for (uint32_t i = 0; i < kNear; ++i) {
    ASSERT_TRUE(index->Remove(i));
    rows[i].clear();
  }
  const Rows queries = Around(20, 5, 3);
  for (const std::vector<float>& query : queries) {
    HnswTrace trace;
    ASSERT_EQ(index->Search({.vector = query}, &trace)->size(), 10U);
    EXPECT_LT(trace.measured, 2 * kFar);
  }
  EXPECT_GT(Recall(*index, rows, queries, {}, [](uint32_t i) { return i >= kNear; }), 0.99);
}

// Found by review: linking walked the whole graph of removed rows under the writer's lock.
TEST(HnswRemovedRowsTest, RowsAreLinkedAfterRepairsWhereMostWereRemoved) {
  const Rows rows = Clustered(3000, kDimension, 1, 4);
  const auto index = Build(rows, kOptions);
  for (uint32_t i = 0; i < rows.size(); ++i) {
    ASSERT_TRUE(index->Remove(i));
  }
  const Rows others = Clustered(300, kDimension, 1, 5);
  for (uint32_t i = 0; i < others.size(); ++i) {
    PutRow(*index, i, others[i], {}, 2);
  }
  EXPECT_EQ(index->LinkBatch(1), 0U);
  EXPECT_EQ(index->Counts().pending, others.size());
  EXPECT_TRUE(index->RepairBatch(1));  // it is due without being asked for
  while (index->RepairBatch(512)) {
  }
  EXPECT_EQ(index->LinkBatch(others.size()), others.size());
  EXPECT_EQ(
      Recall(*index, others, others, {.k = 1, .ef = 32, .path = HnswPath::kWalk}, hnsw_test::All),
      1.0);
}

// Found by review: the embedding of an erased row stayed in memory for ever.
TEST(HnswRemovedRowsTest, ErasingARowThatWasPutAgainTakesItsFormerSelfToo) {
  const Rows rows = Clustered(2000, kDimension, 1, 6);
  const auto index = Build(rows, kOptions);
  PutRow(*index, 5, rows[5], {}, 2);
  EXPECT_TRUE(index->Erase(5));
  EXPECT_GT(index->Counts().removed, 0U);
  while (index->RepairBatch(512)) {
  }
  EXPECT_EQ(index->Counts().removed, 0U);
}

size_t LinksOnLevel0(const HnswIndex& index) {
  constexpr uint64_t kEpoch = 1;
  HnswCheckpointWriter writer(index, 0, kEpoch);
  size_t links = 0;
  while (const auto chunk = writer.Next()) {
    if (chunk->section != 1) {
      continue;
    }
    const auto opened = hnsw::OpenChunk(
        {.collection = 0, .epoch = kEpoch, .section = chunk->section, .chunk = chunk->chunk},
        chunk->bytes);
    EXPECT_TRUE(opened.ok()) << opened.status();
    const auto records =
        hnsw::DecodeRecords(opened->payload, true, limits::kMaxHnswNodes, 2 * kOptions.m);
    EXPECT_TRUE(records.ok()) << records.status();
    for (const hnsw::NodeRecord& record : *records) {
      links += record.links.size();
    }
  }
  return links;
}

// Found by review: each time a row replaced its former self, it lost the links to rows that were
// removed at the time, and got no others.
TEST(HnswRemovedRowsTest, RowsThatArePutAgainAmongRemovedOnesKeepTheirLinks) {
  const Rows rows = Clustered(3000, kDimension, 1, 7);
  const auto index = Build(rows, kOptions);
  const size_t before = LinksOnLevel0(*index);
  for (uint32_t round = 0; round < 10; ++round) {
    // One row in ten is gone while three in ten are put again.
    for (uint32_t i = round; i < rows.size(); i += 10) {
      ASSERT_TRUE(index->Remove(i));
    }
    for (uint32_t i = 0; i < rows.size(); ++i) {
      if ((i + 9 - round) % 10 < 3) {
        PutRow(*index, i, rows[i], {}, round + 2);
        ASSERT_EQ(index->LinkBatch(1), 1U);
      }
    }
    for (uint32_t i = round; i < rows.size(); i += 10) {
      PutRow(*index, i, rows[i], {}, round + 2);
    }
    Settle(*index);
  }
  EXPECT_GT(LinksOnLevel0(*index), before * 9 / 10);
}

TEST(HnswRemovedRowsTest, MemoryIsGivenBackInSteps) {
  constexpr size_t kFreedAtOnce = 256;
  const Rows rows = Clustered(3000, kDimension, 1, 8);
  const auto index = Build(rows, kOptions);
  for (uint32_t i = 0; i < rows.size(); ++i) {
    ASSERT_TRUE(index->Erase(i));
  }
  size_t removed = index->Counts().removed;
  EXPECT_EQ(removed, rows.size());
  while (index->RepairBatch(rows.size())) {
    const size_t now = index->Counts().removed;
    EXPECT_LE(removed - now, 2 * kFreedAtOnce);
    removed = now;
  }
  EXPECT_EQ(index->Counts().removed, 0U);
}

}  // namespace
}  // namespace ruvd::storage
