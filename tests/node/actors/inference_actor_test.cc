// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Tests that storing what requests leave delays no step of other requests.

#include "node/actors/inference_actor.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/executor.h"
#include "base/mutex.h"
#include "base/parallel.h"
#include "base/reasons.h"
#include "base/status.h"
#include "base/thread_pool.h"
#include "inference/adapter/adapter_bytes.h"
#include "inference/adapter/adapter_file.h"
#include "inference/transformer/cpu_transformer.h"
#include "node/runtime/limits.h"
#include "node/serving/adapter_catalog.h"
#include "tests/inference/text_model.h"
#include "tests/node/database_fixture.h"
#include "tests/node/holding_executor.h"

namespace ruvd::actors {
namespace {

constexpr auto kPatience = std::chrono::seconds(60);

// Counts the steps of a completion and lets a test wait for its end.
class Caller final : public serving::GenerationListener {
 public:
  void OnStarted(const serving::GenerationStarted& /*started*/) override {}
  void OnStep(const inference::StepResult& step) override {
    if (step.done) {
      last_step_.set_value();
    }
  }
  void OnEnd(const absl::StatusOr<serving::GenerationFinished>& result) override {
    end_.set_value(result);
  }
  bool cancelled() const override { return cancelled_.load(); }

  void Cancel() { cancelled_.store(true); }
  // Returns whether the last step comes in time.
  bool Computed() {
    return last_step_.get_future().wait_for(kPatience) == std::future_status::ready;
  }
  bool Told(std::chrono::milliseconds patience) {
    return told_.wait_for(patience) == std::future_status::ready;
  }
  absl::StatusOr<serving::GenerationFinished> End() {
    return Told(kPatience) ? told_.get() : absl::DeadlineExceededError("no end came");
  }

 private:
  std::atomic<bool> cancelled_{false};
  std::promise<void> last_step_;
  std::promise<absl::StatusOr<serving::GenerationFinished>> end_;
  std::shared_future<absl::StatusOr<serving::GenerationFinished>> told_ = end_.get_future();
};

class InferenceActorTest : public DatabaseTest {
 protected:
  void SetUp() override {
    DatabaseTest::SetUp();
    patterns_ = storage::PatternStore::Open(
                    *database_, {.dimension = static_cast<uint32_t>(model_->config().width)})
                    .value();
    trajectories_ = storage::TrajectoryStore::Open(*database_, {}).value();
    catalog_ = std::make_unique<serving::AdapterCatalog>(*model_, serving::AdapterCatalogOptions{});
    adapters_ = std::make_unique<serving::AdapterSource>(*patterns_, *model_,
                                                         inference::SelectionOptions(), *catalog_);
    metrics_ = metrics::Metrics::Create("").value();
    Start(2, io_pool_);
  }
  void Start(size_t queue, Executor& files) {
    system_ = std::make_unique<runtime::ActorSystem>(io_pool_);
    const auto prepare_key = [this](const std::string& user) { prepared_.push_back(user); };
    actor_ = StartInferenceActor(*system_, {.queue = queue,
                                            .services = {.clock = &SystemClock(),
                                                         .adapters = adapters_.get(),
                                                         .trajectories = trajectories_.get(),
                                                         .fence = &fence_,
                                                         .model_name = "tiny",
                                                         .prepare_user_key = prepare_key},
                                            .transformer = &transformer_,
                                            .exact = &transformer_,
                                            .compute = &compute_pool_,
                                            .files = &files,
                                            .records = &record_pool_,
                                            .aborted = [] { return false; },
                                            .metrics = metrics_.get()});
  }
  // Makes every request read an adapter's file.
  void ServeAColdAdapter() {
    const std::string target = "blk.1.attn_output.weight";
    const std::string file = folder_ / "one.gguf";
    ASSERT_TRUE(
        inference::SaveAdapterFile(
            *test::RandomAdapter(*model_, {{target, inference::FindMatrix(*model_, target)}}, 1),
            *model_, file)
            .ok());
    catalog_ = std::make_unique<serving::AdapterCatalog>(
        *model_, serving::AdapterCatalogOptions{.budget = 1});  // nothing stays in memory
    ASSERT_TRUE(catalog_->LoadConfigured(std::vector<std::string>{file}).ok());
    adapters_ = std::make_unique<serving::AdapterSource>(*patterns_, *model_,
                                                         inference::SelectionOptions(), *catalog_);
  }
  ~InferenceActorTest() override {
    system_.reset();
    compute_pool_.Shutdown();
    record_pool_.Shutdown();
    io_pool_.Shutdown();
  }
  absl::Status Ask(const std::shared_ptr<Caller>& caller) {
    serving::GenerationJob job;
    job.prompt = "once";
    job.user_id = "ann";
    job.options = {.mode = inference::DecodingMode::kAutoregressive,
                   .max_tokens = 4,
                   .ignore_end_of_text = true};
    job.listener = caller;
    return actor_->Generate(std::move(job));
  }
  // Makes the store's writes wait until Release.
  void BlockTheStore() {
    std::promise<void> blocked;
    std::future<void> is_blocked = blocked.get_future();
    blocker_ = std::async(std::launch::async, [this, blocked = std::move(blocked)]() mutable {
      return trajectories_->WithRewritesPaused([&] {
        blocked.set_value();
        release_.get_future().wait();
        return absl::OkStatus();
      });
    });
    is_blocked.wait();
  }
  void Release() { release_.set_value(); }

