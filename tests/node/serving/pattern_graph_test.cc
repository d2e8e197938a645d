// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Relations between sessions and the patterns that served them.

#include "node/serving/extensions/pattern_graph.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "node/learning/feedback_intake.h"
#include "node/learning/learning_undo.h"
#include "storage/reasons.h"
#include "tests/inference/text_model.h"
#include "tests/node/database_fixture.h"

namespace ruvd::serving {
namespace {

constexpr storage::PatternId kFirst{1};
constexpr storage::PatternId kSecond{2};

class PatternGraphTest : public DatabaseTest {
 protected:
  void SetUp() override {
    DatabaseTest::SetUp();
    patterns_ = storage::PatternStore::Open(*database_, {.dimension = 2}).value();
    trajectories_ = storage::TrajectoryStore::Open(*database_, {}).value();
    changes_ = storage::ChangeStore::Open(*database_).value();
    Start();
    for (const storage::PatternId& id : {kFirst, kSecond}) {
      ASSERT_TRUE(
          patterns_->Put({.id = id, .embedding = {1, 2}, .created_ms = 1, .updated_ms = 1}).ok());
    }
    AddSession("s", "ann");
  }
  void Start(bool on = true) {
    relations_.reset();
    sessions_.reset();
    graph_.reset();
    graph_ = storage::GraphStore::Open(*database_).value();
    sessions_ = storage::SessionIndex::Open(*database_, {.dimension = 2,
                                                         .on_removal =
                                                             [this](const std::string& id) {
                                                               relations_->RemoveSession(id);
                                                               if (after_removal_) {
                                                                 after_removal_();
                                                               }
                                                             }})
                    .value();
    relations_ = std::make_unique<PatternGraph>(*graph_, *patterns_, *sessions_, on);
  }
  void AddSession(const std::string& id, const std::string& user) {
    storage::SessionState session{.session_id = id, .created_ms = 1, .last_active_ms = 1};
    if (!user.empty()) {
      session.user_id = user;
    }
    ASSERT_TRUE(sessions_->Put(session).ok());
  }
  static storage::Trajectory Served(const std::string& response_id,
                                    std::vector<storage::PatternId> by,
                                    const std::string& session = "s",
                                    const std::string& user = "ann") {
    return {.response_id = response_id,
            .session_id = session,
            .user_id = user,
            .patterns = std::move(by)};
  }
  bool Vote(const storage::Trajectory& trajectory, float reward) {
    const auto moved = relations_->Vote(trajectory, reward);
    EXPECT_TRUE(moved.ok()) << moved.status();
    return moved.value_or(false);
  }
  float Factor(const storage::PatternId& id, const std::string& session = "s",
               const std::string& user = "ann") const {
    return relations_->Factor({user, session}, ToHex(id));
  }
  static storage::GraphNode Node(const storage::PatternId& id) {
    return {storage::GraphNodeKind::kPattern, std::string(AsText(id))};
  }
  float Together() const {
    const auto edge = graph_->Get({Node(kFirst), storage::EdgeType::kSimilar, Node(kSecond)});
    return edge.ok() ? edge->weight : 0;
  }
  void MaintainToTheEnd() {
    while (relations_->Maintain().value()) {
    }
  }
  size_t Rows() const {
    size_t rows = 0;
    const auto count = [&rows](const storage::RowView&) -> absl::StatusOr<bool> {
      ++rows;
      return true;
    };
    EXPECT_TRUE(database_->Scan(storage::ColumnFamily::kEdge, "", "", count).ok());
    return rows;
  }

