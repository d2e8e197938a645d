// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <chrono>
#include <set>

#include "base/sim_executor.h"
#include "recorder.h"

namespace ruvd::runtime::actor_test {
namespace {

using std::chrono::milliseconds;

struct Token {
  int hops = 0;
};
struct Meet {
  std::vector<Ref<std::variant<Token, Meet>>> friends;
};
using GossipMsg = std::variant<Token, Meet>;

// Passes tokens to random friends after random times, and sometimes fails.
class Gossiper final : public Actor<GossipMsg> {
 public:
  explicit Gossiper(std::vector<Ref<GossipMsg>>& friends) : friends_(friends) {}
  absl::Status On(Meet& message, Context&) override {
    friends_ = message.friends;
    return absl::OkStatus();
  }
  absl::Status On(Token& token, Context& context) override {
    if (context.Rng().Bernoulli(0.01)) {
      return absl::InternalError("chance");
    }
    if (token.hops == 0 || friends_.empty()) {
      return absl::OkStatus();
    }
    const Token next{token.hops - 1};
    if (context.Rng().Bernoulli(0.5)) {
      return context.StartTimer(milliseconds(context.Rng().Below(20)), next).status();
    }
    // A full mailbox may refuse it: that must also be the same every time.
    (void)friends_[context.Rng().Below(friends_.size())].TryTell(next);
    return absl::OkStatus();
  }

 private:
  std::vector<Ref<GossipMsg>>& friends_;
};

struct Trace {
  uint64_t hash;
  uint64_t tasks;
  bool operator==(const Trace&) const = default;
};

Trace RunGossip(uint64_t sim_seed, uint64_t actor_seed) {
  SimExecutor sim(sim_seed);
  ActorSystem system(sim, {.seed = actor_seed});
  std::vector<Ref<GossipMsg>> all;
  std::vector<std::vector<Ref<GossipMsg>>> friends(10);
  for (size_t i = 0; i < friends.size(); ++i) {
    all.push_back(
        system.Spawn<GossipMsg>({.name = "gossiper" + std::to_string(i),
                                 .mailbox = {.capacity = 4},
                                 .supervision = {.max_restarts = 1000}},
                                [&mine = friends[i]] { return std::make_unique<Gossiper>(mine); }));
  }
  for (const Ref<GossipMsg>& actor : all) {
    EXPECT_TRUE(actor.TryTell(Meet{all}).ok());
    EXPECT_TRUE(actor.TryTell(Token{50}).ok());
    EXPECT_TRUE(actor.TryTell(Token{50}).ok());
  }
  EXPECT_TRUE(sim.RunUntilIdle());
  return {sim.trace_hash(), sim.tasks_run()};
}

RC_GTEST_PROP(Simulation, TheSameSeedGivesTheSameTrace, (uint64_t sim_seed, uint64_t actor_seed)) {
  RC_ASSERT(RunGossip(sim_seed, actor_seed) == RunGossip(sim_seed, actor_seed));
}

TEST(Simulation, DifferentSeedsGiveDifferentTraces) {
  std::set<uint64_t> hashes;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    hashes.insert(RunGossip(seed, 1).hash);
    hashes.insert(RunGossip(1000, seed).hash);
  }
  EXPECT_EQ(hashes.size(), 100u);
}

TEST(Simulation, TheTraceTellsMessagesApart) {
  const auto hash = [](const Msg& message) {
    SimExecutor sim(1);
    ActorSystem system(sim);
    Log log;
    const Ref<Msg> actor = SpawnRecorder(system, log);
    EXPECT_TRUE(actor.TryTell(message).ok());
    sim.RunUntilIdle();
    return sim.trace_hash();
  };
  EXPECT_EQ(hash(Note{}), hash(Note{}));
  EXPECT_NE(hash(Note{}), hash(Forget{}));
}

}  // namespace
}  // namespace ruvd::runtime::actor_test
