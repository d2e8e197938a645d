// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Tests the write-behind queue of the witness log, and what it stores.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <limits>
#include <map>

#include "base/random.h"
#include "storage/reasons.h"
#include "storage/witness/witness_queue.h"
#include "storage/witness/witness_rows.h"
#include "tests/storage/raw_store.h"
#include "tests/storage/witness_fixture.h"

namespace ruvd::storage {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;

TimePoint At(int64_t ms) {
  return TimePoint(milliseconds(ms));
}

TEST(WitnessQueueTest, IsDueByCountOrByAge) {
  WitnessQueue queue({.batch = 2, .max_wait = milliseconds(1000), .capacity = 3});
  EXPECT_EQ(queue.NextDue(), std::nullopt);
  EXPECT_FALSE(queue.Due(At(5000)));
  EXPECT_TRUE(queue.Push(MakeEntry("a", 1), At(100)));
  EXPECT_EQ(queue.NextDue(), At(1100));
  EXPECT_FALSE(queue.Due(At(1099)));
  EXPECT_TRUE(queue.Due(At(1100)));
  EXPECT_TRUE(queue.Push(MakeEntry("b", 2), At(200)));
  EXPECT_TRUE(queue.Due(At(200)));
  EXPECT_EQ(queue.Take().size(), 2U);
  EXPECT_FALSE(queue.Due(At(9000)));
}

TEST(WitnessQueueTest, RefusesAndCountsAboveItsCapacityAndKeepsOrder) {
  WitnessQueue queue({.batch = 2, .capacity = 3});
  for (const char* id : {"a", "b", "c"}) {
    EXPECT_TRUE(queue.Push(MakeEntry(id, 1), At(0)));
  }
  WitnessEntry late = MakeEntry("d", 1);
  EXPECT_FALSE(queue.Push(std::move(late), At(0)));
  EXPECT_EQ(late.request_id, "d");
  EXPECT_EQ(queue.refused(), 1U);
  EXPECT_EQ(queue.accepted(), 3U);
  std::vector<WitnessEntry> batch = queue.Take();
  queue.PutBack(std::move(batch));
  EXPECT_EQ(queue.size(), 3U);
  batch = queue.Take();
  EXPECT_EQ(batch[0].request_id, "a");
  EXPECT_EQ(batch[1].request_id, "b");
  EXPECT_NE(queue.Find("c"), nullptr);
  EXPECT_EQ(queue.Find("a"), nullptr);
}

TEST_F(WitnessTest, KeepsEveryFieldOverAReopen) {
  WitnessEntry failed = MakeEntry("bad", 20);
  failed.quality.reset();
  failed.error = {"CONTEXT_TOO_LONG", "too long; shorten it"};
  Store({MakeEntry("good", 10), failed});
  Reopen();
  EXPECT_EQ(log_->counts().stored, 2U);
  const auto good = log_->Get("good");
  ASSERT_TRUE(good.ok()) << good.status();
  const WitnessEntry want = MakeEntry("good", 10);
  EXPECT_EQ(good->session_id, want.session_id);
  EXPECT_EQ(good->query_embedding, want.query_embedding);
  EXPECT_EQ(good->response_embedding, want.response_embedding);
  EXPECT_EQ(good->routing.model, "m");
  EXPECT_EQ(good->routing.context_size, 512U);
  EXPECT_EQ(good->routing.model_probs, want.routing.model_probs);
  EXPECT_EQ(good->routing.confidence, 0.5F);
  EXPECT_EQ(good->routing.route, want.routing.route);
  EXPECT_FALSE(good->routing.route.empty());
  EXPECT_EQ(good->quality, 0.5F);
  EXPECT_EQ(good->latency.queue_ms, 6);
  EXPECT_EQ(good->latency.total_ms, 15);
  EXPECT_EQ(good->retrieved_ids, want.retrieved_ids);
  EXPECT_EQ(good->adapters, want.adapters);
  EXPECT_EQ(good->timestamp_ms, 10);
  EXPECT_EQ(good->completion_tokens, 8U);
  EXPECT_EQ(good->memory_entries, 2010U);
  EXPECT_EQ(good->memory_share, 0.125F);
  EXPECT_FALSE(good->error.has_value());
  const auto bad = log_->Get("bad");
  ASSERT_TRUE(bad.ok());
  EXPECT_EQ(bad->quality, std::nullopt);
  EXPECT_EQ(bad->error->reason, "CONTEXT_TOO_LONG");
  EXPECT_EQ(ReasonOf(log_->Get("other").status()), reasons::kNotFound);
}

TEST_F(WitnessTest, WritesOnlyWhenDueAndShowsQueuedEntriesById) {
  ASSERT_TRUE(log_->Append(MakeEntry("a", 1), At(0)).ok());
  EXPECT_EQ(log_->FlushDue(At(999)).value(), 0U);
  EXPECT_EQ(log_->counts().queued, 1U);
  EXPECT_TRUE(log_->Get("a").ok());
  EXPECT_EQ(log_->NextDue(), At(1000));
  EXPECT_EQ(log_->FlushDue(At(1000)).value(), 1U);
  EXPECT_EQ(log_->counts().queued, 0U);
  EXPECT_EQ(log_->counts().stored, 1U);
  for (int i = 0; i < 150; ++i) {
    ASSERT_TRUE(log_->Append(MakeEntry(fmt::format("b{}", i), i), At(2000)).ok());
  }
  EXPECT_EQ(log_->FlushDue(At(2000)).value(), 100U);
  EXPECT_EQ(log_->FlushDue(At(2000)).value(), 0U);
  ASSERT_TRUE(log_->FlushAll().ok());
  EXPECT_EQ(log_->counts().stored, 151U);
}

TEST_F(WitnessTest, ARequestIsWitnessedOnce) {
  Store({MakeEntry("a", 1), MakeEntry("a", 2)});
  Store({MakeEntry("a", 3), MakeEntry("b", 4)});
  EXPECT_THAT(IdsOf(log_->Query({})), ElementsAre("b", "a"));
  EXPECT_EQ(log_->Get("a")->timestamp_ms, 1);
  EXPECT_EQ(log_->counts().stored, 2U);
  EXPECT_EQ(log_->counts().duplicates, 2U);
}

TEST_F(WitnessTest, NothingAcceptedIsLostWhileTheStoreRefuses) {
  options_.queue = {.batch = 2, .capacity = 3};
  Reopen();
  free_bytes_ = 0;
  clock_.Advance(std::chrono::seconds(10));
  for (const char* id : {"a", "b", "c"}) {
    ASSERT_TRUE(log_->Append(MakeEntry(id, 1), clock_.Now()).ok());
  }
  EXPECT_EQ(ReasonOf(log_->FlushDue(clock_.Now()).status()), reasons::kStoreReadOnly);
  EXPECT_EQ(ReasonOf(log_->Append(MakeEntry("d", 1), clock_.Now())), reasons::kMailboxFull);
  EXPECT_EQ(log_->counts().refused, 1U);
  EXPECT_EQ(log_->counts().queued, 3U);
  free_bytes_ = uint64_t{1} << 40;
  clock_.Advance(std::chrono::seconds(10));
  ASSERT_TRUE(log_->FlushAll().ok());
  EXPECT_THAT(IdsOf(log_->Query({.oldest_first = true})), ElementsAre("a", "b", "c"));
}

TEST_F(WitnessTest, QualityIsNotedBeforeAndAfterTheWrite) {
  WitnessEntry entry = MakeEntry("a", 1);
  entry.quality.reset();
  ASSERT_TRUE(log_->Append(entry, At(0)).ok());
  ASSERT_TRUE(log_->SetQuality("a", 0.25F).ok());
  ASSERT_TRUE(log_->FlushAll().ok());
  EXPECT_EQ(log_->Get("a")->quality, 0.25F);
  ASSERT_TRUE(log_->SetQuality("a", 1).ok());
  Reopen();
  EXPECT_EQ(log_->Get("a")->quality, 1.0F);
  EXPECT_EQ(log_->Get("a")->query_embedding, entry.query_embedding);
  EXPECT_EQ(ReasonOf(log_->SetQuality("b", 1)), reasons::kNotFound);
  EXPECT_EQ(ReasonOf(log_->SetQuality("a", 1.5F)), reasons::kInvalidArgument);
}

TEST_F(WitnessTest, AnEntryIsWorthMoreThanItsDamagedEmbeddings) {
  const WitnessEntry entry = MakeEntry("a", 1);
  ASSERT_TRUE(log_->Append(entry, At(0)).ok());
  ASSERT_TRUE(log_->FlushAll().ok());
  const std::string key = witness::EmbeddingsKey(witness::RecordKey(entry.timestamp_ms, "a"));
  ASSERT_TRUE(database_->Get(ColumnFamily::kWitness, key).ok());
  log_.reset();
  database_.reset();
  DamageRows(Options().path, {{ColumnFamily::kWitness, key}});
  Reopen();
  ASSERT_TRUE(log_->SetQuality("a", 0.75F).ok());
  const auto found = log_->Get("a");
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->quality, 0.75F);
  EXPECT_TRUE(found->query_embedding.empty());
}

