// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Tests that an undo restores what learning changed.

#include "node/learning/learning_undo.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/parallel.h"
#include "base/reasons.h"
#include "base/status.h"
#include "inference/adapter/bank.h"
#include "inference/transformer/cpu_transformer.h"
#include "node/learning/background_round.h"
#include "node/serving/pattern_payload.h"
#include "storage/reasons.h"
#include "tests/node/database_fixture.h"
#include "tests/node/node_fixture.h"

namespace ruvd::learning {
namespace {

const Digest kUndoPackage = Sha256("package");

class LearningUndoTest : public DatabaseTest {
 protected:
  void SetUp() override {
    DatabaseTest::SetUp();
    model_ = inference::Model::Load(kSmallModel).value();
    transformer_ = std::make_unique<inference::CpuTransformer>(model_, SerialRunner());
    const auto width = static_cast<uint32_t>(model_->config().width);
    patterns_ = storage::PatternStore::Open(*database_, {.dimension = width}).value();
    trajectories_ = storage::TrajectoryStore::Open(*database_, {}).value();
    changes_ = storage::ChangeStore::Open(*database_).value();
    instant_ =
        std::make_unique<serving::InstantLoop>(serving::InstantLoopOptions{.clock = &clock_});
    embedding_.assign(width, 1 / std::sqrt(static_cast<float>(width)));
    other_ = embedding_;  // orthogonal to the former
    for (size_t i = 0; i < other_.size(); i += 2) {
      other_[i] = -other_[i];
    }
  }
  void AddLesson(const std::string& id, const std::vector<float>& embedding) {
    ASSERT_TRUE(trajectories_
                    ->Put({.response_id = id,
                           .prompt = "The lighthouse keeper",
                           .completion = " counted the ships every evening.",
                           .embedding = embedding,
                           .embedded_by = std::string(AsText(kUndoPackage)),
                           .created_ms = clock_.WallMillis()})
                    .ok());
    ASSERT_TRUE(trajectories_->SetFeedback(id, {.accepted = true}).ok());
  }
  // Runs a round that learns these lessons; returns the change of its last pattern.
  storage::LearningChange Learn(const std::set<std::string>& fresh) {
    const LearningServices services{.clock = &clock_,
                                    .transformer = transformer_.get(),
                                    .trajectories = trajectories_.get(),
                                    .patterns = patterns_.get(),
                                    .package_id = kUndoPackage,
                                    .changes = changes_.get()};
    Random random(++seed_);
    round_ = RunBackgroundRound(services, {.training = {.steps = 2, .min_improvement = -100}},
                                {.responses = fresh}, random);
    EXPECT_TRUE(round_.status.ok()) << round_.status;
    if (round_.patterns.empty() || !round_.patterns.back().change) {
      ADD_FAILURE() << "nothing was learned";
      return {};
    }
    return *round_.patterns.back().change;
  }
  absl::StatusOr<storage::LearningChange> Undo(const storage::LearningChange& change) {
    const auto listed = changes_->Find(storage::TokenOf(change));
    return listed.ok() ? UndoChange({.clock = &clock_,
                                     .changes = changes_.get(),
                                     .patterns = patterns_.get(),
                                     .trajectories = trajectories_.get(),
                                     .instant = instant_.get(),
                                     .package_id = package_},
                                    *listed)
                       : listed;
  }
  std::string ReasonOfUndo(const storage::LearningChange& change) {
    return ReasonOf(Undo(change).status());
  }

  // Returns the change that learned each of two patterns, which a third round then merged.
  std::vector<storage::LearningChange> LearnAndMerge() {
    AddLesson("r", embedding_);
    std::vector<storage::LearningChange> changes = {Learn({"r"})};
    AddLesson("far", other_);
    changes.push_back(Learn({"far"}));
    storage::Pattern moved = *patterns_->Get(*changes[1].pattern);
    EXPECT_NE(moved.id, *changes[0].pattern);
    moved.embedding = embedding_;
    EXPECT_TRUE(patterns_->Put(moved).ok());
    AddLesson("s", embedding_);
    changes.push_back(Learn({"s"}));
    return changes;
  }

