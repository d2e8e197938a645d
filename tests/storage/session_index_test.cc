// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Tests conversation state: rows, memory, searches, expiry.

#include "storage/sessions/session_index.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <map>

#include "base/random.h"
#include "storage/sessions/session_rows.h"
#include "tests/storage/hooked_files.h"
#include "tests/storage/raw_store.h"
#include "tests/storage/store_fixture.h"

namespace ruvd::storage {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::IsEmpty;

SessionState MakeSession(const std::string& id, int64_t last_active_ms) {
  return {.session_id = id,
          .context_embedding = {1, 2},
          .turn_count = 1,
          .created_ms = 1,
          .last_active_ms = last_active_ms};
}

class SessionIndexTest : public StoreTest {
 protected:
  void SetUp() override {
    StoreTest::SetUp();
    Reopen();
  }
  void TearDown() override {
    index_.reset();
    database_.reset();
    StoreTest::TearDown();
  }
  void Reopen() {
    index_.reset();
    database_.reset();
    database_ = OpenStore();
    auto index = SessionIndex::Open(*database_, options_);
    ASSERT_TRUE(index.ok()) << index.status();
    index_ = std::move(*index);
  }
  std::vector<std::string> Find(const SessionFilter& filter, size_t limit = 100) const {
    std::vector<std::string> ids;
    for (const auto& session : index_->Find(filter, limit)) {
      ids.push_back(session->session_id);
    }
    return ids;
  }
  std::vector<std::string> Search(const std::vector<float>& context, size_t k,
                                  const SessionFilter& filter = {}) const {
    std::vector<std::string> ids;
    const auto hits = index_->Search(context, k, filter);
    EXPECT_TRUE(hits.ok()) << hits.status();
    for (const SessionHit& hit : *hits) {
      ids.push_back(hit.session->session_id);
    }
    return ids;
  }

