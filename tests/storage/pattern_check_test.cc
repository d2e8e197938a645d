// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Tests what the check of patterns finds, and that it finds nothing in a sound store.

#include "storage/patterns/pattern_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/patterns/pattern_keys.h"
#include "storage/patterns/pattern_rows.h"
#include "tests/storage/pattern_fixture.h"

namespace ruvd::storage {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr uint32_t kPatterns = 200;

class PatternCheckTest : public PatternTest {
 protected:
  void SetUp() override {
    PatternTest::SetUp();
    options_.durability = Durability::kProcessCrash;
    Reopen();
    for (uint32_t n = 0; n < kPatterns; ++n) {
      ASSERT_TRUE(store_->Put(MakePattern(n)).ok());
    }
    Maintain();
  }
  std::vector<PatternCollectionCheck> Verify(const PatternCheckOptions& options = {}) {
    report_ = StoreReport();
    auto checks = VerifyPatterns(*database_, options, &report_);
    EXPECT_TRUE(checks.ok()) << checks.status();
    return checks.value_or(std::vector<PatternCollectionCheck>{});
  }
  void Write(Batch batch) {
    ASSERT_TRUE(database_->Write(std::move(batch), Durability::kProcessCrash).ok());
  }
  void Drop(ColumnFamily family, std::string_view key) {
    Batch batch;
    batch.Delete(family, key);
    Write(std::move(batch));
  }
  patterns::MetaRow MetaOf(uint32_t n) {
    return patterns::DecodeMetaRow(*database_->Get(ColumnFamily::kMeta, patterns::IdKey(0, Id(n))),
                                   Id(n))
        .value();
  }

  StoreReport report_;
};

TEST_F(PatternCheckTest, FindsNothingWrongInAStoreThatWasUsed) {
  ASSERT_TRUE(store_->RecordUse(Id(3)).ok());
  ASSERT_TRUE(store_->SetTier(Id(4), SharingTier::kPrivate).ok());
  ASSERT_TRUE(store_->Checkpoint().ok());
  for (uint32_t n = 0; n < 5; ++n) {
    ASSERT_TRUE(store_->Delete(Id(n)).ok());
    ASSERT_TRUE(store_->Put(MakePattern(kPatterns + n)).ok());
  }
  const auto checks = Verify();
  EXPECT_THAT(report_.problems, IsEmpty());
  ASSERT_EQ(checks.size(), 1U);
  EXPECT_EQ(checks[0].patterns, kPatterns);
  EXPECT_EQ(checks[0].tombstones, 5U);
  EXPECT_EQ(checks[0].checkpoint_epoch, 1U);
  EXPECT_EQ(checks[0].linked + checks[0].unreachable, kPatterns - 5);
  EXPECT_EQ(checks[0].pending, 5U);
  EXPECT_EQ(checks[0].sampled, 100U);
  EXPECT_GT(checks[0].recall, 0.95);
}

TEST_F(PatternCheckTest, AStoreWithoutCheckpointHasNothingToMeasure) {
  const auto checks = Verify();
  EXPECT_THAT(report_.problems, IsEmpty());
  EXPECT_EQ(checks.at(0).checkpoint_epoch, 0U);
  EXPECT_EQ(checks.at(0).sampled, 0U);
  EXPECT_EQ(checks.at(0).pending, kPatterns);
}

TEST_F(PatternCheckTest, NamesEveryRowThatIsMissing) {
  Drop(ColumnFamily::kMeta, patterns::IdKey(0, Id(1)));
  Drop(ColumnFamily::kVec, patterns::SlotKey(0, 2));
  Drop(ColumnFamily::kPayload, patterns::IdKey(0, Id(3)));
  Drop(ColumnFamily::kSlot, patterns::SlotKey(0, 4));
  Verify();
  EXPECT_THAT(
      report_.problems,
      ElementsAre(HasSubstr(ToHex(Id(4)) + " is not in its slot 4"), HasSubstr("payload row"),
                  HasSubstr("embedding 0000000000000004"), HasSubstr("slot 1 lacks its meta row"),
                  HasSubstr("slot 2 lacks its embedding"), HasSubstr("slot 3 lacks its payload")));
}

TEST_F(PatternCheckTest, NamesRowsThatDisagree) {
  patterns::MetaRow meta = MetaOf(1);
  meta.pattern.quality = 0.1F;
  Batch batch;
  batch.Put(ColumnFamily::kMeta, patterns::IdKey(0, Id(1)), patterns::EncodeMetaRow(meta), 1);
  patterns::MetaRow tombstone{.slot = 2, .generation = 1, .tombstone = true};
  batch.Put(ColumnFamily::kMeta, patterns::IdKey(0, Id(2)), patterns::EncodeMetaRow(tombstone), 1);
  batch.Put(ColumnFamily::kPayload, patterns::IdKey(0, Id(3)), "another adapter", 1);
  batch.Put(ColumnFamily::kVec, patterns::SlotKey(0, 4), "no embedding", 1);
  batch.Put(ColumnFamily::kSlot, patterns::SlotKey(0, 700),
            patterns::EncodeSlotRow(patterns::SlotRowOf(MakePattern(5), 1)), 1);
  Write(std::move(batch));
  Verify();
  EXPECT_THAT(
      report_.problems,
      ElementsAre(HasSubstr("is in two slots, 5 and 700"),
                  HasSubstr(ToHex(Id(1)) + " disagrees with its slot 1"),
                  HasSubstr(ToHex(Id(2)) + " was deleted but is in slot 2"),
                  HasSubstr(ToHex(Id(3)) + " differs from what was stored"),
                  HasSubstr(ToHex(Id(4)) + " is invalid"), HasSubstr("slot 2 lacks its meta row"),
                  HasSubstr("slot 4 lacks its embedding")));
}

TEST_F(PatternCheckTest, NamesADamagedCheckpoint) {
  ASSERT_TRUE(store_->Checkpoint().ok());
  Drop(ColumnFamily::kGraph, patterns::ChunkKey(0, 1, 1, 0));
  Verify();
  EXPECT_THAT(report_.problems, ElementsAre(HasSubstr("checkpoint")));
}

TEST_F(PatternCheckTest, MeasuresTheGraphItsCheckpointHas) {
  store_.reset();
  options_.m = 3;  // the collection was made with another value
  store_ = OpenPatterns();
  Maintain();
  ASSERT_TRUE(store_->Checkpoint().ok());
  const auto checks = Verify({.sample = 50, .min_recall = 0.5});
  EXPECT_THAT(report_.problems, IsEmpty());
  EXPECT_EQ(checks.at(0).sampled, 50U);
  Verify({.min_recall = 1.1});
  EXPECT_THAT(report_.problems, ElementsAre(HasSubstr("nearest neighbours")));
}

}  // namespace
}  // namespace ruvd::storage
