// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <optional>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"
#include "storage/hnsw/checkpoint.h"
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

constexpr uint32_t kDimension = 24;
constexpr HnswOptions kOptions{.dimension = kDimension, .m = 8, .ef_construction = 60};
constexpr uint32_t kCollection = 3;
constexpr uint64_t kEpoch = 77;

std::vector<HnswChunk> Cut(const HnswIndex& index, uint64_t epoch = kEpoch) {
  HnswCheckpointWriter writer(index, kCollection, epoch);
  std::vector<HnswChunk> chunks;
  while (auto chunk = writer.Next()) {
    EXPECT_LE(chunk->bytes.size(), limits::kMaxCheckpointChunkBytes);
    chunks.push_back(std::move(*chunk));
  }
  EXPECT_FALSE(writer.Next());
  return chunks;
}

absl::StatusOr<HnswRestored> Restore(HnswIndex& index, const std::vector<HnswChunk>& chunks,
                                     uint32_t collection = kCollection, uint64_t epoch = kEpoch) {
  HnswCheckpointReader reader(index, collection, epoch);
  for (const HnswChunk& chunk : chunks) {
    RETURN_IF_ERROR(reader.Add(chunk.section, chunk.chunk, chunk.bytes));
  }
  return reader.Finish();
}

std::unique_ptr<HnswIndex> WithRows(const Rows& rows, const HnswOptions& options = kOptions) {
  auto index = MakeIndex(options);
  for (uint32_t i = 0; i < rows.size(); ++i) {
    if (!rows[i].empty()) {
      PutRow(*index, i, rows[i], {.bank = i % 2});
    }
  }
  return index;
}

class HnswCheckpointTest : public testing::Test {
 protected:
  const Rows rows_ = Clustered(3000, kDimension, 1, 61);
  const Rows queries_ = Clustered(50, kDimension, 1, 62);
};

TEST_F(HnswCheckpointTest, ARestoredIndexSearchesAsTheOldOne) {
  const auto index = WithRows(rows_);
  Settle(*index);
  const std::vector<HnswChunk> chunks = Cut(*index);
  EXPECT_GT(chunks.size(), 8U);
  const auto again = WithRows(rows_);
  const auto restored = Restore(*again, chunks);
  ASSERT_TRUE(restored.ok()) << restored.status();
  EXPECT_EQ(restored->linked, rows_.size());
  EXPECT_EQ(restored->missing, 0U);
  EXPECT_EQ(restored->orphans, 0U);
  EXPECT_EQ(again->Counts().pending, 0U);
  for (const std::vector<float>& query : queries_) {
    HnswTrace a_trace;
    HnswTrace b_trace;
    const HnswQuery search{.vector = query, .ef = 32, .path = HnswPath::kWalk};
    const auto a = index->Search(search, &a_trace);
    const auto b = again->Search(search, &b_trace);
    EXPECT_EQ(a_trace.measured, b_trace.measured);
    EXPECT_EQ(a->front().label, b->front().label);
  }
  // Later changes have equal effects as well.
  PutRow(*again, 5000, queries_[0]);
  EXPECT_EQ(again->LinkBatch(10), 1U);
  EXPECT_TRUE(again->Remove(17));
  Settle(*again);
}

TEST_F(HnswCheckpointTest, RowsThatChangedSinceAreMendedAroundAndLinkedAnew) {
  const auto index = WithRows(rows_);
  Settle(*index);
  const std::vector<HnswChunk> chunks = Cut(*index);
  Rows changed = rows_;
  for (uint32_t i = 0; i < changed.size(); i += 10) {
    changed[i].clear();  // removed
  }
  const auto again = WithRows(changed);
  for (uint32_t i = 5; i < changed.size(); i += 10) {
    PutRow(*again, i, changed[i], {.bank = i % 2}, 2);  // replaced
  }
  for (uint32_t i = 0; i < 100; ++i) {
    changed.push_back(queries_[i % queries_.size()]);
    PutRow(*again, 3000 + i, changed.back(), {.bank = i % 2});
  }
  const auto restored = Restore(*again, chunks);
  ASSERT_TRUE(restored.ok());
  EXPECT_EQ(restored->missing, 600U);
  EXPECT_GE(restored->linked, 2390U);
  EXPECT_EQ(again->Counts().pending, 400U + restored->orphans);
  EXPECT_GE(Recall(*again, changed, queries_, Walk(64), All), 0.95);
  Settle(*again);
  EXPECT_GE(Recall(*again, changed, queries_, Walk(64), All), 0.95);
}

TEST_F(HnswCheckpointTest, ACheckpointOfAGraphWithRemovedRows) {
  const auto index = WithRows(rows_);
  Settle(*index);
  Rows changed = rows_;
  for (uint32_t i = 0; i < 400; ++i) {
    index->Remove(i);
    changed[i].clear();
  }
  const std::vector<HnswChunk> chunks = Cut(*index);
  const auto again = WithRows(changed);
  const auto restored = Restore(*again, chunks);
  ASSERT_TRUE(restored.ok());
  EXPECT_EQ(restored->missing, 400U);
  EXPECT_GE(Recall(*again, changed, queries_, Walk(64), All), 0.95);
}

