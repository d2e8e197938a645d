// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Tests the erasure of a user while requests, feedback and the disk are active.

#include "storage/erasure/user_erasure.h"

#include <algorithm>
#include <atomic>
#include <thread>

#include "storage/reasons.h"
#include "storage/verify/row_checks.h"
#include "tests/storage/witness_fixture.h"

namespace ruvd::storage {
namespace {

using testing::IsEmpty;

class UserErasureTest : public WitnessTest {
 protected:
  void SetUp() override {
    WitnessTest::SetUp();
    sessions_ = SessionIndex::Open(*database_, {.dimension = 2}).value();
    trajectories_ = TrajectoryStore::Open(*database_).value();
    changes_ = ChangeStore::Open(*database_).value();
    lessons_ = LessonStore::Open(*database_).value();
  }
  void TearDown() override {
    sessions_.reset();
    trajectories_.reset();
    changes_.reset();
    lessons_.reset();
    WitnessTest::TearDown();
  }
  // Makes a request of a user whose witness entry waits to be written.
  void Request(const std::string& user, const std::string& id) {
    const int64_t now = clock_.WallMillis();
    ASSERT_TRUE(trajectories_
                    ->Put({.response_id = id,
                           .user_id = user,
                           .prompt = "words of " + user,
                           .completion = "answer",
                           .created_ms = now})
                    .ok());
    ASSERT_TRUE(sessions_
                    ->Update("session of " + user, now,
                             [&](SessionState* session) { session->user_id = user; })
                    .ok());
    WitnessEntry entry = MakeEntry(id, now);
    entry.user_id = user;
    ASSERT_TRUE(log_->Append(entry, clock_.Now()).ok());
  }
  absl::StatusOr<UserErasure> Erase(const std::string& user) {
    return EraseUser({.database = database_.get(),
                      .sessions = sessions_.get(),
                      .trajectories = trajectories_.get(),
                      .witness = log_.get(),
                      .changes = changes_.get(),
                      .lessons = lessons_.get()},
                     user);
  }
  std::vector<std::string> Problems() {
    StoreReport report = database_->Verify().value();
    for (const StoreCheck& check : RowChecks()) {
      EXPECT_TRUE(check.run(*database_, &report).ok());
    }
    return report.problems;
  }
  bool HasKey(const std::string& user) const {
    const auto keys = database_->DataKeys();
    return std::ranges::any_of(keys, [&](const DataKeyInfo& key) {
      return key.scope == "user/" + user && key.state != DataKeyInfo::State::kDestroyed;
    });
  }