  uint64_t seed_ = 0;
  Digest package_ = kUndoPackage;  // the package that is served at the time of the undo
  std::shared_ptr<const inference::Model> model_;
  std::unique_ptr<inference::CpuTransformer> transformer_;
  std::unique_ptr<storage::PatternStore> patterns_;
  std::unique_ptr<storage::TrajectoryStore> trajectories_;
  std::unique_ptr<storage::ChangeStore> changes_;
  std::unique_ptr<serving::InstantLoop> instant_;
  std::vector<float> embedding_;
  std::vector<float> other_;
  BackgroundRound round_;
};

TEST_F(LearningUndoTest, ANewPatternGoesAndIsNotTaughtAgain) {
  AddLesson("r", embedding_);
  const storage::LearningChange change = Learn({"r"});
  EXPECT_EQ(change.kind, storage::ChangeKind::kPatternStored);
  EXPECT_EQ(change.responses, std::vector<std::string>{"r"});
  EXPECT_EQ(change.version_before, 0u);
  const auto undone = Undo(change);
  ASSERT_TRUE(undone.ok()) << undone.status();
  EXPECT_EQ(undone->undone_ms, clock_.WallMillis());
  EXPECT_EQ(patterns_->size(), 0u);
  EXPECT_EQ(ReasonOfUndo(change), reasons::kCannotUndo) << "once";
  AddLesson("s", embedding_);
  Learn({"s"});
  EXPECT_EQ(round_.patterns.front().responses, std::set<std::string>{"s"});
  ASSERT_TRUE(trajectories_->SetFeedback("r", {.rating = 1}).ok());
  Learn({"r"});
  EXPECT_TRUE(round_.patterns.front().responses.contains("r")) << "new feedback counts";
}

TEST_F(LearningUndoTest, APatternGetsItsFormerAdapterAndKeepsWhatUsersSaidOfIt) {
  AddLesson("r", embedding_);
  const storage::PatternId id = *Learn({"r"}).pattern;
  const storage::Pattern before = *patterns_->Get(id);
  AddLesson("s", embedding_);
  const storage::LearningChange change = Learn({"s"});
  ASSERT_EQ(change.pattern, id);
  EXPECT_EQ(change.version_before, before.adapter_version);
  storage::Pattern named = *patterns_->Get(id);
  ASSERT_NE(named.adapter_name, before.adapter_name);
  named.task = "walks";
  auto withheld = *serving::DecodePatternPayload(named.payload);
  withheld.withheld = true;
  named.payload = serving::EncodePatternPayload(withheld);
  ASSERT_TRUE(patterns_->Put(named).ok());
  ASSERT_TRUE(Undo(change).ok());
  const storage::Pattern after = *patterns_->Get(id);
  EXPECT_EQ(after.adapter_name, before.adapter_name);
  EXPECT_EQ(after.adapter_version, before.adapter_version);
  EXPECT_EQ(after.embedding, before.embedding);
  EXPECT_EQ(after.examples, 1u);
  EXPECT_EQ(after.task, "walks");
  EXPECT_GT(after.updated_ms, named.updated_ms) << "peers take what is later only";
  EXPECT_EQ(serving::DecodePatternPayload(after.payload)->adapter,
            serving::DecodePatternPayload(before.payload)->adapter);
  EXPECT_TRUE(serving::DecodePatternPayload(after.payload)->withheld);
  AddLesson("t", embedding_);
  Learn({"t"});
  EXPECT_EQ(round_.patterns.front().responses, (std::set<std::string>{"r", "t"}))
      << "what was undone is not taught again";
}

TEST_F(LearningUndoTest, ChangesOfOnePatternAreUndoneNewestFirst) {
  AddLesson("r", embedding_);
  const storage::LearningChange first = Learn({"r"});
  AddLesson("s", embedding_);
  const storage::LearningChange second = Learn({"s"});
  EXPECT_EQ(ReasonOfUndo(first), reasons::kCannotUndo);
  ASSERT_TRUE(Undo(second).ok());
  ASSERT_TRUE(Undo(first).ok());
  EXPECT_EQ(patterns_->size(), 0u);
}

TEST_F(LearningUndoTest, WhatAUserDeletedOrReplacedStaysSo) {
  AddLesson("r", embedding_);
  const storage::LearningChange change = Learn({"r"});
  storage::Pattern given = *patterns_->Get(*change.pattern);
  given.adapter_name = "a client's";
  ASSERT_TRUE(patterns_->Put(given).ok());
  EXPECT_EQ(ReasonOfUndo(change), reasons::kCannotUndo);
  EXPECT_EQ(patterns_->Get(*change.pattern)->adapter_name, "a client's");
  ASSERT_TRUE(patterns_->Delete(*change.pattern).ok());
  EXPECT_EQ(ReasonOfUndo(change), reasons::kCannotUndo);
  ASSERT_TRUE(changes_->ForgetPattern(*change.pattern).ok());
  EXPECT_EQ(ReasonOfUndo(change), reasons::kCannotUndo);
}

TEST_F(LearningUndoTest, OfTwoPatternsThatWereMergedBothComeBackWithTheirLessons) {
  LearnAndMerge();
  ASSERT_EQ(round_.merged.size(), 1u);
  const storage::LearningChange change = round_.merged[0].change;
  EXPECT_EQ(change.kind, storage::ChangeKind::kPatternsMerged);
  ASSERT_EQ(patterns_->size(), 1u);
  const uint32_t joined = patterns_->Get(*change.pattern)->examples;
  ASSERT_TRUE(Undo(change).ok());
  EXPECT_EQ(patterns_->size(), 2u);
  const storage::Pattern gone = *patterns_->Get(*change.merged);
  EXPECT_FALSE(serving::DecodePatternPayload(gone.payload)->adapter.empty());
  EXPECT_EQ(patterns_->Get(*change.pattern)->examples, joined) << "those of its own centroid";
  for (const std::string& response : change.responses) {
    EXPECT_EQ(trajectories_->Get(response)->learned_in, change.merged) << response;
  }
  EXPECT_FALSE(change.responses.empty());
}

// Regression test: the undo removed the pattern that stayed, with what the other one had learned.
TEST_F(LearningUndoTest, WhatIsBeneathAMergeIsUndoneAfterIt) {
  const std::vector<storage::LearningChange> learned = LearnAndMerge();
  ASSERT_EQ(round_.merged.size(), 1u);
  const storage::LearningChange merge = round_.merged[0].change;
  for (const storage::LearningChange& change : learned) {
    EXPECT_EQ(ReasonOfUndo(change), reasons::kCannotUndo);
  }
  ASSERT_EQ(patterns_->size(), 1u);
  ASSERT_TRUE(Undo(merge).ok());
  ASSERT_TRUE(Undo(learned[2]).ok());
  ASSERT_TRUE(Undo(learned[1]).ok());
  ASSERT_TRUE(Undo(learned[0]).ok());
  EXPECT_EQ(patterns_->size(), 0u);
}

// The merge was listed before a crash and never made, so both patterns exist.
TEST_F(LearningUndoTest, AMergeThatWasNotMadeIsInNobodysWay) {
  AddLesson("r", embedding_);
  const storage::LearningChange change = Learn({"r"});
  AddLesson("far", other_);
  const storage::LearningChange other = Learn({"far"});
  ASSERT_TRUE(changes_
                  ->Add({.loop = storage::LearningLoop::kBackground,
                         .kind = storage::ChangeKind::kPatternsMerged,
                         .pattern = change.pattern,
                         .merged = other.pattern},
                        {})
                  .ok());
  EXPECT_TRUE(Undo(change).ok());
}

// Regression test: the pattern that a merge had removed came back among those of the new model.
TEST_F(LearningUndoTest, WhatAnotherModelLearnedIsUndoneWithThatOne) {
  LearnAndMerge();
  ASSERT_EQ(round_.merged.size(), 1u);
  package_ = Sha256("another package");
  EXPECT_EQ(ReasonOfUndo(round_.merged[0].change), reasons::kCannotUndo);
  EXPECT_EQ(patterns_->size(), 1u);
  package_ = kUndoPackage;
  EXPECT_TRUE(Undo(round_.merged[0].change).ok());
}

// Found by review: where a round kept nothing of a correction, no undo reached the memory.
TEST_F(LearningUndoTest, WhatTheMemoryAloneTookIsKeptFromRoundsAndMemory) {
  AddLesson("r", embedding_);
  const auto remembered = [this] {
    return *changes_->Add({.loop = storage::LearningLoop::kInstant,
                           .kind = storage::ChangeKind::kLessonRemembered,
                           .responses = {"r"}},
                          {});
  };
  const storage::LearningChange former = remembered();
  const storage::LearningChange change = remembered();
  EXPECT_EQ(ReasonOfUndo(former), reasons::kCannotUndo) << "later feedback took its place";
  EXPECT_TRUE(Undo(change).ok());
  EXPECT_EQ(trajectories_->Get("r")->learned_in, storage::PatternId{});
  EXPECT_EQ(ReasonOfUndo(former), reasons::kCannotUndo) << "it teaches nothing any more";
  // New feedback teaches again. A pattern that learned it is undone first.
  ASSERT_TRUE(trajectories_->SetFeedback("r", {.accepted = true}).ok());
  const storage::LearningChange again = remembered();
  const storage::LearningChange stored = Learn({"r"});
  EXPECT_EQ(ReasonOfUndo(again), reasons::kCannotUndo);
  EXPECT_TRUE(Undo(stored).ok());
  EXPECT_EQ(trajectories_->Get("r")->learned_in, storage::PatternId{});
}

TEST_F(LearningUndoTest, WhatASessionForgotCannotBeTakenBack) {
  const auto change = changes_->Add({.loop = storage::LearningLoop::kInstant,
                                     .kind = storage::ChangeKind::kSessionTaught,
                                     .responses = {"r"},
                                     .session_id = "s"},
                                    {});
  EXPECT_EQ(ReasonOfUndo(*change), reasons::kCannotUndo);
  EXPECT_EQ(changes_->List(1)->at(0).number, change->number) << "it is not said to be undone";
}

}  // namespace
}  // namespace ruvd::learning
