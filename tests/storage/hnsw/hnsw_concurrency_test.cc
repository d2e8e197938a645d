// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Runs searches, inserts, removals and checkpoints at the same time, for ThreadSanitizer.

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "storage/hnsw/checkpoint.h"
#include "storage/hnsw/hnsw_index.h"
#include "tests/storage/hnsw/hnsw_fixture.h"

namespace ruvd::storage {
namespace {

using hnsw_test::Build;
using hnsw_test::Clustered;
using hnsw_test::MakeIndex;
using hnsw_test::PutRow;
using hnsw_test::Rows;

constexpr uint32_t kDimension = 16;
constexpr uint32_t kStable = 1200;    // labels that stay
constexpr uint32_t kVolatile = 1200;  // labels above them that come and go
constexpr uint32_t kSteps = 3000;

class HnswConcurrencyTest : public testing::Test {
 protected:
  HnswConcurrencyTest()
      : index_(MakeIndex({.dimension = kDimension, .m = 8, .ef_construction = 40})) {
    for (uint32_t i = 0; i < kStable + kVolatile; ++i) {
      PutRow(*index_, i, rows_[i], {.owner = i % 2});
    }
    index_->LinkBatch(kStable + kVolatile);
  }

  // The one writer: replaces, removes, links and repairs.
  void Write() {
    Random random(1);
    for (uint32_t step = 0; step < kSteps; ++step) {
      const auto label = kStable + static_cast<uint32_t>(random.Below(kVolatile));
      if (random.Bernoulli(0.4)) {
        index_->Remove(label);
      } else {
        PutRow(*index_, label, rows_[label], {.owner = label % 2}, step);
      }
      if (step % 16 == 0) {
        ASSERT_TRUE(index_->SetAttributes(step % kStable, {.owner = step % kStable % 2}).ok());
      }
      index_->LinkBatch(1);
      index_->RepairBatch(64, step % 512 == 0);
    }
    done_ = true;
  }

  // Rows that stay are found while everything else changes.
  void Search(uint64_t seed) {
    Random random(seed);
    size_t found = 0;
    size_t searches = 0;
    for (; !done_ || searches < 100; ++searches) {
      const auto label = static_cast<uint32_t>(random.Below(kStable));
      HnswQuery query{.vector = rows_[label], .k = 10, .ef = 48};
      if (searches % 3 == 1) {
        query.filter.owner = label % 2;
      }
      query.path = searches % 2 == 0 ? HnswPath::kWalk : HnswPath::kAuto;
      const auto hits = index_->Search(query);
      ASSERT_TRUE(hits.ok());
      std::set<uint32_t> labels;
      for (const HnswHit& hit : *hits) {
        EXPECT_TRUE(labels.insert(hit.label).second) << "found twice";
        EXPECT_LT(hit.label, kStable + kVolatile);
        EXPECT_NEAR(hit.similarity,
                    hnsw_test::Similarity(rows_[hit.label], rows_[label], HnswMetric::kCosine),
                    5e-3);
      }
      EXPECT_EQ(hits->size(), 10U);
      found += labels.count(label);
    }
    EXPECT_GE(found, searches * 95 / 100);
  }

  // Checkpoints that are taken meanwhile can be restored.
  void Checkpoint() {
    for (uint64_t epoch = 1; !done_ || epoch < 3; ++epoch) {
      HnswCheckpointWriter writer(*index_, 0, epoch);
      const auto fresh = MakeIndex(index_->options());
      for (uint32_t i = 0; i < kStable; ++i) {
        PutRow(*fresh, i, rows_[i]);
      }
      HnswCheckpointReader reader(*fresh, 0, epoch);
      while (const auto chunk = writer.Next()) {
        const absl::Status added = reader.Add(chunk->section, chunk->chunk, chunk->bytes);
        ASSERT_TRUE(added.ok()) << added;
      }
      const auto restored = reader.Finish();
      ASSERT_TRUE(restored.ok()) << restored.status();
      EXPECT_GE(restored->linked + restored->orphans, kStable * 9 / 10);
    }
  }