TEST_F(WitnessTest, RefusesEntriesThatCannotBeStored) {
  const auto reason = [this](const WitnessEntry& entry) {
    return ReasonOf(log_->Append(entry, At(0)));
  };
  EXPECT_EQ(reason(MakeEntry("", 1)), reasons::kInvalidArgument);
  EXPECT_EQ(reason(MakeEntry("a", -1)), reasons::kInvalidArgument);
  WitnessEntry entry = MakeEntry("a", 1);
  entry.quality = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(reason(entry), reasons::kInvalidArgument);
  entry = MakeEntry("a", 1);
  entry.latency.total_ms = std::numeric_limits<float>::infinity();
  EXPECT_EQ(reason(entry), reasons::kInvalidArgument);
  entry = MakeEntry("a", 1);
  entry.query_embedding.resize(limits::kMaxDimension + 1);
  EXPECT_EQ(reason(entry), reasons::kLimitExceeded);
  entry = MakeEntry("a", 1);
  entry.error = {"X", std::string(limits::kMaxWitnessTextBytes, 'x')};
  EXPECT_EQ(reason(entry), reasons::kLimitExceeded);
  EXPECT_EQ(log_->counts().queued, 0U);
}

// Evaluates a filter by a second implementation, independent of Matches.
bool Meant(const WitnessFilter& filter, const WitnessEntry& entry) {
  std::vector<bool> holds;
  holds.push_back(filter.from_ms <= entry.timestamp_ms);
  holds.push_back(entry.timestamp_ms < filter.to_ms.value_or(entry.timestamp_ms + 1));
  if (filter.min_quality) {
    holds.push_back(entry.quality.value_or(-1) >= *filter.min_quality);
  }
  if (filter.min_total_ms) {
    holds.push_back(!(entry.latency.total_ms < *filter.min_total_ms));
  }
  switch (filter.outcome) {
    case WitnessOutcome::kAny:
      break;
    case WitnessOutcome::kOk:
      holds.push_back(entry.error == std::nullopt);
      break;
    case WitnessOutcome::kFailed:
      holds.push_back(entry.error != std::nullopt);
      break;
  }
  for (const auto& [wanted, is] :
       {std::pair(filter.session_id, entry.session_id), std::pair(filter.model, entry.model_used),
        std::pair(filter.error_reason, entry.error ? entry.error->reason : "none")}) {
    holds.push_back(wanted.empty() || wanted == is);
  }
  return std::all_of(holds.begin(), holds.end(), [](bool one) { return one; });
}

