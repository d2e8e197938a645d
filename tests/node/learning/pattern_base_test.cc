// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Patterns act on top of the adapter of deep rounds. Tests what they are trained on, and what
// happens to them when another version of that adapter is served.

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
#include "base/sim_executor.h"
#include "base/status.h"
#include "inference/adapter/adapter_bytes.h"
#include "inference/adapter/adapter_kinds.h"
#include "inference/adapter/frame_set.h"
#include "inference/train/score.h"
#include "inference/train/trainer.h"
#include "inference/transformer/cpu_transformer.h"
#include "node/actors/learning_actor.h"
#include "node/learning/background_round.h"
#include "node/learning/learning_undo.h"
#include "node/learning/lesson_clusters.h"
#include "node/learning/pattern_training.h"
#include "node/learning/stale_patterns.h"
#include "node/serving/pattern_payload.h"
#include "node/serving/served_adapters.h"
#include "privacy/identity/node_key.h"
#include "storage/consent/consent_book.h"
#include "tests/node/database_fixture.h"
#include "tests/node/node_fixture.h"

namespace ruvd::learning {
namespace {

constexpr char kPrompt[] = "The lighthouse keeper";
constexpr char kBaseWanted[] = " counted the ships every evening.";

class PatternBaseTest : public DatabaseTest {
 protected:
  void SetUp() override {
    DatabaseTest::SetUp();
    model_ = inference::Model::Load(kSmallModel).value();
    transformer_ = std::make_unique<inference::CpuTransformer>(model_, SerialRunner());
    const auto width = static_cast<uint32_t>(model_->config().width);
    patterns_ = storage::PatternStore::Open(*database_, {.dimension = width}).value();
    trajectories_ = storage::TrajectoryStore::Open(*database_, {}).value();
    changes_ = storage::ChangeStore::Open(*database_).value();
    catalog_ = std::make_unique<serving::AdapterCatalog>(
        *model_, serving::AdapterCatalogOptions{.state = &state_.emplace(*database_)});
    ASSERT_TRUE(
        trajectories_
            ->Put({.response_id = "r",
                   .prompt = kPrompt,
                   .completion = kBaseWanted,
                   .embedding = std::vector<float>(width, 1 / std::sqrt(static_cast<float>(width))),
                   .embedded_by = std::string(AsText(package_)),
                   .created_ms = clock_.WallMillis()})
            .ok());
    ASSERT_TRUE(trajectories_->SetFeedback("r", {.accepted = true}).ok());
  }
  // Returns a version of the deep adapter that was taught the lesson for `steps` steps.
  std::shared_ptr<const inference::Adapter> TrainDeep(uint32_t version, int steps) {
    const inference::Model& model = *model_;
    const std::vector<inference::TrainingExample> examples = {
        {.prompt = model.tokenizer().EncodePrompt(kPrompt),
         .completion = model.tokenizer().EncodeContinuation(kBaseWanted)}};
    const auto result = TrainLora(
        *transformer_, inference::train::SitesFrom(model.config(), 0, false), examples, {}, nullptr,
        {.rank = 2,
         .steps = steps,
         .learning_rate = 1e-3F,
         .name = serving::kDeepAdapter,
         .version = version});
    EXPECT_TRUE(result.ok()) << result.status();
    return result->adapter;
  }
  void Publish(const std::shared_ptr<const inference::Adapter>& deep) {
    ASSERT_TRUE(catalog_->Publish(inference::StaticTalora(deep), 1).ok());
  }
  LearningServices Services() {
    return {.clock = &clock_,
            .transformer = transformer_.get(),
            .trajectories = trajectories_.get(),
            .patterns = patterns_.get(),
            .package_id = package_,
            .frame = frame_ ? &*frame_ : nullptr,
            .shares_patterns = shares_patterns_,
            .consents = consents_.get(),
            .changes = changes_.get(),
            .catalog = catalog_.get(),
            .cancelled = cancelled_};
  }
  LearnedPattern Learn(const FreshLessons& fresh) {
    Random random(1);
    const BackgroundRound round = RunBackgroundRound(Services(), options_, fresh, random);
    EXPECT_TRUE(round.status.ok()) << round.status;
    EXPECT_EQ(round.patterns.size(), 1u);
    return round.patterns.empty() ? LearnedPattern{} : round.patterns.front();
  }
  serving::PatternPayload PayloadOf(const storage::PatternId& id) const {
    return serving::DecodePatternPayload(patterns_->Get(id)->payload).value();
  }
  std::shared_ptr<const inference::Adapter> AdapterOf(const storage::PatternId& id) const {
    return serving::AdapterOfPattern(*patterns_->Get(id), PayloadOf(id), *model_,
                                     frame_ ? &*frame_ : nullptr)
        .value();
  }
  // Returns the score of the lesson with these adapters.
  double Score(const std::vector<std::shared_ptr<const inference::Adapter>>& adapters) {
    inference::AdapterMix mix;
    for (const auto& adapter : adapters) {
      mix.parts.push_back({.adapter = adapter, .weight = 1});
    }
    return ScoreCompletion(*transformer_, model_->tokenizer().EncodePrompt(kPrompt),
                           model_->tokenizer().EncodeContinuation(kBaseWanted), &mix,
                           {.samples = 32, .seed = 5})
        .value();
  }

