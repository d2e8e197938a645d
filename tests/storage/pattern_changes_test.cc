// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Tests the log of changes, its listener, and stamps and updates by them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "storage/patterns/pattern_keys.h"
#include "storage/patterns/pattern_rows.h"
#include "storage/reasons.h"
#include "tests/storage/pattern_fixture.h"

namespace ruvd::storage {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class PatternChangesTest : public PatternTest {
 protected:
  // Returns "put 1", "delete 2", ... for the changes after a sequence number.
  std::vector<std::string> ChangesAfter(uint64_t after, size_t limit = 100) {
    std::vector<std::string> texts;
    const auto page = store_->Changes(after, limit);
    EXPECT_TRUE(page.ok()) << page.status();
    for (const PatternChange& change : page.value_or(PatternChangePage{}).changes) {
      constexpr const char* kNames[] = {"", "put ", "delete ", "expire ", "evict "};
      texts.push_back(kNames[static_cast<size_t>(change.kind)] + std::to_string(change.id[1]));
    }
    return texts;
  }
};

TEST_F(PatternChangesTest, ComeInOrderAndInPages) {
  EXPECT_THAT(ChangesAfter(0), IsEmpty());
  ASSERT_TRUE(store_->Put(MakePattern(1)).ok());
  ASSERT_TRUE(store_->Put(MakePattern(2)).ok());
  ASSERT_TRUE(store_->RecordUse(Id(1)).ok());
  ASSERT_TRUE(store_->Delete(Id(1)).ok());
  ASSERT_TRUE(store_->SetTier(Id(2), SharingTier::kPrivate).ok());
  ASSERT_TRUE(store_->SetTier(Id(2), SharingTier::kPrivate).ok());
  for (const bool reopened : {false, true}) {
    if (reopened) {
      Reopen();
    }
    EXPECT_THAT(ChangesAfter(0), ElementsAre("put 1", "put 2", "delete 1", "put 2"));
    EXPECT_THAT(ChangesAfter(2), ElementsAre("delete 1", "put 2"));
    EXPECT_THAT(ChangesAfter(4), IsEmpty());
    const auto page = store_->Changes(1, 2);
    EXPECT_TRUE(page->more);
    EXPECT_EQ(page->last_sequence, 3U);
    EXPECT_EQ(page->changes.front().sequence, 2U);
    EXPECT_FALSE(store_->Changes(3, 2)->more);
  }
  EXPECT_EQ(ReasonOf(store_->Changes(0, 0).status()), reasons::kInvalidArgument);
  EXPECT_EQ(ReasonOf(store_->Changes(5, 1).status()), reasons::kLogTruncated);
}

TEST_F(PatternChangesTest, LeaveOutOtherCollections) {
  ASSERT_TRUE(store_->Put(MakePattern(1)).ok());
  store_.reset();
  PatternStoreOptions other = options_;
  other.model_hash = Sha256("another model");
  ASSERT_TRUE(PatternStore::Open(*database_, other).value()->Put(MakePattern(2)).ok());
  store_ = OpenPatterns();
  ASSERT_TRUE(store_->Put(MakePattern(3)).ok());
  EXPECT_THAT(ChangesAfter(0), ElementsAre("put 1", "put 3"));
  const auto page = store_->Changes(1, 1);
  EXPECT_THAT(page->changes, IsEmpty());
  EXPECT_EQ(page->last_sequence, 2U);
  EXPECT_TRUE(page->more);
}

TEST_F(PatternChangesTest, TheLogIsBounded) {
  // As if this many changes had been made, the log begins far behind.
  const uint64_t far = limits::kMaxOplogRows + 1000;
  ASSERT_TRUE(PutOne(*database_, ColumnFamily::kOplog, patterns::OplogKey(far),
                     patterns::EncodeOplogRow({.id = Id(1)}))
                  .ok());
  Reopen();
  EXPECT_EQ(store_->Stats().first_sequence, 1001U);
  ASSERT_TRUE(
      PutOne(*database_, ColumnFamily::kOplog, patterns::OplogKey(1001), "to be cut off").ok());
  ASSERT_TRUE(store_->Put(MakePattern(1)).ok());
  EXPECT_EQ(ReasonOf(database_->Get(ColumnFamily::kOplog, patterns::OplogKey(1001)).status()),
            reasons::kNotFound);
  EXPECT_EQ(ReasonOf(store_->Changes(1000, 10).status()), reasons::kLogTruncated);
  EXPECT_EQ(store_->Stats().first_sequence, 1002U);
  EXPECT_THAT(ChangesAfter(far), ElementsAre("put 1"));
}

TEST_F(PatternChangesTest, AListenerHearsOfEveryChange) {
  std::vector<uint64_t> heard;
  store_->SetChangeListener([&](uint64_t sequence) {
    heard.push_back(sequence);
    EXPECT_TRUE(store_->Changes(sequence - 1, 1).ok()) << "no lock is held";
  });
  ASSERT_TRUE(store_->Put(MakePattern(1)).ok());
  ASSERT_TRUE(store_->RecordUse(Id(1)).ok());
  Pattern brief = MakePattern(2);
  brief.expires_ms = clock_.WallMillis() + 5;
  ASSERT_TRUE(store_->Put(brief).ok());
  clock_.Advance(std::chrono::milliseconds(5));
  Maintain();
  ASSERT_TRUE(store_->Delete(Id(1)).ok());
  EXPECT_THAT(heard, ElementsAre(1, 2, 3, 4));
  store_->SetChangeListener({});
  ASSERT_TRUE(store_->Put(MakePattern(1)).ok());
  EXPECT_EQ(heard.size(), 4U);
}

TEST_F(PatternChangesTest, EveryChangeHasALaterStamp) {
  ASSERT_TRUE(store_->Put(MakePattern(1)).ok());
  const HybridTime first = store_->Get(Id(1))->stamp;
  EXPECT_EQ(first.wall_ms(), clock_.WallMillis());
  clock_.StepWall(-10'000);
  Reopen();
  ASSERT_TRUE(store_->SetTier(Id(1), SharingTier::kMasked).ok());
  const HybridTime second = store_->Get(Id(1))->stamp;
  EXPECT_GT(second, first) << "though the wall clock went back";
  ASSERT_TRUE(store_->Delete(Id(1)).ok());
  const auto changes = store_->Changes(0, 10)->changes;
  ASSERT_EQ(changes.size(), 3U);
  EXPECT_EQ(changes[1].time, second);
  EXPECT_GT(changes[2].time, second);
}

// A writer that reads, decides and writes must not undo a change that came between.
TEST_F(PatternChangesTest, AnUpdateUndoesNoChangeThatCameBetween) {
  Pattern next = MakePattern(2);
  next.id = Id(1);
  EXPECT_EQ(ReasonOf(store_->Update(next, HybridTime{5})), reasons::kChanged) << "there is none";
  ASSERT_TRUE(store_->Update(MakePattern(1), std::nullopt).ok());
  EXPECT_EQ(ReasonOf(store_->Update(next, std::nullopt)), reasons::kChanged);
  Pattern read = *store_->Get(Id(1));
  ASSERT_TRUE(store_->SetTier(Id(1), SharingTier::kPrivate).ok());
  EXPECT_EQ(ReasonOf(store_->Update(next, read.stamp)), reasons::kChanged);
  ExpectSame(*store_->Get(Id(1)), [&] {
    read.tier = SharingTier::kPrivate;
    return read;
  }());
  ASSERT_TRUE(store_->Update(next, store_->Get(Id(1))->stamp).ok());
  ExpectSame(*store_->Get(Id(1)), next);
  read = *store_->Get(Id(1));
  ASSERT_TRUE(store_->Delete(Id(1)).ok());
  EXPECT_EQ(ReasonOf(store_->Update(next, read.stamp)), reasons::kChanged) << "deleted";
  EXPECT_TRUE(*store_->WasDeleted(Id(1)));
}

TEST_F(PatternChangesTest, AnUpdateOfAPatternThatExpiredIsThatOfNone) {
  Pattern brief = MakePattern(1);
  brief.expires_ms = clock_.WallMillis() + 5;
  ASSERT_TRUE(store_->Put(brief).ok());
  ASSERT_TRUE(store_->RecordUse(Id(1)).ok());
  const HybridTime stamp = store_->Get(Id(1))->stamp;
  clock_.Advance(std::chrono::milliseconds(5));
  EXPECT_EQ(ReasonOf(store_->Update(MakePattern(1), stamp)), reasons::kChanged);
  ASSERT_TRUE(store_->Update(MakePattern(1), std::nullopt).ok());
  EXPECT_EQ(store_->Get(Id(1))->uses, 0U) << "another one";
}

TEST_F(PatternChangesTest, RetrievalsOutliveAReplacement) {
  ASSERT_TRUE(store_->Put(MakePattern(1)).ok());
  const Pattern read = *store_->Get(Id(1));
  ASSERT_TRUE(store_->RecordUse(Id(1)).ok());
  clock_.Advance(std::chrono::milliseconds(5));
  ASSERT_TRUE(store_->Update(read, read.stamp).ok()) << "a retrieval is no change";
  EXPECT_EQ(store_->Get(Id(1))->uses, 1U);
  EXPECT_EQ(store_->Get(Id(1))->last_used_ms, clock_.WallMillis() - 5);
  Pattern imported = read;
  imported.uses = std::numeric_limits<uint32_t>::max();
  ASSERT_TRUE(store_->Put(imported).ok());
  ASSERT_TRUE(store_->RecordUse(Id(1)).ok());
  EXPECT_EQ(store_->Get(Id(1))->uses, imported.uses) << "it does not begin anew";
}

// A number that a power cut takes back would be given again to another change.
TEST_F(PatternChangesTest, WatchersHearOfAChangeOnceItIsDurable) {
  std::vector<uint64_t> heard;
  store_->SetChangeListener([&](uint64_t sequence) { heard.push_back(sequence); });
  ASSERT_TRUE(store_->Put(MakePattern(1), Durability::kProcessCrash).ok());
  ASSERT_TRUE(store_->Update(MakePattern(2), std::nullopt, Durability::kProcessCrash).ok());
  EXPECT_TRUE(store_->Get(Id(2)).ok()) << "others see it";
  EXPECT_EQ(store_->Stats().last_sequence, 0U);
  EXPECT_THAT(ChangesAfter(0), IsEmpty());
  EXPECT_THAT(heard, IsEmpty());
  ASSERT_TRUE(store_->Sync().ok());
  ASSERT_TRUE(store_->Sync().ok());
  EXPECT_THAT(ChangesAfter(0), ElementsAre("put 1", "put 2"));
  EXPECT_THAT(heard, ElementsAre(2)) << "once";
}

TEST_F(PatternChangesTest, AnExpiredPatternCanBeDeletedAtOnce) {
  Pattern brief = MakePattern(1);
  brief.expires_ms = clock_.WallMillis() + 5;
  ASSERT_TRUE(store_->Put(brief).ok());
  clock_.Advance(std::chrono::milliseconds(5));
  ASSERT_TRUE(store_->Delete(Id(1)).ok());
  EXPECT_THAT(ChangesAfter(1), ElementsAre("delete 1"));
}

TEST_F(PatternChangesTest, TextsThatCouldNotBeReadAgainAreRefused) {
  Pattern pattern = MakePattern(1);
  pattern.task = "\xff\xfe";
  EXPECT_EQ(ReasonOf(store_->Put(pattern)), reasons::kInvalidArgument);
  EXPECT_EQ(store_->size(), 0U);
}

}  // namespace
}  // namespace ruvd::storage
