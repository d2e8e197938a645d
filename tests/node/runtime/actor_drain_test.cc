// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <chrono>
#include <optional>

#include "base/inline_executor.h"
#include "base/reasons.h"
#include "base/sim_executor.h"
#include "base/status.h"
#include "recorder.h"

namespace ruvd::runtime::actor_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// A message that is passed down a chain of actors and must reach its end.
struct Item {
  int id = 0;
};
using ItemMsg = std::variant<Item>;

// What the relays of one chain share; it outlives their crashes.
struct Shared {
  Executor& jobs;
  // Either items go through a job, or one relay crashes: both at once may lose the item whose job
  // was running when its relay crashed, as documented at Offload.
  bool use_jobs = false;
  bool crashed = false;
  std::vector<int> arrived;
  std::vector<std::string> stops;
};

class Relay final : public Actor<ItemMsg> {
 public:
  Relay(Ref<ItemMsg> next, Shared& shared) : next_(std::move(next)), shared_(shared) {}
  absl::Status On(Item& item, Context& context) override {
    if (!next_) {
      shared_.arrived.push_back(item.id);
      return absl::OkStatus();
    }
    if (shared_.use_jobs && item.id % 3 == 0) {
      return context.Offload(
          shared_.jobs, [] {}, [this, item](Context&) { return next_.TryTell(item); });
    }
    if (!shared_.use_jobs && item.id % 5 == 0 && !std::exchange(shared_.crashed, true)) {
      return absl::InternalError("one crash");
    }
    return next_.TryTell(item);
  }
  absl::Status OnStop(Context& context) override {
    shared_.stops.push_back(context.name());
    return next_ ? next_.TryTell(Item{-1}) : absl::OkStatus();  // a last message
  }

 private:
  Ref<ItemMsg> next_;
  Shared& shared_;
};

// c <- b <- a; each depends on the one spawned before it. Returns a.
Ref<ItemMsg> SpawnChain(ActorSystem& system, Shared& shared) {
  Ref<ItemMsg> next;
  for (const char* name : {"c", "b", "a"}) {
    next = system.Spawn<ItemMsg>({.name = name, .mailbox = {.capacity = 1000}},
                                 [&shared, next] { return std::make_unique<Relay>(next, shared); });
  }
  return next;
}

RC_GTEST_PROP(Drain, LosesNothingAcknowledged, (uint64_t seed, bool use_jobs)) {
  SimExecutor sim(seed);
  Shared shared{.jobs = sim, .use_jobs = use_jobs};
  ActorSystem system(sim, {.seed = seed});
  const Ref<ItemMsg> head = SpawnChain(system, shared);
  sim.RunFor(Duration::zero());  // an actor that never started has nothing to stop
  Random random(seed);
  std::vector<int> acknowledged;
  std::optional<DrainReport> report;
  bool draining = false;
  for (int i = 0; i < 60; ++i) {
    sim.PostAt(TimePoint(milliseconds(random.Below(100))), [&, i] {
      const absl::Status status = head.TryTell(Item{i});
      if (status.ok()) {
        acknowledged.push_back(i);
      } else {
        RC_ASSERT(draining);
        RC_ASSERT(status.code() == absl::StatusCode::kUnavailable);
      }
    });
  }
  sim.PostAt(TimePoint(milliseconds(random.Below(120))), [&] {
    draining = true;
    system.Drain(TimePoint(seconds(1000)), [&](DrainReport r) { report = std::move(r); });
  });
  sim.RunUntilIdle();
  RC_ASSERT(report.has_value());
  RC_ASSERT(report->complete);
  RC_ASSERT(report->messages_lost == 0u);
  RC_ASSERT(shared.stops == (std::vector<std::string>{"a", "b", "c"}));
  std::vector<int> arrived = shared.arrived;
  RC_ASSERT(std::erase(arrived, -1) == 2u);  // the last messages of a and b
  std::sort(arrived.begin(), arrived.end());
  std::sort(acknowledged.begin(), acknowledged.end());
  RC_ASSERT(arrived == acknowledged);
  RC_ASSERT(sim.clock().Now() < TimePoint(seconds(1000)));
}

struct World {
  World() : system(sim) { actor = SpawnRecorder(system, log); }
  void Drain(Duration timeout) {
    system.Drain(sim.clock().Now() + timeout, [this](DrainReport r) {
      ++reports;
      report = std::move(r);
    });
  }

  SimExecutor sim{1};
  Log log;
  ActorSystem system;
  Ref<Msg> actor;
  int reports = 0;
  DrainReport report;
};

TEST(Drain, OfAnIdleSystemStopsEveryActor) {
  World world;
  world.sim.RunUntilIdle();
  world.Drain(seconds(5));
  world.sim.RunUntilIdle();
  EXPECT_EQ(world.reports, 1);
  EXPECT_TRUE(world.report.complete);
  EXPECT_EQ(world.log.stops, 1);
  EXPECT_EQ(world.sim.clock().Now(), TimePoint()) << "it does not wait for its deadline";
  EXPECT_EQ(ReasonOf(world.actor.TryTell(Note{}, Priority::kControl)), reasons::kActorStopped);
}

