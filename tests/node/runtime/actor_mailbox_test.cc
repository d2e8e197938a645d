// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <numeric>

#include "base/reasons.h"
#include "base/sim_executor.h"
#include "base/status.h"
#include "recorder.h"

namespace ruvd::runtime::actor_test {
namespace {

using ::testing::HasSubstr;

// The actor cannot run before the test pumps the simulator, so its mailbox fills up.
struct World {
  explicit World(MailboxOptions mailbox, uint64_t seed = 1) : sim(seed), system(sim) {
    actor = SpawnRecorder(system, log, {.mailbox = mailbox});
  }
  uint64_t dead(DeadLetterReason reason) { return system.dead_letters().count(reason); }

  SimExecutor sim;
  Log log;
  ActorSystem system;
  Ref<Msg> actor;
};

RC_GTEST_PROP(Mailbox, LosesNothingBelowCapacityAndRefusesLoudlyAbove, ()) {
  const size_t capacity = *rc::gen::inRange<size_t>(1, 50);
  const int sent = *rc::gen::inRange(0, 100);
  World world({.capacity = capacity});
  int accepted = 0;
  for (int i = 0; i < sent; ++i) {
    const absl::Status status = world.actor.TryTell(Note{0, i});
    if (status.ok()) {
      ++accepted;
    } else {
      RC_ASSERT(status.code() == absl::StatusCode::kResourceExhausted);
      RC_ASSERT(ReasonOf(status) == reasons::kMailboxFull);
    }
  }
  RC_ASSERT(accepted == std::min(sent, static_cast<int>(capacity)));
  RC_ASSERT(world.dead(DeadLetterReason::kMailboxFull) == static_cast<uint64_t>(sent - accepted));
  world.sim.RunUntilIdle();
  std::vector<int> expected(static_cast<size_t>(accepted));
  std::iota(expected.begin(), expected.end(), 0);
  RC_ASSERT(Numbers(world.log) == expected);
}

TEST(Mailbox, FullErrorNamesTheActorAndItsCapacity) {
  World world({.capacity = 3});
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(world.actor.TryTell(Note{}).ok());
  }
  EXPECT_THAT(MessageOf(world.actor.TryTell(Note{})),
              HasSubstr("mailbox of recorder is full at its capacity of 3"));
}

TEST(Mailbox, ControlMessagesPassAnOverloadedActor) {
  World world({.capacity = 100, .control_capacity = 2});
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(world.actor.TryTell(Note{0, i}).ok());
  }
  ASSERT_FALSE(world.actor.TryTell(Note{}).ok());
  ASSERT_TRUE(world.actor.TryTell(Note{0, 1000}, Priority::kControl).ok());
  ASSERT_TRUE(world.actor.TryTell(Note{0, 1001}, Priority::kControl).ok());
  EXPECT_EQ(ReasonOf(world.actor.TryTell(Note{}, Priority::kControl)), reasons::kMailboxFull);
  world.sim.RunUntilIdle();
  const std::vector<int> numbers = Numbers(world.log);
  ASSERT_EQ(numbers.size(), 102u);
  EXPECT_EQ(numbers[0], 1000);
  EXPECT_EQ(numbers[1], 1001);
  EXPECT_EQ(numbers[2], 0);
}

RC_GTEST_PROP(Mailbox, EachSendersMessagesAreHandledInOrder, (uint64_t seed)) {
  World world({.capacity = 1000}, seed);
  std::map<int, int> next;
  const auto senders = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 5));
  for (const int sender : senders) {
    world.sim.Post([&world, &next, sender] {
      RC_ASSERT(world.actor.TryTell(Note{sender, next[sender]++}).ok());
    });
  }
  world.sim.RunUntilIdle();
  RC_ASSERT(world.log.notes.size() == senders.size());
  std::map<int, int> seen;
  for (const Note& note : world.log.notes) {
    RC_ASSERT(note.number == seen[note.sender]++);
  }
}

RC_GTEST_PROP(Mailbox, DropOldestKeepsTheNewestAndCountsTheRest, ()) {
  const int capacity = *rc::gen::inRange(1, 20);
  const int sent = *rc::gen::inRange(0, 60);
  World world({.capacity = static_cast<size_t>(capacity), .overflow = Overflow::kDropOldest});
  for (int i = 0; i < sent; ++i) {
    RC_ASSERT(world.actor.TryTell(Note{0, i}).ok());
  }
  world.sim.RunUntilIdle();
  const int kept = std::min(sent, capacity);
  std::vector<int> expected(static_cast<size_t>(kept));
  std::iota(expected.begin(), expected.end(), sent - kept);
  RC_ASSERT(Numbers(world.log) == expected);
  RC_ASSERT(world.dead(DeadLetterReason::kDropped) == static_cast<uint64_t>(sent - kept));
}

TEST(Mailbox, CoalesceReplacesInPlaceAndRejectsWithoutAMatch) {
  SimExecutor sim(1);
  Log log;
  ActorSystem system(sim);
  const Ref<Msg> actor = SpawnRecorder(system, log,
                                       {.mailbox = {.capacity = 2, .overflow = Overflow::kCoalesce},
                                        .coalesce_key = [](const Msg& m) {
                                          return static_cast<uint64_t>(std::get<Note>(m).sender);
                                        }});
  ASSERT_TRUE(actor.TryTell(Note{1, 10}).ok());
  ASSERT_TRUE(actor.TryTell(Note{2, 20}).ok());
  ASSERT_TRUE(actor.TryTell(Note{1, 11}).ok());
  ASSERT_TRUE(actor.TryTell(Note{2, 21}).ok());
  EXPECT_EQ(ReasonOf(actor.TryTell(Note{3, 30})), reasons::kMailboxFull);
  sim.RunUntilIdle();
  EXPECT_EQ(Numbers(log), (std::vector<int>{11, 21}));
  EXPECT_EQ(system.dead_letters().count(DeadLetterReason::kCoalesced), 2u);
  EXPECT_EQ(system.dead_letters().count(DeadLetterReason::kMailboxFull), 1u);
}

TEST(Mailbox, ALongQueueDoesNotKeepOtherActorsWaiting) {
  SimExecutor sim(5);
  Log busy_log;
  Log other_log;
  ActorSystem system(sim);
  const Ref<Msg> busy = SpawnRecorder(system, busy_log, {.mailbox = {.capacity = 1000}});
  const Ref<Msg> other = SpawnRecorder(system, other_log);
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(busy.TryTell(Note{0, i}).ok());
  }
  ASSERT_TRUE(other.TryTell(Note{}).ok());
  ASSERT_TRUE(sim.RunUntil([&] { return !other_log.notes.empty(); }));
  EXPECT_LT(busy_log.notes.size(), 1000u);
  sim.RunUntilIdle();
  EXPECT_EQ(busy_log.notes.size(), 1000u);
}

TEST(Ref, OfNobodyIsUnavailable) {
  const Ref<Msg> nobody;
  EXPECT_FALSE(nobody);
  EXPECT_EQ(ReasonOf(nobody.TryTell(Note{})), reasons::kActorStopped);
  int answers = 0;
  nobody.Ask<int>([](ReplyTo<int> reply) { return Forget{reply}; }, TimePoint(),
                  [&](absl::StatusOr<int> answer) {
                    ++answers;
                    EXPECT_EQ(answer.status().code(), absl::StatusCode::kUnavailable);
                  });
  EXPECT_EQ(answers, 1);
}

}  // namespace
}  // namespace ruvd::runtime::actor_test