  SessionIndexOptions options_{.dimension = 2, .idle_limit = milliseconds(1000), .capacity = 50};
  std::unique_ptr<Database> database_;
  std::unique_ptr<SessionIndex> index_;
};

TEST_F(SessionIndexTest, KeepsEveryFieldOverAReopen) {
  const std::vector<CacheQuantization> quantizations = {
      std::monostate(), HighPrecisionTail{64, "fp16"}, QuantizedStore{"q4", 3.5F},
      HybridCache{32, "fp16", "q8"}};
  for (size_t i = 0; i < quantizations.size(); ++i) {
    SessionState session = MakeSession(fmt::format("s{}", i), 10);
    session.user_id = "alice";
    session.active_adapter = "overlay@3";
    session.kv_cache = {.tier = static_cast<CacheTier>(1 + i % 3),
                        .location = "pages/7",
                        .cached_tokens = 123,
                        .quantization = quantizations[i],
                        .created_ms = 5};
    session.history_reference = "response";
    session.metadata = {{"client", "web"}, {"lang", "de"}};
    ASSERT_TRUE(index_->Put(session).ok());
    Reopen();
    const auto got = index_->Get(session.session_id);
    ASSERT_TRUE(got.ok()) << got.status();
    EXPECT_EQ(**got, session);
  }
  EXPECT_EQ(index_->size(), 4U);
}

// Found by review: embeddings of equal width were compared, even if they came from different
// models.
TEST_F(SessionIndexTest, ContextsOfAnotherModelAreFoundByIdOnly) {
  options_.embedded_by = "package A";
  Reopen();
  SessionState session = MakeSession("a", 1);
  session.user_id = "alice";
  session.embedded_by = "package A";
  ASSERT_TRUE(index_->Put(session).ok());
  EXPECT_THAT(Search({1, 2}, 1), ElementsAre("a"));
  options_.embedded_by = "package B";
  Reopen();
  EXPECT_THAT(Search({1, 2}, 1), IsEmpty());
  EXPECT_THAT(Search({1, 2}, 1, {.user_id = "alice"}), IsEmpty());
  ASSERT_TRUE(index_->Get("a").ok());
  // The session continues with the other model; its old context, of whatever width, is kept until
  // then.
  session.context_embedding = {1, 2, 3};
  ASSERT_TRUE(index_->Put(session).ok());
  session.context_embedding = {1, 2};
  session.embedded_by = "package B";
  ASSERT_TRUE(index_->Put(session).ok());
  EXPECT_THAT(Search({1, 2}, 1), ElementsAre("a"));
}

TEST_F(SessionIndexTest, AClockThatWentBackMakesNoSessionTheLongestIdle) {
  options_.capacity = 2;
  Reopen();
  const auto turn = [this](const std::string& id) {
    clock_.Advance(std::chrono::seconds(1));
    const int64_t now_ms = clock_.WallMillis();
    ASSERT_TRUE(index_
                    ->Update(id, now_ms,
                             [now_ms](SessionState* session) { session->last_active_ms = now_ms; })
                    .ok());
  };
  turn("a");
  turn("b");
  clock_.StepWall(-86'400'000);
  turn("c");
  turn("d");
  EXPECT_THAT(Find({}), ElementsAre("d", "c"));
}

TEST_F(SessionIndexTest, EverySearchRefusesTheSameCounts) {
  ASSERT_TRUE(index_->Put(MakeSession("a", 1)).ok());
  const std::vector<float> like = {1, 2};
  for (const SessionFilter& filter : {SessionFilter{}, SessionFilter{.user_id = "alice"}}) {
    for (const size_t k : {size_t{0}, limits::kMaxSearchHits + 1}) {
      EXPECT_EQ(ReasonOf(index_->Search(like, k, filter).status()), reasons::kInvalidArgument);
    }
  }
}

TEST_F(SessionIndexTest, UpdatesBeginAndChangeASession) {
  const auto turn = [this](int64_t now_ms) {
    return index_->Update("s", now_ms, [now_ms](SessionState* session) {
      ++session->turn_count;
      session->last_active_ms = now_ms;
    });
  };
  ASSERT_TRUE(turn(100).ok());
  ASSERT_TRUE(turn(200).ok());
  Reopen();
  EXPECT_EQ((*index_->Get("s"))->turn_count, 2U);
  EXPECT_EQ((*index_->Get("s"))->created_ms, 100);
  EXPECT_EQ((*index_->Get("s"))->last_active_ms, 200);
}

TEST_F(SessionIndexTest, AReaderKeepsTheStateItGot) {
  ASSERT_TRUE(index_->Put(MakeSession("s", 1)).ok());
  const auto held = index_->Get("s");
  ASSERT_TRUE(index_->Delete("s").ok());
  EXPECT_EQ((*held)->last_active_ms, 1);
  EXPECT_EQ(ReasonOf(index_->Get("s").status()), reasons::kNotFound);
  EXPECT_EQ(ReasonOf(index_->Delete("s")), reasons::kNotFound);
}

TEST_F(SessionIndexTest, FindsByUserAdapterAndContext) {
  for (int i = 0; i < 6; ++i) {
    SessionState session = MakeSession(fmt::format("s{}", i), 100 + i);
    session.context_embedding = {std::cos(0.2F * static_cast<float>(i)),
                                 std::sin(0.2F * static_cast<float>(i))};
    session.user_id = i % 2 == 0 ? "alice" : "bob";
    if (i < 3) {
      session.active_adapter = "overlay@1";
    }
    ASSERT_TRUE(index_->Put(session).ok());
  }
  for (int pass = 0; pass < 2; ++pass) {
    EXPECT_THAT(Find({.user_id = "alice"}), ElementsAre("s4", "s2", "s0"));
    EXPECT_THAT(Find({.adapter = "overlay@1"}), ElementsAre("s2", "s1", "s0"));
    EXPECT_THAT(Find({.user_id = "bob", .adapter = "overlay@1"}), ElementsAre("s1"));
    EXPECT_THAT(Find({}, 2), ElementsAre("s5", "s4"));
    EXPECT_THAT(Find({.user_id = "carol"}), IsEmpty());
    EXPECT_THAT(Search({1, 0}, 2), ElementsAre("s0", "s1"));
    EXPECT_THAT(Search({1, 0}, 2, {.user_id = "bob"}), ElementsAre("s1", "s3"));
    EXPECT_THAT(Search({1, 0}, 5, {.user_id = "bob", .adapter = "overlay@1"}), ElementsAre("s1"));
    Reopen();
  }
  EXPECT_EQ(ReasonOf(index_->Search(std::vector<float>{1, 2, 3}, 1).status()),
            reasons::kWrongDimension);
  ASSERT_TRUE(index_
                  ->Update("s1", 1,
                           [](SessionState* session) {
                             session->active_adapter = "other@2";
                             session->context_embedding.clear();
                           })
                  .ok());
  EXPECT_THAT(Find({.adapter = "overlay@1"}), ElementsAre("s2", "s0"));
  EXPECT_THAT(Search({1, 0}, 2), ElementsAre("s0", "s2"));
}

TEST_F(SessionIndexTest, IdleSessionsExpireInBoundedSteps) {
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(index_->Put(MakeSession(fmt::format("s{}", i), 100 * i)).ok());
  }
  EXPECT_EQ(index_->ExpireBatch(1000, 3).value(), 0U);
  EXPECT_EQ(index_->ExpireBatch(1501, 3).value(), 3U);
  EXPECT_EQ(index_->ExpireBatch(1501, 3).value(), 3U);
  EXPECT_EQ(index_->ExpireBatch(1501, 3).value(), 0U);
  EXPECT_THAT(Find({}), ElementsAre("s9", "s8", "s7", "s6"));
  EXPECT_EQ(Search({1, 2}, 10).size(), 4U);
  Reopen();
  EXPECT_THAT(Find({}), ElementsAre("s9", "s8", "s7", "s6"));
}

