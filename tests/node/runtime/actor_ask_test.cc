// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <chrono>
#include <optional>

#include "base/reasons.h"
#include "base/sim_executor.h"
#include "base/status.h"
#include "node/runtime/limits.h"
#include "recorder.h"

namespace ruvd::runtime::actor_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

struct World {
  explicit World(uint64_t seed = 1, SpawnOptions<Msg> options = {}) : sim(seed), system(sim) {
    actor = SpawnRecorder(system, log, std::move(options));
  }
  // Asks a question; the outcome is stored in `status` and counted.
  void AskForget(Duration timeout) {
    actor.Ask<int>([](ReplyTo<int> reply) { return Forget{reply}; }, sim.clock().Now() + timeout,
                   [this](absl::StatusOr<int> answer) {
                     ++answers;
                     status = answer.status();
                     answered_at = sim.clock().Now();
                   });
  }

  SimExecutor sim;
  Log log;
  ActorSystem system;
  Ref<Msg> actor;
  int answers = 0;
  absl::Status status;
  TimePoint answered_at;
};

TEST(Ask, BringsTheReplyBack) {
  World world;
  ASSERT_TRUE(world.actor.TryTell(Note{0, 7}).ok());
  std::vector<int> seen;
  world.actor.Ask<std::vector<int>>([](auto reply) { return Get{reply}; }, TimePoint(seconds(1)),
                                    [&](absl::StatusOr<std::vector<int>> answer) {
                                      ++world.answers;
                                      seen = answer.value();
                                    });
  world.sim.RunUntilIdle();
  EXPECT_EQ(seen, (std::vector<int>{7}));
  EXPECT_EQ(world.answers, 1);
  EXPECT_EQ(world.sim.clock().Now(), TimePoint()) << "the deadline's timer must be cancelled";
}

TEST(Ask, EndsAtTheDeadlineInVirtualTime) {
  World world;
  std::optional<ReplyTo<int>> kept;
  int answers = 0;
  absl::Status status;
  world.actor.Ask<int>(
      [&](ReplyTo<int> reply) {
        kept = reply;
        return Do{[](auto&) { return absl::OkStatus(); }};
      },
      TimePoint(seconds(3)),
      [&](absl::StatusOr<int> answer) {
        ++answers;
        status = answer.status();
      });
  world.sim.RunFor(milliseconds(2999));
  EXPECT_EQ(answers, 0);
  EXPECT_FALSE(kept->abandoned());
  world.sim.RunFor(milliseconds(1));
  EXPECT_EQ(answers, 1);
  EXPECT_EQ(ReasonOf(status), reasons::kDeadlineExceeded);
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_TRUE(kept->abandoned());
  kept->Send(5);
  kept.reset();
  EXPECT_EQ(answers, 1) << "a late reply is ignored";
}

TEST(Ask, AForgottenQuestionIsUnavailableAtOnce) {
  World world;
  world.AskForget(seconds(100));
  world.sim.RunUntilIdle();
  EXPECT_EQ(world.answers, 1);
  EXPECT_EQ(ReasonOf(world.status), reasons::kActorStopped);
  EXPECT_EQ(world.answered_at, TimePoint());
}