TEST(Drain, RefusesNewWorkButLetsControlMessagesPass) {
  World world;
  ASSERT_TRUE(world.actor.TryTell(Note{0, 1}).ok());
  world.Drain(seconds(5));
  const absl::Status refused = world.actor.TryTell(Note{0, 2});
  EXPECT_EQ(refused.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(ReasonOf(refused), reasons::kNodeDraining);
  EXPECT_TRUE(world.actor.TryTell(Note{0, 3}, Priority::kControl).ok());
  world.sim.RunUntilIdle();
  EXPECT_EQ(Numbers(world.log), (std::vector<int>{3, 1}));
  EXPECT_EQ(world.system.dead_letters().count(DeadLetterReason::kDraining), 1u);
}

TEST(Drain, WaitsForAnOpenQuestion) {
  World world;
  std::optional<ReplyTo<int>> kept;
  world.actor.Ask<int>(
      [&](ReplyTo<int> reply) {
        kept = reply;
        return Note{};
      },
      TimePoint(seconds(60)), [](absl::StatusOr<int>) {});
  world.Drain(seconds(30));
  world.sim.RunFor(seconds(10));
  EXPECT_EQ(world.reports, 0);
  kept->Send(1);
  world.sim.RunFor(seconds(1));
  EXPECT_EQ(world.reports, 1);
  EXPECT_TRUE(world.report.complete);
}

TEST(Drain, AtTheDeadlineItStopsTheRestAndSaysWhatWasLost) {
  World world;
  world.sim.RunUntilIdle();
  ASSERT_TRUE(world.actor.TryTell(Crash{}).ok());
  ASSERT_TRUE(world.sim.RunOne());  // it failed and waits for its restart
  ASSERT_TRUE(world.actor.TryTell(Note{}).ok());
  world.Drain(Duration::zero());
  ASSERT_TRUE(world.sim.RunUntil([&] { return world.reports > 0; }));
  EXPECT_FALSE(world.report.complete);
  EXPECT_EQ(world.report.messages_lost, 2u);
  EXPECT_EQ(world.report.unfinished, (std::vector<std::string>{"recorder"}));
  world.sim.RunUntilIdle();
  EXPECT_EQ(world.reports, 1);
  EXPECT_EQ(world.log.stops, 0);
  EXPECT_EQ(world.log.built, 1) << "a stopped actor must not be rebuilt";
}

TEST(Drain, AnActorThatWaitsForItsRestartWithNothingToDoIsNotRebuilt) {
  World world;
  ASSERT_TRUE(world.actor.TryTell(Crash{.times = 2}).ok());
  ASSERT_TRUE(world.sim.RunUntil(
      [&] { return world.system.dead_letters().count(DeadLetterReason::kPoison) == 1; }));
  world.Drain(seconds(60));
  world.sim.RunUntilIdle();
  EXPECT_TRUE(world.report.complete);
  EXPECT_EQ(world.log.built, 2);
}

TEST(Drain, ASpawnWhileDrainingGivesAStoppedActor) {
  World world;
  world.Drain(seconds(5));
  Log late;
  const Ref<Msg> actor = SpawnRecorder(world.system, late, {.name = "late"});
  EXPECT_EQ(ReasonOf(actor.TryTell(Note{}, Priority::kControl)), reasons::kActorStopped);
  world.sim.RunUntilIdle();
  EXPECT_EQ(late.built, 0);
}

TEST(Drain, AFailingOnStopIsReportedAndDoesNotHangIt) {
  class Stubborn final : public Actor<ItemMsg> {
    absl::Status On(Item&, Context&) override { return absl::OkStatus(); }
    absl::Status OnStop(Context&) override { return absl::InternalError("cannot flush"); }
  };
  SimExecutor sim(1);
  int failures = 0;
  ActorSystem system(sim, {.on_failure = [&](const ActorFailure&) { ++failures; }});
  const auto actor =
      system.Spawn<ItemMsg>({.name = "stubborn"}, [] { return std::make_unique<Stubborn>(); });
  sim.RunUntilIdle();
  std::optional<DrainReport> report;
  system.Drain(TimePoint(seconds(5)), [&](DrainReport r) { report = r; });
  sim.RunUntilIdle();
  ASSERT_TRUE(report.has_value());
  EXPECT_TRUE(report->complete);
  EXPECT_EQ(failures, 1);
}

TEST(Drain, WorksInline) {
  InlineExecutor executor;
  Shared shared{.jobs = executor};
  ActorSystem system(executor);
  const Ref<ItemMsg> head = SpawnChain(system, shared);
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(head.TryTell(Item{i}).ok());
    executor.Advance(seconds(1));  // past the backoff of its one crash
  }
  bool done = false;
  system.Drain(executor.clock().Now() + seconds(5),
               [&](DrainReport report) { done = report.complete; });
  EXPECT_TRUE(done);
  EXPECT_EQ(shared.arrived.size(), 12u);
}

}  // namespace
}  // namespace ruvd::runtime::actor_test
