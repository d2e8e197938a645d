// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Tests what a round of learning takes, where it stores the result, and what it leaves unchanged.

#include "node/learning/background_round.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/parallel.h"
#include "base/reasons.h"
#include "base/status.h"
#include "inference/adapter/adapter_bytes.h"
#include "inference/adapter/bank.h"
#include "inference/adapter/projection_frame.h"
#include "inference/transformer/cpu_transformer.h"
#include "node/learning/lesson_clusters.h"
#include "node/limits.h"
#include "node/serving/adapter_catalog.h"
#include "node/serving/pattern_payload.h"
#include "node/sharing/bank_evaluation.h"
#include "privacy/identity/node_key.h"
#include "storage/consent/consent_book.h"
#include "tests/node/database_fixture.h"
#include "tests/node/node_fixture.h"

namespace ruvd::learning {
namespace {

constexpr storage::PatternId kId{1, 2, 3};
const Digest kRoundPackage = Sha256("package");

class BackgroundRoundTest : public DatabaseTest {
 protected:
  void SetUp() override {
    DatabaseTest::SetUp();
    model_ = inference::Model::Load(kSmallModel).value();
    const auto width = static_cast<uint32_t>(model_->config().width);
    transformer_ = std::make_unique<inference::CpuTransformer>(model_, SerialRunner());
    patterns_ = storage::PatternStore::Open(*database_, {.dimension = width}).value();
    trajectories_ = storage::TrajectoryStore::Open(*database_, {}).value();
    embedding_.assign(width, 1 / std::sqrt(static_cast<float>(width)));
    other_ = embedding_;  // orthogonal to the former
    for (size_t i = 0; i < other_.size(); i += 2) {
      other_[i] = -other_[i];
    }
    AddLesson("r", embedding_);
    ASSERT_TRUE(patterns_->Put(Known()).ok());
  }
  void AddLesson(const std::string& id, const std::vector<float>& embedding,
                 const std::string& prompt = "The lighthouse keeper",
                 const Digest& package = kRoundPackage, const std::string& user = "") {
    ASSERT_TRUE(trajectories_
                    ->Put({.response_id = id,
                           .user_id = user,
                           .prompt = prompt,
                           .completion = " counted the ships every evening.",
                           .embedding = embedding,
                           .embedded_by = std::string(AsText(package)),
                           .created_ms = clock_.WallMillis()})
                    .ok());
    ASSERT_TRUE(trajectories_->SetFeedback(id, {.accepted = true}).ok());
  }
  // Returns a pattern with the embedding of the lesson "r".
  storage::Pattern Known() const {
    return {.id = kId,
            .embedding = embedding_,
            .bank = static_cast<uint32_t>(inference::BankOf(1)),
            .task = "walks",
            .created_ms = clock_.WallMillis(),
            .updated_ms = clock_.WallMillis() + 1000,
            .adapter_version = 4};
  }
  BackgroundRound Run(const std::set<std::string>& fresh,
                      const std::function<bool()>& cancelled = nullptr) {
    LearningServices services{.clock = &clock_,
                              .transformer = transformer_.get(),
                              .trajectories = trajectories_.get(),
                              .patterns = patterns_.get(),
                              .package_id = kRoundPackage,
                              .frame = frame_ ? &*frame_ : nullptr,
                              .consents = consents_.get(),
                              .catalog = catalog_.get(),
                              .cancelled = cancelled,
                              .slice = slice_};
    services.between_slices = between_slices_;
    Random random(1);
    return RunBackgroundRound(services, options_, {fresh, stale_patterns_}, random);
  }
  // Runs a round of the lesson "r"; `meanwhile` is called once while it trains.
  LearnedPattern Learn(const std::function<void()>& meanwhile = [] {}) {
    int calls = 0;
    constexpr int kCallsBeforePatternsAreRead = 2;
    const BackgroundRound round = Run({"r"}, [&] {
      if (++calls == kCallsBeforePatternsAreRead + 1) {
        meanwhile();
      }
      return false;
    });
    EXPECT_TRUE(round.status.ok()) << round.status;
    EXPECT_GT(calls, kCallsBeforePatternsAreRead);
    EXPECT_EQ(round.patterns.size(), 1u);
    waiting_ = round.waiting;
    return round.patterns.empty() ? LearnedPattern{} : round.patterns.front();
  }

