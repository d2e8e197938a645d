// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/patterns/pattern_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <thread>

#include "base/random.h"
#include "storage/patterns/pattern_keys.h"
#include "storage/patterns/pattern_rows.h"
#include "tests/storage/store_fixture.h"

namespace ruvd {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr uint32_t kDimension = 8;

PatternId Id(uint32_t n) {
  PatternId id{};
  id[0] = static_cast<uint8_t>(n >> 8);
  id[1] = static_cast<uint8_t>(n);
  return id;
}

Pattern MakePattern(uint32_t n, uint32_t bank = 0) {
  Random random(n + 1);
  Pattern pattern{.id = Id(n), .bank = bank, .task = "summary", .quality = 0.75F};
  for (uint32_t i = 0; i < kDimension; ++i) {
    pattern.embedding.push_back(static_cast<float>(random.Normal()));
  }
  pattern.tier = SharingTier::kPublic;
  pattern.examples = 3;
  pattern.origin = Sha256("node");
  pattern.created_ms = 1000 + n;
  pattern.updated_ms = 2000 + n;
  pattern.adapter_name = "overlay";
  pattern.adapter_version = n;
  pattern.payload = "adapter bytes " + std::to_string(n);
  return pattern;
}

void ExpectSame(const Pattern& a, const Pattern& b) {
  EXPECT_EQ(a.id, b.id);
  EXPECT_EQ(a.embedding, b.embedding);
  EXPECT_EQ(a.bank, b.bank);
  EXPECT_EQ(a.task, b.task);
  EXPECT_EQ(a.quality, b.quality);
  EXPECT_EQ(a.tier, b.tier);
  EXPECT_EQ(a.uses, b.uses);
  EXPECT_EQ(a.examples, b.examples);
  EXPECT_EQ(a.origin, b.origin);
  EXPECT_EQ(a.created_ms, b.created_ms);
  EXPECT_EQ(a.updated_ms, b.updated_ms);
  EXPECT_EQ(a.adapter_name, b.adapter_name);
  EXPECT_EQ(a.adapter_version, b.adapter_version);
  EXPECT_EQ(a.payload, b.payload);
}

class PatternStoreTest : public StoreTest {
 protected:
  void SetUp() override {
    StoreTest::SetUp();
    database_ = OpenStore();
    store_ = OpenPatterns();
  }
  void TearDown() override {
    store_.reset();
    database_.reset();
    StoreTest::TearDown();
  }
  static PatternStoreOptions PatternOptions() {
    return {.dimension = kDimension, .model_hash = Sha256("model"), .m = 8, .ef_construction = 32};
  }
  std::unique_ptr<PatternStore> OpenPatterns() {
    auto store = PatternStore::Open(*database_, PatternOptions());
    EXPECT_TRUE(store.ok()) << store.status();
    return store.ok() ? std::move(*store) : nullptr;
  }
  void Reopen() {
    store_.reset();
    database_.reset();
    database_ = OpenStore();
    store_ = OpenPatterns();
  }
  std::vector<uint32_t> Found(const Pattern& like, std::optional<uint32_t> bank = std::nullopt,
                              size_t k = 100) {
    std::vector<uint32_t> found;
    const auto hits = store_->Search(like.embedding, {.k = k, .bank = bank});
    EXPECT_TRUE(hits.ok()) << hits.status();
    for (const PatternHit& hit : *hits) {
      found.push_back(hit.pattern.adapter_version);
    }
    return found;
  }

  std::unique_ptr<Database> database_;
  std::unique_ptr<PatternStore> store_;
};

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
      EXPECT_EQ(Found(MakePattern(i), std::nullopt, 1), std::vector<uint32_t>{i});
      EXPECT_EQ(Found(MakePattern(i), i % 3, 1), std::vector<uint32_t>{i});
    }
    EXPECT_EQ(Found(MakePattern(0), 2).size(), 16U);
    EXPECT_EQ(Found(MakePattern(0)).size(), 50U);
    EXPECT_TRUE(Found(MakePattern(0), 3).empty());
    EXPECT_TRUE(Found(MakePattern(0), limits::kMaxBanks + 5).empty());
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
    EXPECT_TRUE(Found(MakePattern(1), 0).empty());
    EXPECT_THAT(Found(MakePattern(2), 2), ElementsAre(2));
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

