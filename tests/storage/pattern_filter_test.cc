// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Compares searches and lists under a filter with a check of every pattern.

#include "storage/patterns/pattern_filter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "storage/patterns/name_table.h"
#include "tests/storage/pattern_fixture.h"

namespace ruvd::storage {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

double CosineOf(const Pattern& a, const Pattern& b) {
  double dot = 0;
  double aa = 0;
  double bb = 0;
  for (size_t i = 0; i < a.embedding.size(); ++i) {
    dot += double{a.embedding[i]} * double{b.embedding[i]};
    aa += double{a.embedding[i]} * double{a.embedding[i]};
    bb += double{b.embedding[i]} * double{b.embedding[i]};
  }
  return dot / std::sqrt(aa * bb);
}

// Returns a pattern whose attributes vary with n.
Pattern Varied(uint32_t n) {
  Pattern pattern = MakePattern(n, n % 4);
  pattern.task = "task " + std::to_string(n % 5);
  pattern.tier = static_cast<SharingTier>(1 + n % 4);
  pattern.origin = Sha256("node " + std::to_string(n % 3));
  pattern.standing = static_cast<PatternStanding>(n % 8);
  pattern.quality = static_cast<float>(n % 11) / 10;
  pattern.created_ms = 1000 + (n * 37) % 500;
  return pattern;
}

PatternFilter RandomFilter(Random& random) {
  PatternFilter filter;
  if (random.Bernoulli(0.4)) {
    filter.bank = static_cast<uint32_t>(random.Below(5));  // there are four banks
  }
  if (random.Bernoulli(0.3)) {
    filter.task = "task " + std::to_string(random.Below(6));
  }
  for (uint8_t tier = 1; random.Bernoulli(0.3) && tier <= 4; ++tier) {
    filter.tiers.push_back(static_cast<SharingTier>(1 + random.Below(4)));
  }
  filter.serving = random.Bernoulli(0.3);
  if (random.Bernoulli(0.3)) {
    filter.origin = Sha256("node " + std::to_string(random.Below(4)));
  }
  if (random.Bernoulli(0.3)) {
    filter.min_quality = static_cast<float>(random.Uniform());
  }
  if (random.Bernoulli(0.3)) {
    filter.created_from_ms = 900 + static_cast<int64_t>(random.Below(700));
  }
  if (random.Bernoulli(0.3)) {
    filter.created_before_ms = 900 + static_cast<int64_t>(random.Below(700));
  }
  return filter;
}

class PatternFilterTest : public PatternTest {
 protected:
  void Fill(uint32_t count) {
    for (uint32_t n = 0; n < count; ++n) {
      ASSERT_TRUE(store_->Put(Varied(n)).ok());
      all_[Id(n)] = Varied(n);
    }
  }
  void ExpectAsByLooking(const PatternFilter& filter, const Pattern& like, size_t k) {
    std::vector<double> expected;
    std::vector<PatternId> ids;
    for (const auto& [id, pattern] : all_) {
      if (filter.Admits(pattern)) {
        expected.push_back(CosineOf(pattern, like));
        ids.push_back(id);
      }
    }
    std::sort(expected.rbegin(), expected.rend());
    expected.resize(std::min(expected.size(), k));
    const auto hits = store_->Search(like.embedding, {.k = k, .ef = 400, .filter = filter});
    ASSERT_TRUE(hits.ok()) << hits.status();
    ASSERT_EQ(hits->size(), expected.size());
    for (size_t i = 0; i < hits->size(); ++i) {
      EXPECT_TRUE(filter.Admits((*hits)[i].pattern));
      EXPECT_NEAR((*hits)[i].similarity, expected[i], 1e-3);
    }
    const auto page = store_->List(limits::kMaxListPageSize, "", filter);
    ASSERT_TRUE(page.ok()) << page.status();
    std::vector<PatternId> listed;
    for (const Pattern& pattern : page->patterns) {
      listed.push_back(pattern.id);
    }
    EXPECT_EQ(listed, ids);
  }