// Compares random entries and queries with a plain list.
TEST_F(WitnessTest, QueriesAgreeWithAModel) {
  Random random(7);
  std::vector<WitnessEntry> model;
  for (int i = 0; i < 300; ++i) {
    WitnessEntry entry = MakeEntry(fmt::format("{:03}", i), static_cast<int64_t>(random.Below(50)));
    entry.latency.total_ms = static_cast<float>(random.Below(10));
    entry.quality.reset();
    if (random.Bernoulli(0.7)) {
      entry.quality = static_cast<float>(random.Uniform());
    }
    if (random.Bernoulli(0.3)) {
      entry.error = {random.Bernoulli(0.5) ? "A" : "B", "m"};
    }
    entry.session_id = random.Bernoulli(0.5) ? "s" : "t";
    entry.model_used = random.Bernoulli(0.5) ? "m" : "n";
    model.push_back(std::move(entry));
  }
  Store(model);
  Reopen();
  std::sort(model.begin(), model.end(), [](const WitnessEntry& a, const WitnessEntry& b) {
    return std::pair(a.timestamp_ms, a.request_id) < std::pair(b.timestamp_ms, b.request_id);
  });
  for (int round = 0; round < 60; ++round) {
    WitnessQuery query;
    query.filter.from_ms = static_cast<int64_t>(random.Below(40));
    if (random.Bernoulli(0.5)) {
      query.filter.to_ms = static_cast<int64_t>(random.Below(60));
    }
    if (random.Bernoulli(0.3)) {
      query.filter.min_quality = static_cast<float>(random.Uniform());
    }
    if (random.Bernoulli(0.3)) {
      query.filter.min_total_ms = static_cast<float>(random.Below(10));
    }
    query.filter.outcome = static_cast<WitnessOutcome>(random.Below(3));
    query.filter.session_id = random.Bernoulli(0.3) ? "s" : "";
    query.filter.model = random.Bernoulli(0.3) ? "m" : "";
    query.filter.error_reason = random.Bernoulli(0.2) ? "A" : "";
    query.limit = 1 + random.Below(40);
    query.oldest_first = random.Bernoulli(0.5);
    std::vector<std::string> want;
    for (const WitnessEntry& entry : model) {
      if (Meant(query.filter, entry)) {
        want.push_back(entry.request_id);
      }
    }
    if (!query.oldest_first) {
      std::reverse(want.begin(), want.end());
    }
    std::vector<std::string> got;
    do {
      const auto page = log_->Query(query);
      const std::vector<std::string> ids = IdsOf(page);
      ASSERT_LE(ids.size(), query.limit);
      got.insert(got.end(), ids.begin(), ids.end());
      query.page_token = page->next_page_token;
    } while (!query.page_token.empty());
    EXPECT_EQ(got, want) << round;
  }
}

