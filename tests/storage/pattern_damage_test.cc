// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// A damaged row costs only its own pattern: searches, lists, maintenance and starts work without
// it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/patterns/pattern_check.h"
#include "storage/patterns/pattern_keys.h"
#include "storage/patterns/pattern_rows.h"
#include "storage/reasons.h"
#include "tests/storage/pattern_fixture.h"
#include "tests/storage/raw_store.h"

namespace ruvd::storage {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

class PatternDamageTest : public PatternTest {
 protected:
  void SetUp() override {
    PatternTest::SetUp();
    for (uint32_t n = 0; n < 4; ++n) {
      ASSERT_TRUE(store_->Put(MakePattern(n)).ok());
    }
  }
  // Damages rows as a disk does, so that their values do not open. Opens the database, but not the
  // patterns.
  void Break(const std::vector<std::pair<ColumnFamily, std::string>>& rows) {
    Close();
    DamageRows(Options().path, rows);
    database_ = OpenStore();
  }
  std::vector<uint32_t> Listed() {
    std::vector<uint32_t> listed;
    const auto page = store_->List(100, "");
    EXPECT_TRUE(page.ok()) << page.status();
    for (const Pattern& pattern : page.value_or(PatternPage{}).patterns) {
      listed.push_back(pattern.adapter_version);
    }
    return listed;
  }
};

TEST_F(PatternDamageTest, SearchesAndListsPassOverAPatternThatCannotBeRead) {
  for (const bool listed_first : {false, true}) {
    Break({{ColumnFamily::kMeta, patterns::IdKey(0, Id(1))}});
    store_ = OpenPatterns();
    EXPECT_EQ(store_->Stats().damaged, 0U) << "a start reads no metadata";
    if (listed_first) {
      EXPECT_THAT(Listed(), ElementsAre(0, 2, 3));
    }
    EXPECT_THAT(Found(MakePattern(1)), UnorderedElementsAre(0, 2, 3));
    EXPECT_EQ(Found(MakePattern(1), {}, 3).size(), 3U) << "as many as asked for";
    EXPECT_THAT(Listed(), ElementsAre(0, 2, 3));
    EXPECT_EQ(store_->Stats().damaged, 1U);
    EXPECT_TRUE(absl::IsDataLoss(store_->Get(Id(1)).status())) << "whoever names it is told";
    EXPECT_THAT(MessageOf(store_->Get(Id(1)).status()), HasSubstr(ToHex(Id(1))));
  }
  ASSERT_TRUE(store_->Delete(Id(1)).ok()) << "needs none of its rows";
  EXPECT_EQ(store_->Stats().damaged, 0U);
  ASSERT_TRUE(store_->Put(MakePattern(1)).ok());
  EXPECT_THAT(Listed(), ElementsAre(0, 1, 2, 3));
}

TEST_F(PatternDamageTest, MaintenanceForgetsLinksAndSavesAllTheSame) {
  ASSERT_TRUE(store_->Delete(Id(0)).ok());
  ASSERT_TRUE(store_->Delete(Id(1)).ok());
  clock_.Advance(limits::kTombstoneRetention + milliseconds(1));
  Break({{ColumnFamily::kMeta, patterns::IdKey(0, Id(0))},
         {ColumnFamily::kMeta, patterns::IdKey(0, Id(2))}});
  options_.checkpoint_changes = 1;
  store_ = OpenPatterns();
  const PatternMaintenance done = Maintain();
  EXPECT_EQ(done.forgotten, 1U) << "the tombstone behind the damaged one";
  EXPECT_EQ(done.linked, 2U);
  EXPECT_TRUE(done.saved);
  EXPECT_FALSE(*store_->WasDeleted(Id(1)));
}

TEST_F(PatternDamageTest, AStartGoesOnWithoutADamagedEmbedding) {
  Break({{ColumnFamily::kVec, patterns::SlotKey(0, 2)}});
  ASSERT_TRUE(
      PutOne(*database_, ColumnFamily::kVec, patterns::SlotKey(0, 3), "no embedding", 1).ok());
  store_ = OpenPatterns();
  ASSERT_NE(store_, nullptr);
  EXPECT_EQ(store_->Stats().damaged, 2U);
  EXPECT_EQ(store_->Stats().unindexed, 2U);
  EXPECT_THAT(Listed(), ElementsAre(0, 1));
  EXPECT_THAT(Found(MakePattern(2)), UnorderedElementsAre(0, 1));
  ASSERT_TRUE(store_->Put(MakePattern(2)).ok());
  ASSERT_TRUE(store_->Delete(Id(3)).ok());
  Reopen();
  EXPECT_EQ(store_->Stats().damaged, 0U);
  EXPECT_THAT(Found(MakePattern(2)), UnorderedElementsAre(0, 1, 2));
}

TEST_F(PatternDamageTest, ADamagedSlotIsReadFromItsPattern) {
  ASSERT_TRUE(store_->Delete(Id(3)).ok());  // a free slot
  Break({{ColumnFamily::kSlot, patterns::SlotKey(0, 1)},
         {ColumnFamily::kSlot, patterns::SlotKey(0, 2)},
         {ColumnFamily::kSlot, patterns::SlotKey(0, 3)},
         {ColumnFamily::kMeta, patterns::IdKey(0, Id(2))}});
  store_ = OpenPatterns();
  ASSERT_NE(store_, nullptr);
  ExpectSame(*store_->Get(Id(1)), MakePattern(1));
  EXPECT_THAT(Listed(), ElementsAre(0, 1));
  EXPECT_THAT(Found(MakePattern(2), {.task = "summary"}), UnorderedElementsAre(0, 1));
  for (const uint32_t n : {5U, 6U, 2U}) {
    ASSERT_TRUE(store_->Put(MakePattern(n)).ok());
  }
  Reopen();
  EXPECT_THAT(Listed(), ElementsAre(0, 1, 2, 5, 6)) << "no slot was given away twice";
  for (const uint32_t n : {0U, 1U, 2U, 5U, 6U}) {
    ExpectSame(*store_->Get(Id(n)), MakePattern(n));
  }
}

// No pattern refers to the slot, so nothing that is stored or deleted later would free it.
TEST_F(PatternDamageTest, ADamagedFreeSlotIsFreeAgain) {
  ASSERT_TRUE(store_->Delete(Id(3)).ok());
  Break({{ColumnFamily::kSlot, patterns::SlotKey(0, 3)}});
  store_ = OpenPatterns();
  ASSERT_NE(store_, nullptr);
  EXPECT_EQ(store_->Stats().damaged, 0U);
  ASSERT_TRUE(store_->Put(MakePattern(5)).ok());
  EXPECT_EQ(store_->Stats().slots, 4U) << "into the slot that is free again";
  Reopen();
  EXPECT_THAT(Listed(), ElementsAre(0, 1, 2, 5));
  EXPECT_TRUE(database_->Verify()->ok());
}

// Neither row says where the pattern is: its embedding would stay in a slot to which nothing
// refers.
TEST_F(PatternDamageTest, APatternWithoutSlotAndMetaIsCountedAndCanBeDeleted) {
  for (const bool stored_anew : {false, true}) {
    Break({{ColumnFamily::kSlot, patterns::SlotKey(0, 1)},
           {ColumnFamily::kMeta, patterns::IdKey(0, Id(1))}});
    store_ = OpenPatterns();
    ASSERT_NE(store_, nullptr);
    EXPECT_EQ(store_->Stats().damaged, 1U);
    EXPECT_TRUE(absl::IsDataLoss(store_->Get(Id(1)).status()));
    ASSERT_TRUE(stored_anew ? store_->Put(MakePattern(1)).ok() : store_->Delete(Id(1)).ok());
    EXPECT_EQ(store_->Stats().damaged, 0U);
    EXPECT_FALSE(*database_->Contains(ColumnFamily::kVec, patterns::SlotKey(0, 1)));
    Reopen();
    EXPECT_EQ(store_->Stats().damaged, 0U);
    if (!stored_anew) {
      EXPECT_TRUE(*store_->WasDeleted(Id(1)));
      EXPECT_THAT(Listed(), ElementsAre(0, 2, 3));
      ASSERT_TRUE(store_->Put(MakePattern(1)).ok()) << "into the slot that is free again";
      EXPECT_EQ(store_->Stats().slots, 4U);
    }
    ExpectSame(*store_->Get(Id(1)), MakePattern(1));
    EXPECT_THAT(Listed(), ElementsAre(0, 1, 2, 3));
    EXPECT_TRUE(database_->Verify()->ok());
  }
}

TEST_F(PatternDamageTest, ADamagedLogSendsItsFollowersToTheList) {
  Break({{ColumnFamily::kOplog, patterns::OplogKey(4)}});
  store_ = OpenPatterns();
  ASSERT_NE(store_, nullptr);
  EXPECT_EQ(store_->Stats().last_sequence, 4U);
  EXPECT_EQ(ReasonOf(store_->Changes(2, 10).status()), reasons::kLogTruncated);
  ASSERT_TRUE(store_->Delete(Id(1)).ok());
  EXPECT_EQ(store_->Changes(4, 10)->changes.size(), 1U) << "it goes on behind";
  EXPECT_EQ(store_->Changes(0, 3)->changes.size(), 3U);
}

TEST_F(PatternDamageTest, AnotherModelsDamagedCollectionIsNoHindrance) {
  store_.reset();
  const PatternStoreOptions mine = options_;
  options_.model_hash = Sha256("another model");
  ASSERT_NE(OpenPatterns(), nullptr);
  Break({{ColumnFamily::kDefault, patterns::CollectionKey(0)}});
  ASSERT_NE(OpenPatterns(), nullptr);
  EXPECT_EQ(ReasonOf(PatternStore::Open(*database_, mine).status()), reasons::kStoreCorrupt)
      << "not a second collection of one model";
}

// One damaged row must not make other rows look wrong, nor hide what is wrong with them.
TEST_F(PatternDamageTest, TheCheckComplainsOfNothingElse) {
  ASSERT_TRUE(store_->Put(MakePattern(4)).ok());
  Break({{ColumnFamily::kSlot, patterns::SlotKey(0, 0)},
         {ColumnFamily::kMeta, patterns::IdKey(0, Id(1))},
         {ColumnFamily::kVec, patterns::SlotKey(0, 2)},
         {ColumnFamily::kPayload, patterns::IdKey(0, Id(3))}});
  StoreReport report;
  const auto checks = VerifyPatterns(*database_, {}, &report);
  ASSERT_TRUE(checks.ok()) << checks.status();
  EXPECT_THAT(report.problems, IsEmpty()) << "Database::Verify names the rows";
  const auto whole = database_->Verify();
  EXPECT_EQ(whole->problem_count, 4U);
  const auto drop = [this](ColumnFamily family, const std::string& key) {
    Batch batch;
    batch.Delete(family, key);
    ASSERT_TRUE(database_->Write(std::move(batch), Durability::kProcessCrash).ok());
  };
  drop(ColumnFamily::kVec, patterns::SlotKey(0, 1));
  drop(ColumnFamily::kSlot, patterns::SlotKey(0, 4));
  StoreReport second;
  ASSERT_TRUE(VerifyPatterns(*database_, {}, &second).ok());
  EXPECT_THAT(second.problems,
              ElementsAre(HasSubstr(ToHex(Id(4)) + " is not in its slot 4"),
                          HasSubstr("payload row"), HasSubstr("embedding 0000000000000004"),
                          HasSubstr("slot 1 lacks its embedding")));
}

TEST_F(PatternDamageTest, ADamagedCollectionHidesNoneBehindIt) {
  store_.reset();
  options_.model_hash = Sha256("another model");
  store_ = OpenPatterns();
  ASSERT_TRUE(store_->Put(MakePattern(7)).ok());
  Break({{ColumnFamily::kDefault, patterns::CollectionKey(0)}});
  Batch batch;
  batch.Delete(ColumnFamily::kVec, patterns::SlotKey(1, 0));
  ASSERT_TRUE(database_->Write(std::move(batch), Durability::kProcessCrash).ok());
  StoreReport report;
  ASSERT_TRUE(VerifyPatterns(*database_, {}, &report).ok());
  EXPECT_THAT(report.problems, ElementsAre(HasSubstr("slot 0 lacks its embedding")));
}

}  // namespace
}  // namespace ruvd::storage
