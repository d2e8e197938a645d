// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <chrono>
#include <optional>
#include <stdexcept>
#include <string_view>

#include "base/reasons.h"
#include "base/sim_executor.h"
#include "base/status.h"
#include "node/runtime/reasons.h"
#include "recorder.h"

namespace ruvd::runtime::actor_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;

struct World {
  explicit World(uint64_t seed = 1, SpawnOptions<Msg> options = {})
      : sim(seed),
        system(sim, {.on_failure = [this](const ActorFailure& f) { failures.push_back(f); }}) {
    actor = SpawnRecorder(system, log, std::move(options));
  }
  uint64_t dead(DeadLetterReason reason) { return system.dead_letters().count(reason); }
  ActorStats StatsOf(std::string_view name) {
    for (const ActorStats& stats : system.Stats()) {
      if (stats.name == name) {
        return stats;
      }
    }
    ADD_FAILURE() << "no actor " << name;
    return {};
  }

  SimExecutor sim;
  Log log;
  std::vector<ActorFailure> failures;
  ActorSystem system;
  Ref<Msg> actor;
};

TEST(Supervision, AFailureRebuildsTheActorAndKeepsItsQueue) {
  World world;
  ASSERT_TRUE(world.actor.TryTell(Note{0, 1}).ok());
  ASSERT_TRUE(world.actor.TryTell(Crash{.times = 1}).ok());
  ASSERT_TRUE(world.actor.TryTell(Note{0, 2}).ok());
  std::vector<int> seen;
  world.actor.Ask<std::vector<int>>(
      [](auto reply) { return Get{reply}; }, TimePoint(seconds(60)),
      [&](absl::StatusOr<std::vector<int>> answer) { seen = answer.value(); });
  world.sim.RunUntilIdle();
  EXPECT_EQ(world.log.built, 2);
  EXPECT_EQ(world.log.starts, 2);
  EXPECT_EQ(Numbers(world.log), (std::vector<int>{1, 2}));
  EXPECT_EQ(seen, (std::vector<int>{2})) << "state of the failed life must not survive";
  ASSERT_EQ(world.failures.size(), 1u);
  EXPECT_EQ(world.failures[0].actor, "recorder");
  EXPECT_THAT(MessageOf(world.failures[0].status), HasSubstr("asked to crash"));
  EXPECT_FALSE(world.failures[0].failing);
}

TEST(Supervision, ExceptionsStopAtTheTurn) {
  World world;
  ASSERT_TRUE(world.actor.TryTell(Crash{.times = 1, .by_exception = true}).ok());
  ASSERT_TRUE(world.actor
                  .TryTell(Do{[thrown = false](auto&) mutable -> absl::Status {
                    if (!std::exchange(thrown, true)) {
                      throw 42;
                    }
                    return absl::OkStatus();
                  }})
                  .ok());
  world.sim.RunUntilIdle();
  ASSERT_EQ(world.failures.size(), 2u);
  EXPECT_THAT(MessageOf(world.failures[0].status), HasSubstr("recorder: bad luck"));
  EXPECT_EQ(ReasonOf(world.failures[1].status), reasons::kInternal);
  EXPECT_EQ(world.log.starts, 3);
}

TEST(Supervision, APoisonMessageIsDroppedAfterTwoCrashes) {
  World world;
  ASSERT_TRUE(world.actor.TryTell(Crash{}).ok());
  ASSERT_TRUE(world.actor.TryTell(Note{0, 1}).ok());
  world.sim.RunUntilIdle();
  EXPECT_EQ(world.failures.size(), 2u);
  EXPECT_EQ(world.dead(DeadLetterReason::kPoison), 1u);
  EXPECT_EQ(Numbers(world.log), (std::vector<int>{1}));
}

TEST(Supervision, ARedeliveredMessageKeepsItsPlace) {
  World world;
  ASSERT_TRUE(world.actor
                  .TryTell(Do{[&world, first = true](auto&) mutable {
                    world.log.notes.push_back({0, 1});
                    return std::exchange(first, false) ? absl::InternalError("once")
                                                       : absl::OkStatus();
                  }})
                  .ok());
  ASSERT_TRUE(world.actor.TryTell(Note{0, 2}).ok());
  world.sim.RunUntilIdle();
  EXPECT_EQ(Numbers(world.log), (std::vector<int>{1, 1, 2}));
}