  const std::shared_ptr<const inference::Model> model_ = test::TinyTextModel();
  inference::CpuTransformer transformer_{model_, SerialRunner()};
  std::unique_ptr<storage::PatternStore> patterns_;
  std::unique_ptr<storage::TrajectoryStore> trajectories_;
  std::unique_ptr<serving::AdapterCatalog> catalog_;
  std::unique_ptr<serving::AdapterSource> adapters_;
  std::unique_ptr<metrics::Metrics> metrics_;
  std::vector<std::string> prepared_;  // users whose keys were prepared
  serving::ErasureFence fence_{SystemClock()};
  ThreadPool io_pool_{{.name = "io", .threads = 2}};
  ThreadPool compute_pool_{{.name = "compute", .threads = 1}};
  ThreadPool record_pool_{{.name = "records", .threads = 1}};
  std::unique_ptr<runtime::ActorSystem> system_;
  std::unique_ptr<serving::InferenceActor> actor_;
  std::promise<void> release_;
  std::future<absl::Status> blocker_;
};

TEST_F(InferenceActorTest, WhileOneIsStoredTheStepsOfOthersGoOn) {
  BlockTheStore();
  const auto first = std::make_shared<Caller>();
  const auto second = std::make_shared<Caller>();
  ASSERT_TRUE(Ask(first).ok());
  ASSERT_TRUE(first->Computed());
  ASSERT_TRUE(Ask(second).ok());
  EXPECT_TRUE(second->Computed()) << "while the first is not stored";
  EXPECT_FALSE(first->Told(std::chrono::milliseconds(50)));
  EXPECT_EQ(actor_->running(), 2u);
  const auto third = std::make_shared<Caller>();
  EXPECT_EQ(ReasonOf(Ask(third)), reasons::kMailboxFull) << "what waits for the store is bounded";
  EXPECT_EQ(prepared_.size(), 2u) << "a refused request makes no key";

  Release();
  ASSERT_TRUE(first->End().ok());
  EXPECT_TRUE(trajectories_->Get(first->End()->response_id).ok());
  ASSERT_TRUE(second->End().ok());
  EXPECT_TRUE(trajectories_->Get(second->End()->response_id).ok());
}

TEST_F(InferenceActorTest, ADrainWaitsUntilTheLastIsStored) {
  BlockTheStore();
  const auto caller = std::make_shared<Caller>();
  ASSERT_TRUE(Ask(caller).ok());
  ASSERT_TRUE(caller->Computed());
  auto drained = std::async(std::launch::async, [this] {
    return system_->DrainAndWait(SystemClock().Now() + kPatience).complete;
  });
  EXPECT_EQ(drained.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  Release();
  EXPECT_TRUE(drained.get());
  EXPECT_TRUE(caller->End().ok());
  EXPECT_EQ(trajectories_->size(), 1u);
}

// After a stop by force, what was computed is still stored and told.
TEST_F(InferenceActorTest, AStopByForceLosesNoEnd) {
  BlockTheStore();
  const auto first = std::make_shared<Caller>();
  const auto second = std::make_shared<Caller>();
  ASSERT_TRUE(Ask(first).ok());
  ASSERT_TRUE(first->Computed());
  ASSERT_TRUE(Ask(second).ok());
  ASSERT_TRUE(second->Computed());
  auto stopped = std::async(std::launch::async, [this] { system_.reset(); });
  Release();
  stopped.get();
  compute_pool_.Shutdown();
  record_pool_.Shutdown();
  EXPECT_TRUE(first->End().ok());
  EXPECT_TRUE(second->End().ok());
  EXPECT_EQ(trajectories_->size(), 2u);
}

TEST_F(InferenceActorTest, ErasureDoesNotWaitForACancelledRequest) {
  BlockTheStore();
  const auto first = std::make_shared<Caller>();
  ASSERT_TRUE(Ask(first).ok());
  ASSERT_TRUE(first->Computed());
  const auto cancelled = std::make_shared<Caller>();
  cancelled->Cancel();
  ASSERT_TRUE(Ask(cancelled).ok());
  // Which of the two ends first depends on the threads; the store holds up the first one.
  EXPECT_FALSE(first->Told(std::chrono::milliseconds(50)));
  auto erased = std::async(std::launch::async, [this] { fence_.FenceUser("ann"); });
  Release();
  erased.get();
  EXPECT_TRUE(first->End().ok());
  EXPECT_EQ(ReasonOf(cancelled->End().status()), reasons::kCancelled);
}

// Found by review: with a large queue, preparations left no room for the offload of the computing.
// The actor restarted, and every request failed.
TEST_F(InferenceActorTest, PreparationsLeaveRoomForComputingAndStoring) {
  actor_.reset();
  system_.reset();
  ServeAColdAdapter();
  HoldingExecutor files;                              // a disk that never answers
  Start(2 * limits::kMaxOutstandingPerActor, files);  // one caller may have all that it asks for
  std::shared_ptr<Caller> last;
  for (size_t i = 0; i < limits::kMaxOutstandingPerActor + 1; ++i) {
    last = std::make_shared<Caller>();
    ASSERT_TRUE(Ask(last).ok());
  }
  const auto end = last->End();
  EXPECT_TRUE(end.ok()) << end.status();
  EXPECT_EQ(files.size(), limits::kMaxOutstandingPerActor - 2);
}

}  // namespace
}  // namespace ruvd::actors