TEST_F(SessionIndexTest, TheLongestIdleMakesRoom) {
  options_.capacity = 3;
  Reopen();
  for (const auto& [id, time] : std::vector<std::pair<std::string, int64_t>>{
           {"a", 30}, {"b", 10}, {"c", 20}, {"d", 5}, {"a", 40}}) {
    ASSERT_TRUE(index_->Put(MakeSession(id, time)).ok());
  }
  EXPECT_THAT(Find({}), ElementsAre("a", "c", "d"));
  Reopen();
  EXPECT_THAT(Find({}), ElementsAre("a", "c", "d"));
}

TEST_F(SessionIndexTest, AUserIsForgotten) {
  for (int i = 0; i < 5; ++i) {
    SessionState session = MakeSession(fmt::format("s{}", i), i);
    session.user_id = i < 3 ? "alice" : "bob";
    ASSERT_TRUE(index_->Put(session).ok());
  }
  EXPECT_EQ(index_->ForgetUser("alice", 2).value(), 2U);
  EXPECT_EQ(index_->ForgetUser("alice", 2).value(), 1U);
  Reopen();
  EXPECT_THAT(Find({}), ElementsAre("s4", "s3"));
}

TEST_F(SessionIndexTest, ItsOwnerHearsOfEverySessionThatGoes) {
  std::vector<std::string> gone;
  options_.capacity = 4;
  options_.on_removal = [&gone](const std::string& id) { gone.push_back(id); };
  Reopen();
  for (int i = 0; i < 4; ++i) {
    SessionState session = MakeSession(fmt::format("s{}", i), 100 * i);
    session.user_id = i == 3 ? std::optional<std::string>("alice") : std::nullopt;
    ASSERT_TRUE(index_->Put(session).ok());
  }
  EXPECT_THAT(gone, IsEmpty());
  ASSERT_TRUE(index_->Put(MakeSession("new", 400)).ok());
  EXPECT_THAT(gone, ElementsAre("s0"));
  ASSERT_TRUE(index_->Delete("s2").ok());
  EXPECT_THAT(gone, ElementsAre("s0", "s2"));
  EXPECT_EQ(index_->ForgetUser("alice", 5).value(), 1U);
  EXPECT_EQ(index_->ExpireBatch(100'000, 5).value(), 2U);
  EXPECT_THAT(gone, ElementsAre("s0", "s2", "s3", "s1", "new"));
}

TEST_F(SessionIndexTest, RefusesStatesThatCannotBeStored) {
  const auto reason = [this](SessionState session) {
    return ReasonOf(index_->Put(std::move(session)));
  };
  EXPECT_EQ(reason(MakeSession("", 1)), reasons::kInvalidArgument);
  EXPECT_EQ(reason(MakeSession("a", -1)), reasons::kInvalidArgument);
  SessionState session = MakeSession("a", 1);
  session.user_id = "";
  EXPECT_EQ(reason(session), reasons::kInvalidArgument);
  session = MakeSession("a", 1);
  session.context_embedding = {1, 2, 3};
  EXPECT_EQ(reason(session), reasons::kWrongDimension);
  session = MakeSession("a", 1);
  session.metadata["k"] = std::string(limits::kMaxSessionTextBytes, 'x');
  EXPECT_EQ(reason(session), reasons::kLimitExceeded);
  session = MakeSession("a", 1);
  session.kv_cache = {.tier = static_cast<CacheTier>(4)};
  EXPECT_EQ(reason(session), reasons::kInvalidArgument);
  session.kv_cache = {.quantization = QuantizedStore{"q4", NAN}};
  EXPECT_EQ(reason(session), reasons::kInvalidArgument);
  EXPECT_EQ(index_->size(), 0U);
}

// Compares random changes with a map, with reopening in between.
TEST_F(SessionIndexTest, AgreesWithAModel) {
  Random random(11);
  std::map<std::string, SessionState> model;
  int64_t now_ms = 0;
  for (int step = 0; step < 400; ++step) {
    now_ms += static_cast<int64_t>(random.Below(20));
    const std::string id = fmt::format("s{}", random.Below(40));
    const uint64_t what = random.Below(20);
    if (what < 14) {
      SessionState session = MakeSession(id, now_ms);
      session.context_embedding = {static_cast<float>(random.Normal()),
                                   static_cast<float>(random.Normal())};
      session.turn_count = static_cast<uint32_t>(random.Below(9));
      if (random.Bernoulli(0.7)) {
        session.user_id = fmt::format("u{}", random.Below(3));
      }
      ASSERT_TRUE(index_->Put(session).ok());
      model[id] = session;
    } else if (what < 17) {
      EXPECT_EQ(index_->Delete(id).ok(), model.erase(id) == 1);
    } else if (what < 19) {
      while (index_->ExpireBatch(now_ms + 900, 5).value() == 5) {
      }
      std::erase_if(model,
                    [&](const auto& item) { return item.second.last_active_ms < now_ms - 100; });
    } else {
      Reopen();
    }
    ASSERT_EQ(index_->size(), model.size()) << step;
  }
  size_t of_user = 0;
  for (const auto& [id, session] : model) {
    ASSERT_EQ(**index_->Get(id), session);
    of_user += session.user_id == "u1" ? 1 : 0;
    EXPECT_EQ(Search(session.context_embedding, 1).size(), 1U);
  }
  EXPECT_EQ(Find({.user_id = "u1"}).size(), of_user);
  EXPECT_EQ(Search({1, 0}, 100).size(), model.size());
}

TEST(SessionRowsTest, OtherBytesAreRefused) {
  for (const char* bytes : {"", "\xFF\xFF", "text"}) {
    EXPECT_EQ(ReasonOf(sessions::DecodeSession(bytes).status()), reasons::kStoreCorrupt);
  }
}

// Regression test: a turn that ended while the keys were destroyed wrote the whole conversation
// again, under a new key.
TEST_F(SessionIndexTest, AUserWhoTalksWhileErasedBeginsAnew) {
  const auto files = std::make_shared<HookedFiles>();
  std::atomic<bool> armed = false;
  uint64_t turns_known = 0;
  files->before_new = [&](const std::string& name) {
    if (name.ends_with(".sst") && armed.exchange(false)) {
      EXPECT_TRUE(index_
                      ->Update("s", 500,
                               [&](SessionState* session) {
                                 turns_known = session->turn_count;
                                 session->user_id = "alice";
                                 session->turn_count = 1;
                                 session->last_active_ms = 500;
                               })
                      .ok());
    }
    return rocksdb::IOStatus::OK();
  };
  index_.reset();
  database_.reset();
  DatabaseOptions options = Options();
  options.file_system = files;
  database_ = OpenStore(options);
  index_ = SessionIndex::Open(*database_, options_).value();
  SessionState old = MakeSession("s", 400);
  old.user_id = "alice";
  old.turn_count = 7;
  ASSERT_TRUE(index_->Put(old).ok());
  armed = true;
  const auto erase = [this](const std::string& user) {
    return index_->EraseUser(user, 1,
                             [this, user] { return database_->Erase(KeyScope::User(user)); });
  };
  EXPECT_EQ(erase("alice").value(), 1U);
  EXPECT_FALSE(armed);  // it did talk
  EXPECT_EQ(turns_known, 0U);
  EXPECT_EQ(index_->size(), 0U);
  EXPECT_EQ(ReasonOf(erase("bob").status()), reasons::kNotFound);
  index_.reset();
  database_.reset();
}

// Regression test: one row that does not open kept the node from starting.
TEST_F(SessionIndexTest, ADamagedRowCostsOneConversation) {
  ASSERT_TRUE(index_->Put(MakeSession("a", 1)).ok());
  ASSERT_TRUE(index_->Put(MakeSession("b", 2)).ok());
  index_.reset();
  database_.reset();
  DamageRows(Options().path, {{ColumnFamily::kSession, sessions::SessionKey("a")}});
  Reopen();
  EXPECT_EQ(index_->undecodable(), 1U);
  EXPECT_EQ(index_->size(), 1U);
  EXPECT_TRUE(index_->Get("b").ok());
}

}  // namespace
}  // namespace ruvd::storage
