// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Tests when deep rounds run, and how ratings take a version back.

#include "node/actors/deep_actor.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/bytes.h"
#include "base/parallel.h"
#include "base/random.h"
#include "base/reasons.h"
#include "base/sim_executor.h"
#include "base/status.h"
#include "inference/transformer/cpu_transformer.h"
#include "tests/node/database_fixture.h"
#include "tests/node/node_fixture.h"

namespace ruvd::actors {
namespace {

constexpr size_t kLessons = 16;

class DeepActorTest : public DatabaseTest {
 protected:
  void SetUp() override {
    DatabaseTest::SetUp();
    model_ = inference::Model::Load(kSmallModel).value();
    transformer_ = std::make_unique<inference::CpuTransformer>(model_, SerialRunner());
    trajectories_ = storage::TrajectoryStore::Open(*database_, {}).value();
    patterns_ = storage::PatternStore::Open(
                    *database_, {.dimension = static_cast<uint32_t>(model_->config().width)})
                    .value();
    changes_ = storage::ChangeStore::Open(*database_).value();
    catalog_ = std::make_unique<serving::AdapterCatalog>(
        *model_, serving::AdapterCatalogOptions{.state = &state_.emplace(*database_)});
    for (size_t i = 0; i < kLessons; ++i) {
      AddCompletion(fmt::format("lesson {:02}", i), {});
      ASSERT_TRUE(
          trajectories_->SetFeedback(fmt::format("lesson {:02}", i), {.accepted = true}).ok());
    }
  }
  void AddCompletion(const std::string& id, std::vector<std::string> adapters) {
    ASSERT_TRUE(trajectories_
                    ->Put({.response_id = id,
                           .prompt = "The lighthouse keeper",
                           .completion = " counted the ships every evening and wrote it down.",
                           .embedded_by = std::string(AsText(package_)),
                           .adapters = std::move(adapters),
                           .created_ms = clock_.WallMillis()})
                    .ok());
  }
  // Starts the actor as a node does.
  void Start() {
    deep_.reset();
    system_ = std::make_unique<runtime::ActorSystem>(executor_, runtime::ActorSystemOptions{});
    DeepActorOptions options;
    options.services.learning = {.clock = &clock_,
                                 .transformer = transformer_.get(),
                                 .trajectories = trajectories_.get(),
                                 .patterns = patterns_.get(),
                                 .package_id = package_,
                                 .changes = changes_.get(),
                                 .cancelled = [this] {
                                   ++polls_;
                                   clock_.Advance(std::chrono::milliseconds(10));
                                   return stop_after_polls_ > 0 && --stop_after_polls_ == 0;
                                 }};
    options.services.catalog = catalog_.get();
    options.services.gate = &gate_;
    options.services.state = &*state_;
    options.round = {
        .rank = 2, .steps = 6, .batch = 2, .learning_rate = 1e-3, .checkpoint_every = 1};
    options.enabled = enabled_;
    options.interval = interval_;
    options.pool = &executor_;
    deep_ = StartDeepActor(*system_, options);
    executor_.RunFor(std::chrono::seconds(1));
  }
  absl::StatusOr<learning::DeepResult> Run() {
    absl::StatusOr<learning::DeepResult> result = absl::UnknownError("no answer");
    deep_->Run([&](absl::StatusOr<learning::DeepResult> given) { result = std::move(given); });
    executor_.RunFor(std::chrono::seconds(1));
    return result;
  }
  // Advances both clocks: deadlines are set by one clock and reached by the other.
  void Pass(Duration duration) {
    clock_.Advance(duration);
    executor_.RunFor(duration);
  }
  learning::DeepStatus Status() {
    absl::StatusOr<learning::DeepStatus> status = absl::UnknownError("no answer");
    deep_->GetStatus(
        [&](absl::StatusOr<learning::DeepStatus> given) { status = std::move(given); });
    executor_.RunFor(std::chrono::seconds(1));
    EXPECT_TRUE(status.ok()) << status.status();
    return status.value_or(learning::DeepStatus{});
  }
  void Rate(int count, uint32_t version, double rating) {
    for (int i = 0; i < count; ++i) {
      deep_->OnRated({.response_id = fmt::format("{}/{}", version, next_++),
                      .version = version,
                      .rating = rating + (i % 2 == 0 ? 0.05 : -0.05)});
    }
    executor_.RunFor(std::chrono::seconds(1));
  }

