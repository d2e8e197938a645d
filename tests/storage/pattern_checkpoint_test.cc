// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Tests what a start makes of checkpoints of the graph, in whatever state they are.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <set>

#include "storage/patterns/pattern_keys.h"
#include "storage/patterns/pattern_rows.h"
#include "tests/storage/pattern_fixture.h"

namespace ruvd::storage {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr uint32_t kCheckpointPatterns = 300;

class PatternCheckpointTest : public PatternTest {
 protected:
  void SetUp() override {
    PatternTest::SetUp();
    options_.durability = Durability::kProcessCrash;
    Reopen();
  }
  void Fill(uint32_t from, uint32_t to) {
    for (uint32_t n = from; n < to; ++n) {
      ASSERT_TRUE(store_->Put(MakePattern(n, n % 2)).ok());
    }
  }
  void FillAndSave() {
    Fill(0, kCheckpointPatterns);
    EXPECT_EQ(Maintain().linked, kCheckpointPatterns);
    ASSERT_TRUE(store_->Checkpoint().ok());
  }
  void ExpectAllFound(uint32_t from, uint32_t to) {
    for (uint32_t n = from; n < to; ++n) {
      EXPECT_THAT(Found(MakePattern(n), {}, 1), ElementsAre(n));
    }
  }
  // Keys of the family `graph`, and the epochs among them.
  std::vector<std::string> ChunkKeys() {
    std::vector<std::string> keys;
    EXPECT_TRUE(database_
                    ->Scan(ColumnFamily::kGraph, "", "",
                           [&](const RowView& row) -> absl::StatusOr<bool> {
                             keys.emplace_back(row.key);
                             return true;
                           })
                    .ok());
    return keys;
  }
  std::set<uint64_t> Epochs() {
    std::set<uint64_t> epochs;
    for (const std::string& key : ChunkKeys()) {
      epochs.insert(*ReadKeyU64(key, sizeof(uint32_t)));
    }
    return epochs;
  }
  void PutRow(ColumnFamily family, std::string_view key, std::string_view value) {
    ASSERT_TRUE(PutOne(*database_, family, key, value).ok());
  }
  void DeleteRow(ColumnFamily family, std::string_view key) {
    Batch batch;
    batch.Delete(family, key);
    ASSERT_TRUE(database_->Write(std::move(batch), Durability::kProcessCrash).ok());
  }
};

TEST_F(PatternCheckpointTest, AStartTakesTheGraphFromIt) {
  FillAndSave();
  Reopen();
  const PatternStoreStats stats = store_->Stats();
  EXPECT_TRUE(stats.checkpoint.restored);
  EXPECT_EQ(stats.checkpoint.problem, "");
  EXPECT_EQ(stats.checkpoint.epoch, 1U);
  EXPECT_EQ(stats.checkpoint.rows, kCheckpointPatterns);
  EXPECT_GT(stats.checkpoint.bytes, 10'000U);
  EXPECT_EQ(stats.checkpoint.created_ms, clock_.WallMillis());
  EXPECT_EQ(stats.pending, 0U);
  ExpectAllFound(0, kCheckpointPatterns);
  EXPECT_EQ(Maintain().linked, 0U);
}

TEST_F(PatternCheckpointTest, RowsThatChangedSinceAreFoundAndLinked) {
  FillAndSave();
  Fill(kCheckpointPatterns, kCheckpointPatterns + 20);
  for (uint32_t n = 0; n < 10; ++n) {
    ASSERT_TRUE(store_->Delete(Id(n)).ok());
  }
  for (uint32_t n = 10; n < 15; ++n) {
    Pattern other = MakePattern(n + 1000);
    other.id = Id(n);
    ASSERT_TRUE(store_->Put(other).ok());
  }
  Reopen();
  EXPECT_TRUE(store_->Stats().checkpoint.restored);
  EXPECT_EQ(store_->Stats().pending, 25U);
  ExpectAllFound(15, kCheckpointPatterns + 20);
  ExpectAllFound(1010, 1015);
  EXPECT_EQ(store_->size(), kCheckpointPatterns + 10);
  EXPECT_EQ(Maintain().linked, 25U);
  ExpectAllFound(15, kCheckpointPatterns + 20);
}

TEST_F(PatternCheckpointTest, WithoutOneEverythingIsFoundAndLinkedAnew) {
  Fill(0, kCheckpointPatterns);
  Maintain();
  Reopen();
  EXPECT_FALSE(store_->Stats().checkpoint.restored);
  EXPECT_EQ(store_->Stats().checkpoint.problem, "");
  EXPECT_EQ(store_->Stats().pending, kCheckpointPatterns);
  ExpectAllFound(0, kCheckpointPatterns);
  EXPECT_EQ(Maintain().linked, kCheckpointPatterns);
}

TEST_F(PatternCheckpointTest, ADamagedOneCostsNothingButTime) {
  const std::string row_key = patterns::CheckpointKey(0);
  const auto with_epoch = [&](uint64_t epoch) {
    patterns::CheckpointRow row =
        *patterns::DecodeCheckpointRow(*database_->Get(ColumnFamily::kDefault, row_key));
    row.epoch = epoch;
    PutRow(ColumnFamily::kDefault, row_key, patterns::EncodeCheckpointRow(row));
  };
  const auto second_chunk = [&](const std::function<void(std::string&)>& change) {
    const std::string key = ChunkKeys()[1];
    std::string bytes = *database_->Get(ColumnFamily::kGraph, key);
    change(bytes);
    PutRow(ColumnFamily::kGraph, key, bytes);
  };
  const std::map<std::string, std::function<void()>> damages = {
      {"first chunk gone", [&] { DeleteRow(ColumnFamily::kGraph, ChunkKeys().front()); }},
      {"last chunk gone", [&] { DeleteRow(ColumnFamily::kGraph, ChunkKeys().back()); }},
      {"chunk altered",
       [&] { second_chunk([](std::string& bytes) { bytes[bytes.size() / 2] ^= 1; }); }},
      {"chunk cut", [&] { second_chunk([](std::string& bytes) { bytes.resize(100); }); }},
      {"chunk in the place of another",
       [&] {
         const std::string other = *database_->Get(ColumnFamily::kGraph, ChunkKeys().front());
         second_chunk([&](std::string& bytes) { bytes = other; });
       }},
      {"key of no chunk",
       [&] { PutRow(ColumnFamily::kGraph, ChunkKeys().front().substr(0, 12) + "x", "?"); }},
      {"epoch that is not there", [&] { with_epoch(99); }},
      {"impossible epoch", [&] { with_epoch(UINT64_MAX); }},
      {"row that does not decode", [&] { PutRow(ColumnFamily::kDefault, row_key, "\xFF\xFF"); }},
  };
  FillAndSave();
  for (const auto& [name, damage] : damages) {
    SCOPED_TRACE(name);
    damage();
    Reopen();
    ASSERT_NE(store_, nullptr);
    EXPECT_FALSE(store_->Stats().checkpoint.restored);
    EXPECT_THAT(store_->Stats().checkpoint.problem, HasSubstr("checkpoint"));
    ExpectAllFound(0, 50);
    EXPECT_EQ(Maintain().linked, kCheckpointPatterns);
    ASSERT_TRUE(store_->Checkpoint().ok());
    EXPECT_EQ(Epochs().size(), 1U);
    Reopen();
    EXPECT_TRUE(store_->Stats().checkpoint.restored);
    ExpectAllFound(0, 50);
  }
}

TEST_F(PatternCheckpointTest, AnotherGraphIsBuiltOfTheSameRows) {
  FillAndSave();
  options_.m = 4;
  Reopen();
  EXPECT_FALSE(store_->Stats().checkpoint.restored);
  EXPECT_THAT(store_->Stats().checkpoint.problem, HasSubstr("other options"));
  ExpectAllFound(0, kCheckpointPatterns);
}

TEST_F(PatternCheckpointTest, OneThatWasNotFinishedLeavesTheFormerInForce) {
  FillAndSave();
  // A kill between two batches leaves this.
  PutRow(ColumnFamily::kDefault, patterns::CheckpointKey(0),
         patterns::EncodeCheckpointRow({.epoch = 1, .building = 2}));
  PutRow(ColumnFamily::kGraph, patterns::ChunkKey(0, 2, 0, 0), "half of a checkpoint");
  Reopen();
  EXPECT_TRUE(store_->Stats().checkpoint.restored);
  EXPECT_EQ(store_->Stats().pending, 0U);
  Fill(kCheckpointPatterns, kCheckpointPatterns + 5);
  Maintain();
  ASSERT_TRUE(store_->Checkpoint().ok());
  EXPECT_THAT(Epochs(), ElementsAre(3)) << "a number is not used again";
  Reopen();
  EXPECT_TRUE(store_->Stats().checkpoint.restored);
  EXPECT_EQ(store_->Stats().pending, 0U);
}

TEST_F(PatternCheckpointTest, AFullDiskRefusesItAndTheFormerStays) {
  FillAndSave();
  Fill(kCheckpointPatterns, kCheckpointPatterns + 5);
  Maintain();
  free_bytes_ = 1990;
  clock_.Advance(limits::kReserveProbeInterval);
  EXPECT_FALSE(store_->Checkpoint().ok());
  EXPECT_THAT(store_->Stats().checkpoint.problem, HasSubstr("disk space"));
  clock_.Advance(options_.checkpoint_interval);
  EXPECT_FALSE(Maintain().saved);
  EXPECT_EQ(store_->Stats().checkpoint.epoch, 1U);
  free_bytes_ = 1 << 20;
  clock_.Advance(options_.checkpoint_interval);
  Reopen();
  EXPECT_TRUE(store_->Stats().checkpoint.restored);
  EXPECT_EQ(store_->Stats().pending, 5U);
  EXPECT_EQ(Maintain().linked, 5U);
  ASSERT_TRUE(store_->Checkpoint().ok());
  EXPECT_EQ(store_->Stats().checkpoint.problem, "");
}

TEST_F(PatternCheckpointTest, IsSavedAfterManyChangesOrMuchTime) {
  options_.checkpoint_changes = 50;
  Reopen();
  Fill(0, 49);
  EXPECT_FALSE(Maintain().saved);
  Fill(49, 50);
  EXPECT_TRUE(Maintain().saved);
  EXPECT_FALSE(Maintain().saved);
  Fill(50, 51);
  clock_.Advance(options_.checkpoint_interval - std::chrono::milliseconds(1));
  EXPECT_FALSE(Maintain().saved);
  clock_.Advance(std::chrono::milliseconds(1));
  EXPECT_TRUE(Maintain().saved);
  clock_.Advance(options_.checkpoint_interval);
  EXPECT_FALSE(Maintain().saved) << "nothing changed";
  ASSERT_TRUE(store_->Delete(Id(3)).ok());
  EXPECT_TRUE(Maintain().saved);
  EXPECT_EQ(Epochs().size(), 1U) << "the former ones are gone";
}

// This happens at the stop of a node: a graph that is saved already is not saved again.
TEST_F(PatternCheckpointTest, AGraphThatIsSavedIsNotSavedAgain) {
  FillAndSave();
  const uint64_t epoch = store_->Stats().checkpoint.epoch;
  ASSERT_TRUE(store_->Checkpoint().ok());
  EXPECT_EQ(store_->Stats().checkpoint.epoch, epoch);
  ASSERT_TRUE(store_->Delete(Id(1)).ok());
  ASSERT_TRUE(store_->Checkpoint().ok());
  EXPECT_GT(store_->Stats().checkpoint.epoch, epoch);
}

TEST_F(PatternCheckpointTest, CollectionsHaveTheirOwn) {
  FillAndSave();
  store_.reset();
  PatternStoreOptions other = options_;
  other.model_hash = Sha256("another model");
  {
    const auto store = PatternStore::Open(*database_, other).value();
    for (uint32_t n = 0; n < 100; ++n) {
      ASSERT_TRUE(store->Put(MakePattern(n)).ok());
    }
    ASSERT_TRUE(store->Maintain(std::chrono::seconds(1)).status.ok());
    ASSERT_TRUE(store->Checkpoint().ok());
    ASSERT_TRUE(store->Checkpoint().ok());
  }
  Reopen();
  EXPECT_TRUE(store_->Stats().checkpoint.restored);
  store_.reset();
  const auto store = PatternStore::Open(*database_, other).value();
  EXPECT_TRUE(store->Stats().checkpoint.restored);
  EXPECT_EQ(store->Stats().checkpoint.rows, 100U);
}

TEST_F(PatternCheckpointTest, StatsTellOfBanksAndMemory) {
  FillAndSave();
  const PatternStoreStats stats = store_->Stats();
  EXPECT_EQ(stats.patterns, kCheckpointPatterns);
  EXPECT_EQ(stats.slots, kCheckpointPatterns);
  EXPECT_EQ(stats.capacity, limits::kPatternCapacity);
  EXPECT_EQ(stats.first_sequence, 1U);
  EXPECT_EQ(stats.last_sequence, kCheckpointPatterns);
  ASSERT_EQ(stats.banks.size(), 2U);
  EXPECT_EQ(stats.banks[1].bank, 1U);
  EXPECT_EQ(stats.banks[1].patterns, kCheckpointPatterns / 2);
  EXPECT_GT(stats.banks[1].index_bytes, 0U);
  EXPECT_LE(stats.banks[0].index_bytes + stats.banks[1].index_bytes, stats.index_bytes);
}

}  // namespace
}  // namespace ruvd::storage
