// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <stdexcept>

#include "base/inline_executor.h"
#include "base/reasons.h"
#include "base/sim_executor.h"
#include "base/status.h"
#include "node/runtime/limits.h"
#include "recorder.h"

namespace ruvd::runtime::actor_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;

using Body = std::function<absl::Status(ActorContext<Msg>&)>;

struct World {
  World() : system(sim, {.on_failure = [this](const ActorFailure& f) { failures.push_back(f); }}) {
    actor = SpawnRecorder(system, log);
  }
  // Runs `body` in a turn of the actor.
  void InTurn(Body body) {
    ASSERT_TRUE(actor.TryTell(Do{std::move(body)}).ok());
    sim.RunFor(Duration::zero());
  }

  SimExecutor sim{1};
  Log log;
  std::vector<ActorFailure> failures;
  ActorSystem system;
  Ref<Msg> actor;
};

TEST(Timer, DeliversOnceAtItsTime) {
  World world;
  world.InTurn([](auto& context) { return context.StartTimer(seconds(2), Note{0, 1}).status(); });
  world.sim.RunFor(milliseconds(1999));
  EXPECT_TRUE(world.log.notes.empty());
  world.sim.RunFor(seconds(10));
  EXPECT_EQ(Numbers(world.log), (std::vector<int>{1}));
}

TEST(Timer, PeriodicOnesRepeatUntilCancelled) {
  World world;
  TimerId id = 0;
  world.InTurn([&](auto& context) -> absl::Status {
    ASSIGN_OR_RETURN(
        id, context.StartPeriodicTimer(seconds(1), [n = 0]() mutable { return Note{0, n++}; }));
    return absl::OkStatus();
  });
  world.sim.RunFor(milliseconds(3500));
  EXPECT_EQ(Numbers(world.log), (std::vector<int>{0, 1, 2}));
  world.InTurn([&](auto& context) {
    context.CancelTimer(id);
    context.CancelTimer(id);  // cancelling twice does no harm
    return absl::OkStatus();
  });
  world.sim.RunUntilIdle();
  EXPECT_EQ(world.log.notes.size(), 3u);
}

TEST(Timer, CancellingOneThatHasFiredStillSilencesIt) {
  InlineExecutor executor;
  Log log;
  ActorSystem system(executor);
  const Ref<Msg> actor = SpawnRecorder(system, log);
  ASSERT_TRUE(actor
                  .TryTell(Do{[&](auto& context) -> absl::Status {
                    ASSIGN_OR_RETURN(const TimerId id, context.StartTimer(seconds(1), Note{}));
                    executor.Advance(seconds(2));  // it fires, but this turn has not ended
                    context.CancelTimer(id);
                    return absl::OkStatus();
                  }})
                  .ok());
  executor.Advance(seconds(5));
  EXPECT_TRUE(log.notes.empty());
}

TEST(Timer, PassesAFullMailbox) {
  World world;
  std::vector<int> order;
  world.InTurn([](auto& context) { return context.StartTimer(seconds(1), Note{0, 99}).status(); });
  world.sim.PostAt(TimePoint(seconds(1)), [&] {
    int sent = 0;
    while (world.actor.TryTell(Note{0, sent}).ok()) {
      ++sent;
    }
    EXPECT_EQ(sent, 256);
  });
  world.sim.RunFor(seconds(2));
  EXPECT_EQ(world.log.notes.size(), 257u);
}

TEST(Timer, TheirNumberIsBoundedAndPeriodsArePositive) {
  World world;
  absl::Status refused;
  world.InTurn([&](auto& context) {
    EXPECT_EQ(ReasonOf(context.StartPeriodicTimer(seconds(0), [] { return Note{}; }).status()),
              reasons::kInvalidArgument);
    size_t count = 0;
    while ((refused = context.StartTimer(seconds(1), Note{}).status()).ok()) {
      ++count;
    }
    EXPECT_EQ(count, limits::kMaxTimersPerActor);
    return absl::OkStatus();
  });
  EXPECT_EQ(ReasonOf(refused), reasons::kLimitExceeded);
  world.sim.RunUntilIdle();
  world.InTurn([](auto& context) { return context.StartTimer(seconds(1), Note{}).status(); });
  EXPECT_TRUE(world.failures.empty()) << "fired timers must make room";
}

TEST(Offload, RunsElsewhereAndComesBackInATurn) {
  World world;
  SimExecutor pool(2);
  std::vector<int> order;
  world.InTurn([&](auto& context) {
    return context.Offload(
        pool, [&] { order.push_back(1); },
        [&](ActorContext<Msg>& own) {
          EXPECT_EQ(own.name(), "recorder");
          order.push_back(2);
          return absl::OkStatus();
        });
  });
  EXPECT_TRUE(order.empty());
  pool.RunUntilIdle();
  EXPECT_EQ(order, (std::vector<int>{1}));
  world.sim.RunUntilIdle();
  EXPECT_EQ(order, (std::vector<int>{1, 2}));
}

TEST(Offload, AnExceptionInTheWorkFailsTheActor) {
  World world;
  world.InTurn([&](auto& context) {
    return context.Offload(
        world.sim, [] { throw std::runtime_error("numerical trouble"); },
        [](ActorContext<Msg>&) {
          ADD_FAILURE() << "the work is not done";
          return absl::OkStatus();
        });
  });
  world.sim.RunUntilIdle();
  ASSERT_EQ(world.failures.size(), 1u);
  EXPECT_THAT(MessageOf(world.failures[0].status), HasSubstr("numerical trouble"));
  EXPECT_EQ(world.log.starts, 2);
}

TEST(Context, GivesEachActorItsOwnRepeatableRandomness) {
  const auto draw = [](uint64_t seed) {
    SimExecutor sim(1);
    ActorSystem system(sim, {.seed = seed});
    Log log;
    std::vector<uint64_t> numbers;
    for (int i = 0; i < 2; ++i) {
      const Ref<Msg> actor = SpawnRecorder(system, log);
      EXPECT_TRUE(actor
                      .TryTell(Do{[&](auto& context) {
                        numbers.push_back(context.Rng().Next());
                        return absl::OkStatus();
                      }})
                      .ok());
      sim.RunUntilIdle();
    }
    return numbers;
  };
  const std::vector<uint64_t> first = draw(1);
  EXPECT_EQ(first, draw(1));
  EXPECT_NE(first[0], first[1]);
  EXPECT_NE(first, draw(2));
}

}  // namespace
}  // namespace ruvd::runtime::actor_test
