// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/trajectories/trajectory_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/reasons.h"
#include "base/status.h"
#include "storage/reasons.h"
#include "storage/trajectories/trajectory_rows.h"
#include "tests/storage/raw_store.h"
#include "tests/storage/store_fixture.h"

namespace ruvd::storage {
namespace {

using testing::ElementsAre;

Trajectory MakeTrajectory(const std::string& id, int64_t created_ms) {
  return {.response_id = id,
          .session_id = "session",
          .prompt = "what is " + id,
          .prompt_tokens = {1, 300, 70000},
          .completion = "it is " + id,
          .embedding = {0.5F, -1.0F},
          .mode = 2,
          .step_t = {1.0F, 0.5F},
          .step_entropy = {2.0F, 0.25F},
          .adapters = {"overlay@1", "core@7"},
          .patterns = {{1, 2}, {3}},
          .created_ms = created_ms};
}

class TrajectoryStoreTest : public StoreTest {
 protected:
  void OpenTrajectories(size_t capacity = 3) {
    store_.reset();
    database_.reset();
    database_ = OpenStore();
    auto store =
        TrajectoryStore::Open(*database_, {.capacity = capacity, .feedback_capacity = capacity});
    ASSERT_TRUE(store.ok()) << store.status();
    store_ = std::move(*store);
  }
  std::vector<std::string> IdsSince(int64_t created_ms, size_t limit = 100) {
    std::vector<std::string> ids;
    EXPECT_TRUE(store_
                    ->ForEachSince(created_ms,
                                   [&](const Trajectory& trajectory) {
                                     ids.push_back(trajectory.response_id);
                                     return ids.size() < limit;
                                   })
                    .ok());
    return ids;
  }
  void TearDown() override {
    store_.reset();
    database_.reset();
    StoreTest::TearDown();
  }