  std::unique_ptr<storage::PatternStore> patterns_;
  std::unique_ptr<storage::TrajectoryStore> trajectories_;
  std::unique_ptr<storage::ChangeStore> changes_;
  std::unique_ptr<storage::GraphStore> graph_;
  std::unique_ptr<storage::SessionIndex> sessions_;
  std::unique_ptr<PatternGraph> relations_;
  std::function<void()> after_removal_;  // before the session is gone
};

// Regression test: its edges stayed until the next start.
TEST_F(PatternGraphTest, AVoteWhileItsSessionLeavesLeavesNothing) {
  after_removal_ = [this] { EXPECT_TRUE(Vote(Served("r", {kFirst, kSecond}), 1)); };
  ASSERT_TRUE(sessions_->Delete("s").ok());
  MaintainToTheEnd();
  size_t of_session = 0;
  for (const storage::GraphNodeKind kind :
       {storage::GraphNodeKind::kSession, storage::GraphNodeKind::kWitness}) {
    of_session += graph_->NextNode(kind, std::nullopt).value().has_value() ? 1 : 0;
  }
  EXPECT_EQ(of_session, 0u);
}

TEST_F(PatternGraphTest, FeedbackMovesASessionsEdgesByFivePercent) {
  EXPECT_EQ(Factor(kFirst), 1);
  EXPECT_TRUE(Vote(Served("r", {kFirst, kSecond}), 1));
  EXPECT_FLOAT_EQ(Factor(kFirst), 1 + storage::kMaxWeightAdjustment * 0.05F);
  EXPECT_FLOAT_EQ(Factor(kSecond), 1 + storage::kMaxWeightAdjustment * 0.05F);
  EXPECT_FLOAT_EQ(Together(), 0.525F);
  EXPECT_TRUE(Vote(Served("q", {kSecond}), 0));
  EXPECT_LT(Factor(kSecond), 1);
  EXPECT_FLOAT_EQ(Together(), 0.525F) << "it served alone";
  EXPECT_GT(Factor(kFirst), 1);
}

TEST_F(PatternGraphTest, NoFactorLeavesFivePercent) {
  for (int i = 0; i < 60; ++i) {
    Vote(Served("good" + std::to_string(i), {kFirst}), 1);
    Vote(Served("bad" + std::to_string(i), {kSecond}), 0);
  }
  EXPECT_FLOAT_EQ(Factor(kFirst), 1 + storage::kMaxWeightAdjustment);
  EXPECT_GE(Factor(kSecond), 1 - storage::kMaxWeightAdjustment);
  EXPECT_LT(Factor(kSecond), 1 - 0.8F * storage::kMaxWeightAdjustment);
}

TEST_F(PatternGraphTest, OtherSessionsAndUsersAreNotMoved) {
  AddSession("t", "ann");
  AddSession("u", "");
  Vote(Served("r", {kFirst}), 1);
  EXPECT_EQ(Factor(kFirst, "t"), 1);
  EXPECT_EQ(Factor(kFirst, "s", "bob"), 1);
  EXPECT_EQ(Factor(kFirst, "s", ""), 1);
  EXPECT_FALSE(Vote(Served("q", {kFirst}, "s", "bob"), 1)) << "the session is ann's";
  EXPECT_FALSE(Vote(Served("q", {kFirst}, "unknown"), 1));
  EXPECT_FALSE(Vote(Served("q", {kFirst}, ""), 1));
  EXPECT_TRUE(Vote(Served("q", {kFirst}, "u", ""), 1)) << "nobody's";
}

TEST_F(PatternGraphTest, WhatSaysNothingMovesNothing) {
  EXPECT_FALSE(Vote(Served("r", {kFirst}), 0.5F));
  EXPECT_FALSE(Vote(Served("r", {}), 1));
  EXPECT_FALSE(Vote(Served("r", {storage::PatternId{9}}), 1)) << "a pattern that is gone";
  EXPECT_EQ(Rows(), 0u);
}

TEST_F(PatternGraphTest, TakingBackLeavesWhatOthersSaid) {
  Vote(Served("r", {kFirst, kSecond}), 1);
  const float before = Factor(kFirst);
  const float together = Together();
  for (const float reward : {1.0F, 0.0F}) {
    Vote(Served("q", {kFirst, kSecond}), reward);
    EXPECT_NE(Factor(kFirst), before);
    EXPECT_TRUE(relations_->RevertVote("q").value());
    EXPECT_FLOAT_EQ(Factor(kFirst), before);
    EXPECT_FLOAT_EQ(Together(), together);
    EXPECT_FALSE(relations_->RevertVote("q").value()) << "once";
  }
}

TEST_F(PatternGraphTest, ALaterFeedbackTakesThePlaceOfTheFormer) {
  Vote(Served("r", {kFirst}), 1);
  Vote(Served("r", {kFirst}), 1);
  EXPECT_FLOAT_EQ(Factor(kFirst), 1 + storage::kMaxWeightAdjustment * 0.05F);
  Vote(Served("r", {kFirst}), 0);
  EXPECT_FLOAT_EQ(Factor(kFirst), 1 - storage::kMaxWeightAdjustment * 0.05F);
  EXPECT_TRUE(Vote(Served("r", {kFirst}), 0.5F));
  EXPECT_FLOAT_EQ(Factor(kFirst), 1);
}

TEST_F(PatternGraphTest, RelationsOutliveARestartAndAreNotReadWhereItIsOff) {
  Vote(Served("r", {kFirst}), 1);
  const float before = Factor(kFirst);
  Start();
  MaintainToTheEnd();
  EXPECT_EQ(Factor(kFirst), before);
  EXPECT_TRUE(relations_->RevertVote("r").value());
  EXPECT_FLOAT_EQ(Factor(kFirst), 1);
  Vote(Served("r", {kFirst}), 1);
  Start(/*on=*/false);
  EXPECT_EQ(Factor(kFirst), 1);
  EXPECT_FALSE(Vote(Served("q", {kFirst}), 1));
}

TEST_F(PatternGraphTest, AnErasedUsersEdgesGoAlsoWhereItIsOff) {
  AddSession("his", "bob");
  for (const bool on : {true, false}) {
    AddSession("s", "ann");
    Start();
    MaintainToTheEnd();
    ASSERT_TRUE(Vote(Served("r", {kFirst, kSecond}), 1));
    ASSERT_TRUE(Vote(Served("q", {kFirst}, "his", "bob"), 1));
    const float his = Factor(kFirst, "his", "bob");
    Start(on);
    ASSERT_EQ(sessions_->EraseUser("ann", 8, [] { return absl::OkStatus(); }).value(), 1u);
    EXPECT_EQ(Factor(kFirst), 1) << "at once";
    MaintainToTheEnd();
    const storage::GraphNode session{storage::GraphNodeKind::kSession, "s"};
    EXPECT_TRUE(graph_->Neighbours(session, {.direction = storage::EdgeDirection::kBoth})
                    .value()
                    .edges.empty());
    EXPECT_FALSE(relations_->RevertVote("r").value());
    Start();
    EXPECT_EQ(Factor(kFirst, "his", "bob"), his);
  }
}

// A verb of `ruvd store` erases patterns while no node runs.
TEST_F(PatternGraphTest, EdgesOfWhatWentWhileNobodyLookedGoAfterAStart) {
  ASSERT_TRUE(Vote(Served("r", {kFirst, kSecond}), 1));
  ASSERT_GT(Rows(), 0u);
  relations_.reset();
  sessions_ = storage::SessionIndex::Open(*database_, {.dimension = 2}).value();
  ASSERT_TRUE(sessions_->Delete("s").ok());
  ASSERT_TRUE(patterns_->Delete(kSecond).ok());
  Start();
  MaintainToTheEnd();
  EXPECT_EQ(Rows(), 0u);
}

TEST_F(PatternGraphTest, ADeletedPatternsEdgesGo) {
  ASSERT_TRUE(Vote(Served("r", {kFirst, kSecond}), 1));
  MaintainToTheEnd();
  ASSERT_TRUE(patterns_->Delete(kFirst).ok());
  MaintainToTheEnd();
  EXPECT_EQ(Factor(kFirst), 1);
  EXPECT_EQ(Together(), 0);
  EXPECT_GT(Factor(kSecond), 1) << "the others stay";
  EXPECT_TRUE(relations_->RevertVote("r").value()) << "and can be taken back";
  EXPECT_FLOAT_EQ(Factor(kSecond), 1);
}

TEST_F(PatternGraphTest, FeedbackIsListedAndItsUndoTakesTheNudgeBack) {
  const std::shared_ptr<const inference::Model> model = test::TinyTextModel();
  storage::Trajectory served = Served("r", {kFirst});
  ASSERT_TRUE(trajectories_->Put(served).ok());
  const learning::FeedbackServices services{.clock = &clock_,
                                            .model = model.get(),
                                            .trajectories = trajectories_.get(),
                                            .changes = changes_.get(),
                                            .graph = relations_.get()};
  const learning::StoredFeedback taken =
      learning::StoreFeedback(services, {.response_id = "r", .rating = 1}, /*teach=*/true).value();
  EXPECT_TRUE(taken.relations_moved);
  EXPECT_GT(Factor(kFirst), 1);
  ASSERT_TRUE(taken.change.has_value());
  EXPECT_EQ(taken.change->kind, storage::ChangeKind::kSessionTaught);
  EXPECT_EQ(taken.change->session_id, "s");
  const learning::UndoServices undo{.clock = &clock_,
                                    .changes = changes_.get(),
                                    .trajectories = trajectories_.get(),
                                    .graph = relations_.get()};
  ASSERT_TRUE(learning::UndoChange(undo, *taken.change).ok());
  EXPECT_FLOAT_EQ(Factor(kFirst), 1);
  EXPECT_FALSE(learning::UndoChange(undo, *taken.change).ok()) << "once";
  // Relations do not move while learning is paused, and a correction does not move them either.
  EXPECT_FALSE(
      learning::StoreFeedback(services, {.response_id = "r", .rating = 1}, false)->relations_moved);
  EXPECT_FALSE(learning::StoreFeedback(services, {.response_id = "r", .edited_text = "x"}, true)
                   ->relations_moved);
  EXPECT_EQ(changes_->size(), 1u);
}

}  // namespace
}  // namespace ruvd::serving