// A reader from before keeps removed nodes from being freed. A checkpoint that begins after they
// left the graph does not, and must not read any of them.
TEST_F(HnswCheckpointTest, ACheckpointLeavesOutNodesThatItDoesNotHoldBack) {
  const auto index = WithRows(rows_);
  Settle(*index);
  std::optional<HnswCheckpointWriter> old_reader;
  old_reader.emplace(*index, kCollection, 1);
  const auto removed = [](uint32_t label) { return label % 3 == 0; };
  for (uint32_t i = 0; i < rows_.size(); i += 3) {
    index->Remove(i);
  }
  while (index->RepairBatch(1000)) {
  }
  EXPECT_EQ(index->Counts().removed, rows_.size() / 3);  // the old reader holds them
  HnswCheckpointWriter writer(*index, kCollection, kEpoch);
  std::vector<HnswChunk> chunks = {*writer.Next(), *writer.Next()};
  old_reader.reset();
  PutRow(*index, 5000, queries_[0]);  // frees them, in steps
  while (index->RepairBatch(1000)) {
  }
  EXPECT_EQ(index->Counts().removed, 0U);
  while (auto chunk = writer.Next()) {
    chunks.push_back(std::move(*chunk));
  }
  EXPECT_GT(chunks.back().section, 1);  // levels above 0 were written
  for (const HnswChunk& chunk : chunks) {
    const auto opened =
        hnsw::OpenChunk({kCollection, kEpoch, chunk.section, chunk.chunk}, chunk.bytes);
    ASSERT_TRUE(opened.ok());
    if (chunk.section == 1) {
      const auto records =
          hnsw::DecodeRecords(opened->payload, true, limits::kMaxHnswNodes, 2 * kOptions.m);
      ASSERT_TRUE(records.ok());
      for (const hnsw::NodeRecord& record : *records) {
        ASSERT_FALSE(removed(record.label)) << record.label;
      }
    }
  }
}

TEST_F(HnswCheckpointTest, AnEmptyIndexHasACheckpointToo) {
  const auto index = MakeIndex(kOptions);
  const auto again = WithRows(rows_);
  const auto restored = Restore(*again, Cut(*index));
  ASSERT_TRUE(restored.ok()) << restored.status();
  EXPECT_EQ(restored->linked, 0U);
  EXPECT_EQ(again->Counts().pending, rows_.size());
}

TEST_F(HnswCheckpointTest, EveryFlippedBitIsNoticed) {
  const Rows few(rows_.begin(), rows_.begin() + 40);
  const auto index = WithRows(few);
  Settle(*index);
  const std::vector<HnswChunk> chunks = Cut(*index);
  for (size_t c = 0; c < chunks.size(); ++c) {
    for (size_t bit = 0; bit < 8 * chunks[c].bytes.size(); ++bit) {
      std::string damaged = chunks[c].bytes;
      damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
      const hnsw::ChunkPlace place{kCollection, kEpoch, chunks[c].section, chunks[c].chunk};
      ASSERT_EQ(ReasonOf(hnsw::OpenChunk(place, damaged).status()), reasons::kStoreCorrupt)
          << c << " " << bit;
    }
  }
}

TEST_F(HnswCheckpointTest, MisplacedAndMissingChunksAndOtherOptionsAreRefused) {
  const auto index = WithRows(rows_);
  Settle(*index);
  const std::vector<HnswChunk> chunks = Cut(*index);
  const auto again = WithRows(rows_);
  const auto refuses = [&](const std::vector<HnswChunk>& given, uint32_t collection = kCollection,
                           uint64_t epoch = kEpoch) {
    const auto restored = Restore(*again, given, collection, epoch);
    EXPECT_EQ(ReasonOf(restored.status()), reasons::kStoreCorrupt);
    EXPECT_EQ(again->Counts().pending, rows_.size());
  };
  refuses(chunks, kCollection + 1);
  refuses(chunks, kCollection, kEpoch + 1);
  refuses({});
  refuses({chunks.begin(), chunks.end() - 1});
  refuses({chunks.begin() + 1, chunks.end()});
  std::vector<HnswChunk> swapped = chunks;
  std::swap(swapped[1].bytes, swapped[2].bytes);
  refuses(swapped);
  std::vector<HnswChunk> longer = chunks;
  longer.push_back(chunks.back());
  refuses(longer);
  HnswOptions other = kOptions;
  other.m = 9;
  const auto wider = WithRows(rows_, other);
  EXPECT_EQ(ReasonOf(Restore(*wider, chunks).status()), reasons::kStoreCorrupt);
  EXPECT_TRUE(Restore(*again, chunks).ok());
}

