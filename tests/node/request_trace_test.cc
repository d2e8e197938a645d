// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// What a request tells of itself, and the actor that stores it.

#include "node/actors/request_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/reasons.h"
#include "base/sim_executor.h"
#include "base/status.h"
#include "node/actors/witness_actor.h"

namespace ruvd {
namespace {

using std::chrono::milliseconds;

class Collector final : public RequestRecorder {
 public:
  void Record(WitnessEntry entry) override { entries.push_back(std::move(entry)); }
  std::vector<WitnessEntry> entries;
};

ModelConfig MakeModel() {
  ModelConfig model;
  model.name = "m";
  model.context = 512;
  return model;
}

TEST(RequestTraceTest, TellsTheTimeOfEachPartOnce) {
  Collector collector;
  ManualClock clock(5000);
  RequestTrace trace(&collector, clock, "r", "s");
  clock.Advance(milliseconds(3));
  trace.Begun(MakeModel(), {});
  clock.Advance(milliseconds(5));
  trace.Embedded({1, 2}, 7);
  clock.Advance(milliseconds(1));
  AdapterUse use;
  use.name = "overlay";
  use.version = 2;
  use.pattern_id = std::string(30, '0') + "ff";
  AdapterUse federated;
  federated.name = "core";
  federated.version = 1;
  trace.Chose({use, federated});
  clock.Advance(milliseconds(40));
  trace.Finished(9);
  trace.Failed(absl::InternalError("too late"));
  ASSERT_EQ(collector.entries.size(), 1U);
  const WitnessEntry& entry = collector.entries[0];
  EXPECT_EQ(entry.request_id, "r");
  EXPECT_EQ(entry.session_id, "s");
  EXPECT_EQ(entry.model_used, "m");
  EXPECT_EQ(entry.routing.context_size, 512U);
  EXPECT_FLOAT_EQ(entry.latency.queue_ms, 3);
  EXPECT_FLOAT_EQ(entry.latency.embedding_ms, 5);
  EXPECT_FLOAT_EQ(entry.latency.retrieval_ms, 1);
  EXPECT_FLOAT_EQ(entry.latency.generation_ms, 40);
  EXPECT_FLOAT_EQ(entry.latency.total_ms, 49);
  EXPECT_EQ(entry.adapters, (std::vector<std::string>{"overlay@2", "core@1"}));
  ASSERT_EQ(entry.retrieved_ids.size(), 1U);
  EXPECT_EQ(entry.retrieved_ids[0][15], 0xFF);
  EXPECT_EQ(entry.prompt_tokens, 7U);
  EXPECT_EQ(entry.completion_tokens, 9U);
  EXPECT_EQ(entry.timestamp_ms, 5049);
  EXPECT_FALSE(entry.error.has_value());
}

TEST(RequestTraceTest, AFailureBeforeTheStartHasNoTimesOfParts) {
  Collector collector;
  ManualClock clock;
  RequestTrace trace(&collector, clock, "r", "");
  clock.Advance(milliseconds(3));
  trace.Failed(Error(absl::StatusCode::kCancelled, reasons::kCancelled, "gone"));
  ASSERT_EQ(collector.entries.size(), 1U);
  EXPECT_EQ(collector.entries[0].error->reason, reasons::kCancelled);
  EXPECT_EQ(collector.entries[0].error->message, "gone");
  EXPECT_EQ(collector.entries[0].latency.generation_ms, 0);
  EXPECT_FLOAT_EQ(collector.entries[0].latency.total_ms, 3);
}

TEST(RequestTraceTest, NobodyMayWantToKnow) {
  ManualClock clock;
  RequestTrace trace(nullptr, clock, "r", "s");
  trace.Finished(1);
}

class WitnessActorTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) /
              testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(folder_);
    database_ = Database::Open({.path = folder_.string(),
                                .seal_key = SealKey::Generate(),
                                .soft_reserve_bytes = 0,
                                .hard_reserve_bytes = 0})
                    .value();
    log_ = WitnessLog::Open(*database_).value();
    sessions_ = SessionIndex::Open(*database_, {.dimension = 2}).value();
    system_ = std::make_unique<ActorSystem>(executor_, ActorSystemOptions{});
    recorder_ = StartWitnessActor(
        *system_, {.clock = &executor_.clock(), .log = log_.get(), .sessions = sessions_.get()});
  }
  void TearDown() override {
    system_.reset();
    sessions_.reset();
    log_.reset();
    database_.reset();
    std::filesystem::remove_all(folder_);
  }
  WitnessEntry Entry(const std::string& id, const std::string& session) {
    return {.request_id = id,
            .session_id = session,
            .query_embedding = {1, 2},
            .adapters = {"overlay@1"},
            .timestamp_ms = executor_.clock().WallMillis()};
  }

  std::filesystem::path folder_;
  SimExecutor executor_{1};
  std::unique_ptr<Database> database_;
  std::unique_ptr<WitnessLog> log_;
  std::unique_ptr<SessionIndex> sessions_;
  std::unique_ptr<ActorSystem> system_;
  std::unique_ptr<RequestRecorder> recorder_;
};

TEST_F(WitnessActorTest, WritesWithinASecondAndNotesTurns) {
  recorder_->Record(Entry("a", "s"));
  recorder_->Record(Entry("b", "s"));
  recorder_->Record(Entry("c", ""));
  WitnessEntry failed = Entry("d", "s");
  failed.error = {"CANCELLED", "gone"};
  recorder_->Record(failed);
  executor_.RunFor(milliseconds(1500));
  EXPECT_EQ(log_->counts().stored, 4U);
  EXPECT_EQ(log_->counts().queued, 0U);
  ASSERT_EQ(sessions_->size(), 1U);
  const auto session = sessions_->Get("s");
  EXPECT_EQ((*session)->turn_count, 2U);
  EXPECT_EQ((*session)->history_reference, "b");
  EXPECT_EQ((*session)->active_adapter, "overlay@1");
  EXPECT_EQ((*session)->context_embedding, (std::vector<float>{1, 2}));
}

TEST_F(WitnessActorTest, ExpiresWhatIsTooOld) {
  const auto after_days = [this](int64_t days) {
    executor_.manual_clock().StepWall(days * 86'400'000);
    executor_.RunFor(std::chrono::minutes(2));
  };
  recorder_->Record(Entry("a", "s"));
  after_days(1);
  EXPECT_EQ(log_->counts().stored, 1U);
  EXPECT_EQ(sessions_->size(), 1U);
  after_days(7);
  EXPECT_EQ(log_->counts().stored, 0U);
  EXPECT_EQ(sessions_->size(), 0U);
}

}  // namespace
}  // namespace ruvd