class WitnessUsersTest : public WitnessTest {
 protected:
  static WitnessEntry EntryOf(const std::string& user, const std::string& id) {
    WitnessEntry entry = MakeEntry(id, 1000);
    entry.user_id = user;
    return entry;
  }
  absl::Status Erase(const std::string& user) {
    return log_->EraseUser(user, [&] { return database_->Erase(KeyScope::User(user)); }).status();
  }
  void OpenWith(size_t max_user_keys) {
    log_.reset();
    database_.reset();
    DatabaseOptions options = Options();
    options.max_user_keys = max_user_keys;
    database_ = OpenStore(options);
    log_ = WitnessLog::Open(*database_, options_).value();
  }
};

// Found by review: one new user blocked the entries of all users for ever.
TEST_F(WitnessUsersTest, AUserWhoCannotGetAKeyCostsTheEmbeddingsOnly) {
  OpenWith(2);
  ASSERT_TRUE(database_->EnsureKey(KeyScope::User("alice")).ok());
  ASSERT_TRUE(database_->EnsureKey(KeyScope::User("bob")).ok());
  for (const char* user : {"alice", "carol", "", "bob"}) {
    ASSERT_TRUE(log_->Append(EntryOf(user, std::string("of ") + user), clock_.Now()).ok());
  }
  ASSERT_TRUE(log_->FlushAll().ok());
  EXPECT_EQ(log_->counts().stored, 4U);
  EXPECT_EQ(log_->counts().without_key, 1U);
  EXPECT_THAT(log_->Get("of carol")->query_embedding, testing::IsEmpty());
  EXPECT_THAT(log_->Get("of bob")->query_embedding, testing::SizeIs(2));
  EXPECT_THAT(log_->Get("of ")->query_embedding, testing::SizeIs(2));
}