TEST_F(HnswCheckpointTest, AnotherManifestAndSectionsWithoutEndAreRefused) {
  const std::string manifest = hnsw::EncodeManifest(
      {.dimension = kDimension, .m = kOptions.m, .seed = kOptions.seed, .nodes = 10});
  const auto index = MakeIndex(kOptions);
  const auto add = [](HnswCheckpointReader& reader, const hnsw::ChunkPlace& place,
                      hnsw::ChunkEnd end, std::string_view payload) {
    return reader.Add(place.section, place.chunk, hnsw::SealChunk(place, end, payload));
  };
  hnsw::ChunkPlace place{.collection = kCollection, .epoch = kEpoch};
  HnswCheckpointReader twice(*index, kCollection, kEpoch);
  EXPECT_EQ(ReasonOf(add(twice, place, {}, manifest)), reasons::kStoreCorrupt);
  HnswCheckpointReader reader(*index, kCollection, kEpoch);
  ASSERT_TRUE(add(reader, place, {.of_section = true}, manifest).ok());
  for (place.section = 1; place.section < 1 + hnsw::kMaxLevel; ++place.section) {
    ASSERT_TRUE(add(reader, place, {.of_section = true}, "").ok());
  }
  EXPECT_EQ(ReasonOf(add(reader, place, {.of_section = true}, "")), reasons::kStoreCorrupt);
}

// This is the example of docs/store-format.md, made by an implementation that shares no code with
// ours.
TEST(CheckpointChunkTest, TheWorkedExample) {
  const auto unhex = [](std::string_view hex) { return *FromHex(hex); };
  const std::string manifest = unhex(
      "5256484701000001000000000000000005000000000000001b000000"
      "020000000110000000447675520000000003000000010001000000"
      "13722e3fee14aedca3c8ccf0af7d3b6d");
  const std::string nodes = unhex(
      "52564847010001030000000000000000050000000000000019000000"
      "01000000070000000200000000000102000000000002000000"
      "869f83706aeebfb96c0ef21e5afae05d");
  EXPECT_EQ(
      ToHex(AsBytes(hnsw::SealChunk(
          {.epoch = 5}, {.of_section = true},
          hnsw::EncodeManifest(
              {.dimension = 2, .m = 16, .seed = 0x52757644, .nodes = 3, .entries = {{0, 1}}})))),
      ToHex(AsBytes(manifest)));
  const auto opened = hnsw::OpenChunk({.epoch = 5, .section = 1}, nodes);
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_TRUE(opened->end.of_section && opened->end.of_checkpoint);
  const auto records = hnsw::DecodeRecords(opened->payload, true, 3, 32);
  ASSERT_EQ(records->size(), 1U);
  EXPECT_EQ(records->front().label, 7U);
  EXPECT_EQ(records->front().generation, 2U);
  EXPECT_EQ(records->front().links, (std::vector<uint32_t>{0, 2}));
}

RC_GTEST_PROP(CheckpointChunkTest, RecordsComeBackAsTheyWere, ()) {
  Random random(*rc::gen::arbitrary<uint64_t>());
  const bool of_level_0 = random.Bernoulli(0.5);
  std::string payload;
  std::vector<hnsw::NodeRecord> records;
  for (uint32_t node = 0; node < 20; ++node) {
    hnsw::NodeRecord record{.node = 5 * node + static_cast<uint32_t>(random.Below(5))};
    if (of_level_0) {
      record.label = static_cast<uint32_t>(random.Below(limits::kMaxPatterns));
      record.generation = static_cast<uint32_t>(random.Next());
      record.level = static_cast<uint8_t>(random.Below(4));
      record.bank = static_cast<uint8_t>(random.Below(limits::kMaxBanks));
      record.live = random.Bernoulli(0.5);
    }
    for (uint64_t i = random.Below(9); i > 0; --i) {
      record.links.push_back(static_cast<uint32_t>(random.Below(100)));
    }
    hnsw::AppendRecord(record, of_level_0, &payload);
    records.push_back(record);
  }
  const auto decoded = hnsw::DecodeRecords(payload, of_level_0, 100, 8);
  RC_ASSERT(decoded.ok());
  RC_ASSERT(decoded->size() == records.size());
  for (size_t i = 0; i < records.size(); ++i) {
    RC_ASSERT((*decoded)[i].node == records[i].node && (*decoded)[i].links == records[i].links &&
              (*decoded)[i].label == records[i].label && (*decoded)[i].live == records[i].live);
  }
  RC_ASSERT(!hnsw::DecodeRecords(payload, of_level_0, 50, 8).ok());
}

// Found by review: records of six bytes made the reader allocate kilobytes each.
TEST(CheckpointChunkTest, LevelsThatNoGraphHasAreRefused) {
  std::string payload;
  hnsw::AppendRecord({.node = 1, .level = hnsw::kMaxLevel, .live = true}, true, &payload);
  EXPECT_TRUE(hnsw::DecodeRecords(payload, true, 100, 8).ok());
  hnsw::AppendRecord({.node = 2, .level = hnsw::kMaxLevel + 1, .live = true}, true, &payload);
  EXPECT_EQ(ReasonOf(hnsw::DecodeRecords(payload, true, 100, 8).status()), reasons::kStoreCorrupt);
}

}  // namespace
}  // namespace ruvd::storage