// Found by a hostile review: four failures within a quarter of a second stopped the federation for
// good, while the node said that it was ready.
TEST(Supervision, AnActorThatFailsTooOftenIsStartedAgain) {
  World world(1, {.supervision = {.max_restarts = 3, .poison_crashes = 1}});
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(world.actor.TryTell(Crash{}).ok());
  }
  ASSERT_TRUE(world.actor.TryTell(Note{0, 7}).ok());
  ASSERT_TRUE(world.sim.RunUntil([&] { return world.failures.size() == 4; }));
  EXPECT_FALSE(world.failures[2].failing);
  EXPECT_TRUE(world.failures[3].failing);
  EXPECT_EQ(world.failures[3].failures_in_window, 4);

  // Until it is started again, a sender is not kept waiting.
  const absl::Status refused = world.actor.TryTell(Note{0, 8});
  EXPECT_EQ(refused.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(ReasonOf(refused), reasons::kActorFailing);
  EXPECT_THAT(MessageOf(refused), HasSubstr("asked to crash"));
  EXPECT_EQ(world.dead(DeadLetterReason::kFailing), 1u);

  world.sim.RunFor(seconds(10));
  EXPECT_EQ(Numbers(world.log), (std::vector<int>{7})) << "it was queued before the failure";
  EXPECT_TRUE(world.actor.TryTell(Note{0, 9}).ok());
  EXPECT_TRUE(world.StatsOf("recorder").failing) << "it has not worked for long enough";
  world.sim.RunFor(seconds(30));
  EXPECT_FALSE(world.StatsOf("recorder").failing);
  EXPECT_EQ(world.StatsOf("recorder").failures, 4u);
}

TEST(Supervision, FailuresOutsideTheWindowDoNotAddUp) {
  World world(1, {.supervision = {.poison_crashes = 1}});
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(world.actor.TryTell(Crash{}).ok());
    world.sim.RunFor(seconds(11));
  }
  EXPECT_EQ(world.failures.size(), 20u);
  EXPECT_FALSE(world.StatsOf("recorder").failing);
  EXPECT_EQ(world.log.starts, 21);
}

RC_GTEST_PROP(Supervision, RestartsWaitWithinAGrowingCeiling, (uint64_t seed)) {
  World world(
      seed,
      {.supervision = {.max_restarts = 100, .window = std::chrono::hours(1), .poison_crashes = 1}});
  Duration ceiling = milliseconds(100);
  for (int i = 0; i < 10; ++i) {
    RC_ASSERT(world.actor.TryTell(Crash{}).ok());
    const int starts = world.log.starts + (i == 0 ? 1 : 0);
    RC_ASSERT(world.sim.RunUntil([&] { return world.failures.size() == size_t(i + 1); }));
    const TimePoint failed = world.sim.clock().Now();
    RC_ASSERT(world.sim.RunUntil([&] { return world.log.starts > starts; }));
    RC_ASSERT(world.sim.clock().Now() - failed < ceiling);
    ceiling = std::min<Duration>(ceiling * 2, seconds(10));
  }
}

TEST(Supervision, RestartWaitsAreJittered) {
  std::set<TimePoint> times;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    SimExecutor sim(seed);
    Log log;
    ActorSystem system(sim, {.seed = seed});
    const Ref<Msg> actor = SpawnRecorder(system, log);
    ASSERT_TRUE(actor.TryTell(Crash{.times = 1}).ok());
    sim.RunUntilIdle();
    times.insert(sim.clock().Now());
  }
  EXPECT_EQ(times.size(), 20u);
}

TEST(Supervision, TimersOfAFailedLifeAreSilent) {
  World world;
  ASSERT_TRUE(
      world.actor
          .TryTell(Do{[](auto& context) {
            RETURN_IF_ERROR(context.StartTimer(seconds(5), Note{0, 5}).status());
            return context.StartPeriodicTimer(seconds(1), [] { return Note{0, 1}; }).status();
          }})
          .ok());
  world.sim.RunFor(milliseconds(1500));
  ASSERT_EQ(Numbers(world.log), (std::vector<int>{1}));
  ASSERT_TRUE(world.actor.TryTell(Crash{.times = 1}).ok());
  world.sim.RunFor(seconds(60));
  EXPECT_EQ(Numbers(world.log), (std::vector<int>{1}));
}

class NeedsDisk final : public Actor<std::variant<Note>> {
 public:
  explicit NeedsDisk(const bool& there) : there_(there) {}
  absl::Status OnStart(Context&) override {
    return there_ ? absl::OkStatus() : absl::UnavailableError("no disk");
  }
  absl::Status On(Note&, Context&) override { return absl::OkStatus(); }

 private:
  const bool& there_;
};

TEST(Supervision, AnActorThatCannotStartAnswersAndStartsOnceItCan) {
  World world;
  bool disk = false;
  const auto actor = world.system.Spawn<std::variant<Note>>(
      {.name = "broken"}, [&disk] { return std::make_unique<NeedsDisk>(disk); });
  ASSERT_TRUE(actor.TryTell(Note{}).ok());
  world.sim.RunFor(std::chrono::hours(1));
  EXPECT_GT(world.failures.size(), 300u);
  EXPECT_EQ(world.dead(DeadLetterReason::kFailing), 1u);
  EXPECT_TRUE(world.StatsOf("broken").failing);
  EXPECT_THAT(MessageOf(world.StatsOf("broken").last_failure), HasSubstr("no disk"));
  disk = true;
  world.sim.RunFor(seconds(10));
  EXPECT_TRUE(actor.TryTell(Note{}).ok());
  world.sim.RunFor(seconds(30));
  EXPECT_FALSE(world.StatsOf("broken").failing);
}

