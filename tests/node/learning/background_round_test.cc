// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Tests what a round of learning stores, and what it leaves unchanged.

#include "node/learning/background_round.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <set>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "inference/adapter/adapter_bytes.h"
#include "node/learning/lesson_clusters.h"
#include "node/serving/pattern_payload.h"
#include "privacy/identity/node_key.h"
#include "storage/consent/consent_book.h"
#include "tests/node/learning/background_round_fixture.h"

namespace ruvd::learning {
namespace {

// What is shared is trained on lessons of users who agreed, and names these users.
TEST_F(BackgroundRoundTest, AnAdapterMayLeaveOnlyIfAllWhoTaughtItAgreed) {
  const privacy::NodeKey key = privacy::NodeKey::FromSeed(privacy::KeySeed{1});
  storage::UserConsentStore store(*database_);
  consents_ = storage::ConsentBook::Open(store, key).value();
  MakeFrame();
  AddLesson("b", embedding_, "The lighthouse keeper", kRoundPackage, "bob");
  ASSERT_TRUE(Run({"r", "b"}).status.ok());
  EXPECT_FALSE(Payload().cores.has_value());
  EXPECT_FALSE(Payload().shareable);
  EXPECT_TRUE(Payload().stays_here);
  EXPECT_THAT(Payload().contributors, testing::IsEmpty());

  ASSERT_TRUE(consents_
                  ->Record({.subject = {.id = "bob"},
                            .purposes = privacy::consent_purposes::kAll,
                            .widest = privacy::ConsentTier::kPublic,
                            .expires_ms = 1'000'000},
                           clock_.WallMillis())
                  .ok());
  AddLesson("c", embedding_, "The lighthouse keeper", kRoundPackage, "bob");
  ASSERT_TRUE(Run({"c"}).status.ok());
  EXPECT_TRUE(Payload().cores.has_value());
  EXPECT_TRUE(Payload().shareable);
  EXPECT_FALSE(Payload().stays_here);
  EXPECT_THAT(Payload().contributors,
              testing::UnorderedElementsAre(consents_->ContributorOf({}),
                                            consents_->ContributorOf({.user_id = "bob"})));
}

// There is one training: the adapter that serves is made of the cores that peers get.
TEST_F(BackgroundRoundTest, WhatIsSharedIsWhatServes) {
  MakeFrame();
  ASSERT_EQ(Learn().outcome, ClusterOutcome::kKept);
  const storage::Pattern pattern = *patterns_->Get(kId);
  const serving::PatternPayload payload = Payload();
  ASSERT_TRUE(payload.cores.has_value());
  EXPECT_TRUE(payload.shareable);
  EXPECT_THAT(payload.adapter, testing::IsEmpty());
  EXPECT_EQ(payload.cores->cores.size(), 14u);
  const auto adapter = serving::AdapterOfPattern(pattern, payload, *model_, &*frame_);
  ASSERT_TRUE(adapter.ok()) << adapter.status();
  EXPECT_EQ((*adapter)->name, pattern.adapter_name);
  EXPECT_EQ((*adapter)->version, pattern.adapter_version);
  EXPECT_EQ(pattern.adapter_name,
            serving::PatternAdapterName(kId, inference::AdapterId(**adapter)));
  EXPECT_EQ(serving::AdapterOfPattern(pattern, payload, *model_, nullptr).status().code(),
            absl::StatusCode::kFailedPrecondition);
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

TEST_F(BackgroundRoundTest, AnAdapterChangesAllLinearsOfTheLastLayers) {
  options_.training.layers = 2;
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

TEST_F(BackgroundRoundTest, APatternThatTookLessonsWhichMustNotLeaveStays) {
  MakeFrame();
  ASSERT_EQ(Learn().id, kId);
  AddLesson("far", other_);
  const BackgroundRound apart = Run({"far"});
  ASSERT_EQ(apart.patterns.size(), 1U);
  storage::Pattern moved = *patterns_->Get(apart.patterns[0].id);
  for (size_t i = 0; i < embedding_.size(); ++i) {  // near, yet farther from the next lesson
    moved.embedding[i] = embedding_[i] + 0.2F * other_[i];
  }
  serving::PatternPayload payload = *serving::DecodePatternPayload(moved.payload);
  ASSERT_TRUE(payload.shareable);
  payload.shareable = false;
  moved.payload = serving::EncodePatternPayload(payload);
  ASSERT_TRUE(patterns_->Put(moved).ok());
  AddLesson("s", embedding_);
  const BackgroundRound round = Run({"s"});
  ASSERT_EQ(round.merged.size(), 1U) << round.status;
  EXPECT_FALSE(
      serving::DecodePatternPayload(patterns_->Get(round.merged[0].kept)->payload)->shareable);
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