  std::unique_ptr<Database> database_;
  std::unique_ptr<TrajectoryStore> store_;
};

TEST_F(TrajectoryStoreTest, KeepsEveryFieldAndFeedbackOverAReopen) {
  OpenTrajectories();
  ASSERT_TRUE(store_->Put(MakeTrajectory("a", 5)).ok());
  ASSERT_TRUE(
      store_->SetFeedback("a", {.rating = 0.25F, .edited_text = "worse", .accepted = true}).ok());
  ASSERT_TRUE(store_->SetFeedback("a", {.edited_text = "better"}).ok());
  OpenTrajectories();
  const auto trajectory = store_->Get("a");
  ASSERT_TRUE(trajectory.ok()) << trajectory.status();
  const Trajectory expected = MakeTrajectory("a", 5);
  EXPECT_EQ(trajectory->session_id, expected.session_id);
  EXPECT_EQ(trajectory->prompt, expected.prompt);
  EXPECT_EQ(trajectory->prompt_tokens, expected.prompt_tokens);
  EXPECT_EQ(trajectory->completion, expected.completion);
  EXPECT_EQ(trajectory->embedding, expected.embedding);
  EXPECT_EQ(trajectory->mode, expected.mode);
  EXPECT_EQ(trajectory->step_t, expected.step_t);
  EXPECT_EQ(trajectory->step_entropy, expected.step_entropy);
  EXPECT_EQ(trajectory->adapters, expected.adapters);
  EXPECT_EQ(trajectory->patterns, expected.patterns);
  EXPECT_EQ(trajectory->created_ms, expected.created_ms);
  EXPECT_EQ(trajectory->rating, 0.25F);
  EXPECT_EQ(trajectory->edited_text, "better");
  EXPECT_EQ(trajectory->accepted, true);
  EXPECT_EQ(store_->size(), 1U);
}

// Found by review: a completion that was accepted and then rated 0 continued to teach its text.
TEST_F(TrajectoryStoreTest, OfARatingAndAnAcceptanceTheLastOneCounts) {
  OpenTrajectories();
  ASSERT_TRUE(store_->Put(MakeTrajectory("a", 5)).ok());
  ASSERT_TRUE(store_->SetFeedback("a", {.accepted = true}).ok());
  ASSERT_TRUE(store_->SetFeedback("a", {.rating = 0.0F}).ok());
  EXPECT_EQ(store_->Get("a")->accepted, std::nullopt);
  EXPECT_EQ(store_->Get("a")->rating, 0.0F);
  ASSERT_TRUE(store_->SetFeedback("a", {.copied = true}).ok());
  EXPECT_EQ(store_->Get("a")->rating, 0.0F) << "what users do replaces nothing that they said";
  ASSERT_TRUE(store_->SetFeedback("a", {.accepted = false}).ok());
  EXPECT_EQ(store_->Get("a")->rating, std::nullopt);
  EXPECT_EQ(store_->Get("a")->accepted, false);
}

TEST_F(TrajectoryStoreTest, KeepsHowItWasServedOverAReopenAndWithFeedback) {
  OpenTrajectories();
  Trajectory routed = MakeTrajectory("a", 5);
  routed.route = {.name = "half_steps",
                  .others = {"as_asked", "no_adapters"},
                  .features = {0.5F, 0, -1.25F},
                  .propensity = 0.0125F,
                  .probability = 0.75F,
                  .explored = true,
                  .seconds = 0.5F,
                  .tokens = 64};
  ASSERT_TRUE(store_->Put(routed).ok());
  ASSERT_TRUE(store_->Put(MakeTrajectory("b", 6)).ok());
  ASSERT_TRUE(store_->SetFeedback("a", {.rating = 1}).ok());
  OpenTrajectories();
  EXPECT_EQ(store_->Get("a")->route, routed.route);
  EXPECT_EQ(store_->Get("b")->route, std::nullopt);
}

TEST_F(TrajectoryStoreTest, RefusesARouteThatNoRouterTakes) {
  OpenTrajectories();
  const TrajectoryRoute sound{.name = "as_asked", .features = {1}};
  const auto refused = [&](const auto& change) {
    Trajectory trajectory = MakeTrajectory("a", 5);
    trajectory.route = sound;
    change(*trajectory.route);
    return absl::IsInvalidArgument(store_->Put(trajectory));
  };
  EXPECT_FALSE(refused([](TrajectoryRoute&) {}));
  EXPECT_TRUE(refused([](TrajectoryRoute& route) { route.name.clear(); }));
  EXPECT_TRUE(refused([](TrajectoryRoute& route) { route.name = "\xff"; }));
  EXPECT_TRUE(refused([](TrajectoryRoute& route) { route.others = {"\xff"}; }));
  EXPECT_TRUE(refused([](TrajectoryRoute& route) { route.propensity = 0; }));
  EXPECT_TRUE(refused([](TrajectoryRoute& route) { route.probability = 1.5F; }));
  EXPECT_TRUE(refused([](TrajectoryRoute& route) { route.seconds = -1; }));
  EXPECT_TRUE(refused([](TrajectoryRoute& route) { route.features = {std::nanf("")}; }));
  EXPECT_TRUE(refused(
      [](TrajectoryRoute& route) { route.features.assign(limits::kMaxRouteFeatures + 1, 0); }));
}

TEST_F(TrajectoryStoreTest, DropsTheOldestAboveItsCapacity) {
  OpenTrajectories();
  for (const auto& [id, time] :
       std::vector<std::pair<std::string, int64_t>>{{"a", 10}, {"b", 20}, {"c", 30}, {"d", 40}}) {
    ASSERT_TRUE(store_->Put(MakeTrajectory(id, time)).ok());
  }
  EXPECT_THAT(IdsSince(0), ElementsAre("b", "c", "d"));
  EXPECT_EQ(store_->size(), 3U);
  EXPECT_EQ(ReasonOf(store_->Get("a").status()), reasons::kUnknownResponse);
  OpenTrajectories(2);
  ASSERT_TRUE(store_->Put(MakeTrajectory("e", 50)).ok());
  EXPECT_THAT(IdsSince(0), ElementsAre("d", "e"));
  OpenTrajectories(2);
  EXPECT_EQ(store_->size(), 2U);
}

// Found by review: after ten thousand more requests, of any user, every correction was gone.
TEST_F(TrajectoryStoreTest, RequestsWithoutFeedbackDisplaceNoneWithFeedback) {
  OpenTrajectories(2);
  for (const char* id : {"a", "b"}) {
    ASSERT_TRUE(store_->Put(MakeTrajectory(id, 10)).ok());
    ASSERT_TRUE(store_->SetFeedback(id, {.edited_text = "better"}).ok());
  }
  for (const char* id : {"c", "d", "e"}) {
    ASSERT_TRUE(store_->Put(MakeTrajectory(id, 20)).ok());
  }
  EXPECT_THAT(IdsSince(0), ElementsAre("a", "b", "d", "e"));
  OpenTrajectories(2);
  ASSERT_TRUE(store_->Put(MakeTrajectory("f", 30)).ok());
  EXPECT_THAT(IdsSince(0), ElementsAre("a", "b", "e", "f"));
  EXPECT_EQ(store_->size(), 4U);
}

// Rows of earlier builds say nothing about feedback. Found by review: they were read as none.
TEST_F(TrajectoryStoreTest, RowsByTimeThatSayNothingAreReadFromTheirTrajectories) {
  OpenTrajectories(2);
  for (const char* id : {"a", "b"}) {
    ASSERT_TRUE(store_->Put(MakeTrajectory(id, 10)).ok());
  }
  ASSERT_TRUE(store_->SetFeedback("a", {.rating = 1}).ok());
  Batch batch;
  for (const char* id : {"a", "b"}) {
    const int64_t created_ms = store_->Get(id)->created_ms;
    batch.Put(ColumnFamily::kTrajectory, trajectories::TimeKey(created_ms, id), "");
  }
  ASSERT_TRUE(database_->Write(std::move(batch), Durability::kPowerLoss).ok());
  OpenTrajectories(2);
  for (const char* id : {"c", "d"}) {
    ASSERT_TRUE(store_->Put(MakeTrajectory(id, 20)).ok());
  }
  EXPECT_THAT(IdsSince(0), ElementsAre("a", "c", "d"));
}

TEST_F(TrajectoryStoreTest, FeedbackDisplacesOlderFeedbackButNeverItself) {
  OpenTrajectories(2);
  ASSERT_TRUE(store_->Put(MakeTrajectory("old", 5)).ok());
  for (const char* id : {"a", "b"}) {
    ASSERT_TRUE(store_->Put(MakeTrajectory(id, 10)).ok());
    ASSERT_TRUE(store_->SetFeedback(id, {.rating = 1}).ok());
  }
  ASSERT_TRUE(store_->SetFeedback("old", {.accepted = false}).ok());
  EXPECT_THAT(IdsSince(0), ElementsAre("old", "b"));
  ASSERT_TRUE(store_->SetFeedback("old", {.rating = 1}).ok()) << "again";
  EXPECT_THAT(IdsSince(0), ElementsAre("old", "b"));
  EXPECT_EQ(ReasonOf(store_->SetFeedback("a", {.rating = 1})), reasons::kUnknownResponse);
}

// Found by review: in a full store, responses were dropped at once after the wall clock went back,
// and feedback did not find them.
TEST_F(TrajectoryStoreTest, AClockThatWentBackDropsNothingNew) {
  OpenTrajectories();
  const auto put = [this](const std::string& id) {
    clock_.Advance(std::chrono::seconds(1));
    return store_->Put(MakeTrajectory(id, clock_.WallMillis()));
  };
  for (const char* id : {"a", "b", "c"}) {
    ASSERT_TRUE(put(id).ok());
  }
  clock_.StepWall(-86'400'000);
  ASSERT_TRUE(put("d").ok());
  OpenTrajectories();
  ASSERT_TRUE(put("e").ok());
  EXPECT_TRUE(store_->SetFeedback("d", {.rating = 1}).ok());
  EXPECT_THAT(IdsSince(0), ElementsAre("c", "d", "e"));
}

TEST_F(TrajectoryStoreTest, ReplacingMovesItInTime) {
  OpenTrajectories();
  ASSERT_TRUE(store_->Put(MakeTrajectory("a", 10)).ok());
  ASSERT_TRUE(store_->Put(MakeTrajectory("b", 20)).ok());
  ASSERT_TRUE(store_->Put(MakeTrajectory("a", 30)).ok());
  EXPECT_EQ(store_->size(), 2U);
  EXPECT_THAT(IdsSince(0), ElementsAre("b", "a"));
  EXPECT_THAT(IdsSince(21), ElementsAre("a"));
  EXPECT_THAT(IdsSince(-5, 1), ElementsAre("b"));
  EXPECT_TRUE(IdsSince(31).empty());
}

TEST_F(TrajectoryStoreTest, ReadersMayChangeTheStoreTheyWalk) {
  OpenTrajectories();
  ASSERT_TRUE(store_->Put(MakeTrajectory("a", 10)).ok());
  ASSERT_TRUE(store_->Put(MakeTrajectory("b", 20)).ok());
  EXPECT_TRUE(
      store_
          ->ForEachSince(0,
                         [&](const Trajectory& trajectory) {
                           EXPECT_TRUE(
                               store_->SetFeedback(trajectory.response_id, {.rating = 1}).ok());
                           return true;
                         })
          .ok());
  EXPECT_EQ(store_->Get("b")->rating, 1.0F);
}

// Regression test: one row that does not open stopped learning, or the node.
TEST_F(TrajectoryStoreTest, ADamagedRowHidesNoOther) {
  OpenTrajectories();
  for (const char* id : {"a", "b", "c"}) {
    ASSERT_TRUE(store_->Put(MakeTrajectory(id, 10 + id[0])).ok());
  }
  store_.reset();
  database_.reset();
  DamageRows(Options().path, {{ColumnFamily::kTrajectory, trajectories::IdKey("b")},
                              {ColumnFamily::kTrajectory, trajectories::TimeKey(10 + 'a', "a")}});
  OpenTrajectories();
  ASSERT_NE(store_, nullptr);
  EXPECT_EQ(store_->size(), 3U);
  EXPECT_THAT(IdsSince(0), ElementsAre("a", "c"));
  ASSERT_TRUE(store_->Put(MakeTrajectory("d", 200)).ok());
  ASSERT_TRUE(store_->Put(MakeTrajectory("e", 201)).ok());
  EXPECT_EQ(store_->size(), 3U);
  EXPECT_THAT(IdsSince(0), ElementsAre("c", "d", "e"));
}

// Compaction left such rows where the erased trajectories had not been forgotten before it.
TEST_F(TrajectoryStoreTest, RowsByTimeWithoutTheirTrajectoriesAreRemovedAtAStart) {
  OpenTrajectories();
  Trajectory hers = MakeTrajectory("a", 10);
  hers.user_id = "alice";
  ASSERT_TRUE(store_->Put(hers).ok());
  ASSERT_TRUE(store_->Put(MakeTrajectory("b", 20)).ok());
  ASSERT_TRUE(database_->Erase(KeyScope::User("alice")).ok());
  ASSERT_TRUE(database_->Compact().ok());
  OpenTrajectories();
  EXPECT_EQ(store_->size(), 1U);
  EXPECT_FALSE(
      database_->Contains(ColumnFamily::kTrajectory, trajectories::TimeKey(10, "a")).value());
  EXPECT_THAT(IdsSince(0), ElementsAre("b"));
}

TEST_F(TrajectoryStoreTest, RefusesBadInput) {
  OpenTrajectories();
  EXPECT_EQ(ReasonOf(store_->Put(MakeTrajectory("", 1))), reasons::kInvalidArgument);
  EXPECT_EQ(ReasonOf(store_->Put(MakeTrajectory("a", -1))), reasons::kInvalidArgument);
  const std::string long_id(limits::kMaxResponseIdBytes + 1, 'i');
  EXPECT_EQ(ReasonOf(store_->Put(MakeTrajectory(long_id, 1))), reasons::kInvalidArgument);
  EXPECT_EQ(ReasonOf(store_->Get(long_id).status()), reasons::kUnknownResponse);
  Trajectory large = MakeTrajectory("a", 1);
  large.prompt.assign(limits::kMaxTrajectoryTextBytes, 'p');
  EXPECT_EQ(ReasonOf(store_->Put(large)), reasons::kLimitExceeded);
  Trajectory steps = MakeTrajectory("a", 1);
  steps.step_t.resize(limits::kMaxTrajectorySteps + 1);
  EXPECT_EQ(ReasonOf(store_->Put(steps)), reasons::kLimitExceeded);
  Trajectory wide = MakeTrajectory("a", 1);
  wide.embedding.resize(limits::kMaxDimension + 1);
  EXPECT_EQ(ReasonOf(store_->Put(wide)), reasons::kLimitExceeded);
  EXPECT_EQ(store_->size(), 0U);
  EXPECT_EQ(ReasonOf(store_->SetFeedback("a", {.rating = 1})), reasons::kUnknownResponse);
  ASSERT_TRUE(store_->Put(MakeTrajectory("a", 1)).ok());
  for (const float rating : {-0.1F, 1.1F, std::numeric_limits<float>::quiet_NaN()}) {
    EXPECT_EQ(ReasonOf(store_->SetFeedback("a", {.rating = rating})), reasons::kInvalidArgument);
  }
  EXPECT_FALSE(store_->Get("a")->rating.has_value());
}

}  // namespace
}  // namespace ruvd::storage
