// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Tests filters, similarity and statistics over the witness log.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/random.h"
#include "tests/storage/witness_fixture.h"

namespace ruvd::storage {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST_F(WitnessTest, EveryConditionOfAFilterCounts) {
  WitnessEntry entry = MakeEntry("a", 100);
  const auto matches = [&](const WitnessFilter& filter) { return Matches(filter, entry); };
  EXPECT_TRUE(matches({}));
  EXPECT_TRUE(matches({.from_ms = 100, .to_ms = 101}));
  EXPECT_FALSE(matches({.from_ms = 101}));
  EXPECT_FALSE(matches({.to_ms = 100}));
  EXPECT_TRUE(matches({.min_quality = 0.5F, .max_quality = 0.5F}));
  EXPECT_FALSE(matches({.min_quality = 0.6F}));
  EXPECT_FALSE(matches({.max_quality = 0.4F}));
  EXPECT_FALSE(matches({.min_total_ms = 16}));
  EXPECT_FALSE(matches({.max_total_ms = 14}));
  EXPECT_FALSE(matches({.outcome = WitnessOutcome::kFailed}));
  EXPECT_TRUE(matches({.outcome = WitnessOutcome::kOk}));
  EXPECT_FALSE(matches({.session_id = "other"}));
  EXPECT_FALSE(matches({.model = "other"}));
  EXPECT_FALSE(matches({.error_reason = "X"}));
  entry.quality.reset();
  EXPECT_FALSE(matches({.min_quality = 0}));
  entry.error = {"X", "m"};
  EXPECT_TRUE(matches({.outcome = WitnessOutcome::kFailed, .error_reason = "X"}));
}

TEST_F(WitnessTest, SimilarEntriesComeFirstAndHonourTheFilter) {
  std::vector<WitnessEntry> entries;
  for (int i = 0; i < 20; ++i) {
    WitnessEntry entry = MakeEntry(fmt::format("{:02}", i), i);
    const double angle = 0.1 * i;
    entry.query_embedding = {static_cast<float>(std::cos(angle)),
                             static_cast<float>(std::sin(angle))};
    entry.quality = i % 2 == 0 ? 0.9F : 0.1F;
    entries.push_back(entry);
  }
  entries.push_back(MakeEntry("other dimension", 30));
  entries.back().query_embedding = {1, 0, 0};
  entries.push_back(MakeEntry("no direction", 31));
  entries.back().query_embedding = {0, 0};
  Store(entries);
  const std::vector<float> query = {std::cos(0.52F), std::sin(0.52F)};
  const auto page = log_->Query({.similar_to = query, .limit = 3});
  EXPECT_THAT(IdsOf(page), ElementsAre("05", "06", "04"));
  EXPECT_NEAR(*page->hits[0].similarity, std::cos(0.02), 1e-5);
  EXPECT_EQ(page->hits[0].entry.query_embedding.size(), 2U);
  EXPECT_FALSE(page->truncated);
  EXPECT_THAT(
      IdsOf(log_->Query({.filter = {.max_quality = 0.5F}, .similar_to = query, .limit = 2})),
      ElementsAre("05", "07"));
  EXPECT_THAT(IdsOf(log_->Query({.filter = {.from_ms = 8}, .similar_to = query, .limit = 1})),
              ElementsAre("08"));
  EXPECT_THAT(
      IdsOf(log_->Query({.similar_to = query, .min_similarity = 0.999F, .limit = 50})).size(), 1U);
}

TEST_F(WitnessTest, EntriesWithoutAnEmbeddingAreEmbeddedForTheQuery) {
  std::vector<WitnessEntry> entries;
  for (size_t i = 0; i < limits::kMaxLateEmbeddings + 1; ++i) {
    entries.push_back(MakeEntry(fmt::format("{:03}", i), static_cast<int64_t>(i)));
    entries.back().query_embedding.clear();
  }
  Store(entries);
  const std::vector<float> query = {1, 0};
  EXPECT_THAT(IdsOf(log_->Query({.similar_to = query})), IsEmpty());
  std::vector<std::string> embedded;
  const auto page =
      log_->Query({.similar_to = query,
                   .embed =
                       [&embedded](const WitnessEntry& entry) {
                         embedded.push_back(entry.request_id);
                         return std::vector<float>{entry.request_id == "200" ? 3.0F : -3.0F, 0};
                       },
                   .min_similarity = 0});
  EXPECT_THAT(IdsOf(page), ElementsAre("200"));
  EXPECT_EQ(embedded.size(), limits::kMaxLateEmbeddings);
  EXPECT_EQ(embedded.front(), entries.back().request_id) << "the newest first";
  EXPECT_TRUE(page->truncated);
}

TEST_F(WitnessTest, EntriesThatCannotBeEmbeddedUseUpNothing) {
  std::vector<WitnessEntry> entries;
  for (size_t i = 0; i < limits::kMaxLateEmbeddings + 1; ++i) {
    entries.push_back(MakeEntry(fmt::format("{:03}", i), static_cast<int64_t>(i)));
    entries.back().query_embedding.clear();
  }
  Store(entries);
  const std::vector<float> query = {1, 0};
  const auto page = log_->Query({.similar_to = query, .embed = [](const WitnessEntry& entry) {
                                   // The trajectories of all others are gone.
                                   return entry.request_id == "000" ? std::vector<float>{3, 0}
                                                                    : std::vector<float>{};
                                 }});
  EXPECT_THAT(IdsOf(page), ElementsAre("000")) << "the oldest";
  EXPECT_FALSE(page->truncated);
}

TEST_F(WitnessTest, ACancelledQueryComputesNoFurtherEmbedding) {
  std::vector<WitnessEntry> entries;
  for (int i = 0; i < 3; ++i) {
    entries.push_back(MakeEntry(fmt::format("{}", i), i));
    entries.back().query_embedding.clear();
  }
  Store(entries);
  const std::vector<float> query = {1, 0};
  int computed = 0;
  const auto page = log_->Query({.similar_to = query,
                                 .embed =
                                     [&computed](const WitnessEntry&) {
                                       ++computed;
                                       return std::vector<float>{1, 0};
                                     },
                                 .cancelled = [&computed] { return computed > 0; }});
  EXPECT_EQ(ReasonOf(page.status()), reasons::kCancelled);
  EXPECT_EQ(computed, 1);
}

TEST_F(WitnessTest, RefusesQueriesThatMakeNoSense) {
  Store({MakeEntry("a", 5)});
  const std::vector<float> vector = {1, 2};
  const std::vector<float> nan = {std::nanf("")};
  EXPECT_EQ(ReasonOf(log_->Query({.limit = 0}).status()), reasons::kInvalidArgument);
  EXPECT_EQ(ReasonOf(log_->Query({.limit = limits::kMaxListPageSize + 1}).status()),
            reasons::kInvalidArgument);
  EXPECT_EQ(ReasonOf(log_->Query({.page_token = "zz"}).status()), reasons::kInvalidArgument);
  EXPECT_EQ(ReasonOf(log_->Query({.page_token = "762f"}).status()), reasons::kInvalidArgument);
  EXPECT_EQ(ReasonOf(log_->Query({.similar_to = nan}).status()), reasons::kInvalidArgument);
  EXPECT_EQ(ReasonOf(log_->Query({.similar_to = vector, .page_token = "00"}).status()),
            reasons::kInvalidArgument);
  EXPECT_EQ(ReasonOf(log_->Stats({.interval_ms = -1}).status()), reasons::kInvalidArgument);
  EXPECT_THAT(IdsOf(log_->Query({.filter = {.from_ms = 9, .to_ms = 3}})), IsEmpty());
  EXPECT_THAT(IdsOf(log_->Query({.filter = {.from_ms = -9, .to_ms = 6}})), ElementsAre("a"));
}

TEST_F(WitnessTest, StatisticsAreExact) {
  std::vector<WitnessEntry> entries;
  for (int i = 0; i < 100; ++i) {
    WitnessEntry entry = MakeEntry(fmt::format("{}", i), 10 * i);
    entry.latency.total_ms = static_cast<float>(100 - i);  // 1 to 100
    entry.latency.generation_ms = entry.latency.total_ms / 2;
    entry.model_used = i < 30 ? "small" : "large";
    entry.quality.reset();
    if (i % 2 == 0) {
      entry.quality = i < 50 ? 0.25F : 0.75F;
    }
    if (i % 10 == 0) {
      entry.error = {i == 0 ? "A" : "B", "m"};
    }
    entries.push_back(entry);
  }
  Store(entries);
  const auto stats = log_->Stats({.interval_ms = 500});
  ASSERT_TRUE(stats.ok()) << stats.status();
  EXPECT_EQ(stats->entries, 100U);
  EXPECT_EQ(stats->failed, 10U);
  EXPECT_EQ(stats->rated, 50U);
  EXPECT_NEAR(stats->mean_quality, 0.5, 1e-9);
  EXPECT_EQ(stats->total.p50_ms, 50);
  EXPECT_EQ(stats->total.p90_ms, 90);
  EXPECT_EQ(stats->total.p99_ms, 99);
  EXPECT_EQ(stats->total.max_ms, 100);
  EXPECT_NEAR(stats->total.mean_ms, 50.5, 1e-4);
  EXPECT_EQ(stats->generation.max_ms, 49.5F);  // the slowest one failed
  EXPECT_EQ(stats->by_model, (std::map<std::string, uint64_t>{{"large", 70}, {"small", 30}}));
  EXPECT_EQ(stats->by_error, (std::map<std::string, uint64_t>{{"A", 1}, {"B", 9}}));
  ASSERT_EQ(stats->intervals.size(), 2U);
  EXPECT_EQ(stats->intervals[1].start_ms, 500);
  EXPECT_EQ(stats->intervals[1].entries, 50U);
  EXPECT_EQ(stats->intervals[0].failed, 5U);
  EXPECT_NEAR(stats->intervals[0].mean_quality, 0.25, 1e-9);
  EXPECT_NEAR(stats->intervals[1].mean_quality, 0.75, 1e-9);
  EXPECT_FALSE(stats->truncated);
}

// Returns the nearest rank, by counting: the smallest value that at least `percent` of all do not
// exceed.
float NearestRank(const std::vector<float>& values, int percent) {
  float best = std::numeric_limits<float>::max();
  for (const float candidate : values) {
    const auto covered = std::count_if(values.begin(), values.end(),
                                       [candidate](float value) { return value <= candidate; });
    if (covered * 100 >= percent * static_cast<std::ptrdiff_t>(values.size())) {
      best = std::min(best, candidate);
    }
  }
  return best;
}

// With a hundred values, a rank that is rounded down equals one that is rounded up.
TEST_F(WitnessTest, PercentilesAreNearestRanksOfAnyNumberOfEntries) {
  std::vector<float> values;
  for (int n = 1; n <= 101; ++n) {
    WitnessEntry entry = MakeEntry(fmt::format("{}", n), n);
    entry.latency.total_ms = static_cast<float>((n * 37) % 101);
    values.push_back(entry.latency.total_ms);
    Store({entry});
    if (n == 1 || n == 2 || n == 7 || n == 99 || n == 101) {
      const auto stats = log_->Stats({});
      EXPECT_EQ(stats->total.p50_ms, NearestRank(values, 50)) << n;
      EXPECT_EQ(stats->total.p90_ms, NearestRank(values, 90)) << n;
      EXPECT_EQ(stats->total.p99_ms, NearestRank(values, 99)) << n;
    }
  }
}

// Found by review: embeddings of equal width were compared, even if they came from different
// models.
TEST_F(WitnessTest, EntriesOfAnotherModelAreNotSimilar) {
  WitnessEntry a = MakeEntry("a", 1);
  a.embedded_by = "package A";
  WitnessEntry b = MakeEntry("b", 2);
  b.embedded_by = "package B";
  Store({a, b});
  Reopen();
  EXPECT_EQ(log_->Get("a")->embedded_by, "package A");
  EXPECT_THAT(IdsOf(log_->Query({.similar_to = a.query_embedding, .embedded_by = "package A"})),
              ElementsAre("a"));
  EXPECT_THAT(IdsOf(log_->Query({.similar_to = a.query_embedding, .embedded_by = "package B"})),
              ElementsAre("b"));
  EXPECT_THAT(IdsOf(log_->Query({})), ElementsAre("b", "a"));
}

TEST_F(WitnessTest, ACancelledQueryEnds) {
  StoreMany(3);
  size_t asked = 0;
  const auto cancelled = [&asked] {
    ++asked;
    return true;
  };
  const std::vector<float> like = {1, 0};
  EXPECT_EQ(ReasonOf(log_->Query({.cancelled = cancelled}).status()), reasons::kCancelled);
  EXPECT_EQ(ReasonOf(log_->Query({.similar_to = like, .cancelled = cancelled}).status()),
            reasons::kCancelled);
  EXPECT_EQ(ReasonOf(log_->Stats({.cancelled = cancelled}).status()), reasons::kCancelled);
  EXPECT_EQ(asked, 3U);
}

TEST_F(WitnessTest, StatisticsOfNothingAndOfTooManyIntervals) {
  EXPECT_EQ(log_->Stats({})->total.p99_ms, 0);
  StoreMany(static_cast<int>(limits::kMaxWitnessIntervals) + 1);
  const auto stats = log_->Stats({.interval_ms = 1000});
  EXPECT_TRUE(stats->truncated);
  EXPECT_EQ(stats->intervals.size(), limits::kMaxWitnessIntervals);
  EXPECT_EQ(stats->entries, limits::kMaxWitnessIntervals);
  EXPECT_EQ(log_->Stats({.filter = {.from_ms = 5000}})->entries, limits::kMaxWitnessIntervals - 4);
}

}  // namespace
}  // namespace ruvd::storage
