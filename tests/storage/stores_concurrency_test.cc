// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Uses the stores of the request path with readers and writers at the same time, for
// ThreadSanitizer.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include "base/random.h"
#include "storage/graph/graph_store.h"
#include "storage/policies/policy_store.h"
#include "storage/sessions/session_index.h"
#include "tests/storage/witness_fixture.h"

namespace ruvd::storage {
namespace {

constexpr int kRounds = 60;

class StoresConcurrencyTest : public StoreTest {
 protected:
  void SetUp() override {
    StoreTest::SetUp();
    database_ = OpenStore();
  }
  void TearDown() override {
    database_.reset();
    StoreTest::TearDown();
  }
  // Runs each job kRounds times in a thread of its own.
  static void RunTogether(const std::vector<std::function<void(int round)>>& jobs) {
    std::vector<std::jthread> threads;
    threads.reserve(jobs.size());
    for (const auto& job : jobs) {
      threads.emplace_back([&job] {
        for (int round = 0; round < kRounds; ++round) {
          job(round);
        }
      });
    }
  }
  std::unique_ptr<Database> database_;
};

TEST_F(StoresConcurrencyTest, WitnessEntriesAreAppendedFlushedQueriedAndExpired) {
  const auto log = WitnessLog::Open(*database_, {.retention = {.capacity = 50}}).value();
  const auto append = [&](const char* prefix) {
    return [&log, prefix, this](int round) {
      EXPECT_TRUE(
          log->Append(MakeEntry(fmt::format("{}{}", prefix, round), round), clock_.Now()).ok());
    };
  };
  RunTogether({append("a"), append("b"), [&](int) { EXPECT_TRUE(log->FlushAll().ok()); },
               [&](int) { EXPECT_TRUE(log->Query({.limit = 10}).ok()); },
               [&](int) { EXPECT_TRUE(log->Stats({}).ok()); },
               [&](int round) { log->SetQuality(fmt::format("a{}", round), 1).IgnoreError(); },
               [&](int) { EXPECT_TRUE(log->ExpireBatch(0).ok()); }});
  ASSERT_TRUE(log->FlushAll().ok());
  const WitnessLogCounts counts = log->counts();
  EXPECT_EQ(counts.stored + counts.expired, 2U * kRounds);
  EXPECT_EQ(IdsOf(log->Query({.limit = limits::kMaxListPageSize})).size(), counts.stored);
}

TEST_F(StoresConcurrencyTest, SessionsAreReadSearchedChangedAndExpired) {
  const auto index =
      SessionIndex::Open(*database_, {.dimension = 2, .idle_limit = std::chrono::milliseconds(20)})
          .value();
  const auto turn = [&](const char* user) {
    return [&index, user](int round) {
      EXPECT_TRUE(index
                      ->Update(fmt::format("s{}", round % 9), round,
                               [&](SessionState* session) {
                                 ++session->turn_count;
                                 session->user_id = user;
                                 session->last_active_ms = round;
                                 session->context_embedding = {1, static_cast<float>(round)};
                               })
                      .ok());
    };
  };
  const std::vector<float> query = {1, 1};
  RunTogether({turn("u"), turn("v"),
               [&](int round) { (void)index->Get(fmt::format("s{}", round % 9)); },
               [&](int) { EXPECT_TRUE(index->Search(query, 5).ok()); },
               [&](int) { EXPECT_TRUE(index->Search(query, 5, {.user_id = "u"}).ok()); },
               [&](int round) { EXPECT_TRUE(index->ExpireBatch(round, 2).ok()); }});
  EXPECT_EQ(index->Find({}, 100).size(), index->size());
}

TEST_F(StoresConcurrencyTest, ACachedPolicyIsNeverOlderThanAFinishedWrite) {
  const auto store = PolicyStore::Open(*database_, {.dimension = 2}).value();
  const auto policy = [](int round) {
    return Policy{.id = PolicyId{1},
                  .parameters = EwcPolicy{.tasks = static_cast<uint32_t>(round)},
                  .embedding = {1, 2}};
  };
  ASSERT_TRUE(store->Put(policy(0)).ok());
  std::atomic<int> written{0};
  const auto read = [&](int) {
    const int at_least = written.load();
    const auto got = store->Get(PolicyId{1});
    ASSERT_TRUE(got.ok());
    EXPECT_GE(static_cast<int>(std::get<EwcPolicy>((*got)->parameters).tasks), at_least);
  };
  const std::vector<float> query = {1, 1};
  RunTogether({[&](int round) {
                 ASSERT_TRUE(store->Put(policy(round)).ok());
                 written.store(round);
               },
               read, read,
               [&](int) { EXPECT_TRUE(store->Search(PolicyKind::kEwc, query, 3).ok()); }});
}

TEST_F(StoresConcurrencyTest, EdgesAreAddedNudgedWalkedAndRemoved) {
  const auto graph = GraphStore::Open(*database_).value();
  const auto node = [](int number) {
    return GraphNode{GraphNodeKind::kSession, fmt::format("{}", number)};
  };
  const auto key = [&](int round) {
    return EdgeKey{node(round % 5), EdgeType::kSimilar, node(5 + round % 7)};
  };
  RunTogether({[&](int round) { graph->Put(key(round), 0.5F).IgnoreError(); },
               [&](int round) { (void)graph->AdjustWeight(key(round), 1); },
               [&](int round) { EXPECT_TRUE(graph->Neighbours(node(round % 5), {}).ok()); },
               [&](int round) {
                 if (round % 10 == 0) {
                   EXPECT_TRUE(graph->RemoveNode(node(round % 5)).ok());
                 }
                 EXPECT_TRUE(graph->RemoveBatch(3).ok());
               }});
  while (graph->RemoveBatch(100).value() > 0) {
  }
  EXPECT_EQ(graph->removals(), 0U);
}

}  // namespace
}  // namespace ruvd::storage
