// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Tests how patterns age: expiry, value, eviction, tombstones, wrong clocks.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <filesystem>
#include <memory>

#include "storage/patterns/pattern_keys.h"
#include "storage/patterns/pattern_rows.h"
#include "storage/patterns/pattern_value.h"
#include "tests/storage/hooked_files.h"
#include "tests/storage/pattern_fixture.h"

namespace ruvd::storage {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr int64_t kMonthMs = milliseconds(limits::kPatternHalfLife).count();

// The formula of PatternRank at one moment.
double PatternValue(const PatternMerit& merit, int64_t now_ms, int64_t half_life_ms) {
  const auto age = static_cast<double>(now_ms - merit.touched_ms);
  return static_cast<double>(merit.quality) * (1 + std::log2(1.0 + merit.uses)) *
         std::exp2(-age / static_cast<double>(half_life_ms));
}

TEST(PatternValueTest, GrowsWithQualityAndUsesAndHalvesWithTime) {
  const PatternMerit merit{.quality = 0.5F, .uses = 3, .touched_ms = 1000};
  EXPECT_DOUBLE_EQ(PatternRank(merit, 100), std::log2(0.5 * 3) + 10);
  EXPECT_DOUBLE_EQ(PatternRank({.quality = 0.5F, .uses = 3, .touched_ms = 900}, 100),
                   PatternRank(merit, 100) - 1);
  EXPECT_GT(PatternRank({.quality = 1.0F, .uses = 3, .touched_ms = 1000}, 100),
            PatternRank(merit, 100));
  EXPECT_EQ(PatternRank({.quality = 0}, 100), -INFINITY);
}

RC_GTEST_PROP(PatternValueTest, RanksAsValuesDoAtEveryMoment, ()) {
  const auto merit = [] {
    return PatternMerit{.quality = static_cast<float>(*rc::gen::inRange(0, 100)) / 100,
                        .uses = *rc::gen::inRange<uint32_t>(0, 10'000),
                        .touched_ms = *rc::gen::inRange<int64_t>(0, 1'000'000)};
  };
  const PatternMerit a = merit();
  const PatternMerit b = merit();
  const auto later = *rc::gen::inRange<int64_t>(1'000'000, 3'000'000);
  const double va = PatternValue(a, later, 50'000);
  const double vb = PatternValue(b, later, 50'000);
  if (std::abs(va - vb) > 1e-9 * std::max(va, vb)) {
    RC_ASSERT((va < vb) == (PatternRank(a, 50'000) < PatternRank(b, 50'000)));
  }
}

class PatternLifeTest : public PatternTest {
 protected:
  int64_t Now() const { return clock_.WallMillis(); }
  // Returns a pattern that was made today.
  Pattern Fresh(uint32_t n) const {
    Pattern pattern = MakePattern(n);
    pattern.created_ms = Now();
    pattern.updated_ms = Now();
    return pattern;
  }
};

TEST_F(PatternLifeTest, AnExpiredPatternIsNotFoundAndThenRemoved) {
  Pattern brief = Fresh(1);
  brief.expires_ms = Now() + 1000;
  ASSERT_TRUE(store_->Put(brief).ok());
  ASSERT_TRUE(store_->Put(Fresh(2)).ok());
  Maintain();
  EXPECT_THAT(Found(brief, {}, 1), ElementsAre(1));
  ExpectSame(*store_->Get(Id(1)), brief);
  clock_.Advance(milliseconds(1000));
  for (const bool maintained : {false, true}) {
    if (maintained) {
      EXPECT_EQ(Maintain().expired, 1U);
      Reopen();
    }
    EXPECT_THAT(Found(brief, {}, 1), ElementsAre(2)) << "as many as asked for";
    EXPECT_EQ(ReasonOf(store_->Get(Id(1)).status()), reasons::kNotFound);
    EXPECT_EQ(ReasonOf(store_->RecordUse(Id(1))), reasons::kNotFound);
    EXPECT_EQ(store_->List(10, "")->patterns.size(), 1U);
    EXPECT_TRUE(*store_->WasDeleted(Id(1)));
  }
  EXPECT_EQ(store_->size(), 1U);
  EXPECT_EQ(store_->Changes(0, 10)->changes.back().kind, PatternChangeKind::kExpire);
  EXPECT_EQ(ReasonOf(store_->Put(brief)), reasons::kInvalidArgument);
  brief.expires_ms = 0;
  EXPECT_TRUE(store_->Put(brief).ok());
}

TEST_F(PatternLifeTest, EvictsWhatIsWorthLeast) {
  options_.capacity = 3;
  Reopen();
  for (uint32_t n = 0; n < 5; ++n) {
    Pattern pattern = Fresh(n);
    pattern.quality = 0.5F;
    ASSERT_TRUE(store_->Put(pattern).ok());
  }
  Pattern poor = Fresh(5);
  poor.quality = 0.1F;
  ASSERT_TRUE(store_->Put(poor).ok());
  clock_.Advance(hours(24));
  ASSERT_TRUE(store_->RecordUse(Id(1)).ok());
  ASSERT_TRUE(store_->RecordUse(Id(3)).ok());
  Pattern again = Fresh(4);  // younger than the others and as good
  again.quality = 0.5F;
  ASSERT_TRUE(store_->Put(again).ok());
  EXPECT_EQ(store_->size(), 6U) << "evicted off the request path";
  EXPECT_EQ(Maintain().evicted, 3U);
  EXPECT_EQ(Maintain().evicted, 0U);
  for (const bool reopened : {false, true}) {
    if (reopened) {
      Reopen();
    }
    const auto page = store_->List(10, "");
    ASSERT_EQ(page->patterns.size(), 3U);
    EXPECT_EQ(page->patterns[0].id, Id(1));
    EXPECT_EQ(page->patterns[1].id, Id(3));
    EXPECT_EQ(page->patterns[2].id, Id(4));
    EXPECT_TRUE(*store_->WasDeleted(Id(5)));
  }
  std::vector<PatternId> evicted;
  const PatternChangePage page = store_->Changes(0, 100).value();
  for (const PatternChange& change : page.changes) {
    if (change.kind == PatternChangeKind::kEvict) {
      evicted.push_back(change.id);
    }
  }
  ASSERT_EQ(evicted.size(), 3U);
  EXPECT_EQ(evicted[0], Id(5)) << "the least first";
}

TEST_F(PatternLifeTest, ATimeOfTheFutureKeepsNoPattern) {
  options_.capacity = 1;
  Reopen();
  Pattern timeless = Fresh(1);
  timeless.updated_ms = Now() + 1000 * kMonthMs;
  timeless.quality = 0.2F;
  ASSERT_TRUE(store_->Put(timeless).ok());
  ASSERT_TRUE(store_->Put(Fresh(2)).ok());
  EXPECT_EQ(Maintain().evicted, 1U);
  EXPECT_TRUE(store_->Get(Id(2)).ok());
}

TEST_F(PatternLifeTest, ForgetsTombstonesAfterTheirTime) {
  ASSERT_TRUE(store_->Put(Fresh(1)).ok());
  ASSERT_TRUE(store_->Put(Fresh(2)).ok());
  ASSERT_TRUE(store_->Delete(Id(1)).ok());
  EXPECT_EQ(Maintain().forgotten, 0U);
  EXPECT_EQ(store_->Stats().tombstones, 1U);
  clock_.Advance(limits::kTombstoneRetention + milliseconds(1));
  ASSERT_TRUE(store_->Delete(Id(2)).ok());
  EXPECT_EQ(Maintain().forgotten, 1U);
  EXPECT_EQ(store_->Stats().tombstones, 1U);
  EXPECT_FALSE(*store_->WasDeleted(Id(1)));
  EXPECT_TRUE(*store_->WasDeleted(Id(2)));
  Reopen();
  EXPECT_EQ(store_->size(), 0U);
}

TEST_F(PatternLifeTest, WhatIsDeletedForRoomLeavesNoTombstoneForMonths) {
  ASSERT_TRUE(store_->Put(Fresh(1)).ok());
  ASSERT_TRUE(store_->Put(Fresh(2)).ok());
  ASSERT_TRUE(store_->DeleteForRoom(Id(1)).ok());
  EXPECT_EQ(ReasonOf(store_->DeleteForRoom(Id(1))), reasons::kNotFound);
  EXPECT_FALSE(store_->Get(Id(1)).ok());
  Maintain();
  EXPECT_EQ(store_->Stats().tombstones, 0U);
  EXPECT_FALSE(*store_->WasDeleted(Id(1)));
  Reopen();
  EXPECT_EQ(store_->size(), 1U);
  ASSERT_TRUE(store_->Put(Fresh(1)).ok());
  EXPECT_TRUE(database_->Verify()->ok());
}

// A clock that jumps, for a minute or until it is corrected, removes nothing.
TEST_F(PatternLifeTest, AStepOfTheClockRemovesNothing) {
  Pattern brief = Fresh(1);
  brief.expires_ms = Now() + kMonthMs;
  ASSERT_TRUE(store_->Put(brief).ok());
  ASSERT_TRUE(store_->Put(Fresh(2)).ok());
  ASSERT_TRUE(store_->Delete(Id(2)).ok());
  Maintain();
  constexpr int64_t kStep = 120 * kMonthMs;
  clock_.StepWall(kStep);
  EXPECT_FALSE(store_->Get(Id(1)).ok()) << "not found by that clock";
  PatternMaintenance done = Maintain();
  EXPECT_EQ(done.expired + done.forgotten, 0U);
  clock_.StepWall(-kStep);
  done = Maintain();
  EXPECT_EQ(done.expired + done.forgotten, 0U);
  EXPECT_TRUE(store_->Get(Id(1)).ok());
  EXPECT_TRUE(*store_->WasDeleted(Id(2)));
  clock_.StepWall(kStep);
  Maintain();
  clock_.Advance(WallClockTrust::kTrustedAfter + limits::kTombstoneWalkInterval);
  done = Maintain();
  EXPECT_EQ(done.expired, 1U) << "so it is that late";
  EXPECT_EQ(done.forgotten, 1U);
}

// A device without a battery begins in 1970.
TEST_F(PatternLifeTest, WhatIsDeletedOrUsedBeforeTheClockIsSetIsNotOld) {
  options_.capacity = 1;
  Reopen();
  ASSERT_TRUE(store_->Put(Fresh(1)).ok());
  ASSERT_TRUE(store_->Delete(Id(1)).ok());
  ASSERT_TRUE(store_->Put(Fresh(2)).ok());
  Pattern late = Fresh(3);
  late.quality = Fresh(2).quality;
  const int64_t now = Now();
  Reopen();
  clock_.StepWall(-now);
  Reopen();
  ASSERT_TRUE(store_->Put(Fresh(4)).ok());
  ASSERT_TRUE(store_->Delete(Id(4)).ok());
  ASSERT_TRUE(store_->RecordUse(Id(2)).ok());
  clock_.StepWall(now);
  Reopen();
  Maintain();
  EXPECT_TRUE(*store_->WasDeleted(Id(4)));
  EXPECT_GE(store_->Get(Id(2))->last_used_ms, now);
  late.updated_ms = late.created_ms = now - kMonthMs;
  ASSERT_TRUE(store_->Put(late).ok());
  EXPECT_EQ(Maintain().evicted, 1U);
  EXPECT_TRUE(store_->Get(Id(2)).ok()) << "it was used after the other one was made";
}

// The store has one change dated 2040: the hybrid clock never goes back, and every start takes it
// from the log.
TEST_F(PatternLifeTest, AClockThatWasFarAheadOnceDecidesNothing) {
  options_.capacity = 2;
  Reopen();
  const auto put = [this](uint32_t n, float quality) {
    Pattern pattern = Fresh(n);
    pattern.quality = quality;
    ASSERT_TRUE(store_->Put(pattern).ok());
  };
  put(1, 0.2F);
  constexpr int64_t kAhead = 170 * kMonthMs;
  clock_.StepWall(kAhead);
  put(2, 0.5F);
  clock_.StepWall(-kAhead);
  Reopen();
  ASSERT_TRUE(store_->RecordUse(Id(1)).ok());
  EXPECT_EQ(store_->Get(Id(1))->last_used_ms, Now());
  clock_.Advance(milliseconds(2 * kMonthMs));
  put(3, 0.9F);
  put(4, 0.9F);
  EXPECT_EQ(Maintain().evicted, 2U);
  EXPECT_TRUE(store_->Get(Id(3)).ok());
  EXPECT_TRUE(store_->Get(Id(4)).ok());
  clock_.Advance(limits::kTombstoneRetention + limits::kTombstoneWalkInterval);
  EXPECT_EQ(Maintain().forgotten, 2U);
}

// Otherwise the caller would try again at once, for as long as the disk is full.
TEST_F(PatternLifeTest, WorkThatFailsIsNotGoneOnWithAtOnce) {
  Close();
  const auto files = std::make_shared<HookedFiles>();
  files->before_write = [this](const std::string& name) {
    return name.ends_with(".log") && store_ != nullptr && store_->Stats().evicted > 0
               ? rocksdb::IOStatus::NoSpace("the disk is full")
               : rocksdb::IOStatus::OK();
  };
  DatabaseOptions options = Options();
  options.file_system = files;
  database_ = OpenStore(options);
  options_.capacity = 1;
  store_ = OpenPatterns();
  for (uint32_t n = 0; n < 100; ++n) {
    ASSERT_TRUE(store_->Put(Fresh(n), Durability::kProcessCrash).ok());
  }
  const PatternMaintenance done = store_->Maintain(std::chrono::seconds(1));
  EXPECT_FALSE(done.status.ok());
  EXPECT_GT(done.evicted, 0U);
  EXPECT_FALSE(done.more);
  Close();
}

TEST_F(PatternLifeTest, PayloadsAreKeptInBlobFiles) {
  Pattern pattern = MakePattern(1);
  pattern.payload.assign(5000, 'p');
  ASSERT_TRUE(store_->Put(pattern).ok());
  ASSERT_TRUE(database_->Flush().ok());
  size_t blobs = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder_ / "store")) {
    blobs += entry.path().extension() == ".blob" && entry.file_size() > 5000 ? 1 : 0;
  }
  EXPECT_EQ(blobs, 1U);
  ExpectSame(*store_->Get(Id(1)), pattern);
}

}  // namespace
}  // namespace ruvd::storage