TEST_F(WitnessUsersTest, WhatWaitsOfAnErasedUserIsWrittenWithoutEmbeddings) {
  Store({EntryOf("alice", "stored")});
  ASSERT_TRUE(log_->Append(EntryOf("alice", "queued"), clock_.Now()).ok());
  ASSERT_TRUE(log_->Append(EntryOf("bob", "his"), clock_.Now()).ok());
  free_bytes_ = 1990;  // below the soft reserve: nothing can be flushed
  clock_.Advance(std::chrono::seconds(10));
  ASSERT_EQ(ReasonOf(log_->FlushAll()), reasons::kDiskFull);
  ASSERT_TRUE(Erase("alice").ok());
  free_bytes_ = uint64_t{1} << 40;
  clock_.Advance(std::chrono::seconds(10));
  ASSERT_TRUE(log_->FlushAll().ok());
  for (const DataKeyInfo& key : database_->DataKeys()) {
    EXPECT_TRUE(key.scope != "user/alice" || key.state == DataKeyInfo::State::kDestroyed);
  }
  EXPECT_THAT(log_->Get("queued")->query_embedding, testing::IsEmpty());
  EXPECT_THAT(log_->Get("his")->query_embedding, testing::SizeIs(2));
  EXPECT_EQ(ReasonOf(Erase("nobody")), reasons::kNotFound);
}

TEST_F(WitnessUsersTest, AUserOfWhomSomethingWaitsOnlyCanBeErased) {
  ASSERT_TRUE(log_->Append(EntryOf("alice", "queued"), clock_.Now()).ok());
  EXPECT_TRUE(Erase("alice").ok());
  ASSERT_TRUE(log_->FlushAll().ok());
  EXPECT_THAT(log_->Get("queued")->query_embedding, testing::IsEmpty());
}

// Found by review: reading an entry that is listed failed with "no row 762f.. in witness".
TEST_F(WitnessUsersTest, AnEntryOfAnErasedUserIsReadAndRatedAfterCompaction) {
  Store({EntryOf("alice", "hers")});
  ASSERT_TRUE(Erase("alice").ok());
  for (const bool compacted : {false, true}) {
    if (compacted) {
      ASSERT_TRUE(database_->Compact().ok());
    }
    ASSERT_TRUE(log_->SetQuality("hers", 0.25F).ok());
    const auto entry = log_->Get("hers");
    ASSERT_TRUE(entry.ok()) << entry.status();
    EXPECT_EQ(entry->quality, 0.25F);
    EXPECT_TRUE(entry->of_user);
    EXPECT_THAT(entry->query_embedding, testing::IsEmpty());
  }
}

// Found by review: rows that can be computed again kept the node from starting.
TEST_F(WitnessUsersTest, ADamagedCountOrExpiryIsMadeAnew) {
  StoreMany(3);
  Batch batch;
  batch.Put(ColumnFamily::kWitness, witness::kExpiryKey, "x");
  ASSERT_TRUE(database_->Write(std::move(batch), Durability::kProcessCrash).ok());
  log_.reset();
  database_.reset();
  DamageRows(Options().path, {{ColumnFamily::kWitness, witness::kExpiryKey},
                              {ColumnFamily::kWitness, witness::kCountKey}});
  Reopen();
  ASSERT_NE(log_, nullptr);
  EXPECT_EQ(log_->counts().stored, 3U);
  Store({EntryOf("", "e3")});
  Reopen();
  EXPECT_EQ(log_->counts().stored, 4U);
}

}  // namespace
}  // namespace ruvd::storage