// A drain does not wait either for what an actor fails on again and again.
TEST(Supervision, ADrainDropsWhatWaitsForAnActorThatFails) {
  World world(1, {.supervision = {.max_restarts = 1, .poison_crashes = 1000}});
  ASSERT_TRUE(world.actor.TryTell(Crash{}).ok());
  ASSERT_TRUE(world.actor.TryTell(Note{}).ok());
  world.sim.RunFor(std::chrono::minutes(1));
  EXPECT_TRUE(world.StatsOf("recorder").failing);
  std::optional<DrainReport> report;
  world.system.Drain(world.sim.clock().Now() + seconds(60),
                     [&](DrainReport given) { report = std::move(given); });
  world.sim.RunFor(seconds(15));
  ASSERT_TRUE(report.has_value());
  EXPECT_TRUE(report->complete);
  EXPECT_EQ(world.dead(DeadLetterReason::kFailing), 2u);
}

// What fails must not use up the time of a drain.
TEST(Supervision, ADrainDoesNotWaitForAnActorThatFails) {
  World world;
  bool disk = false;
  const auto actor = world.system.Spawn<std::variant<Note>>(
      {.name = "broken"}, [&disk] { return std::make_unique<NeedsDisk>(disk); });
  world.sim.RunFor(std::chrono::minutes(1));
  std::optional<DrainReport> report;
  world.system.Drain(world.sim.clock().Now() + seconds(60),
                     [&](DrainReport given) { report = std::move(given); });
  world.sim.RunFor(seconds(10));
  ASSERT_TRUE(report.has_value());
  EXPECT_TRUE(report->complete);
}

TEST(Supervision, AThrowingFactoryIsAFailureToo) {
  World world;
  int calls = 0;
  const auto actor = world.system.Spawn<std::variant<Note>>(
      {.name = "broken"}, [&]() -> std::unique_ptr<Actor<std::variant<Note>>> {
        ++calls;
        throw std::runtime_error("no memory");
      });
  ASSERT_TRUE(world.sim.RunUntil([&] { return world.failures.size() == 4; }));
  EXPECT_EQ(calls, 4);
  EXPECT_THAT(MessageOf(world.failures[3].status), HasSubstr("no memory"));
}

TEST(Supervision, OneActorsFailureLeavesOthersAlone) {
  World world;
  Log other_log;
  const Ref<Msg> other = SpawnRecorder(world.system, other_log, {.name = "other"});
  ASSERT_TRUE(other.TryTell(Note{0, 1}).ok());
  world.sim.RunUntilIdle();
  ASSERT_TRUE(world.actor.TryTell(Crash{}).ok());
  ASSERT_TRUE(other.TryTell(Note{0, 2}).ok());
  world.sim.RunUntilIdle();
  EXPECT_EQ(other_log.built, 1);
  EXPECT_EQ(Numbers(other_log), (std::vector<int>{1, 2}));
}

TEST(Supervision, DeadLettersAreSampledLogarithmically) {
  SimExecutor sim(1);
  std::vector<uint64_t> samples;
  ActorSystem system(sim, {.on_dead_letter = [&](const DeadLetter& d) {
                       EXPECT_EQ(d.actor, "recorder");
                       samples.push_back(d.count);
                     }});
  Log log;
  const Ref<Msg> actor = SpawnRecorder(system, log, {.mailbox = {.capacity = 1}});
  for (int i = 0; i < 11; ++i) {
    (void)actor.TryTell(Note{});
  }
  EXPECT_EQ(samples, (std::vector<uint64_t>{1, 2, 4, 8}));
  EXPECT_EQ(DeadLetterReasonName(DeadLetterReason::kMailboxFull), "mailbox_full");
}

TEST(Actor, MayStopItself) {
  World world;
  ASSERT_TRUE(world.actor
                  .TryTell(Do{[](auto& context) {
                    context.Stop();
                    return absl::OkStatus();
                  }})
                  .ok());
  ASSERT_TRUE(world.actor.TryTell(Note{}).ok());
  world.sim.RunUntilIdle();
  EXPECT_EQ(world.log.stops, 1);
  EXPECT_TRUE(world.log.notes.empty());
  EXPECT_EQ(world.dead(DeadLetterReason::kStopped), 1u);
  EXPECT_EQ(ReasonOf(world.actor.TryTell(Note{})), reasons::kActorStopped);
}

}  // namespace
}  // namespace ruvd::runtime::actor_test