  const Digest package_ = Sha256("package");
  BackgroundOptions options_{.training = {.steps = 8}};
  std::function<bool()> cancelled_;
  std::optional<inference::FrameSet> frame_;  // none: adapters are LoRAs
  bool shares_patterns_ = true;
  std::unique_ptr<storage::ConsentBook> consents_;  // null: all users agree
  std::shared_ptr<const inference::Model> model_;
  std::unique_ptr<inference::CpuTransformer> transformer_;
  std::unique_ptr<storage::PatternStore> patterns_;
  std::unique_ptr<storage::TrajectoryStore> trajectories_;
  std::unique_ptr<storage::ChangeStore> changes_;
  std::optional<storage::StateStore> state_;
  std::unique_ptr<serving::AdapterCatalog> catalog_;
};

// Regression test: patterns were trained and measured on the bare model, and served on top of what
// all requests get.
TEST_F(PatternBaseTest, APatternIsTrainedAndMeasuredOnTopOfWhatIsServed) {
  const double bare = Learn({.responses = {"r"}}).held_out_before;
  const storage::PatternId id = *trajectories_->Get("r")->learned_in;
  EXPECT_EQ(PayloadOf(id).deep_version, 0u);
  const auto alone = AdapterOf(id);

  const auto deep = TrainDeep(1, 30);
  Publish(deep);
  const LearnedPattern learned = Learn({.responses = {"r"}});
  EXPECT_LT(learned.held_out_before, bare - 0.1) << "of what is served";
  ASSERT_EQ(learned.outcome, ClusterOutcome::kKept);
  EXPECT_EQ(PayloadOf(id).deep_version, 1u);
  const auto on_top = AdapterOf(id);
  EXPECT_NE(inference::AdapterId(*on_top), inference::AdapterId(*alone));
  EXPECT_LT(Score({deep, on_top}), Score({deep}));
}

// The deep adapter may hold what others must not learn, so it has no part in what is shared.
TEST_F(PatternBaseTest, TheDeepAdapterHasNoPartInWhatIsShared) {
  frame_ =
      RandomFrameSet(*model_, LinearTargets(*model_, inference::Modules::kAll, 2), 8, 1).value();
  Learn({.responses = {"r"}});  // makes the pattern, so that the next rounds draw equal seeds
  const double bare = Learn({.responses = {"r"}}).held_out_before;
  const storage::PatternId id = *trajectories_->Get("r")->learned_in;
  ASSERT_TRUE(PayloadOf(id).shareable);
  const Digest alone = inference::AdapterId(*AdapterOf(id));

  Publish(TrainDeep(1, 30));
  const LearnedPattern learned = Learn({.responses = {"r"}});
  ASSERT_EQ(learned.outcome, ClusterOutcome::kKept);
  EXPECT_LT(learned.held_out_before, bare - 0.1) << "of what is served";
  EXPECT_TRUE(PayloadOf(id).shareable);
  EXPECT_EQ(PayloadOf(id).deep_version, 1u);
  EXPECT_EQ(inference::AdapterId(*AdapterOf(id)), alone);

  // Without consent the same lesson is trained on top of what is served.
  const privacy::NodeKey key = privacy::NodeKey::FromSeed(privacy::KeySeed{1});
  storage::UserConsentStore store(*database_);
  consents_ = storage::ConsentBook::Open(store, key).value();
  storage::Trajectory lesson = *trajectories_->Get("r");
  lesson.user_id = "bob";
  ASSERT_TRUE(trajectories_->Put(lesson).ok());
  ASSERT_EQ(Learn({.responses = {"r"}}).outcome, ClusterOutcome::kKept);
  EXPECT_FALSE(PayloadOf(id).shareable);
  EXPECT_NE(inference::AdapterId(*AdapterOf(id)), alone);
}

// A user who agreed to sharing loses no adapter that helps here by it.
TEST_F(PatternBaseTest, WhatGainsNothingHereIsTrainedAgainAndStays) {
  frame_ =
      RandomFrameSet(*model_, LinearTargets(*model_, inference::Modules::kAll, 2), 8, 1).value();
  Publish(TrainDeep(1, 30));
  const auto gain = [](const PatternTraining& training) {
    return training.result.held_out_before - training.result.held_out_after;
  };
  const Lesson lesson = LessonOf(*trajectories_->Get("r"), 0.7F);
  const LessonSplit split{.taught = {&lesson}, .held_back = {}};
  PatternTrainingOptions options = options_.training;
  options.min_improvement = -100;
  const auto shared = TrainPattern(Services(), options, split, 1);
  ASSERT_TRUE(shared.ok()) << shared.status();
  ASSERT_TRUE(shared->shareable);
  options.min_improvement = gain(*shared) + 1e-6;
  const auto again = TrainPattern(Services(), options, split, 1);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_FALSE(again->shareable);
  EXPECT_TRUE(again->stays_here);
  EXPECT_FALSE(again->result.cores.has_value()) << "a LoRA learns more of a single lesson";
  EXPECT_THAT(again->contributors, testing::IsEmpty());
  EXPECT_NE(inference::AdapterId(*again->result.adapter),
            inference::AdapterId(*shared->result.adapter));
}

// Found by review: a frame without all modules ended every background round.
TEST_F(PatternBaseTest, AFrameTeachesTheModulesThatItHas) {
  frame_ =
      RandomFrameSet(*model_, LinearTargets(*model_, inference::Modules::kQv, 1), 8, 1).value();
  ASSERT_EQ(Learn({.responses = {"r"}}).outcome, ClusterOutcome::kKept);
  const storage::PatternId id = *trajectories_->Get("r")->learned_in;
  EXPECT_TRUE(PayloadOf(id).shareable);
  EXPECT_EQ(PayloadOf(id).cores->cores.size(), 2U);
  std::erase_if(frame_->modules,
                [](const auto& module) { return !module.first.starts_with("blk.0."); });
  ASSERT_EQ(Learn({.responses = {"r"}}).outcome, ClusterOutcome::kKept);
  EXPECT_FALSE(PayloadOf(id).cores.has_value());
  EXPECT_TRUE(PayloadOf(id).stays_here);
}

// A node without peers has nothing of the form in which patterns are shared. Once it has peers,
// they get what it had learned.
TEST_F(PatternBaseTest, WhatWasLearnedAloneReachesPeersAfterJoining) {
  frame_ =
      RandomFrameSet(*model_, LinearTargets(*model_, inference::Modules::kAll, 2), 8, 1).value();
  shares_patterns_ = false;
  Learn({.responses = {"r"}});
  const storage::PatternId id = *trajectories_->Get("r")->learned_in;
  EXPECT_FALSE(PayloadOf(id).cores.has_value());
  EXPECT_FALSE(PayloadOf(id).stays_here);
  EXPECT_TRUE(LessonsOfStalePatterns(Services(), 0.7F)->empty());

  shares_patterns_ = true;
  EXPECT_EQ(*LessonsOfStalePatterns(Services(), 0.7F), std::set<std::string>{"r"});
  EXPECT_EQ(Learn({.stale_patterns = true}).outcome, ClusterOutcome::kKept);
  EXPECT_TRUE(PayloadOf(id).shareable);
  EXPECT_TRUE(LessonsOfStalePatterns(Services(), 0.7F)->empty());
  shares_patterns_ = false;
  EXPECT_TRUE(LessonsOfStalePatterns(Services(), 0.7F)->empty())
      << "cores serve without peers, too";
}

TEST_F(PatternBaseTest, WhatMayNotLeaveIsNotTaughtAgainForPeers) {
  frame_ =
      RandomFrameSet(*model_, LinearTargets(*model_, inference::Modules::kAll, 2), 8, 1).value();
  const privacy::NodeKey key = privacy::NodeKey::FromSeed(privacy::KeySeed{1});
  storage::UserConsentStore store(*database_);
  consents_ = storage::ConsentBook::Open(store, key).value();
  storage::Trajectory lesson = *trajectories_->Get("r");
  lesson.user_id = "bob";
  ASSERT_TRUE(trajectories_->Put(lesson).ok());
  ASSERT_EQ(Learn({.responses = {"r"}}).outcome, ClusterOutcome::kKept);
  EXPECT_FALSE(PayloadOf(*trajectories_->Get("r")->learned_in).shareable);
  EXPECT_TRUE(LessonsOfStalePatterns(Services(), 0.7F)->empty());
}

// An adapter in the former frame cannot serve, so its lessons are taught again in the new one.
TEST_F(PatternBaseTest, PatternsFollowTheFrameOfTheNode) {
  const auto frame = [this](uint64_t seed) {
    return RandomFrameSet(*model_, LinearTargets(*model_, inference::Modules::kAll, 2), 8, seed)
        .value();
  };
  frame_ = frame(1);
  Learn({.responses = {"r"}});
  const storage::PatternId id = *trajectories_->Get("r")->learned_in;
  EXPECT_TRUE(LessonsOfStalePatterns(Services(), 0.7F)->empty());
  frame_ = frame(2);
  EXPECT_EQ(*LessonsOfStalePatterns(Services(), 0.7F), std::set<std::string>{"r"});
  EXPECT_EQ(Learn({.stale_patterns = true}).outcome, ClusterOutcome::kKept);
  EXPECT_EQ(PayloadOf(id).cores->frame_id, frame_->id);
  frame_.reset();
  EXPECT_EQ(*LessonsOfStalePatterns(Services(), 0.7F), std::set<std::string>{"r"});
}

TEST_F(PatternBaseTest, PatternsFollowThePublishedAndTheRestoredVersion) {
  Learn({.responses = {"r"}});
  const storage::PatternId id = *trajectories_->Get("r")->learned_in;
  EXPECT_TRUE(LessonsOfStalePatterns(Services(), 0.7F)->empty());
  Publish(TrainDeep(1, 5));
  EXPECT_EQ(*LessonsOfStalePatterns(Services(), 0.7F), std::set<std::string>{"r"});
  EXPECT_EQ(Learn({.stale_patterns = true}).outcome, ClusterOutcome::kKept);
  EXPECT_EQ(PayloadOf(id).deep_version, 1u);
  EXPECT_TRUE(LessonsOfStalePatterns(Services(), 0.7F)->empty());
  Publish(TrainDeep(2, 6));
  EXPECT_EQ(Learn({.stale_patterns = true}).outcome, ClusterOutcome::kKept);
  EXPECT_EQ(PayloadOf(id).deep_version, 2u);
  ASSERT_TRUE(catalog_->Unload(serving::kDeepAdapter, 2).ok());
  EXPECT_EQ(Learn({.stale_patterns = true}).outcome, ClusterOutcome::kKept);
  EXPECT_EQ(PayloadOf(id).deep_version, 1u);
  ASSERT_TRUE(catalog_->Unload(serving::kDeepAdapter, 1).ok());
  EXPECT_EQ(Learn({.stale_patterns = true}).outcome, ClusterOutcome::kKept);
  EXPECT_EQ(PayloadOf(id).deep_version, 0u);
  EXPECT_EQ(trajectories_->Get("r")->learned_in, id);
}

TEST_F(PatternBaseTest, UndoBringsBackAnAdapterThatWasNoLongerNeeded) {
  Learn({.responses = {"r"}});
  const storage::PatternId id = *trajectories_->Get("r")->learned_in;
  const storage::Pattern before = *patterns_->Get(id);
  options_.training.min_improvement = 100;
  EXPECT_EQ(Learn({.responses = {"r"}}).outcome, ClusterOutcome::kNoImprovement);
  EXPECT_EQ(patterns_->Get(id)->payload, before.payload) << "it stands on what is served";
  Publish(TrainDeep(1, 5));
  const LearnedPattern retired = Learn({.stale_patterns = true});
  EXPECT_EQ(retired.outcome, ClusterOutcome::kRetired);
  EXPECT_EQ(patterns_->Get(id)->adapter_name, "");
  EXPECT_TRUE(PayloadOf(id).adapter.empty());
  EXPECT_EQ(trajectories_->Get("r")->learned_in, id) << "and will be taught with others";
  EXPECT_TRUE(LessonsOfStalePatterns(Services(), 0.7F)->empty());
  ASSERT_TRUE(retired.change.has_value());
  ASSERT_TRUE(UndoChange({.clock = &clock_,
                          .changes = changes_.get(),
                          .patterns = patterns_.get(),
                          .trajectories = trajectories_.get(),
                          .package_id = Services().package_id},
                         *retired.change)
                  .ok());
  EXPECT_EQ(patterns_->Get(id)->adapter_name, before.adapter_name);
  EXPECT_EQ(PayloadOf(id).deep_version, 0u);
}

TEST_F(PatternBaseTest, TrainingOnAWithdrawnVersionIsNotStored) {
  Publish(TrainDeep(1, 5));
  const uint64_t before = patterns_->Stats().last_sequence;
  int calls = 0;
  cancelled_ = [&] {
    if (++calls == 8) {  // it trains
      EXPECT_TRUE(catalog_->Unload(serving::kDeepAdapter, 1).ok());
    }
    return false;
  };
  EXPECT_EQ(Learn({.responses = {"r"}}).outcome, ClusterOutcome::kChanged);
  EXPECT_EQ(patterns_->Stats().last_sequence, before);
}

TEST_F(PatternBaseTest, OfAnAdapterWithBanksTheTrunkIsBeneath) {
  auto banks = std::make_shared<inference::Talora>();
  banks->name = serving::kDeepAdapter;
  banks->version = 3;
  banks->model_hash = model_->hash();
  banks->trunk = TrainDeep(3, 2);
  banks->residuals = {TrainDeep(3, 3), TrainDeep(3, 3), TrainDeep(3, 3)};
  ASSERT_TRUE(catalog_->Publish(banks, 0.5F).ok());
  const auto served = serving::AdaptersBeneathPatterns(catalog_.get());
  ASSERT_TRUE(served.ok()) << served.status();
  EXPECT_EQ(served->deep_version, 3u);
  ASSERT_EQ(served->mix.parts.size(), 1u);
  EXPECT_EQ(inference::AdapterId(*served->mix.parts[0].adapter),
            inference::AdapterId(*banks->trunk));
  EXPECT_EQ(served->mix.parts[0].weight, 0.5F);
  EXPECT_TRUE(serving::AdaptersBeneathPatterns(nullptr)->mix.empty());
}

// The learning actor looks for such patterns by itself.
TEST_F(PatternBaseTest, ARoundComesWhenAnotherVersionIsServed) {
  SimExecutor executor(1);
  runtime::ActorSystem system(executor, runtime::ActorSystemOptions{});
  const auto metrics = metrics::Metrics::Create("").value();
  actors::LearningActorOptions options{.services = Services(),
                                       .round = {.training = {.steps = 3, .min_improvement = -100}},
                                       .round_after_age = std::chrono::seconds(60),
                                       .pool = &executor,
                                       .metrics = metrics.get(),
                                       .on_pattern = [](const storage::PatternId&) {}};
  options.services.clock = &executor.clock();
  const auto learning = actors::StartLearningActor(system, options);
  executor.RunFor(std::chrono::seconds(70));
  const auto learned = trajectories_->Get("r")->learned_in;
  ASSERT_TRUE(learned.has_value());
  EXPECT_EQ(PayloadOf(*learned).deep_version, 0u);
  Publish(TrainDeep(1, 2));
  executor.RunFor(std::chrono::seconds(70));
  EXPECT_EQ(PayloadOf(*learned).deep_version, 1u);
  const uint32_t version = patterns_->Get(*learned)->adapter_version;
  executor.RunFor(std::chrono::seconds(300));
  EXPECT_EQ(patterns_->Get(*learned)->adapter_version, version) << "once";
}

}  // namespace
}  // namespace ruvd::learning
