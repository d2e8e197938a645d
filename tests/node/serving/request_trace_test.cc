// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Tests what a request records about itself, and the actor that stores it.

#include "node/serving/request_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <sstream>

#include "base/reasons.h"
#include "base/sim_executor.h"
#include "base/status.h"
#include "base/steady_time.h"
#include "node/actors/witness_actor.h"
#include "storage/limits.h"
#include "storage/witness/witness_rows.h"
#include "tests/node/database_fixture.h"

namespace ruvd::serving {
namespace {

using std::chrono::milliseconds;

class Collector final : public RequestRecorder {
 public:
  void Record(storage::WitnessEntry entry) override { entries.push_back(std::move(entry)); }
  std::vector<storage::WitnessEntry> entries;
};

inference::ModelConfig MakeModel() {
  inference::ModelConfig model;
  model.name = "m";
  model.context = 512;
  return model;
}

TEST(RequestTraceTest, TellsTheTimeOfEachPartOnce) {
  Collector collector;
  ManualClock clock(5000);
  RequestTrace trace(&collector, clock,
                     {.request_id = "r", .session_id = "s", .embedded_by = "package"});
  clock.Advance(milliseconds(3));
  trace.RecordBegin(MakeModel(), {});
  clock.Advance(milliseconds(5));
  trace.RecordEmbedding({1, 2}, 7);
  clock.Advance(milliseconds(1));
  AdapterUse use;
  use.name = "overlay";
  use.version = 2;
  use.pattern_id = std::string(30, '0') + "ff";
  AdapterUse federated;
  federated.name = "core";
  federated.version = 1;
  trace.RecordAdapters({use, federated});
  clock.Advance(milliseconds(40));
  trace.Finish(9, {.entries = 10, .positions = 4, .share = 0.25});
  clock.Advance(milliseconds(7));  // until it is stored
  trace.Fail(absl::InternalError("too late"));
  trace.Record();
  trace.Record();
  ASSERT_EQ(collector.entries.size(), 1U);
  const storage::WitnessEntry& entry = collector.entries[0];
  EXPECT_EQ(entry.request_id, "r");
  EXPECT_EQ(entry.session_id, "s");
  EXPECT_EQ(entry.model_used, "m");
  EXPECT_EQ(entry.embedded_by, "package");
  EXPECT_EQ(entry.routing.context_size, 512U);
  EXPECT_FLOAT_EQ(entry.latency.queue_ms, 3);
  EXPECT_FLOAT_EQ(entry.latency.embedding_ms, 5);
  EXPECT_FLOAT_EQ(entry.latency.retrieval_ms, 1);
  EXPECT_FLOAT_EQ(entry.latency.generation_ms, 40);
  EXPECT_FLOAT_EQ(entry.latency.total_ms, 49);
  EXPECT_EQ(entry.adapters, (std::vector<std::string>{"overlay@2", "core@1"}));
  EXPECT_EQ(entry.memory_entries, 10U);
  EXPECT_FLOAT_EQ(entry.memory_share, 0.25F);
  ASSERT_EQ(entry.retrieved_ids.size(), 1U);
  EXPECT_EQ(entry.retrieved_ids[0][15], 0xFF);
  EXPECT_EQ(entry.prompt_tokens, 7U);
  EXPECT_EQ(entry.completion_tokens, 9U);
  EXPECT_EQ(entry.timestamp_ms, 5049) << "the end, not when it was recorded";
  EXPECT_FALSE(entry.error.has_value());
}

// Regression test: what retrieval chose during denoising was in the answer, but not in the witness
// log.
TEST(RequestTraceTest, NamesAdaptersThatWereChosenOnTheWay) {
  Collector collector;
  ManualClock clock(5000);
  RequestTrace trace(&collector, clock, {.request_id = "r", .model = "m"});
  AdapterUse first;
  first.name = "overlay";
  first.version = 1;
  AdapterUse second = first;
  second.name = "another";
  second.pattern_id = std::string(30, '0') + "ff";
  clock.Advance(milliseconds(2));
  trace.RecordAdapters({first});
  clock.Advance(milliseconds(30));
  trace.RecordReselection({second, first});
  trace.Finish(1, {.entries = 10, .positions = 4, .share = 0.25});
  trace.Record();
  ASSERT_EQ(collector.entries.size(), 1U);
  EXPECT_EQ(collector.entries[0].adapters, (std::vector<std::string>{"another@1", "overlay@1"}));
  EXPECT_EQ(collector.entries[0].retrieved_ids.size(), 1U);
  EXPECT_FLOAT_EQ(collector.entries[0].latency.retrieval_ms, 2);
  EXPECT_FLOAT_EQ(collector.entries[0].latency.generation_ms, 30);
}

TEST(RequestTraceTest, AFailureBeforeTheStartHasNoTimesOfParts) {
  Collector collector;
  ManualClock clock;
  RequestTrace trace(&collector, clock, {.request_id = "r", .model = "m"});
  clock.Advance(milliseconds(3));
  trace.Fail(Error(absl::StatusCode::kCancelled, reasons::kCancelled, "gone"));
  trace.Record();
  ASSERT_EQ(collector.entries.size(), 1U);
  EXPECT_EQ(collector.entries[0].error->reason, reasons::kCancelled);
  EXPECT_EQ(collector.entries[0].error->message, "gone");
  EXPECT_EQ(collector.entries[0].latency.generation_ms, 0);
  EXPECT_FLOAT_EQ(collector.entries[0].latency.total_ms, 3);
  // All of the time was waiting, and the model is known.
  EXPECT_FLOAT_EQ(collector.entries[0].latency.queue_ms, 3);
  EXPECT_EQ(collector.entries[0].model_used, "m");
}

// Found by review: a message that was cut inside a character closed the whole log.
TEST(RequestTraceTest, WhateverTheNamesAndTheMessageTheEntryCanBeStored) {
  Collector collector;
  ManualClock clock;
  RequestTrace trace(&collector, clock, {.request_id = "r", .session_id = "\xFF"});
  inference::ModelConfig model = MakeModel();
  model.name = std::string(5000, 'm') + "\xC3";
  trace.RecordBegin(model, {});
  std::vector<AdapterUse> uses(72);
  for (AdapterUse& use : uses) {
    use.name = std::string(255, 'a') + "\xC3";
  }
  trace.RecordAdapters(uses);
  trace.Fail(absl::InternalError(std::string(limits::kMaxWitnessMessageBytes - 1, 'x') +
                                 "\xC3\xA9 and \xFE"));
  trace.Record();
  ASSERT_EQ(collector.entries.size(), 1U);
  const storage::WitnessEntry& entry = collector.entries[0];
  EXPECT_TRUE(storage::witness::CheckEntry(entry).ok()) << storage::witness::CheckEntry(entry);
  EXPECT_EQ(entry.error->message, std::string(limits::kMaxWitnessMessageBytes - 1, 'x'));
}

TEST(RequestTraceTest, NobodyMayWantToKnow) {
  ManualClock clock;
  RequestTrace trace(&DroppingRecorder(), clock, {.request_id = "r"});
  trace.Finish(1, {.entries = 10, .positions = 4, .share = 0.25});
  trace.Record();
}

class WitnessActorTest : public DatabaseTest {
 protected:
  // The database asks this class's clock when it closes, and its users are destroyed before it.
  ~WitnessActorTest() override {
    recorder_.reset();
    system_.reset();
    sessions_.reset();
    log_.reset();
    database_.reset();
  }
  void SetUp() override {
    DatabaseTest::SetUp();
    log_ = storage::WitnessLog::Open(*database_).value();
    sessions_ = storage::SessionIndex::Open(*database_, {.dimension = 2}).value();
    system_ = std::make_unique<runtime::ActorSystem>(executor_, runtime::ActorSystemOptions{});
    recorder_ =
        actors::StartWitnessActor(
            *system_, {.clock = &executor_.clock(), .log = log_.get(), .sessions = sessions_.get()})
            .value();
  }
  storage::DatabaseOptions Options() override {
    storage::DatabaseOptions options = DatabaseTest::Options();
    options.clock = &executor_.clock();
    options.soft_reserve_bytes = 1 << 20;
    options.hard_reserve_bytes = 100;
    options.free_bytes = [this](const std::string&) -> absl::StatusOr<uint64_t> {
      return free_bytes_;
    };
    return options;
  }
  storage::WitnessEntry Entry(const std::string& id, const std::string& session) {
    return {.request_id = id,
            .session_id = session,
            .query_embedding = {1, 2},
            .adapters = {"overlay@1"},
            .timestamp_ms = executor_.clock().WallMillis()};
  }