TEST_F(PatternStoreTest, AgreesWithAModelUnderRandomChanges) {
  Random random(7);
  std::map<PatternId, Pattern> model;
  for (int step = 0; step < 400; ++step) {
    const auto n = static_cast<uint32_t>(random.Below(40));
    if (random.Chance(0.4)) {
      const absl::Status status = store_->Delete(Id(n));
      EXPECT_EQ(status.ok(), model.erase(Id(n)) == 1);
    } else {
      Pattern pattern = MakePattern(static_cast<uint32_t>(random.Below(1000)), n % 3);
      pattern.id = Id(n);
      ASSERT_TRUE(store_->Put(pattern).ok());
      model[Id(n)] = pattern;
    }
    if (step % 100 == 99) {
      Reopen();
    }
  }
  ASSERT_EQ(store_->size(), model.size());
  for (const auto& [id, pattern] : model) {
    ExpectSame(store_->Get(id).value(), pattern);
    const auto hits = store_->Search(pattern.embedding, {.k = 1, .bank = pattern.bank});
    EXPECT_NEAR(hits->front().similarity, 1.0, 1e-6);
  }
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
  EXPECT_EQ(reason([](Pattern& p) { p.embedding.assign(kDimension, 0.0F); }),
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
  PatternStoreOptions other_model = PatternOptions();
  other_model.model_hash = Sha256("another model");
  {
    const auto other = PatternStore::Open(*database_, other_model).value();
    EXPECT_EQ(other->size(), 0U);
    EXPECT_EQ(ReasonOf(other->Get(Id(1)).status()), reasons::kNotFound);
    ASSERT_TRUE(other->Put(MakePattern(1)).ok()) << "the same id may live in both";
    ASSERT_TRUE(other->Put(MakePattern(2)).ok());
    ASSERT_TRUE(other->Delete(Id(1)).ok());
  }
  PatternStoreOptions other_dimension = PatternOptions();
  other_dimension.dimension = kDimension + 1;
  EXPECT_EQ(PatternStore::Open(*database_, other_dimension).value()->size(), 0U);
  EXPECT_EQ(PatternStore::Open(*database_, other_model).value()->size(), 1U);
  Reopen();
  EXPECT_EQ(store_->size(), 1U);
  EXPECT_TRUE(store_->Get(Id(1)).ok()) << "the deletion was in the other collection";
}

TEST_F(PatternStoreTest, AnotherGraphMayBeBuiltOfTheSameRows) {
  ASSERT_TRUE(store_->Put(MakePattern(1)).ok());
  store_.reset();
  PatternStoreOptions other_graph = PatternOptions();
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
  EXPECT_EQ(ReasonOf(PatternStore::Open(*database_, PatternOptions()).status()),
            reasons::kStoreCorrupt);
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

TEST_F(PatternStoreTest, RefusesRowsThatDisagree) {
  ASSERT_TRUE(store_->Put(MakePattern(1)).ok());
  store_.reset();
  Batch batch;  // an embedding of another generation, as if an older one had been put back
  batch.Put(ColumnFamily::kVec, patterns::SlotKey(0, 0),
            patterns::EncodeVecRow(MakePattern(1).embedding), 9);
  ASSERT_TRUE(database_->Write(std::move(batch), Durability::kProcessCrash).ok());
  EXPECT_EQ(ReasonOf(PatternStore::Open(*database_, PatternOptions()).status()),
            reasons::kStoreCorrupt);
  Batch drop;
  drop.Delete(ColumnFamily::kVec, patterns::SlotKey(0, 0));
  ASSERT_TRUE(database_->Write(std::move(drop), Durability::kProcessCrash).ok());
  EXPECT_EQ(ReasonOf(PatternStore::Open(*database_, PatternOptions()).status()),
            reasons::kStoreCorrupt);
}

TEST_F(PatternStoreTest, ManyReplacementsCompactTheIndex) {
  PatternStoreOptions options = PatternOptions();
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

TEST_F(PatternStoreTest, SearchesWhileWriting) {
  for (uint32_t i = 0; i < 20; ++i) {
    ASSERT_TRUE(store_->Put(MakePattern(i)).ok());
  }
  std::atomic<bool> stop = false;
  std::thread reader([&] {
    for (uint32_t i = 0; !stop || i < 20; ++i) {
      const auto hits = store_->Search(MakePattern(i % 20).embedding, {.k = 5});
      EXPECT_TRUE(hits.ok()) << hits.status();
      EXPECT_EQ(hits->size(), 5U);
      EXPECT_TRUE(store_->List(10, "").ok());
    }
  });
  for (uint32_t i = 0; i < 60; ++i) {
    EXPECT_TRUE(store_->Put(MakePattern(20 + i)).ok());
    EXPECT_TRUE(store_->Delete(Id(i)).ok());
    EXPECT_TRUE(store_->RecordUse(Id(20 + i)).ok());
  }
  stop = true;
  reader.join();
  EXPECT_EQ(store_->size(), 20U);
}

}  // namespace
}  // namespace ruvd
