// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Tests the properties on real threads; the ThreadSanitizer preset checks them for races.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <thread>

#include "base/inline_executor.h"
#include "base/mutex.h"
#include "base/reasons.h"
#include "base/sim_executor.h"
#include "base/status.h"
#include "base/thread_pool.h"
#include "recorder.h"

namespace ruvd::runtime::actor_test {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

TimePoint InAMinute() {
  return SystemClock().Now() + seconds(60);
}

// Sends `count` numbered notes from each of `senders` threads and tries again when the mailbox is
// full. Returns how often it was full.
uint64_t SendFromThreads(const Ref<Msg>& actor, int senders, int count) {
  std::atomic<uint64_t> refused = 0;
  std::vector<std::jthread> threads;
  threads.reserve(static_cast<size_t>(senders));
  for (int sender = 0; sender < senders; ++sender) {
    threads.emplace_back([&, sender] {
      for (int i = 0; i < count; ++i) {
        absl::Status status = actor.TryTell(Note{sender, i});
        while (!status.ok()) {
          EXPECT_EQ(ReasonOf(status), reasons::kMailboxFull);
          ++refused;
          std::this_thread::yield();
          status = actor.TryTell(Note{sender, i});
        }
      }
    });
  }
  threads.clear();  // joins
  return refused;
}

TEST(ActorThreads, NothingIsLostOrReorderedBetweenManySenders) {
  Log log;
  ThreadPool pool({.name = "actors", .threads = 3});
  ActorSystem system(pool);
  const Ref<Msg> actor = SpawnRecorder(system, log, {.mailbox = {.capacity = 16}});
  const uint64_t refused = SendFromThreads(actor, 4, 500);
  EXPECT_TRUE(system.DrainAndWait(InAMinute()).complete);
  EXPECT_EQ(log.notes.size(), 2000u);
  std::vector<int> next(4);
  for (const Note& note : log.notes) {
    EXPECT_EQ(note.number, next[static_cast<size_t>(note.sender)]++);
  }
  EXPECT_EQ(system.dead_letters().count(DeadLetterReason::kMailboxFull), refused);
}

TEST(ActorThreads, CrashesUnderLoadLoseOnlyThePoison) {
  Log log;
  std::atomic<int> failures = 0;
  ThreadPool pool({.name = "actors", .threads = 3});
  ActorSystem system(pool, {.on_failure = [&](const ActorFailure&) { ++failures; }});
  const Ref<Msg> actor = SpawnRecorder(
      system, log,
      {.mailbox = {.capacity = 4096},
       .supervision = {.max_restarts = 1000, .backoff = {.initial = milliseconds(0)}}});
  std::jthread saboteur([&] {
    for (int i = 0; i < 20; ++i) {
      EXPECT_TRUE(actor.TryTell(Crash{.times = 1, .by_exception = i % 2 == 0}).ok());
      EXPECT_TRUE(actor.TryTell(Crash{}).ok());
    }
  });
  SendFromThreads(actor, 3, 500);
  saboteur.join();
  EXPECT_TRUE(system.DrainAndWait(InAMinute()).complete);
  EXPECT_EQ(log.notes.size(), 1500u);
  EXPECT_EQ(system.dead_letters().count(DeadLetterReason::kPoison), 20u);
  EXPECT_EQ(failures, 60);
  EXPECT_GE(log.built, 60);  // after the last crash it may be drained instead of rebuilt
}

TEST(ActorThreads, EveryQuestionIsAnsweredOnce) {
  Log log;
  std::atomic<int> answers = 0;
  ThreadPool pool({.name = "actors", .threads = 3});
  ActorSystem system(pool);
  const Ref<Msg> actor = SpawnRecorder(system, log, {.mailbox = {.capacity = 8}});
  std::vector<std::jthread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) {
        // Deadlines of "now" race with the answers.
        const TimePoint deadline = i % 2 == t % 2 ? InAMinute() : SystemClock().Now();
        if (i % 3 == 0) {
          actor.Ask<int>([](auto reply) { return Forget{reply}; }, deadline,
                         [&](absl::StatusOr<int>) { ++answers; });
        } else {
          actor.Ask<std::vector<int>>([](auto reply) { return Get{reply}; }, deadline,
                                      [&](absl::StatusOr<std::vector<int>>) { ++answers; });
        }
      }
    });
  }
  threads.clear();
  EXPECT_TRUE(system.DrainAndWait(InAMinute()).complete);
  EXPECT_EQ(answers, 600);
}

TEST(ActorThreads, ADrainUnderLoadHandlesExactlyWhatWasAcknowledged) {
  Log log;
  std::atomic<size_t> acknowledged = 0;
  ThreadPool pool({.name = "actors", .threads = 2});
  ActorSystem system(pool);
  const Ref<Msg> actor = SpawnRecorder(system, log, {.mailbox = {.capacity = 64}});
  std::vector<std::jthread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      for (;;) {
        const absl::Status status = actor.TryTell(Note{});
        if (status.ok()) {
          ++acknowledged;
        } else if (ReasonOf(status) != reasons::kMailboxFull) {
          return;
        }
      }
    });
  }
  while (acknowledged < 1000) {
    std::this_thread::yield();
  }
  const DrainReport report = system.DrainAndWait(InAMinute());
  threads.clear();
  EXPECT_TRUE(report.complete);
  EXPECT_EQ(report.messages_lost, 0u);
  EXPECT_EQ(log.notes.size(), acknowledged);
}