  const Rows rows_ = Clustered(kStable + kVolatile, kDimension, 1, 51);
  std::unique_ptr<HnswIndex> index_;
  std::atomic<bool> done_ = false;
};

TEST_F(HnswConcurrencyTest, SearchInsertRemoveAndCheckpoint) {
  std::vector<std::thread> readers;
  readers.emplace_back([this] { Search(1); });
  readers.emplace_back([this] { Search(2); });
  readers.emplace_back([this] { Checkpoint(); });
  Write();
  for (std::thread& reader : readers) {
    reader.join();
  }
  hnsw_test::Settle(*index_);
  EXPECT_EQ(index_->Counts().removed, 0U);
  EXPECT_LE(index_->Counts().nodes, 3 * (kStable + kVolatile));
}

// Rows that are replaced by themselves, and moved to lower numbers when others are gone, can be
// found at every moment.
TEST(HnswMovesTest, EverySearchFindsRowsThatAreReplacedAndMovedMeanwhile) {
  constexpr uint32_t kKept = 300;
  constexpr uint32_t kOthers = 2500;
  constexpr uint32_t kRounds = 30;
  const Rows rows = Clustered(kKept + kOthers, kDimension, 1, 52);
  const auto index = MakeIndex({.dimension = kDimension, .m = 8, .ef_construction = 20});
  for (uint32_t i = 0; i < kKept; ++i) {
    PutRow(*index, i, rows[i]);
  }
  std::atomic<bool> done = false;
  size_t searches = 0;
  size_t missed = 0;
  std::thread reader([&] {
    Random random(3);
    for (; !done; ++searches) {
      const auto label = static_cast<uint32_t>(random.Below(kKept));
      const auto hits = index->Search({.vector = rows[label], .k = 3, .path = HnswPath::kScan});
      missed += std::none_of(hits->begin(), hits->end(),
                             [&](const HnswHit& hit) { return hit.label == label; });
    }
  });
  for (uint32_t round = 0; round < kRounds; ++round) {
    for (uint32_t i = kKept; i < rows.size(); ++i) {
      PutRow(*index, i, rows[i]);
    }
    for (uint32_t i = 0; i < kKept; ++i) {
      PutRow(*index, i, rows[i], {}, round);  // behind the others
    }
    for (uint32_t i = kKept; i < rows.size(); ++i) {
      index->Remove(i);
    }
    for (int step = 0; step < 30; ++step) {
      index->RepairBatch(1000, true);
    }
  }
  done = true;
  reader.join();
  EXPECT_EQ(missed, 0U) << searches;
  hnsw_test::Settle(*index);
  EXPECT_LT(index->Counts().nodes, kKept + kOthers);
}

// A search that looks at a row while it is replaced for the second time has missed the row's first
// two nodes, and must look for the third.
TEST(HnswMovesTest, RowsThatAreReplacedAgainAndAgainAreFoundAtEveryMoment) {
  constexpr uint32_t kRows = 8;
  constexpr uint32_t kRounds = 20000;
  const Rows rows = Clustered(kRows, kDimension, 1, 54);
  const auto index = MakeIndex({.dimension = kDimension});
  for (uint32_t i = 0; i < kRows; ++i) {
    PutRow(*index, i, rows[i]);
  }
  std::atomic<bool> done = false;
  size_t searches = 0;
  size_t missed = 0;
  std::thread reader([&] {
    for (; !done; ++searches) {
      const auto label = static_cast<uint32_t>(searches % kRows);
      const auto hits = index->Search({.vector = rows[label], .k = kRows});
      missed += kRows - hits->size();
    }
  });
  for (uint32_t round = 0; round < kRounds; ++round) {
    for (uint32_t i = 0; i < kRows; ++i) {
      PutRow(*index, i, rows[i], {}, round);
    }
    index->RepairBatch(1000, true);
  }
  done = true;
  reader.join();
  EXPECT_EQ(missed, 0U) << searches;
}

// A search sees a change of attributes as a whole or not at all.
TEST(HnswMovesTest, NoSearchSeesHalfAChangeOfAttributes) {
  const Rows rows = Clustered(500, kDimension, 1, 53);
  const auto index = MakeIndex({.dimension = kDimension});
  for (uint32_t i = 0; i < rows.size(); ++i) {
    PutRow(*index, i, rows[i], {.owner = 4, .time_ms = 7});
  }
  std::atomic<bool> done = false;
  size_t wrong = 0;
  size_t missed = 0;
  std::thread reader([&] {
    while (!done) {
      // The values 4 and 1 have no common bits: half of a change would give 5 or 0.
      wrong += index->Search({.vector = rows[0], .filter = {.owner = 5}})->size();
      const auto hits = index->Search({.vector = rows[3], .k = 3, .filter = {.min_time_ms = 6}});
      missed += std::none_of(hits->begin(), hits->end(),
                             [](const HnswHit& hit) { return hit.label == 3; });
    }
  });
  for (uint32_t change = 0; change < 100000; ++change) {
    const bool odd = change % 2 == 1;
    const uint32_t label = change % 4 < 2 ? 3 : 4 + change % 400;
    ASSERT_TRUE(index->SetAttributes(label, {.owner = odd ? 4U : 1U, .time_ms = odd ? 7 : 8}).ok());
  }
  done = true;
  reader.join();
  EXPECT_EQ(wrong, 0U);
  EXPECT_EQ(missed, 0U);
}

TEST_F(HnswConcurrencyTest, ManyReadersAtOnceHaveSeatsOfTheirOwn) {
  std::vector<std::thread> readers;
  std::atomic<size_t> hits = 0;
  for (uint32_t t = 0; t < 12; ++t) {
    readers.emplace_back([this, t, &hits] {
      for (uint32_t i = t; i < 240; i += 12) {
        hits += index_->Search({.vector = rows_[i], .k = 3})->size();
      }
    });
  }
  for (std::thread& reader : readers) {
    reader.join();
  }
  EXPECT_EQ(hits, 720U);
}

}  // namespace
}  // namespace ruvd::storage