  storage::DatabaseOptions Options() override {
    storage::DatabaseOptions options = DatabaseTest::Options();
    options.soft_reserve_bytes = 2000;
    options.hard_reserve_bytes = 1000;
    options.free_bytes = [this](const std::string&) -> absl::StatusOr<uint64_t> {
      return free_bytes_;
    };
    return options;
  }

  BackgroundOptions options_{.steps = 3, .min_improvement = -100};
  Duration slice_ = std::chrono::milliseconds(100);
  std::function<absl::Status(uint64_t)> between_slices_;
  uint64_t free_bytes_ = uint64_t{1} << 40;
  std::shared_ptr<const inference::Model> model_;
  std::unique_ptr<inference::CpuTransformer> transformer_;
  std::unique_ptr<storage::PatternStore> patterns_;
  std::unique_ptr<storage::TrajectoryStore> trajectories_;
  std::vector<float> embedding_;
  std::vector<float> other_;
  std::optional<inference::ProjectionFrame> frame_;   // none: nothing is prepared for sharing
  std::unique_ptr<storage::ConsentBook> consents_;    // null: all users agree
  std::unique_ptr<serving::AdapterCatalog> catalog_;  // null: nothing acts beneath patterns
  bool stale_patterns_ = false;
  std::set<std::string> waiting_;  // after Learn
};

// What is shared is trained on the lessons of users who agreed, and names these users.
TEST_F(BackgroundRoundTest, TheSharedCoreHoldsLessonsOfThoseWhoAgreedOnly) {
  const privacy::NodeKey key = privacy::NodeKey::FromSeed(privacy::KeySeed{1});
  storage::UserConsentStore store(*database_);
  consents_ = storage::ConsentBook::Open(store, key).value();
  frame_ = inference::RandomFrame(*model_, 8, 1).value();
  AddLesson("b", embedding_, "The lighthouse keeper", kRoundPackage, "bob");
  ASSERT_TRUE(Run({"r", "b"}).status.ok());
  serving::PatternPayload payload =
      serving::DecodePatternPayload(patterns_->Get(kId)->payload).value();
  const privacy::Contributor operators = consents_->ContributorOf({});
  const privacy::Contributor bob = consents_->ContributorOf({.user_id = "bob"});
  ASSERT_FALSE(payload.core.empty());
  EXPECT_EQ(payload.contributors, std::vector<privacy::Contributor>{operators});
  EXPECT_TRUE(payload.holds_others);

  ASSERT_TRUE(consents_
                  ->Record({.subject = {.id = "bob"},
                            .purposes = privacy::consent_purposes::kAll,
                            .widest = privacy::ConsentTier::kMasked,
                            .expires_ms = 1'000'000},
                           clock_.WallMillis())
                  .ok());
  AddLesson("c", embedding_, "The lighthouse keeper", kRoundPackage, "bob");
  ASSERT_TRUE(Run({"c"}).status.ok());
  payload = serving::DecodePatternPayload(patterns_->Get(kId)->payload).value();
  ASSERT_FALSE(payload.core.empty());
  EXPECT_FALSE(payload.holds_others);
  EXPECT_THAT(payload.contributors, testing::UnorderedElementsAre(operators, bob));
}

// A quarter of the lessons is kept to judge what peers send and what this node does.
TEST_F(BackgroundRoundTest, TheSharedCoreIsNotTaughtALessonThatJudges) {
  frame_ = inference::RandomFrame(*model_, 8, 1).value();
  const auto core = [this] {
    return serving::DecodePatternPayload(patterns_->Get(kId)->payload).value().core;
  };
  const auto lesson_that = [](bool judges) {
    int number = 0;
    while (IsEvaluationLesson(std::to_string(number)) != judges) {
      ++number;
    }
    return std::to_string(number);
  };
  ASSERT_FALSE(IsEvaluationLesson("r"));
  ASSERT_TRUE(Run({"r"}).status.ok());
  const std::vector<float> alone = core();
  ASSERT_FALSE(alone.empty());
  AddLesson(lesson_that(true), embedding_, "A boat");
  ASSERT_TRUE(Run({lesson_that(true)}).status.ok());
  EXPECT_EQ(patterns_->Get(kId)->examples, 2u);
  EXPECT_EQ(core(), alone);
  AddLesson(lesson_that(false), embedding_, "A boat");
  ASSERT_TRUE(Run({lesson_that(false)}).status.ok());
  EXPECT_NE(core(), alone);
}

TEST_F(BackgroundRoundTest, WhatAUserSaysWhileARoundTrainsStays) {
  const int64_t expires_ms = clock_.WallMillis() + 1'000'000;
  const LearnedPattern learned = Learn([&] {
    storage::Pattern pattern = *patterns_->Get(kId);
    pattern.task = "runs";
    pattern.expires_ms = expires_ms;
    pattern.payload = serving::EncodePatternPayload({.withheld = true});
    ASSERT_TRUE(patterns_->Put(pattern).ok());
    ASSERT_TRUE(patterns_->RecordUse(kId).ok());
  });
  EXPECT_EQ(learned.outcome, ClusterOutcome::kKept);
  const storage::Pattern stored = *patterns_->Get(kId);
  EXPECT_EQ(stored.task, "runs");
  EXPECT_EQ(stored.expires_ms, expires_ms);
  EXPECT_EQ(stored.uses, 1U);
  EXPECT_TRUE(serving::DecodePatternPayload(stored.payload)->withheld);
  EXPECT_FALSE(serving::DecodePatternPayload(stored.payload)->adapter.empty());
  EXPECT_EQ(stored.adapter_version, 5U);
  EXPECT_EQ(stored.updated_ms, clock_.WallMillis() + 1001) << "later, though the clock went back";
}

TEST_F(BackgroundRoundTest, APatternThatIsDeletedWhileARoundTrainsStaysDeleted) {
  const LearnedPattern learned = Learn([&] { ASSERT_TRUE(patterns_->Delete(kId).ok()); });
  EXPECT_EQ(learned.outcome, ClusterOutcome::kDeleted);
  EXPECT_TRUE(*patterns_->WasDeleted(kId));
  EXPECT_TRUE(waiting_.empty());
}

// Regression test: what was learned from the text would have outlived the text.
TEST_F(BackgroundRoundTest, AUserWhoIsErasedWhileARoundTrainsTeachesNothing) {
  storage::Trajectory hers = *trajectories_->Get("r");
  hers.user_id = "alice";
  ASSERT_TRUE(trajectories_->Put(hers).ok());
  const uint64_t before = patterns_->Stats().last_sequence;
  const LearnedPattern learned = Learn([&] {
    ASSERT_TRUE(database_->Erase(storage::KeyScope::User("alice")).ok());
    ASSERT_TRUE(trajectories_->PurgeErased().ok());
  });
  EXPECT_EQ(learned.outcome, ClusterOutcome::kErased);
  EXPECT_EQ(patterns_->Stats().last_sequence, before);
  EXPECT_TRUE(Run({"r"}).waiting.empty()) << "it is gone";
}

// Regression test: an embedding or an adapter that a user stored during the minutes of training was
// overwritten.
TEST_F(BackgroundRoundTest, APatternThatAUserChangesDuringARoundStaysAsItIs) {
  const LearnedPattern learned = Learn([&] {
    storage::Pattern pattern = *patterns_->Get(kId);
    pattern.embedding = other_;
    pattern.adapter_name = "a user's";
    pattern.payload = serving::EncodePatternPayload({.adapter = "a user's"});
    ASSERT_TRUE(patterns_->Put(pattern).ok());
  });
  EXPECT_EQ(learned.outcome, ClusterOutcome::kChanged);
  EXPECT_EQ(waiting_, std::set<std::string>{"r"}) << "a later round learns it";
  const storage::Pattern stored = *patterns_->Get(kId);
  EXPECT_EQ(stored.embedding, other_);
  EXPECT_EQ(serving::DecodePatternPayload(stored.payload)->adapter, "a user's");
  EXPECT_EQ(trajectories_->Get("r")->learned_by, "");
}

// Regression test: the length was assumed to be one, so a pattern of length ten was near everything
// and one of a tenth near nothing.
TEST_F(BackgroundRoundTest, ALessonGoesToThePatternNearestByAngle) {
  constexpr storage::PatternId kFar{9};
  storage::Pattern near = Known();
  storage::Pattern far = Known();
  far.id = kFar;
  far.embedding = other_;
  for (size_t i = 0; i < near.embedding.size(); ++i) {
    near.embedding[i] *= 0.1F;
    far.embedding[i] = 10 * (far.embedding[i] + 0.5F * embedding_[i]);
  }
  ASSERT_TRUE(patterns_->Put(near).ok());
  ASSERT_TRUE(patterns_->Put(far).ok());
  EXPECT_EQ(Learn().id, kId);
  EXPECT_EQ(patterns_->Get(kFar)->embedding, far.embedding);
}

// Completions search one bank only: what was learned in a pattern of another bank was never served.
TEST_F(BackgroundRoundTest, APatternThatCompletionsDoNotFindLearnsNothing) {
  storage::Pattern low = Known();
  low.bank = 0;
  ASSERT_TRUE(patterns_->Put(low).ok());
  const LearnedPattern learned = Learn();
  EXPECT_EQ(learned.outcome, ClusterOutcome::kKept);
  EXPECT_NE(learned.id, kId);
  EXPECT_EQ(patterns_->Get(learned.id)->bank, static_cast<uint32_t>(inference::BankOf(1)));
}

TEST_F(BackgroundRoundTest, LearningNearAClientsAdapterDoesNotReplaceIt) {
  storage::Pattern given = Known();
  given.adapter_name = "a client's";
  given.payload = serving::EncodePatternPayload({.adapter = "a client's"});
  ASSERT_TRUE(patterns_->Put(given).ok());
  EXPECT_NE(Learn().id, kId);
  EXPECT_EQ(serving::DecodePatternPayload(patterns_->Get(kId)->payload)->adapter, "a client's");
}

// Regression test: only newer lessons were in the round, so an edit of an old response was never
// learned, although it was promised.
TEST_F(BackgroundRoundTest, FreshLessonsComeBeforeAllOthers) {
  for (size_t i = 0; i < limits::kMaxRoundTrajectories; ++i) {
    AddLesson(fmt::format("newer {}", i), other_);
  }
  EXPECT_EQ(Learn().responses, std::set<std::string>{"r"});
}

TEST_F(BackgroundRoundTest, FreshLessonsThatFindNoRoomWaitForTheNextRound) {
  std::set<std::string> fresh = {"r"};
  for (size_t i = 0; i < limits::kMaxRoundTrajectories; ++i) {
    AddLesson(fmt::format("{:03}", i), other_);
    fresh.insert(fmt::format("{:03}", i));
  }
  fresh.insert("gone");  // was replaced by newer ones
  const BackgroundRound round = Run(fresh, [] { return false; });
  EXPECT_TRUE(round.status.ok()) << round.status;
  EXPECT_EQ(round.waiting, std::set<std::string>{"r"})
      << "the oldest: whoever waits sent a newer one";
}

// Its request searched nothing, so it stored no embedding.
TEST_F(BackgroundRoundTest, ALessonWithoutAnEmbeddingIsEmbeddedInTheRound) {
  const std::string prompt = "The lighthouse keeper";
  AddLesson("late", {}, prompt);
  const BackgroundRound round = Run({"late"});
  ASSERT_TRUE(round.status.ok()) << round.status;
  ASSERT_EQ(round.patterns.size(), 1u);
  const std::vector<float> centroid = patterns_->Get(round.patterns.front().id)->embedding;
  const std::vector<float> embedding =
      EmbedText(*transformer_, model_->tokenizer().EncodePrompt(prompt), nullptr).value();
  ASSERT_EQ(centroid.size(), embedding.size());
  for (size_t i = 0; i < centroid.size(); ++i) {
    EXPECT_NEAR(centroid[i], embedding[i], 1e-6);
  }
}

// Regression test: the prompt fitted the context of the earlier model only, so every round failed
// and nothing was learned any more.
TEST_F(BackgroundRoundTest, ALongPromptOfAFormerModelIsCut) {
  std::string prompt;
  for (int i = 0; i < 3000; ++i) {
    prompt += "ship ";
  }
  AddLesson("old", other_, prompt, Sha256("former package"));
  const BackgroundRound round = Run({"old", "r"}, [] { return false; });
  EXPECT_TRUE(round.status.ok()) << round.status;
  std::set<std::string> taken;
  for (const LearnedPattern& pattern : round.patterns) {
    taken.insert(pattern.responses.begin(), pattern.responses.end());
  }
  EXPECT_EQ(taken, (std::set<std::string>{"old", "r"}));
}

// Regression test: a round that failed forgot what it had taken until the next start.
TEST_F(BackgroundRoundTest, LessonsOfARoundThatFailsWaitForTheNext) {
  free_bytes_ = 0;
  clock_.Advance(limits::kReserveProbeInterval);
  BackgroundRound round = Run({"r"});
  EXPECT_EQ(ReasonOf(round.status), reasons::kStoreReadOnly);
  EXPECT_EQ(round.waiting, std::set<std::string>{"r"});
  ASSERT_EQ(round.patterns.size(), 1u);
  EXPECT_EQ(round.patterns[0].outcome, ClusterOutcome::kFailed);
  EXPECT_EQ(Run({"r"}, [] { return true; }).waiting, std::set<std::string>{"r"}) << "cancelled";
  free_bytes_ = uint64_t{1} << 40;
  clock_.Advance(limits::kReserveProbeInterval);
  round = Run({"r"});
  EXPECT_TRUE(round.status.ok()) << round.status;
  EXPECT_TRUE(round.waiting.empty());
  EXPECT_EQ(trajectories_->Get("r")->learned_by, AsText(kRoundPackage));
  EXPECT_EQ(trajectories_->Get("r")->learned_in, kId);
}

// A user who deletes a pattern also wants what it learned to be gone.
TEST_F(BackgroundRoundTest, WhatADeletedPatternLearnedIsNotTaughtAgain) {
  ASSERT_EQ(Learn().id, kId);
  ASSERT_TRUE(patterns_->Delete(kId).ok());
  EXPECT_TRUE(Run({}).patterns.empty());
  AddLesson("s", embedding_);
  const BackgroundRound round = Run({"s"});
  ASSERT_EQ(round.patterns.size(), 1u);
  EXPECT_EQ(round.patterns[0].responses, std::set<std::string>{"s"});
  AddLesson("t", embedding_);
  EXPECT_EQ(Run({"t"}).patterns[0].responses, (std::set<std::string>{"s", "t"}));
  ASSERT_TRUE(trajectories_->SetFeedback("r", {.rating = 1}).ok());
  EXPECT_TRUE(Run({"r"}).patterns[0].responses.contains("r")) << "new feedback counts";
}

// Regression test: a round that took the new feedback and kept nothing made the node forget it
// again.
TEST_F(BackgroundRoundTest, WhatIsRatedAnewIsNotForgottenWhereARoundKeepsNothing) {
  ASSERT_EQ(Learn().id, kId);
  ASSERT_TRUE(patterns_->Delete(kId).ok());
  ASSERT_TRUE(trajectories_->SetFeedback("r", {.rating = 1}).ok());
  options_.min_improvement = 100;
  ASSERT_EQ(Learn().outcome, ClusterOutcome::kNoImprovement);
  options_.min_improvement = -100;
  AddLesson("s", embedding_);
  ASSERT_TRUE(Run({"s"}).status.ok());
  AddLesson("t", embedding_);
  EXPECT_EQ(Run({"t"}).patterns[0].responses, (std::set<std::string>{"r", "s", "t"}));
}

TEST_F(BackgroundRoundTest, WhatIsRatedAnewAndAddsNothingStillGoesWithItsPattern) {
  ASSERT_EQ(Learn().id, kId);
  ASSERT_TRUE(trajectories_->SetFeedback("r", {.rating = 1}).ok());
  options_.min_improvement = 100;
  ASSERT_EQ(Learn().outcome, ClusterOutcome::kNoImprovement);
  ASSERT_TRUE(patterns_->Delete(kId).ok());
  options_.min_improvement = -100;
  AddLesson("s", embedding_);
  ASSERT_TRUE(Run({"s"}).status.ok());
  AddLesson("t", embedding_);
  EXPECT_EQ(Run({"t"}).patterns[0].responses, (std::set<std::string>{"s", "t"}));
}

TEST_F(BackgroundRoundTest, AnAdapterChangesAllLinearsOfTheLastLayers) {
  options_.layers = 2;
  Learn();
  const auto payload = serving::DecodePatternPayload(patterns_->Get(kId)->payload);
  const auto adapter = inference::DecodeAdapter(AsBytes(payload->adapter));
  ASSERT_TRUE(adapter.ok()) << adapter.status();
  EXPECT_EQ((*adapter)->targets.size(), 14u);
  const int layers = model_->config().layers;
  for (const int layer : {layers - 2, layers - 1}) {
    for (const char* name :
         {"attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"}) {
      const auto target = (*adapter)->targets.find(fmt::format("blk.{}.{}.weight", layer, name));
      ASSERT_NE(target, (*adapter)->targets.end()) << layer << name;
      EXPECT_EQ(target->second.rank, 2);
    }
  }
}

TEST_F(BackgroundRoundTest, TrainingYieldsBetweenSlicesAndLearnsTheSame) {
  Learn();
  const std::string in_one = serving::DecodePatternPayload(patterns_->Get(kId)->payload)->adapter;
  ASSERT_TRUE(patterns_->Put(Known()).ok());
  slice_ = Duration(0);
  int yields = 0;
  between_slices_ = [&](uint64_t) {
    ++yields;
    return absl::OkStatus();
  };
  Learn();
  EXPECT_GT(yields, 10);
  EXPECT_EQ(serving::DecodePatternPayload(patterns_->Get(kId)->payload)->adapter, in_one);
}

TEST_F(BackgroundRoundTest, AStoppedRoundLeavesItsLessonsForTheNext) {
  slice_ = Duration(0);
  bool stop = false;
  int yields = 0;
  between_slices_ = [&](uint64_t) {
    stop = ++yields == 5;
    return absl::OkStatus();
  };
  const uint64_t before = patterns_->Stats().last_sequence;
  BackgroundRound round = Run({"r"}, [&] { return stop; });
  EXPECT_TRUE(absl::IsCancelled(round.status)) << round.status;
  EXPECT_EQ(round.waiting, std::set<std::string>{"r"});
  EXPECT_EQ(yields, 5);
  EXPECT_EQ(patterns_->Stats().last_sequence, before);
  between_slices_ = [](uint64_t) { return absl::ResourceExhaustedError("over the budget"); };
  round = Run({"r"});
  EXPECT_TRUE(absl::IsResourceExhausted(round.status)) << round.status;
  EXPECT_EQ(round.waiting, std::set<std::string>{"r"});
}

// A measurement on the training lessons would find every lesson useful.
TEST_F(BackgroundRoundTest, OfFourLessonsOneIsHeldBack) {
  for (const char* id : {"s", "t"}) {
    AddLesson(id, embedding_);
  }
  EXPECT_EQ(Learn().held_back, 0);
  AddLesson("u", embedding_);
  const BackgroundRound round = Run({"u"});
  ASSERT_EQ(round.patterns.size(), 1u);
  EXPECT_EQ(round.patterns[0].examples, 4);
  EXPECT_EQ(round.patterns[0].held_back, 1);
  EXPECT_EQ(patterns_->Get(kId)->examples, 4u);
}

TEST_F(BackgroundRoundTest, QualityDecaysWithNewEvidence) {
  options_.quality_decay = 0.5F;
  ASSERT_EQ(Learn().outcome, ClusterOutcome::kKept);
  EXPECT_FLOAT_EQ(patterns_->Get(kId)->quality, 1) << "the first evidence";
  AddLesson("s", embedding_);
  ASSERT_TRUE(trajectories_->SetFeedback("s", {.rating = 0.8F}).ok());
  ASSERT_TRUE(Run({"s"}).status.ok());
  EXPECT_FLOAT_EQ(patterns_->Get(kId)->quality, 0.9F);
}

TEST_F(BackgroundRoundTest, PatternsThatCameNearEachOtherBecomeOneWithAllLessons) {
  ASSERT_EQ(Learn().id, kId);
  AddLesson("far", other_);
  const BackgroundRound apart = Run({"far"});
  ASSERT_EQ(apart.patterns.size(), 1u);
  ASSERT_TRUE(apart.merged.empty());
  const storage::PatternId far = apart.patterns[0].id;
  storage::Pattern moved = *patterns_->Get(far);
  moved.embedding = embedding_;
  moved.payload = serving::EncodePatternPayload(
      {.adapter = serving::DecodePatternPayload(moved.payload)->adapter, .withheld = true});
  ASSERT_TRUE(patterns_->Put(moved).ok());
  AddLesson("s", embedding_);
  const BackgroundRound round = Run({"s"});
  EXPECT_TRUE(round.status.ok()) << round.status;
  ASSERT_EQ(round.merged.size(), 1u);
  const MergedPattern& merged = round.merged[0];
  EXPECT_LE(merged.kept_loss, merged.gone_loss);
  EXPECT_EQ((std::set<storage::PatternId>{merged.kept, merged.gone}),
            (std::set<storage::PatternId>{kId, far}));
  EXPECT_EQ(patterns_->size(), 1u);
  EXPECT_TRUE(serving::DecodePatternPayload(patterns_->Get(merged.kept)->payload)->withheld)
      << "the lessons of one were not to be shared";
  for (const char* id : {"r", "s", "far"}) {
    EXPECT_EQ(trajectories_->Get(id)->learned_in, merged.kept) << id;
  }
  EXPECT_LE(patterns_->Get(merged.kept)->examples, 2u) << "as many as its centroid is of";
}

// Regression test: after a cancellation the round still read all patterns, twice and with their
// adapters.
TEST_F(BackgroundRoundTest, ACancelledRoundEndsWithThePageThatItReads) {
  for (uint16_t i = 0; i < 600; ++i) {
    storage::Pattern pattern = Known();
    pattern.id = {9, static_cast<uint8_t>(i >> 8), static_cast<uint8_t>(i)};
    pattern.embedding = other_;
    ASSERT_TRUE(patterns_->Put(pattern).ok());
  }
  int calls = 0;
  LearningServices services{.patterns = patterns_.get(), .cancelled = [&] { return ++calls == 2; }};
  EXPECT_TRUE(absl::IsCancelled(PatternsLearnedHere(services).status()));
  EXPECT_EQ(calls, 2) << "once a page";
  const auto all = PatternsLearnedHere(services);
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_EQ(all->size(), 601u);
  EXPECT_EQ(all->front().embedding, embedding_);
}

TEST_F(BackgroundRoundTest, PatternsThatSomebodyElseTaughtAreNotMerged) {
  ASSERT_EQ(Learn().id, kId);
  storage::Pattern given = *patterns_->Get(kId);
  const Digest own = given.origin;
  given.id = storage::PatternId{9};
  given.origin = Sha256("a peer");
  ASSERT_TRUE(patterns_->Put(given).ok());
  AddLesson("s", embedding_);
  EXPECT_TRUE(Run({"s"}).merged.empty());
  EXPECT_EQ(patterns_->size(), 2u);
  given.origin = own;
  ASSERT_TRUE(patterns_->Put(given).ok());
  AddLesson("t", embedding_);
  EXPECT_EQ(Run({"t"}).merged.size(), 1u) << "nothing else kept them apart";
}

}  // namespace
}  // namespace ruvd::learning