  std::unique_ptr<SessionIndex> sessions_;
  std::unique_ptr<TrajectoryStore> trajectories_;
  std::unique_ptr<ChangeStore> changes_;
  std::unique_ptr<LessonStore> lessons_;
};

TEST_F(UserErasureTest, NothingOfTheUserCanBeReadAndTheStoreIsWhole) {
  for (const char* user : {"alice", "bob"}) {
    Request(user, std::string("first of ") + user);
    ASSERT_TRUE(log_->FlushAll().ok());
    Request(user, std::string("second of ") + user);
  }
  const auto erasure = Erase("alice");
  ASSERT_TRUE(erasure.ok()) << erasure.status();
  EXPECT_EQ(erasure->sessions, 1U);
  EXPECT_EQ(erasure->trajectories, 2U);
  ASSERT_TRUE(log_->FlushAll().ok());
  for (const bool compacted : {false, true}) {
    if (compacted) {
      ASSERT_TRUE(database_->Compact().ok());
    }
    EXPECT_FALSE(HasKey("alice"));
    EXPECT_EQ(trajectories_->size(), 2U);
    EXPECT_FALSE(trajectories_->Get("first of alice").ok());
    EXPECT_TRUE(trajectories_->Get("second of bob").ok());
    EXPECT_EQ(sessions_->size(), 1U);
    for (const char* id : {"first of alice", "second of alice"}) {
      EXPECT_THAT(log_->Get(id)->query_embedding, IsEmpty());
    }
    EXPECT_THAT(log_->Get("second of bob")->query_embedding, testing::SizeIs(2));
    EXPECT_THAT(Problems(), IsEmpty());
  }
  EXPECT_EQ(ReasonOf(Erase("alice").status()), reasons::kNotFound);
}

TEST_F(UserErasureTest, NeedsNoSpace) {
  Request("alice", "a");
  free_bytes_ = 1500;  // below the soft reserve
  clock_.Advance(std::chrono::seconds(10));
  ASSERT_EQ(ReasonOf(log_->FlushAll()), reasons::kDiskFull);
  EXPECT_TRUE(Erase("alice").ok());
  EXPECT_FALSE(HasKey("alice"));
}

// A crash interrupted this erasure before its rows were removed.
TEST_F(UserErasureTest, ARepetitionRemovesWhatWasLeft) {
  Request("alice", "a");
  ASSERT_TRUE(log_->FlushAll().ok());
  ASSERT_TRUE(database_->Erase(KeyScope::User("alice")).ok());
  ASSERT_TRUE(database_->Compact().ok());
  EXPECT_EQ(trajectories_->size(), 1U);
  EXPECT_EQ(ReasonOf(Erase("alice").status()), reasons::kNotFound);
  EXPECT_EQ(trajectories_->size(), 0U);
}

// Found by review: feedback that had read the text wrote it again, with a new key.
TEST_F(UserErasureTest, FeedbackThatComesMeanwhileBringsNothingBack) {
  for (int round = 0; round < 20; ++round) {
    const std::string id = "r" + std::to_string(round);
    Request("alice", id);
    ASSERT_TRUE(log_->FlushAll().ok());
    std::atomic<bool> begun{false};
    std::thread feedback([&] {
      absl::Status rated;
      while (rated.ok()) {
        rated = trajectories_->SetFeedback(id, {.rating = 1});
        begun.store(true);
      }
      EXPECT_EQ(ReasonOf(rated), reasons::kUnknownResponse);
    });
    while (!begun.load()) {
      std::this_thread::yield();
    }
    EXPECT_TRUE(Erase("alice").ok());
    EXPECT_FALSE(HasKey("alice")) << round;
    EXPECT_FALSE(trajectories_->Get(id).ok()) << round;
    feedback.join();
    EXPECT_FALSE(HasKey("alice")) << round;
  }
}

// Found by review: teaching a session waited for the erasure, and the change was then listed with
// the user's name under a new key.
TEST_F(UserErasureTest, WhatASessionWasTaughtIsNotListedAfterwards) {
  Request("alice", "r");
  ASSERT_TRUE(log_->FlushAll().ok());
  const LearningChange taught{.loop = LearningLoop::kInstant,
                              .kind = ChangeKind::kSessionTaught,
                              .responses = {"r"},
                              .user_id = "alice",
                              .session_id = "session of alice"};
  const auto still = [&] { return trajectories_->Get("r").ok(); };
  ASSERT_TRUE(changes_->Add(taught, {}, still).ok());
  ASSERT_TRUE(Erase("alice").ok());
  EXPECT_TRUE(absl::IsAborted(changes_->Add(taught, {}, still).status()));
  EXPECT_FALSE(HasKey("alice"));
  EXPECT_TRUE(changes_->List(10)->empty());
}

TEST_F(UserErasureTest, LessonsOfTheUserAreGoneAndOthersStay) {
  const std::vector<NewLesson> texts = {{.text = "one"}, {.text = "two"}};
  for (const char* user : {"alice", "bob", ""}) {
    ASSERT_EQ(lessons_->Add({.name = "notes.txt", .user_id = user}, texts)->added, 2U);
  }
  free_bytes_ = 0;  // it needs no space
  clock_.Advance(limits::kReserveProbeInterval);
  ASSERT_EQ(ReasonOf(lessons_->Add({.name = "more.txt"}, texts).status()), reasons::kStoreReadOnly);
  free_bytes_ = 1500;  // below the soft reserve
  clock_.Advance(limits::kReserveProbeInterval);
  const auto erasure = Erase("alice");
  ASSERT_TRUE(erasure.ok()) << erasure.status();
  EXPECT_EQ(erasure->sessions, 0U);
  EXPECT_EQ(erasure->lessons, 2U);
  EXPECT_FALSE(HasKey("alice"));
  EXPECT_EQ(lessons_->size(), 4U);
  for (const bool compacted : {false, true}) {
    if (compacted) {
      free_bytes_ = uint64_t{1} << 40;
      clock_.Advance(limits::kReserveProbeInterval);
      ASSERT_TRUE(database_->Compact().ok());
    }
    EXPECT_TRUE(lessons_->List({.user_id = "alice"})->lessons.empty());
    EXPECT_EQ(lessons_->List({.user_id = "bob"})->lessons.size(), 2U);
    EXPECT_THAT(Problems(), IsEmpty());
  }
  EXPECT_EQ(ReasonOf(Erase("alice").status()), reasons::kNotFound);
}

// What a user gives later is kept with a new key; it has the ids of what was erased.
TEST_F(UserErasureTest, TheSameTextCanBeAddedAgainBeforeTheRemainsAreRemoved) {
  const std::vector<NewLesson> texts = {{.text = "one"}, {.text = "two"}};
  const LessonSource header{.name = "notes.txt", .user_id = "alice"};
  ASSERT_EQ(lessons_->Add(header, texts)->added, 2U);
  ASSERT_TRUE(
      lessons_->WithRewritesPaused([&] { return database_->Erase(KeyScope::User("alice")); }).ok());
  EXPECT_EQ(lessons_->Add(header, texts)->added, 2U);
  EXPECT_EQ(lessons_->size(), 2U);
  EXPECT_EQ(lessons_->List({})->lessons.size(), 2U);
  EXPECT_TRUE(HasKey("alice"));
  EXPECT_THAT(Problems(), IsEmpty());
}

}  // namespace
}  // namespace ruvd::storage
