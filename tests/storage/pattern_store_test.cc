// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/patterns/pattern_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <map>

#include "storage/patterns/pattern_keys.h"
#include "storage/patterns/pattern_rows.h"
#include "storage/reasons.h"
#include "tests/storage/pattern_fixture.h"

namespace ruvd::storage {
namespace {

using testing::ElementsAre;

class PatternStoreTest : public PatternTest {};

TEST_F(PatternStoreTest, KeepsEveryFieldOverAReopen) {
  ASSERT_TRUE(store_->Put(MakePattern(5)).ok());
  Reopen();
  const auto pattern = store_->Get(Id(5));
  ASSERT_TRUE(pattern.ok()) << pattern.status();
  ExpectSame(*pattern, MakePattern(5));
  EXPECT_EQ(store_->size(), 1U);
  const auto hits = store_->Search(MakePattern(5).embedding, {});
  ASSERT_EQ(hits->size(), 1U);
  EXPECT_NEAR(hits->front().similarity, 1.0, 1e-6);
  Pattern without_payload = MakePattern(5);
  without_payload.payload.clear();
  ExpectSame(hits->front().pattern, without_payload);
}

TEST_F(PatternStoreTest, FindsTheNearestAndFiltersByBank) {
  for (uint32_t i = 0; i < 50; ++i) {
    ASSERT_TRUE(store_->Put(MakePattern(i, i % 3)).ok());
  }
  for (const bool reopened : {false, true}) {
    if (reopened) {
      Reopen();
    }
    for (uint32_t i = 0; i < 50; ++i) {
      EXPECT_EQ(Found(MakePattern(i), {}, 1), std::vector<uint32_t>{i});
      EXPECT_EQ(Found(MakePattern(i), {.bank = i % 3}, 1), std::vector<uint32_t>{i});
    }
    EXPECT_EQ(Found(MakePattern(0), {.bank = 2}).size(), 16U);
    EXPECT_EQ(Found(MakePattern(0)).size(), 50U);
    EXPECT_TRUE(Found(MakePattern(0), {.bank = 3}).empty());
    EXPECT_TRUE(Found(MakePattern(0), {.bank = limits::kMaxBanks + 5}).empty());
  }
}

TEST_F(PatternStoreTest, PutReplacesById) {
  ASSERT_TRUE(store_->Put(MakePattern(1)).ok());
  Pattern changed = MakePattern(2, 2);
  changed.id = Id(1);
  ASSERT_TRUE(store_->Put(changed).ok());
  for (const bool reopened : {false, true}) {
    if (reopened) {
      Reopen();
    }
    EXPECT_EQ(store_->size(), 1U);
    ExpectSame(store_->Get(Id(1)).value(), changed);
    EXPECT_TRUE(Found(MakePattern(1), {.bank = 0}).empty());
    EXPECT_THAT(Found(MakePattern(2), {.bank = 2}), ElementsAre(2));
  }
}

TEST_F(PatternStoreTest, DeleteLeavesATombstoneAndNoContent) {
  ASSERT_TRUE(store_->Put(MakePattern(1)).ok());
  ASSERT_TRUE(store_->Put(MakePattern(2)).ok());
  ASSERT_TRUE(store_->Delete(Id(1)).ok());
  for (const bool reopened : {false, true}) {
    if (reopened) {
      Reopen();
    }
    EXPECT_EQ(ReasonOf(store_->Get(Id(1)).status()), reasons::kNotFound);
    EXPECT_EQ(ReasonOf(store_->Delete(Id(1))), reasons::kNotFound);
    EXPECT_THAT(Found(MakePattern(1)), ElementsAre(2));
    EXPECT_EQ(store_->size(), 1U);
    const auto meta = database_->Get(ColumnFamily::kMeta, patterns::IdKey(0, Id(1)));
    ASSERT_TRUE(meta.ok());
    EXPECT_TRUE(patterns::DecodeMetaRow(*meta, Id(1))->tombstone);
    EXPECT_EQ(ReasonOf(database_->Get(ColumnFamily::kPayload, patterns::IdKey(0, Id(1))).status()),
              reasons::kNotFound);
    EXPECT_EQ(ReasonOf(database_->Get(ColumnFamily::kVec, patterns::SlotKey(0, 0)).status()),
              reasons::kNotFound);
  }
  ASSERT_TRUE(store_->Put(MakePattern(3)).ok());  // takes the slot, with a higher generation
  EXPECT_TRUE(database_->Get(ColumnFamily::kVec, patterns::SlotKey(0, 0), 2).ok());
  ASSERT_TRUE(store_->Put(MakePattern(1)).ok());
  Reopen();
  EXPECT_EQ(store_->size(), 3U);
  ExpectSame(store_->Get(Id(1)).value(), MakePattern(1));
}

TEST_F(PatternStoreTest, ADeletedPatternLeavesMemoryWithTheNextMaintenance) {
  for (uint32_t n = 0; n < 60; ++n) {
    ASSERT_TRUE(store_->Put(MakePattern(n)).ok());
  }
  Maintain();
  ASSERT_TRUE(store_->Delete(Id(7)).ok());
  EXPECT_EQ(store_->Stats().removed, 1U);
  Maintain();
  EXPECT_EQ(store_->Stats().removed, 0U);
}

TEST_F(PatternStoreTest, ListsPagesInIdOrder) {
  for (const uint32_t n : {300U, 2U, 7U, 1U, 9U}) {
    ASSERT_TRUE(store_->Put(MakePattern(n)).ok());
  }
  ASSERT_TRUE(store_->Delete(Id(7)).ok());
  std::vector<PatternId> seen;
  std::string token;
  size_t pages = 0;
  do {
    const auto page = store_->List(2, token);
    ASSERT_TRUE(page.ok()) << page.status();
    for (const Pattern& pattern : page->patterns) {
      seen.push_back(pattern.id);
    }
    token = page->next_page_token;
    ++pages;
  } while (!token.empty());
  EXPECT_THAT(seen, ElementsAre(Id(1), Id(2), Id(9), Id(300)));
  EXPECT_EQ(pages, 2U);
  EXPECT_EQ(ReasonOf(store_->List(0, "").status()), reasons::kInvalidArgument);
  EXPECT_EQ(ReasonOf(store_->List(limits::kMaxListPageSize + 1, "").status()),
            reasons::kInvalidArgument);
  EXPECT_EQ(ReasonOf(store_->List(2, "zz").status()), reasons::kInvalidArgument);
  EXPECT_EQ(ReasonOf(store_->List(2, "0102").status()), reasons::kInvalidArgument);
}

TEST_F(PatternStoreTest, CountsUses) {
  ASSERT_TRUE(store_->Put(MakePattern(1)).ok());
  ASSERT_TRUE(store_->RecordUse(Id(1)).ok());
  ASSERT_TRUE(store_->RecordUse(Id(1)).ok());
  EXPECT_EQ(ReasonOf(store_->RecordUse(Id(2))), reasons::kNotFound);
  Reopen();
  EXPECT_EQ(store_->Get(Id(1))->uses, 2U);
}

TEST_F(PatternStoreTest, ATierThatWasDecidedForAnOlderVersionIsNotSet) {
  ASSERT_TRUE(store_->Put(MakePattern(1)).ok());
  const HybridTime read = store_->Get(Id(1))->stamp;
  Pattern changed = MakePattern(1);
  changed.tier = SharingTier::kPrivate;
  changed.task = "changed";
  ASSERT_TRUE(store_->Put(changed).ok());
  EXPECT_EQ(ReasonOf(store_->SetTier(Id(1), SharingTier::kPublic, read)), reasons::kChanged);
  EXPECT_EQ(store_->Get(Id(1))->tier, SharingTier::kPrivate);
  EXPECT_TRUE(store_->SetTier(Id(1), SharingTier::kPublic, store_->Get(Id(1))->stamp).ok());
  EXPECT_EQ(store_->Get(Id(1))->tier, SharingTier::kPublic);
}

TEST_F(PatternStoreTest, ChangesTheTierAndNothingElse) {
  Pattern pattern = MakePattern(1);
  pattern.tier = SharingTier::kPrivate;
  ASSERT_TRUE(store_->Put(pattern).ok());
  ASSERT_TRUE(store_->RecordUse(Id(1)).ok());
  ASSERT_TRUE(store_->SetTier(Id(1), SharingTier::kPublic).ok());
  EXPECT_EQ(ReasonOf(store_->SetTier(Id(2), SharingTier::kPublic)), reasons::kNotFound);
  pattern.tier = SharingTier::kPublic;
  pattern.uses = 1;
  Reopen();
  ExpectSame(*store_->Get(Id(1)), pattern);
}

TEST_F(PatternStoreTest, TellsADeletedPatternFromOneItNeverHad) {
  ASSERT_TRUE(store_->Put(MakePattern(1)).ok());
  EXPECT_FALSE(*store_->WasDeleted(Id(1)));
  EXPECT_FALSE(*store_->WasDeleted(Id(2)));
  ASSERT_TRUE(store_->Delete(Id(1)).ok());
  Reopen();
  EXPECT_TRUE(*store_->WasDeleted(Id(1)));
  ASSERT_TRUE(store_->Put(MakePattern(1)).ok());
  EXPECT_FALSE(*store_->WasDeleted(Id(1)));
}

TEST_F(PatternStoreTest, RefusesBadPatternsAndKeepsNothingOfThem) {
  const auto reason = [this](const std::function<void(Pattern&)>& spoil) {
    Pattern pattern = MakePattern(1);
    spoil(pattern);
    return ReasonOf(store_->Put(pattern));
  };
  EXPECT_EQ(reason([](Pattern& p) { p.embedding.pop_back(); }), reasons::kWrongDimension);
  EXPECT_EQ(reason([](Pattern& p) { p.embedding.clear(); }), reasons::kWrongDimension);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(reason([&](Pattern& p) { p.embedding[3] = nan; }), reasons::kInvalidArgument);
  EXPECT_EQ(reason([](Pattern& p) { p.embedding.assign(kPatternDimension, 0.0F); }),
            reasons::kInvalidArgument);
  EXPECT_EQ(reason([&](Pattern& p) { p.quality = nan; }), reasons::kInvalidArgument);
  EXPECT_EQ(reason([](Pattern& p) { p.quality = 1.5F; }), reasons::kInvalidArgument);
  EXPECT_EQ(reason([](Pattern& p) { p.bank = limits::kMaxBanks; }), reasons::kInvalidArgument);
  EXPECT_EQ(reason([](Pattern& p) { p.tier = SharingTier::kUnspecified; }),
            reasons::kInvalidArgument);
  EXPECT_EQ(reason([](Pattern& p) { p.task.assign(limits::kMaxTaskBytes + 1, 't'); }),
            reasons::kLimitExceeded);
  EXPECT_EQ(reason([](Pattern& p) { p.payload.assign(limits::kMaxPatternPayloadBytes + 1, 'p'); }),
            reasons::kLimitExceeded);
  EXPECT_EQ(store_->size(), 0U);
  Reopen();
  EXPECT_EQ(store_->size(), 0U);
  EXPECT_EQ(ReasonOf(store_->Search(std::vector<float>(3, 1.0F), {}).status()),
            reasons::kWrongDimension);
}

TEST_F(PatternStoreTest, EveryModelAndDimensionHasItsOwnCollection) {
  ASSERT_TRUE(store_->Put(MakePattern(1)).ok());
  store_.reset();
  PatternStoreOptions other_model = options_;
  other_model.model_hash = Sha256("another model");
  {
    const auto other = PatternStore::Open(*database_, other_model).value();
    EXPECT_EQ(other->size(), 0U);
    EXPECT_EQ(ReasonOf(other->Get(Id(1)).status()), reasons::kNotFound);
    ASSERT_TRUE(other->Put(MakePattern(1)).ok()) << "the same id may live in both";
    ASSERT_TRUE(other->Put(MakePattern(2)).ok());
    ASSERT_TRUE(other->Delete(Id(1)).ok());
  }
  PatternStoreOptions other_dimension = options_;
  other_dimension.dimension = kPatternDimension + 1;
  EXPECT_EQ(PatternStore::Open(*database_, other_dimension).value()->size(), 0U);
  EXPECT_EQ(PatternStore::Open(*database_, other_model).value()->size(), 1U);
  Reopen();
  EXPECT_EQ(store_->size(), 1U);
  EXPECT_TRUE(store_->Get(Id(1)).ok()) << "the deletion was in the other collection";
}

TEST_F(PatternStoreTest, AnotherGraphMayBeBuiltOfTheSameRows) {
  ASSERT_TRUE(store_->Put(MakePattern(1)).ok());
  store_.reset();
  PatternStoreOptions other_graph = options_;
  other_graph.m = 32;
  EXPECT_EQ(PatternStore::Open(*database_, other_graph).value()->size(), 1U);
}

TEST_F(PatternStoreTest, ACollectionThatIsMissingIsNoticed) {
  Batch batch;
  batch.Delete(ColumnFamily::kDefault, patterns::CollectionKey(0));
  batch.Put(ColumnFamily::kDefault, patterns::CollectionKey(1),
            database_->Get(ColumnFamily::kDefault, patterns::CollectionKey(0)).value());
  ASSERT_TRUE(database_->Write(std::move(batch), Durability::kProcessCrash).ok());
  store_.reset();
  EXPECT_EQ(ReasonOf(PatternStore::Open(*database_, options_).status()), reasons::kStoreCorrupt);
}

TEST_F(PatternStoreTest, AFullDiskRefusesPatternsButKeepsServing) {
  ASSERT_TRUE(store_->Put(MakePattern(1)).ok());
  free_bytes_ = 1990;
  clock_.Advance(limits::kReserveProbeInterval);
  EXPECT_EQ(ReasonOf(store_->Put(MakePattern(2))), reasons::kDiskFull);
  EXPECT_THAT(Found(MakePattern(1)), ElementsAre(1));
  EXPECT_TRUE(store_->Delete(Id(1)).ok());
  free_bytes_ = 1 << 20;
  clock_.Advance(limits::kReserveProbeInterval);
  EXPECT_TRUE(store_->Put(MakePattern(2)).ok());
  EXPECT_THAT(Found(MakePattern(1)), ElementsAre(2));
}

// It is as if an older embedding had been put back.
TEST_F(PatternStoreTest, AnEmbeddingOfAnotherGenerationIsNotTaken) {
  ASSERT_TRUE(store_->Put(MakePattern(1)).ok());
  ASSERT_TRUE(store_->Put(MakePattern(2)).ok());
  store_.reset();
  ASSERT_TRUE(PutOne(*database_, ColumnFamily::kVec, patterns::SlotKey(0, 0),
                     patterns::EncodeVecRow(MakePattern(1).embedding), 9)
                  .ok());
  store_ = OpenPatterns();
  EXPECT_THAT(Found(MakePattern(1)), ElementsAre(2));
  EXPECT_TRUE(absl::IsDataLoss(store_->Get(Id(1)).status()));
}

// There are more slots than a block of the reader has, and one block without any row.
TEST_F(PatternStoreTest, AStartReadsBlockAfterBlock) {
  options_.durability = Durability::kProcessCrash;
  Reopen();
  constexpr uint32_t kCount = 5000;
  for (uint32_t n = 0; n < kCount; ++n) {
    ASSERT_TRUE(store_->Put(MakePattern(n)).ok());
  }
  for (uint32_t n = 900; n < 3100; ++n) {
    ASSERT_TRUE(store_->Delete(Id(n)).ok());
  }
  Reopen();
  EXPECT_EQ(store_->size(), kCount - 2200);
  for (const uint32_t n : {0U, 899U, 3100U, kCount - 1}) {
    ExpectSame(*store_->Get(Id(n)), MakePattern(n));
    EXPECT_THAT(Found(MakePattern(n), {}, 1), ElementsAre(n));
  }
  store_.reset();
  ASSERT_TRUE(PutOne(*database_, ColumnFamily::kVec, patterns::SlotKey(0, 4000), "damage", 1).ok());
  store_ = OpenPatterns();
  EXPECT_EQ(store_->Stats().damaged, 1U);
  EXPECT_THAT(Found(MakePattern(3999), {}, 1), ElementsAre(3999));
}

// A filter that admits no pattern looks at all of them, in pieces.
TEST_F(PatternStoreTest, ListsOfManyPatternsWithFewMatchesAreWhole) {
  options_.durability = Durability::kProcessCrash;
  Reopen();
  constexpr uint32_t kCount = 9000;  // two pieces and a part
  for (uint32_t n = 0; n < kCount; ++n) {
    Pattern pattern = MakePattern(n);
    pattern.task = n == 5 || n == kCount - 1 ? "rare" : "common";
    ASSERT_TRUE(store_->Put(pattern).ok());
  }
  const auto first = store_->List(1, "", {.task = "rare"});
  ASSERT_EQ(first->patterns.size(), 1U);
  EXPECT_EQ(first->patterns[0].id, Id(5));
  const auto second = store_->List(1, first->next_page_token, {.task = "rare"});
  ASSERT_EQ(second->patterns.size(), 1U);
  EXPECT_EQ(second->patterns[0].id, Id(kCount - 1));
  EXPECT_TRUE(second->next_page_token.empty());
  EXPECT_TRUE(store_->List(10, "", {.task = "rare", .min_quality = 0.9F})->patterns.empty());
}

TEST_F(PatternStoreTest, ManyReplacementsCompactTheIndex) {
  PatternStoreOptions options = options_;
  options.durability = Durability::kProcessCrash;
  store_ = std::move(PatternStore::Open(*database_, options)).value();
  for (uint32_t i = 0; i < 1100; ++i) {
    Pattern pattern = MakePattern(i);
    pattern.id = Id(1);
    ASSERT_TRUE(store_->Put(pattern).ok());
  }
  EXPECT_EQ(store_->size(), 1U);
  EXPECT_THAT(Found(MakePattern(3)), ElementsAre(1099));
}

}  // namespace
}  // namespace ruvd::storage
