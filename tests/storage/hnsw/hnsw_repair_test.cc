// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Tests rows that are linked and removed during a pass of repairs.

#include <gtest/gtest.h>

#include <map>

#include "storage/hnsw/checkpoint.h"
#include "storage/hnsw/hnsw_index.h"
#include "storage/hnsw/visited_marks.h"
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
using hnsw_test::Walk;

// Returns how many links, on all levels, lead to nodes that are not in a graph.
size_t LinksOutOfTheGraph(const HnswIndex& index) {
  constexpr uint64_t kEpoch = 1;
  const uint32_t m = index.options().m;
  HnswCheckpointWriter writer(index, 0, kEpoch);
  std::map<uint32_t, uint8_t> level_of;
  size_t wrong = 0;
  while (const auto chunk = writer.Next()) {
    const auto opened = hnsw::OpenChunk(
        {.collection = 0, .epoch = kEpoch, .section = chunk->section, .chunk = chunk->chunk},
        chunk->bytes);
    EXPECT_TRUE(opened.ok());
    if (chunk->section == 0) {
      continue;
    }
    const auto records = hnsw::DecodeRecords(opened->payload, chunk->section == 1,
                                             limits::kMaxHnswNodes, 2 * size_t{m});
    EXPECT_TRUE(records.ok());
    for (const hnsw::NodeRecord& record : *records) {
      level_of.emplace(record.node, record.level);
    }
  }
  HnswCheckpointWriter again(index, 0, kEpoch);
  while (const auto chunk = again.Next()) {
    const auto opened = hnsw::OpenChunk(
        {.collection = 0, .epoch = kEpoch, .section = chunk->section, .chunk = chunk->chunk},
        chunk->bytes);
    if (chunk->section == 0) {
      continue;
    }
    const auto records = hnsw::DecodeRecords(opened->payload, chunk->section == 1,
                                             limits::kMaxHnswNodes, 2 * size_t{m});
    for (const hnsw::NodeRecord& record : *records) {
      for (const uint32_t link : record.links) {
        const auto target = level_of.find(link);
        wrong += target == level_of.end() || target->second + 1 < chunk->section ? 1 : 0;
      }
    }
  }
  return wrong;
}

TEST(HnswRepairTest, ARowEqualToRemovedOnesIsNotLinkedToThoseThatThePassFrees) {
  constexpr uint32_t kEqual = 200;
  Rows rows = Clustered(1500, 16, 1, 81);
  const std::vector<float> same = rows[7];
  rows.insert(rows.begin(), kEqual, same);
  const auto index = Build(rows, {.dimension = 16, .m = 8, .ef_construction = 60});
  for (uint32_t i = 0; i < kEqual; i += 3) {
    EXPECT_TRUE(index->Remove(i));
  }
  EXPECT_TRUE(index->RepairBatch(1, true));  // a pass begins
  constexpr uint32_t kNew = 5000;
  for (uint32_t i = 0; i < 100; ++i) {
    PutRow(*index, kNew + i, same);
  }
  EXPECT_EQ(index->LinkBatch(100), 100U);
  while (index->RepairBatch(64, true)) {
  }
  EXPECT_EQ(LinksOutOfTheGraph(*index), 0U);
}

TEST(HnswRepairTest, RowsThatAreLinkedWhileAPassLooksForOrphansAreNone) {
  const Rows rows = Clustered(3000, 16, 1, 82);
  const auto index = Build(rows, {.dimension = 16, .m = 8, .ef_construction = 60});
  const auto remove_and_free = [&](uint32_t begin, uint32_t end) {
    for (uint32_t i = begin; i < end; ++i) {
      EXPECT_TRUE(index->Remove(i));
    }
    while (index->RepairBatch(512, true)) {
    }
  };
  remove_and_free(0, 600);
  Settle(*index);
  for (uint32_t i = 0; i < 500; ++i) {  // with numbers that are free
    PutRow(*index, i, rows[i]);
  }
  EXPECT_TRUE(index->Remove(2999));
  EXPECT_TRUE(index->RepairBatch(rows.size(), true));  // all is relinked
  for (size_t linked = 0; linked < 500; ++linked) {
    EXPECT_EQ(index->LinkBatch(1), 1U);
    EXPECT_TRUE(index->RepairBatch(4, true));
  }
  EXPECT_EQ(index->Counts().pending, 0U);
  while (index->RepairBatch(64, true)) {
  }
  EXPECT_LE(index->Counts().pending, 3U);
}

TEST(HnswRepairTest, RowsPutAgainTakeTheirFormerPlacesAndAreFound) {
  const Rows rows = Clustered(3000, 16, 1, 84);
  const Rows queries = Clustered(60, 16, 1, 85);
  const auto index = Build(rows, {.dimension = 16, .m = 8, .ef_construction = 60});
  const double before = Recall(*index, rows, queries, Walk(32), All);
  for (uint32_t round = 0; round < 6; ++round) {
    for (uint32_t i = 0; i < rows.size(); ++i) {
      PutRow(*index, i, rows[i], {}, 2 + round);
      EXPECT_EQ(index->LinkBatch(1), 1U);
      index->RepairBatch(16);
    }
  }
  while (index->RepairBatch(512, true)) {
  }
  EXPECT_EQ(LinksOutOfTheGraph(*index), 0U);
  EXPECT_LE(index->Counts().pending, 3U);
  EXPECT_GE(Recall(*index, rows, queries, Walk(32), All), before - 0.005);
}

TEST(HnswRepairTest, ErasingARowOfTheTailNeedsNoPass) {
  const Rows rows = Clustered(2000, 16, 1, 83);
  const auto index = Build(rows, {.dimension = 16, .m = 8, .ef_construction = 40});
  PutRow(*index, 5000, rows[0]);
  EXPECT_TRUE(index->Erase(5000));
  EXPECT_EQ(index->Counts().removed, 0U);
  EXPECT_FALSE(index->RepairBatch(1));
  EXPECT_TRUE(index->Erase(5));
  EXPECT_TRUE(index->RepairBatch(1));
}

TEST(HnswRepairTest, MarksOfAnIndexThatWasLargerAreGivenBack) {
  hnsw::VisitedMarks marks;
  marks.Begin(1'000'000);
  EXPECT_TRUE(marks.Visit(999'999));
  const size_t large = marks.bytes();
  marks.Begin(100'000);
  EXPECT_LT(marks.bytes(), large / 4);
  EXPECT_TRUE(marks.Visit(99'999));
  EXPECT_FALSE(marks.Visit(99'999));
}

}  // namespace
}  // namespace ruvd::storage