  // A jump of the wall clock must not make the simulation run days of ticks.
  void PassDays(int64_t days) {
    executor_.manual_clock().StepWall(days * 86'400'000);
    executor_.RunFor(WallClockTrust::kTrustedAfter + std::chrono::minutes(3));
  }

  uint64_t free_bytes_ = uint64_t{1} << 40;
  SimExecutor executor_{1};
  std::unique_ptr<storage::WitnessLog> log_;
  std::unique_ptr<storage::SessionIndex> sessions_;
  std::unique_ptr<runtime::ActorSystem> system_;
  std::unique_ptr<RequestRecorder> recorder_;
};

TEST_F(WitnessActorTest, WritesWithinASecondAndNotesTurns) {
  recorder_->Record(Entry("a", "s"));
  recorder_->Record(Entry("b", "s"));
  recorder_->Record(Entry("c", ""));
  storage::WitnessEntry failed = Entry("d", "s");
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
  recorder_->Record(Entry("a", "s"));
  PassDays(1);
  EXPECT_EQ(log_->counts().stored, 1U);
  EXPECT_EQ(sessions_->size(), 1U);
  PassDays(7);
  EXPECT_EQ(log_->counts().stored, 0U);
  EXPECT_EQ(sessions_->size(), 0U);
}

// Found by review: a wrong date deleted everything that was stored within a minute.
TEST_F(WitnessActorTest, AStepOfTheWallClockDeletesNothingAtOnce) {
  recorder_->Record(Entry("a", "s"));
  executor_.RunFor(std::chrono::minutes(2));
  executor_.manual_clock().StepWall(30LL * 86'400'000);
  executor_.RunFor(std::chrono::minutes(30));
  EXPECT_EQ(log_->counts().stored, 1U);
  EXPECT_EQ(sessions_->size(), 1U);
  executor_.manual_clock().StepWall(-30LL * 86'400'000);  // the clock was corrected
  executor_.RunFor(std::chrono::hours(2));
  EXPECT_EQ(log_->counts().stored, 1U);
}

TEST_F(WitnessActorTest, EntriesKeepTheirOrderWhereTheWallClockWentBack) {
  recorder_->Record(Entry("a", "s"));
  executor_.RunFor(milliseconds(1100));
  executor_.manual_clock().StepWall(-86'400'000);
  recorder_->Record(Entry("b", "s"));
  executor_.RunFor(milliseconds(1100));
  EXPECT_GT(log_->Get("b")->timestamp_ms, log_->Get("a")->timestamp_ms);
}

// Found by review: an entry waited for the tick after its second.
TEST_F(WitnessActorTest, NoEntryWaitsForMoreThanASecond) {
  executor_.RunFor(milliseconds(250 + 10));  // after a tick
  recorder_->Record(Entry("a", ""));
  executor_.RunFor(milliseconds(999));
  EXPECT_EQ(log_->counts().stored, 0U);
  executor_.RunFor(milliseconds(1));
  EXPECT_EQ(log_->counts().stored, 1U);
}

// Found by review: each tick wrote one batch of a hundred, so more than 400 entries a second filled
// the queue.
TEST_F(WitnessActorTest, TakesTwoThousandEntriesASecond) {
  for (int i = 0; i < 2000; ++i) {
    recorder_->Record(Entry(fmt::format("{}", i), ""));
    if (i % 10 == 9) {
      executor_.RunFor(milliseconds(5));
    }
  }
  executor_.RunFor(milliseconds(1000));
  EXPECT_EQ(log_->counts().stored, 2000U);
  EXPECT_EQ(log_->counts().refused, 0U);
}

// Found by review: a full disk caused two log lines a tick, because the sessions that could still
// be written reset what had been reported about the entries.
TEST_F(WitnessActorTest, AFullDiskIsReportedOnce) {
  std::ostringstream lines;
  const auto before = spdlog::default_logger();
  spdlog::set_default_logger(std::make_shared<spdlog::logger>(
      "test", std::make_shared<spdlog::sinks::ostream_sink_mt>(lines)));
  free_bytes_ = 1 << 19;
  executor_.RunFor(std::chrono::seconds(2));
  for (int i = 0; i < 40; ++i) {
    recorder_->Record(Entry(fmt::format("{}", i), "s"));
    executor_.RunFor(milliseconds(500));
  }
  spdlog::set_default_logger(before);
  const std::string text = lines.str();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
  EXPECT_EQ(sessions_->Get("s").value()->turn_count, 40U);
}

TEST_F(WitnessActorTest, CountsWhatCannotBeStored) {
  storage::WitnessEntry entry = Entry("a", "");
  entry.model_used = "\xC3";
  recorder_->Record(entry);
  EXPECT_EQ(log_->counts().unfit, 1U);
}

}  // namespace
}  // namespace ruvd::serving