TEST(Ask, AFullMailboxIsReportedAsSuch) {
  World world(1, {.mailbox = {.capacity = 1}});
  ASSERT_TRUE(world.actor.TryTell(Note{}).ok());
  world.AskForget(seconds(1));
  EXPECT_EQ(world.answers, 1);
  EXPECT_EQ(world.status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(ReasonOf(world.status), reasons::kMailboxFull);
  world.sim.RunUntilIdle();
  EXPECT_EQ(world.answers, 1);
}

TEST(Ask, AQuestionPushedOutOfTheMailboxIsAnswered) {
  World world(1, {.mailbox = {.capacity = 1, .overflow = Overflow::kDropOldest}});
  world.AskForget(seconds(1));
  ASSERT_TRUE(world.actor.TryTell(Note{}).ok());
  EXPECT_EQ(world.answers, 1);
  EXPECT_EQ(world.status.code(), absl::StatusCode::kUnavailable);
}

TEST(Ask, AQuestionWhoseHandlerCrashesIsAnswered) {
  World world(1, {.supervision = {.poison_crashes = 1}});
  int answers = 0;
  world.actor.Ask<int>(
      [](ReplyTo<int> reply) {
        return Do{[reply](auto&) { return absl::InternalError("crash"); }};
      },
      TimePoint(seconds(9)),
      [&](absl::StatusOr<int> answer) {
        ++answers;
        EXPECT_EQ(ReasonOf(answer.status()), reasons::kActorStopped);
      });
  world.sim.RunUntilIdle();
  EXPECT_EQ(answers, 1);
}

TEST(Ask, AnExpiredQuestionIsNeverHandled) {
  World world;
  bool handled = false;
  // A failure whose restart is delayed keeps the actor from running.
  SimExecutor& sim = world.sim;
  sim.RunUntilIdle();
  ASSERT_TRUE(world.actor.TryTell(Crash{.times = 1}).ok());
  ASSERT_TRUE(sim.RunOne());
  world.actor.Ask<int>(
      [&](ReplyTo<int>) {
        return Do{[&](auto&) {
          handled = true;
          return absl::OkStatus();
        }};
      },
      sim.clock().Now(), [&](absl::StatusOr<int>) { ++world.answers; });
  sim.RunUntilIdle();
  EXPECT_EQ(world.answers, 1);
  EXPECT_FALSE(handled);
  EXPECT_EQ(world.system.dead_letters().count(DeadLetterReason::kExpired), 1u);
}

TEST(Ask, OfAStoppedSystemIsAnswered) {
  SimExecutor sim(1);
  Log log;
  auto system = std::make_unique<ActorSystem>(sim);
  const Ref<Msg> actor = SpawnRecorder(*system, log);
  int answers = 0;
  const auto ask = [&] {
    actor.Ask<int>([](ReplyTo<int> reply) { return Forget{reply}; }, TimePoint(seconds(1)),
                   [&](absl::StatusOr<int> answer) {
                     ++answers;
                     EXPECT_EQ(ReasonOf(answer.status()), reasons::kActorStopped);
                   });
  };
  ask();
  system.reset();
  EXPECT_EQ(answers, 1) << "a queued question dies with its actor";
  ask();
  EXPECT_EQ(answers, 2);
}

// Replies, crashes, forgetting, overflow and deadlines occur at random: there is always exactly one
// callback.
RC_GTEST_PROP(Ask, CallsBackExactlyOnce, (uint64_t seed)) {
  World world(
      seed, {.mailbox = {.capacity = 4}, .supervision = {.max_restarts = 2, .poison_crashes = 1}});
  Random random(seed);
  const int questions = *rc::gen::inRange(1, 30);
  std::vector<int> callbacks(static_cast<size_t>(questions));
  for (int i = 0; i < questions; ++i) {
    const auto when = TimePoint(milliseconds(random.Below(50)));
    const auto deadline = when + milliseconds(random.Below(400));
    const uint64_t kind = random.Below(4);
    world.sim.PostAt(when, [&world, &callbacks, i, deadline, kind] {
      world.actor.Ask<std::vector<int>>(
          [kind](ReplyTo<std::vector<int>> reply) -> Msg {
            if (kind == 0) {
              return Get{reply};
            }
            return Do{[kind, reply](auto& context) {
              if (kind == 1) {  // answers later, perhaps too late
                return context
                    .StartTimer(milliseconds(200), Do{[reply](auto&) {
                                  reply.Send(std::vector<int>{1});
                                  return absl::OkStatus();
                                }})
                    .status();
              }
              return kind == 2 ? absl::InternalError("crash") : absl::OkStatus();
            }};
          },
          deadline,
          [&callbacks, i](absl::StatusOr<std::vector<int>>) {
            ++callbacks[static_cast<size_t>(i)];
          });
    });
  }
  world.sim.RunUntilIdle();
  for (const int calls : callbacks) {
    RC_ASSERT(calls == 1);
  }
}

TEST(ContextAsk, ComesBackInTheOwnTurn) {
  World world;
  Log other_log;
  const Ref<Msg> other = SpawnRecorder(world.system, other_log, {.name = "other"});
  ASSERT_TRUE(other.TryTell(Note{0, 3}).ok());
  std::vector<int> seen;
  ASSERT_TRUE(world.actor
                  .TryTell(Do{[&](auto& context) {
                    return context.template Ask<std::vector<int>>(
                        other, [](auto reply) { return Get{reply}; }, seconds(1),
                        [&](absl::StatusOr<std::vector<int>> answer, ActorContext<Msg>& own) {
                          EXPECT_EQ(own.name(), "recorder");
                          seen = answer.value();
                          return absl::OkStatus();
                        });
                  }})
                  .ok());
  world.sim.RunUntilIdle();
  EXPECT_EQ(seen, (std::vector<int>{3}));
}

TEST(ContextAsk, AnAnswerForAFailedLifeIsDropped) {
  World world;
  Log other_log;
  const Ref<Msg> other = SpawnRecorder(world.system, other_log, {.name = "other"});
  world.sim.RunUntilIdle();
  ASSERT_TRUE(world.actor
                  .TryTell(Do{[&, first = true](auto& context) mutable -> absl::Status {
                    if (!std::exchange(first, false)) {
                      return absl::OkStatus();
                    }
                    RETURN_IF_ERROR(context.template Ask<std::vector<int>>(
                        other, [](auto reply) { return Get{reply}; }, seconds(1),
                        [&](absl::StatusOr<std::vector<int>>, ActorContext<Msg>&) {
                          ADD_FAILURE() << "belongs to a destroyed actor";
                          return absl::OkStatus();
                        }));
                    return absl::InternalError("crash after asking");
                  }})
                  .ok());
  world.sim.RunUntilIdle();
  EXPECT_EQ(world.log.built, 2);
}

TEST(ContextAsk, TheNumberOfOpenQuestionsIsBounded) {
  World world;
  std::vector<ReplyTo<int>> kept;
  size_t asked = 0;
  absl::Status refused;
  ASSERT_TRUE(world.actor
                  .TryTell(Do{[&](auto& context) {
                    while (refused.ok() && asked < 5000) {
                      refused = context.template Ask<int>(
                          Ref<Msg>(context.Self()),
                          [&](ReplyTo<int> reply) {
                            kept.push_back(reply);
                            return Note{};
                          },
                          seconds(1),
                          [](absl::StatusOr<int>, ActorContext<Msg>&) { return absl::OkStatus(); });
                      asked += refused.ok() ? 1 : 0;
                    }
                    return absl::OkStatus();
                  }})
                  .ok());
  world.sim.RunUntilIdle();
  EXPECT_EQ(asked, limits::kMaxOutstandingPerActor);
  EXPECT_EQ(ReasonOf(refused), reasons::kLimitExceeded);
}

}  // namespace
}  // namespace ruvd::runtime::actor_test
