// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Masked rounds one after the other, numbered by the clock.

#include "federation/masked/masked_rounds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/reasons.h"
#include "base/status.h"
#include "privacy/limits.h"
#include "privacy/reasons.h"
#include "tests/federation/masked_bus.h"

namespace ruvd::test {
namespace {

constexpr size_t kNodes = 5;

MaskedRoundsConfig ConfigOf(size_t node) {
  return {.cluster = {5},
          .layout = SmallMaskLayout(),
          .self = MaskedBus::IdOf(node),
          .model_hash = {1},
          .random = MaskEntropy(node + 1)};
}

std::vector<Member> MembersUpTo(size_t count) {
  std::vector<Member> members;
  for (size_t i = 0; i < count; ++i) {
    Member member;
    member.id = MaskedBus::IdOf(count - 1 - i);
    member.roles = roles::kMember;
    member.model_hash = {1};
    members.push_back(member);
  }
  return members;
}

// Nodes that hear each other at once.
class MaskedRoundsTest : public testing::Test {
 protected:
  struct Node {
    std::optional<MaskedRounds> rounds;
    uint64_t charges = 0;
    std::map<uint64_t, absl::StatusOr<MaskedOutcome>> outcomes;  // by round
  };

  void SetUp() override {
    for (size_t i = 0; i < kNodes; ++i) {
      auto rounds = MaskedRounds::Create(ConfigOf(i));
      ASSERT_TRUE(rounds.ok()) << rounds.status();
      nodes_.emplace_back().rounds.emplace(*std::move(rounds));
    }
  }

  Instant At(int64_t ms) const { return {TimePoint(std::chrono::milliseconds(ms)), ms}; }

  void Perform(size_t from, MaskedSteps steps, Instant now) {
    Node& node = nodes_[from];
    for (MaskedStep& step : steps) {
      if (auto* offer = std::get_if<OfferMaskItem>(&step)) {
        Item item = MaskedBus::ItemOf(MaskedBus::IdOf(from), offer->kind, offer->payload);
        item.round = node.rounds->round();
        items_.push_back(item);
        waiting_.push_back(std::move(item));
      } else if (auto* wanted = std::get_if<MaskInputWanted>(&step)) {
        auto shared =
            node.rounds->Provide(node.rounds->round(), wanted->attempt,
                                 {.reservation = ++node.charges,
                                  .contributors = static_cast<uint32_t>(wanted->set.members.size()),
                                  .units = UnitsOf(SmallMaskLayout(), random_)},
                                 now);
        ASSERT_TRUE(shared.ok()) << shared.status();
        Perform(from, *std::move(shared), now);
      } else if (auto* ended = std::get_if<MaskedRoundEnded>(&step)) {
        EXPECT_TRUE(node.outcomes.emplace(node.rounds->round(), std::move(ended->outcome)).second);
      }
    }
  }

  void Tick(int64_t ms, size_t members = kNodes, size_t from = 0) {
    const Instant now = At(ms);
    for (size_t i = from; i < kNodes; ++i) {
      Perform(i, nodes_[i].rounds->OnTick(MembersUpTo(members), items_, nodes_[i].charges, now),
              now);
    }
    while (!waiting_.empty()) {
      for (const Item& item : std::exchange(waiting_, {})) {
        for (size_t i = from; i < kNodes; ++i) {
          auto steps = nodes_[i].rounds->OnItem(item, now);
          ASSERT_TRUE(steps.ok()) << steps.status();
          Perform(i, *std::move(steps), now);
        }
      }
    }
  }

  Random random_{1};
  std::vector<Node> nodes_;
  std::vector<Item> items_;
  std::vector<Item> waiting_;
};

TEST_F(MaskedRoundsTest, FollowEachOtherByTheClock) {
  const int64_t start = 7 * limits::kMaskedPeriodMillis;
  Tick(start);
  Tick(start + 200);
  Tick(start + limits::kMaskedPeriodMillis);
  for (const Node& node : nodes_) {
    ASSERT_EQ(node.outcomes.size(), 2U);
    EXPECT_TRUE(node.outcomes.at(7).ok());
    EXPECT_TRUE(node.outcomes.at(8).ok());
    EXPECT_EQ(node.charges, 2U);
    EXPECT_EQ(node.outcomes.at(8)->units, nodes_[0].outcomes.at(8)->units);
  }
}

// What was said before a node began its round counts.
TEST_F(MaskedRoundsTest, ALateNodeFindsTheItemsThatAreThere) {
  const int64_t start = 7 * limits::kMaskedPeriodMillis;
  Tick(start, kNodes, /*from=*/1);
  EXPECT_TRUE(nodes_[1].outcomes.empty());
  Tick(start + 1000);
  for (const Node& node : nodes_) {
    ASSERT_TRUE(node.outcomes.contains(7) && node.outcomes.at(7).ok());
    EXPECT_EQ(node.outcomes.at(7)->weight(), kNodes);
  }
}

TEST_F(MaskedRoundsTest, AClockThatGoesBackRepeatsNoRound) {
  const int64_t start = 7 * limits::kMaskedPeriodMillis;
  Tick(start);
  const size_t said = items_.size();
  Tick(start - limits::kMaskedPeriodMillis);
  Tick(start + 1000);
  EXPECT_EQ(items_.size(), said);
}

TEST_F(MaskedRoundsTest, TooFewMembersWait) {
  Tick(7 * limits::kMaskedPeriodMillis, limits::kMinCliqueMembers - 1);
  ASSERT_TRUE(nodes_[0].outcomes.contains(7));
  EXPECT_EQ(ReasonOf(nodes_[0].outcomes.at(7).status()), reasons::kCliqueInvalid);
  EXPECT_TRUE(items_.empty());
  EXPECT_EQ(ReasonOf(nodes_[0].rounds->Provide(7, 0, {}, At(0)).status()), reasons::kMaskReused);
}

TEST(MaskedMembers, AreThoseThatCanAddUp) {
  std::vector<Member> members = MembersUpTo(6);
  members[0].state = MemberState::kDead;
  members[1].roles = roles::kObserver;
  members[2].model_hash = {2};
  EXPECT_THAT(MaskedMembers(members, {1}),
              testing::ElementsAre(MaskedBus::IdOf(0), MaskedBus::IdOf(1), MaskedBus::IdOf(2)));
}

TEST(MaskedRounds, RefuseTimesThatAreNone) {
  const auto reason = [](auto change) {
    MaskedRoundsConfig config = ConfigOf(0);
    change(config);
    return ReasonOf(MaskedRounds::Create(std::move(config)).status());
  };
  EXPECT_EQ(reason([](MaskedRoundsConfig&) {}), "");
  EXPECT_EQ(reason([](MaskedRoundsConfig& config) { config.period_ms = 2 * config.attempt_ms; }),
            reasons::kInvalidArgument);
  EXPECT_EQ(reason([](MaskedRoundsConfig& config) { config.keys_ms = config.shares_ms; }),
            reasons::kInvalidArgument);
  EXPECT_EQ(reason([](MaskedRoundsConfig& config) { config.layout.bank_values.clear(); }),
            reasons::kInvalidArgument);
}

}  // namespace
}  // namespace ruvd::test