  SimExecutor executor_{1};
  const Digest package_ = Sha256("package");
  bool enabled_ = true;
  int stop_after_polls_ = 0;  // 0: never
  int polls_ = 0;
  Duration interval_{};
  int next_ = 0;
  std::shared_ptr<const inference::Model> model_;
  std::unique_ptr<inference::CpuTransformer> transformer_;
  std::unique_ptr<storage::TrajectoryStore> trajectories_;
  std::unique_ptr<storage::PatternStore> patterns_;
  std::unique_ptr<storage::ChangeStore> changes_;
  std::optional<storage::StateStore> state_;
  std::unique_ptr<serving::AdapterCatalog> catalog_;
  learning::GeneralTextGate gate_;
  std::unique_ptr<runtime::ActorSystem> system_;
  std::unique_ptr<learning::DeepActor> deep_;
};

TEST_F(DeepActorTest, ARoundOnDemandAnswersAtItsEnd) {
  Start();
  EXPECT_EQ(Status().served_version, 0u);
  const auto result = Run();
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->outcome, learning::DeepOutcome::kPublished);
  EXPECT_TRUE(result->change->on_demand);
  const learning::DeepStatus status = Status();
  EXPECT_FALSE(status.running);
  EXPECT_EQ(status.served_version, 1u);
  EXPECT_EQ(status.last->version, 1u);
}

TEST_F(DeepActorTest, OnScheduleOnlyWhereThereIsOne) {
  Start();
  Pass(std::chrono::hours(30));
  EXPECT_EQ(Status().served_version, 0u);
  interval_ = std::chrono::hours(24);
  Start();
  Pass(std::chrono::hours(23));
  EXPECT_EQ(Status().served_version, 0u);
  Pass(std::chrono::hours(2));
  EXPECT_EQ(Status().served_version, 1u);
  EXPECT_FALSE(changes_->List(1)->at(0).on_demand);
}

// Regression test: hours were counted from each start, so a node that is stopped every night was
// never due.
TEST_F(DeepActorTest, TheScheduleGoesOnOverRestarts) {
  interval_ = std::chrono::hours(24);
  Start();
  Pass(std::chrono::hours(20));
  Start();
  Pass(std::chrono::hours(3));
  EXPECT_EQ(Status().served_version, 0u);
  Pass(std::chrono::hours(2));
  ASSERT_EQ(Status().served_version, 1u);
  Start();
  Pass(std::chrono::hours(23));
  EXPECT_EQ(Status().last, std::nullopt) << "the last one was a day ago";
  ASSERT_TRUE(changes_->SetPaused(true).ok());
  Pass(std::chrono::hours(2));
  EXPECT_EQ(Status().last, std::nullopt);
  ASSERT_TRUE(changes_->SetPaused(false).ok());
  Pass(std::chrono::minutes(1));
  EXPECT_TRUE(Status().last.has_value()) << "it was due meanwhile";
}

TEST_F(DeepActorTest, NoneStartsWhileLearningIsPausedOrOff) {
  ASSERT_TRUE(changes_->SetPaused(true).ok());
  Start();
  EXPECT_EQ(ReasonOf(Run().status()), "LEARNING_PAUSED");
  ASSERT_TRUE(changes_->SetPaused(false).ok());
  enabled_ = false;
  Start();
  EXPECT_EQ(ReasonOf(Run().status()), "LEARNING_PAUSED");
}

TEST_F(DeepActorTest, AnInterruptedRoundGoesOnAfterTheNextStart) {
  Start();
  stop_after_polls_ = 45;  // it has begun by then and has not finished
  EXPECT_TRUE(absl::IsCancelled(Run().status()));
  EXPECT_EQ(Status().served_version, 0u);
  Start();
  executor_.RunFor(std::chrono::seconds(5));
  EXPECT_EQ(Status().served_version, 1u);
}

TEST_F(DeepActorTest, AVersionThatIsRatedWorseIsTakenBack) {
  Start();
  ASSERT_TRUE(Run().ok());
  ASSERT_EQ(Status().served_version, 1u);
  Rate(20, 0, 0.8);
  Rate(19, 1, 0.4);
  EXPECT_EQ(Status().served_version, 1u) << "too few ratings";
  Rate(1, 1, 0.4);
  EXPECT_EQ(Status().served_version, 0u);
  const auto list = changes_->List(1);
  EXPECT_GT(list->front().undone_ms, 0);
  EXPECT_TRUE(catalog_->List().empty());
}

TEST_F(DeepActorTest, AVersionThatIsRatedNoWorseStays) {
  Start();
  ASSERT_TRUE(Run().ok());
  Rate(40, 0, 0.8);
  Rate(40, 1, 0.95);
  EXPECT_EQ(Status().served_version, 1u);
}

TEST_F(DeepActorTest, RatingsOfAnEarlierLifeCount) {
  Start();
  ASSERT_TRUE(Run().ok());
  for (int i = 0; i < 20; ++i) {
    const std::string id = fmt::format("rated {}", i);
    AddCompletion(id, {"other@7", "deep@1"});
    ASSERT_TRUE(trajectories_->SetFeedback(id, {.rating = 0.1F}).ok());
  }
  Start();
  Rate(4, 0, 1);  // beside the 16 accepted lessons
  EXPECT_EQ(Status().served_version, 0u);
}

TEST(DeepRatingsTest, ATrajectoryIsRatedByWhatWasSaidOfIt) {
  storage::Trajectory trajectory{.response_id = "r", .adapters = {"deep@3", "deeper@9", "x"}};
  EXPECT_FALSE(learning::RatingOf(trajectory).has_value());
  trajectory.edited_text = "edit";
  EXPECT_EQ(learning::RatingOf(trajectory)->rating, 0);
  EXPECT_EQ(learning::RatingOf(trajectory)->version, 3u);
  trajectory.accepted = true;
  EXPECT_EQ(learning::RatingOf(trajectory)->rating, 1);
  trajectory.rating = 0.25F;
  EXPECT_EQ(learning::RatingOf(trajectory)->rating, 0.25);
}

TEST(DeepRatingsTest, ARatingReplacesTheFormerOneOfItsResponse) {
  learning::DeepRatings ratings;
  for (int i = 0; i < 20; ++i) {
    ratings.Add({.response_id = fmt::format("a{}", i), .version = 1, .rating = 0.9});
    ratings.Add({.response_id = fmt::format("b{}", i), .version = 2, .rating = 0.1});
  }
  EXPECT_TRUE(ratings.HasRegressed(2, 1));
  EXPECT_FALSE(ratings.HasRegressed(1, 2));
  EXPECT_FALSE(ratings.HasRegressed(2, 7)) << "nothing to compare with";
  for (int i = 0; i < 20; ++i) {
    ratings.Add({.response_id = fmt::format("b{}", i), .version = 2, .rating = 0.9});
  }
  EXPECT_FALSE(ratings.HasRegressed(2, 1));
}

// Regression test: at one standard error, checked after every rating, half of the versions were
// taken back. Most of the versions that nearly all users like were taken back as well, since twenty
// equal ratings have no variance.
TEST(DeepRatingsTest, ManyLooksRarelyTakeBackAnEqualVersion) {
  Random random(7);
  constexpr int kVersions = 200;
  for (const double like : {0.5, 0.7, 0.9, 0.95, 0.98}) {
    for (const int before : {20, 60}) {
      int regressed = 0;
      for (int i = 0; i < kVersions; ++i) {
        learning::DeepRatings ratings;
        const auto rate = [&](uint32_t version, int number) {
          ratings.Add({.response_id = fmt::format("{}/{}", version, number),
                       .version = version,
                       .rating = random.Bernoulli(like) ? 1.0 : 0.0});
        };
        for (int n = 0; n < before; ++n) {
          rate(1, n);
        }
        bool worse = false;
        for (int n = 0; n < 150 && !worse; ++n) {
          rate(2, n);
          worse = ratings.HasRegressed(2, 1);
        }
        regressed += worse ? 1 : 0;
      }
      EXPECT_LE(regressed, kVersions / 20) << like << ", " << before << " before";
    }
  }
}

TEST(DeepRatingsTest, AVersionThatIsMuchWorseIsFound) {
  learning::DeepRatings ratings;
  bool worse = false;
  for (int n = 0; n < 60; ++n) {
    ratings.Add(
        {.response_id = fmt::format("1/{}", n), .version = 1, .rating = n % 10 < 8 ? 1.0 : 0.0});
    ratings.Add(
        {.response_id = fmt::format("2/{}", n), .version = 2, .rating = n % 10 < 3 ? 1.0 : 0.0});
    worse = worse || ratings.HasRegressed(2, 1);
  }
  EXPECT_TRUE(worse);
}

TEST_F(DeepActorTest, ARoundThatFailsIsTriedLessAndLessOften) {
  // What is learned cannot be published without a store for it.
  catalog_ = std::make_unique<serving::AdapterCatalog>(*model_, serving::AdapterCatalogOptions{});
  Start();
  EXPECT_FALSE(Run().ok());
  ASSERT_TRUE(HasState(storage::state::DeepCheckpoint()));
  int tried = 0;
  for (int i = 0; i < 240; ++i) {  // two hours
    const int before = polls_;
    Pass(std::chrono::seconds(30));
    tried += polls_ > before ? 1 : 0;
  }
  EXPECT_GE(tried, 4);
  EXPECT_LE(tried, 12);
}

}  // namespace
}  // namespace ruvd::actors
