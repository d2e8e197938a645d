// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Tests retention of the witness log, its archives, and crashes between the two.

#include "storage/witness/witness_retention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "base/file.h"
#include "storage/witness/witness_archive.h"
#include "tests/storage/raw_store.h"
#include "tests/storage/witness_fixture.h"

namespace ruvd::storage {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

class WitnessRetentionTest : public WitnessTest {
 protected:
  void Archive(size_t batch = 2) {
    options_.retention = {.retention = milliseconds(10'000),
                          .archive_folder = archive_,
                          .archive_key = key_,
                          .batch = batch};
    Reopen();
  }
  void ExpireAll(int64_t now_ms) {
    while (true) {
      const auto step = log_->ExpireBatch(now_ms);
      ASSERT_TRUE(step.ok()) << step.status();
      if (!step->more) {
        return;
      }
    }
  }
  std::vector<std::filesystem::path> Files() const {
    std::vector<std::filesystem::path> files;
    for (const auto& file : std::filesystem::directory_iterator(archive_)) {
      files.push_back(file.path());
    }
    std::sort(files.begin(), files.end());
    return files;
  }
  std::vector<std::string> ArchivedIds() const {
    std::vector<std::string> ids;
    for (const auto& file : Files()) {
      const auto summary = ReadWitnessArchive(file.string(), key_, [&](const WitnessEntry& entry) {
        ids.push_back(entry.request_id);
        return absl::OkStatus();
      });
      EXPECT_TRUE(summary.ok()) << summary.status();
    }
    return ids;
  }
  std::vector<std::string> StoredIds() {
    return IdsOf(log_->Query({.limit = limits::kMaxListPageSize, .oldest_first = true}));
  }
};

TEST_F(WitnessRetentionTest, OldEntriesAreDeletedABatchAtATime) {
  options_.retention = {.retention = milliseconds(10'000), .batch = 3};
  Reopen();
  StoreMany(8);
  EXPECT_EQ(log_->ExpireBatch(10'000)->entries, 0U);
  const auto step = log_->ExpireBatch(14'000);
  EXPECT_EQ(step->entries, 3U);
  EXPECT_TRUE(step->more);
  EXPECT_EQ(log_->ExpireBatch(14'000)->entries, 1U);
  EXPECT_FALSE(log_->ExpireBatch(14'000)->more);
  EXPECT_THAT(StoredIds(), ElementsAre("e4", "e5", "e6", "e7"));
  EXPECT_EQ(ReasonOf(log_->Get("e3").status()), reasons::kNotFound);
  Reopen();
  EXPECT_EQ(log_->counts().stored, 4U);
  EXPECT_TRUE(log_->Get("e4").ok());
  Store({MakeEntry("e3", 9000)});  // a deleted entry leaves nothing behind
  EXPECT_EQ(log_->Get("e3")->timestamp_ms, 9000);
}

TEST_F(WitnessRetentionTest, TooManyEntriesLoseTheOldestOnes) {
  options_.retention = {.retention = milliseconds(1'000'000), .capacity = 5};
  Reopen();
  StoreMany(8);
  ExpireAll(8000);
  EXPECT_THAT(StoredIds(), ElementsAre("e3", "e4", "e5", "e6", "e7"));
}

// Found by review: the log was silently cut to its capacity.
TEST_F(WitnessRetentionTest, CountsWhatLeavesBeforeItsAge) {
  options_.retention = {.retention = milliseconds(5000), .capacity = 5};
  Reopen();
  StoreMany(8);
  ExpireAll(6500);  // e0 and e1 are too old, e2 is one too many
  EXPECT_THAT(StoredIds(), ElementsAre("e3", "e4", "e5", "e6", "e7"));
  EXPECT_EQ(log_->counts().expired, 3U);
  EXPECT_EQ(log_->counts().crowded_out, 1U);
}

// A laptop that sleeps every hour never has a clock that can be trusted, and its disk is limited.
TEST_F(WitnessRetentionTest, WithoutAClockToTrustOnlyTheSurplusLeaves) {
  options_.retention = {.retention = milliseconds(1), .capacity = 5};
  Reopen();
  StoreMany(8);
  EXPECT_EQ(log_->ExpireBatch(std::nullopt)->entries, 3U);
  EXPECT_FALSE(log_->ExpireBatch(std::nullopt)->more);
  EXPECT_THAT(StoredIds(), ElementsAre("e3", "e4", "e5", "e6", "e7"));
  EXPECT_EQ(log_->counts().crowded_out, 0U);
}

// Regression test: one such row stopped expiry for ever, until the log filled the disk.
TEST_F(WitnessRetentionTest, RowsThatDoNotOpenLeaveWithTheOthers) {
  Archive(10);
  StoreMany(6);
  log_.reset();
  database_.reset();
  std::vector<std::string> names;
  for (const ColumnFamilyInfo& info : kColumnFamilies) {
    names.emplace_back(info.name);
  }
  WithRocks(Options().path, names, [](rocksdb::DB& raw, RawHandles& handles) {
    auto* family = handles[static_cast<size_t>(ColumnFamily::kWitness)];
    for (const std::string& key :
         {witness::RecordKey(1000, "e1"), witness::EmbeddingsKey(witness::RecordKey(2000, "e2"))}) {
      std::string value;
      ASSERT_TRUE(raw.Get({}, family, key, &value).ok());
      value.back() = static_cast<char>(value.back() ^ 1);
      ASSERT_TRUE(raw.Put({}, family, key, value).ok());
    }
  });
  Reopen();
  const auto page = log_->Query({.limit = 100, .oldest_first = true});
  EXPECT_EQ(IdsOf(page).size(), 5U);
  EXPECT_EQ(page->undecodable, 1U);
  EXPECT_EQ(log_->Stats({})->undecodable, 1U);
  ExpireAll(14'500);
  EXPECT_THAT(ArchivedIds(), ElementsAre("e0", "e2", "e3", "e4"));
  EXPECT_THAT(StoredIds(), ElementsAre("e5"));
  EXPECT_EQ(log_->counts().undecodable, 1U);
  EXPECT_EQ(log_->NewestMs().value(), 5000);
}

// Found by review: removing old entries was refused because of the missing space that it would
// free.
TEST_F(WitnessRetentionTest, RemovesBelowTheSoftReserve) {
  options_.retention = {.retention = milliseconds(10'000), .batch = 1};
  Reopen();
  StoreMany(3);
  free_bytes_ = 1990;  // between the reserves of the fixture
  clock_.Advance(std::chrono::seconds(10));
  ASSERT_TRUE(log_->Append(MakeEntry("new", 4000), clock_.Now()).ok());
  EXPECT_EQ(ReasonOf(log_->FlushAll()), reasons::kDiskFull);
  for (int i = 0; i < 3; ++i) {
    clock_.Advance(std::chrono::seconds(10));  // the free space is measured again
    const auto step = log_->ExpireBatch(60'000);
    ASSERT_TRUE(step.ok()) << step.status();
    EXPECT_EQ(step->entries, 1U);
  }
  EXPECT_EQ(log_->counts().stored, 0U);
}

TEST_F(WitnessRetentionTest, ArchivesHoldWhatLeftInOrder) {
  Archive();
  StoreMany(6);
  ExpireAll(15'000);
  EXPECT_THAT(StoredIds(), ElementsAre("e5"));
  EXPECT_EQ(Files().size(), 3U);
  EXPECT_THAT(ArchivedIds(), UnorderedElementsAre("e0", "e1", "e2", "e3", "e4"));
  WitnessEntry first;
  const auto summary = ReadWitnessArchive(Files()[0].string(), key_, [&](const WitnessEntry& e) {
    first = first.request_id.empty() ? e : first;
    return absl::OkStatus();
  });
  EXPECT_EQ(summary->entries, 2U);
  const WitnessEntry want = MakeEntry("e0", 0);
  EXPECT_EQ(first.query_embedding, want.query_embedding);
  EXPECT_EQ(first.response_embedding, want.response_embedding);
  EXPECT_EQ(first.retrieved_ids, want.retrieved_ids);
  EXPECT_EQ(witness::EncodeArchived(first), witness::EncodeArchived(want));
}

// Stops after every stage, reopens, and counts every entry.
TEST_F(WitnessRetentionTest, ACrashAtAnyStageLosesAndDoublesNothing) {
  Archive(4);
  StoreMany(10);
  for (int stages = 1; stages <= 2; ++stages) {
    auto retention = WitnessRetention::Open(*database_, options_.retention);
    ASSERT_TRUE(retention->Begin(18'000, 10).value());
    if (stages == 2) {
      ASSERT_TRUE(retention->WriteFile().ok());
    }
    Reopen();
    EXPECT_EQ(StoredIds().size(), 10U);
  }
  // An entry with an old time arrives while the batch is archived: it is in no archive and must
  // stay.
  Store({MakeEntry("late", 1500)});
  ASSERT_TRUE(log_->ExpireBatch(18'000).ok());
  EXPECT_THAT(ArchivedIds(), ElementsAre("e0", "e1", "e2", "e3"));
  EXPECT_TRUE(log_->Get("late").ok());
  EXPECT_FALSE(log_->Get("e1").ok());
  Reopen();
  ExpireAll(18'000);
  EXPECT_THAT(ArchivedIds(),
              UnorderedElementsAre("e0", "e1", "e2", "e3", "e4", "e5", "e6", "e7", "late"));
  EXPECT_THAT(StoredIds(), ElementsAre("e8", "e9"));
  EXPECT_EQ(log_->counts().stored, 2U);
}

TEST_F(WitnessRetentionTest, AHalfWrittenArchiveIsWrittenAnew) {
  Archive(4);
  StoreMany(4);
  {
    auto retention = WitnessRetention::Open(*database_, options_.retention);
    ASSERT_TRUE(retention->Begin(18'000, 4).value());
    ASSERT_TRUE(retention->WriteFile().ok());
  }
  std::filesystem::resize_file(Files()[0], std::filesystem::file_size(Files()[0]) - 1);
  Reopen();
  ExpireAll(18'000);
  EXPECT_THAT(ArchivedIds(), ElementsAre("e0", "e1", "e2", "e3"));
  EXPECT_THAT(StoredIds(), IsEmpty());
}

TEST_F(WitnessRetentionTest, NoArchiveNoDeletion) {
  Archive();
  StoreMany(3);
  std::filesystem::remove_all(archive_);
  EXPECT_EQ(ReasonOf(log_->ExpireBatch(30'000).status()), reasons::kFileUnwritable);
  EXPECT_EQ(StoredIds().size(), 3U);
  std::filesystem::create_directories(archive_);
  ExpireAll(30'000);
  EXPECT_EQ(ArchivedIds().size(), 3U);
}

TEST_F(WitnessRetentionTest, EveryDamageToAnArchiveIsNoticed) {
  Archive(4);
  StoreMany(4);
  ExpireAll(18'000);
  const std::string good = ReadFile(Files()[0].string(), 1 << 20).value();
  const auto read = [](std::string_view bytes, const privacy::SealKey& key) {
    return ReasonOf(ReadWitnessArchiveBytes(AsBytes(bytes), key, [](const WitnessEntry&) {
                      return absl::OkStatus();
                    }).status());
  };
  EXPECT_EQ(read(good, key_), "");
  EXPECT_EQ(read(good, privacy::SealKey::Generate()), reasons::kSealBroken);
  EXPECT_EQ(read(good + "x", key_), reasons::kSealBroken);
  for (size_t i = 0; i < good.size(); i += 3) {
    std::string altered = good;
    altered[i] = static_cast<char>(altered[i] ^ 1);
    EXPECT_EQ(read(altered, key_), reasons::kSealBroken) << i;
    EXPECT_EQ(read(std::string_view(good).substr(0, i), key_), reasons::kSealBroken) << i;
  }
  // The file contains no plaintext either.
  EXPECT_EQ(good.find("session"), std::string::npos);
}

}  // namespace
}  // namespace ruvd::storage