TEST(ActorThreads, AForcedStopDoesNotWaitForAStuckHandler) {
  Log log;
  std::promise<void> entered;
  std::promise<void> release;
  ThreadPool pool({.name = "actors", .threads = 2});
  ActorSystem system(pool);
  const Ref<Msg> actor = SpawnRecorder(system, log);
  ASSERT_TRUE(actor
                  .TryTell(Do{[&](auto&) {
                    entered.set_value();
                    release.get_future().wait();
                    return absl::OkStatus();
                  }})
                  .ok());
  entered.get_future().wait();
  ASSERT_TRUE(actor.TryTell(Note{}).ok());
  const DrainReport report = system.DrainAndWait(SystemClock().Now() + milliseconds(1));
  EXPECT_FALSE(report.complete);
  EXPECT_EQ(report.messages_lost, 1u);
  release.set_value();
  pool.Shutdown();
  EXPECT_TRUE(log.notes.empty());
}

TEST(ActorThreads, TimersJobsAndAnswersStayInTheActorsTurns) {
  Log log;
  ThreadPool pool({.name = "actors", .threads = 3});
  ThreadPool work({.name = "work", .threads = 2, .low_priority = true});
  ActorSystem system(pool);
  const Ref<Msg> actor = SpawnRecorder(system, log);
  // This is deliberately unguarded: only the actor's turns use it, which ThreadSanitizer checks.
  int turns = 0;
  ASSERT_TRUE(actor
                  .TryTell(Do{[&](auto& context) -> absl::Status {
                    for (int i = 0; i < 50; ++i) {
                      RETURN_IF_ERROR(context.StartTimer(milliseconds(i % 3), Note{}).status());
                      RETURN_IF_ERROR(context.Offload(
                          work, [] {},
                          [&](ActorContext<Msg>&) {
                            ++turns;
                            return absl::OkStatus();
                          }));
                      RETURN_IF_ERROR(context.template Ask<std::vector<int>>(
                          context.Self(), [](auto reply) { return Get{reply}; }, seconds(60),
                          [&](absl::StatusOr<std::vector<int>> answer, ActorContext<Msg>&) {
                            ++turns;
                            return answer.status();
                          }));
                    }
                    return absl::OkStatus();
                  }})
                  .ok());
  EXPECT_TRUE(system.DrainAndWait(InAMinute()).complete);
  pool.Shutdown();
  EXPECT_EQ(turns, 100);
}

TEST(ActorThreads, DestroyingASystemUnderLoadIsClean) {
  Log log;
  ThreadPool pool({.name = "actors", .threads = 2});
  auto system = std::make_unique<ActorSystem>(pool);
  std::atomic<bool> stop = false;
  const Ref<Msg> actor = SpawnRecorder(*system, log);
  std::jthread sender([&] {
    while (!stop) {
      (void)actor.TryTell(Note{});
      std::this_thread::yield();
    }
  });
  system.reset();
  EXPECT_EQ(ReasonOf(actor.TryTell(Note{})), reasons::kActorStopped);
  stop = true;
  sender.join();
  pool.Shutdown();
}

// One conversation gives one result on every executor.
std::vector<int> Converse(Executor& executor, const std::function<void(std::future<void>&)>& pump) {
  Log log;
  ActorSystem system(executor);
  const Ref<Msg> actor = SpawnRecorder(system, log);
  for (int i = 0; i < 10; ++i) {
    EXPECT_TRUE(actor.TryTell(Note{0, i}).ok());
  }
  EXPECT_TRUE(actor.TryTell(Crash{.times = 1}).ok());
  EXPECT_TRUE(actor.TryTell(Note{0, 10}).ok());
  auto seen = std::make_shared<std::vector<int>>();
  std::promise<void> done;
  std::future<void> finished = done.get_future();
  actor.Ask<std::vector<int>>([](auto reply) { return Get{reply}; },
                              executor.clock().Now() + hours(1),
                              [&](absl::StatusOr<std::vector<int>> answer) {
                                *seen = answer.value();
                                done.set_value();
                              });
  pump(finished);
  return *seen;
}

TEST(ActorExecutors, AllGiveTheSameResult) {
  ThreadPool pool({.name = "actors", .threads = 2});
  InlineExecutor inline_executor;
  SimExecutor sim(9);
  const std::vector<int> expected = {10};
  EXPECT_EQ(Converse(pool, [](std::future<void>& f) { f.wait(); }), expected);
  EXPECT_EQ(
      Converse(inline_executor, [&](std::future<void>&) { inline_executor.Advance(seconds(10)); }),
      expected);
  EXPECT_EQ(Converse(sim, [&](std::future<void>&) { sim.RunUntilIdle(); }), expected);
}

}  // namespace
}  // namespace ruvd::runtime::actor_test