  std::map<PatternId, Pattern> all_;
};

TEST_F(PatternFilterTest, FindsExactlyWhatALookAtEveryPatternFinds) {
  Fill(400);
  Random random(5);
  for (const char* state : {"in the tail", "linked", "reopened"}) {
    SCOPED_TRACE(state);
    for (int i = 0; i < 60; ++i) {
      ExpectAsByLooking(RandomFilter(random), Varied(static_cast<uint32_t>(random.Below(500))), 10);
    }
    Maintain();
    if (std::string_view(state) == "linked") {
      ASSERT_TRUE(store_->Checkpoint().ok());
      Reopen();
    }
  }
}

TEST_F(PatternFilterTest, FollowsChangesOfAttributes) {
  Fill(40);
  Pattern changed = Varied(3);
  changed.task = "new";
  changed.quality = 1;
  ASSERT_TRUE(store_->Put(changed).ok());
  all_[changed.id] = changed;
  ASSERT_TRUE(store_->SetTier(Id(4), SharingTier::kMasked).ok());
  all_[Id(4)].tier = SharingTier::kMasked;
  ASSERT_TRUE(store_->RecordUse(Id(5)).ok());
  all_[Id(5)].uses = 1;
  for (const bool reopened : {false, true}) {
    if (reopened) {
      Reopen();
    }
    ExpectAsByLooking({.task = "new"}, changed, 10);
    ExpectAsByLooking({.tiers = {SharingTier::kMasked}}, Varied(4), 20);
    ExpectAsByLooking({.task = "task 3"}, Varied(3), 10);
    ExpectAsByLooking({.min_quality = 1.0F}, Varied(3), 10);
  }
  ASSERT_TRUE(store_->Delete(changed.id).ok());
  EXPECT_THAT(Found(changed, {.task = "new"}), IsEmpty());
}

TEST_F(PatternFilterTest, ListsPagesOfWhatTheFilterAdmits) {
  Fill(30);
  std::vector<uint32_t> seen;
  std::string token;
  do {
    const auto page = store_->List(4, token, {.bank = 1});
    ASSERT_TRUE(page.ok()) << page.status();
    for (const Pattern& pattern : page->patterns) {
      seen.push_back(pattern.adapter_version);
    }
    token = page->next_page_token;
  } while (!token.empty());
  EXPECT_THAT(seen, ElementsAre(1, 5, 9, 13, 17, 21, 25, 29));
}

TEST_F(PatternFilterTest, LeavesOutWhatIsLessSimilar) {
  Fill(60);
  const auto all = store_->Search(Varied(7).embedding, {.k = 60});
  ASSERT_TRUE(all.ok());
  const float half = (*all)[30].similarity;
  const auto near = store_->Search(Varied(7).embedding, {.k = 60, .min_similarity = half});
  ASSERT_TRUE(near.ok());
  EXPECT_EQ(near->size(), 31U);
  const auto few = store_->Search(Varied(7).embedding, {.k = 5, .min_similarity = half});
  EXPECT_EQ(few->size(), 5U);
  EXPECT_THAT(*store_->Search(Varied(7).embedding, {.k = 5, .min_similarity = 1.5F}), IsEmpty());
}

TEST_F(PatternFilterTest, RefusesWhatIsNoFilter) {
  Fill(1);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto reason = [this](const PatternSearchOptions& options) {
    return ReasonOf(store_->Search(Varied(0).embedding, options).status());
  };
  EXPECT_EQ(reason({.filter = {.min_quality = nan}}), reasons::kInvalidArgument);
  EXPECT_EQ(reason({.filter = {.tiers = {SharingTier::kUnspecified}}}), reasons::kInvalidArgument);
  EXPECT_EQ(reason({.min_similarity = nan}), reasons::kInvalidArgument);
  EXPECT_EQ(reason({.k = 0}), reasons::kInvalidArgument);
  EXPECT_EQ(reason({.k = limits::kMaxSearchHits + 1}), reasons::kInvalidArgument);
  EXPECT_EQ(ReasonOf(store_->List(1, "", {.min_quality = nan}).status()),
            reasons::kInvalidArgument);
  EXPECT_EQ(
      ReasonOf(store_->Search(std::vector<float>(3, 1.0F), {.filter = {.task = "none"}}).status()),
      reasons::kWrongDimension);
}

TEST(NameTableTest, GivesNumbersAwayAgainWhenNobodyHoldsThem) {
  patterns::NameTable<std::string> names;
  EXPECT_EQ(names.Acquire("a"), 0U);
  EXPECT_EQ(names.Acquire("b"), 1U);
  EXPECT_EQ(names.Acquire("a"), 0U);
  names.Release(0);
  EXPECT_EQ(names.Find("a"), 0U);
  names.Release(0);
  EXPECT_EQ(names.Find("a"), std::nullopt);
  EXPECT_EQ(names.size(), 1U);
  EXPECT_EQ(names.Acquire("c"), 0U);
  EXPECT_EQ(names.Acquire("d"), 2U);
}

}  // namespace
}  // namespace ruvd::storage
