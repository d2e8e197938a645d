// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// A masked round among nodes that agree without a leader: sums, drop-outs, views that differ,
// liars.

#include "federation/masked/masked_round.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "base/reasons.h"
#include "base/status.h"
#include "federation/masked/messages.h"
#include "federation/reasons.h"
#include "privacy/reasons.h"
#include "tests/federation/masked_bus.h"
#include "tests/federation/masked_clique.h"

namespace ruvd::test {
namespace {

// Returns the payload of a share that is noise, of node 1.
std::string NoiseFor(MaskedBus& bus, const federation::MaskInputWanted& wanted) {
  federation::MaskShareItem share{.attempt = wanted.attempt,
                                  .salt = {},
                                  .update = {.round = MaskedBus::kRound,
                                             .sender = bus.node(1).id,
                                             .set = wanted.set.SetHash(),
                                             .layout = wanted.set.layout,
                                             .values = {}}};
  for (size_t i = 0; i < bus.layout().Values(); ++i) {
    share.update.values.push_back(static_cast<uint32_t>(bus.random().Next()));
  }
  return federation::EncodeMaskShare(share);
}

uint8_t AttemptOf(const federation::Item& item) {
  return static_cast<uint8_t>((*item.payload)[0]);
}

TEST(MaskedRoundTest, TheSumOfEverySizeIsThePlainSum) {
  for (size_t nodes = limits::kMinCliqueMembers; nodes <= limits::kMaxCliqueMembers; ++nodes) {
    MaskedBus bus(nodes, /*seed=*/nodes, /*observers=*/1);
    bus.Run();
    bus.ExpectSum(Numbers(nodes), 0);
    bus.ExpectNothingTwice();
    EXPECT_EQ(bus.node(0).charges, 1U);
    EXPECT_EQ(bus.node(nodes).charges, 0U) << "who is no member has the sum and gives nothing";
    const federation::MaskedOutcome& outcome = **bus.node(0).outcome;
    EXPECT_EQ(outcome.weight(), nodes);
    EXPECT_FLOAT_EQ(outcome.Mean(bus.layout().grid)[3],
                    static_cast<float>(outcome.units[3]) / 512 / static_cast<float>(nodes));
  }
}

// A share does not show what is in it, and a sum of only some shares does not either.
TEST(MaskedRoundTest, NothingLessThanAllSharesIsASum) {
  MaskedBus bus(5);
  bus.Run();
  std::vector<uint32_t> sum(bus.layout().Values());
  size_t shares = 0;
  for (const federation::Item& item : bus.said()) {
    if (item.kind == federation::ItemKind::kMaskShare && ++shares < 5) {
      const auto share = federation::DecodeMaskShare(AsBytes(*item.payload));
      ASSERT_TRUE(share.ok());
      for (size_t i = 0; i < sum.size(); ++i) {
        sum[i] += share->update.values[i];
      }
      EXPECT_TRUE(std::ranges::any_of(
          sum, [](uint32_t value) { return value > 100'000 && value < 0U - 100'000; }))
          << "after " << shares << " of five";
    }
  }
}

RC_GTEST_PROP(MaskedRoundTest, NeitherOrderNorCopiesNorLateComersChangeTheSum, ()) {
  const auto nodes = *rc::gen::inRange<size_t>(5, 17);
  const auto stops = *rc::gen::inRange<size_t>(0, nodes - 3);
  MaskedBus bus(nodes, *rc::gen::arbitrary<uint64_t>());
  bus.twice = *rc::gen::arbitrary<bool>();
  for (size_t i = 0; i < stops; ++i) {
    bus.node(i).stopped = true;
  }
  bus.Run();
  bus.ExpectSum(Numbers(nodes, Numbers(stops)), 0);
  bus.ExpectNothingTwice();
}

// A member stops before it sent anything of the first attempt, or later. The others end with the
// sum of the members that are left, and pay twice only if it stopped after all had committed.
TEST(MaskedRoundTest, AMemberMayStopAtEveryStage) {
  struct Stage {
    federation::ItemKind before;
    uint8_t attempt;
    uint64_t charges;
  };
  for (const auto& [before, attempt, charges] :
       {Stage{federation::ItemKind::kMaskKey, 0, 1}, Stage{federation::ItemKind::kMaskSet, 1, 1},
        Stage{federation::ItemKind::kMaskCommitment, 1, 1},
        Stage{federation::ItemKind::kMaskShare, 1, 2}}) {
    MaskedBus bus(6);
    bus.intercept = [&bus, kind = before](size_t from, const federation::Item& item) {
      bus.node(2).stopped |= from == 2 && item.kind == kind;
      return bus.node(from).stopped;
    };
    bus.Run();
    ASSERT_TRUE(bus.node(2).stopped);
    bus.ExpectSum(Numbers(6, {2}), attempt);
    EXPECT_EQ(bus.node(0).charges, charges) << federation::ItemKindName(before);
    EXPECT_EQ(bus.SharesOf(0), charges);
  }
}

TEST(MaskedRoundTest, WhoStopsAfterItsShareIsInTheSum) {
  MaskedBus bus(5);
  bus.intercept = [&bus](size_t from, const federation::Item& item) {
    if (from == 2 && item.kind == federation::ItemKind::kMaskShare) {
      bus.Send(item);
      bus.node(2).stopped = true;
      return true;
    }
    return false;
  };
  bus.Run();
  ASSERT_TRUE(bus.node(2).stopped);
  bus.ExpectSum(Numbers(5), 0);
}

// The member gives keys and signs sets every time, but never commits, or never gives a share.
TEST(MaskedRoundTest, WhoAlwaysDropsOutIsLeftOutOfTheNextAttempt) {
  for (const bool commits : {false, true}) {
    MaskedBus bus(6);
    bus.node(3).answers = commits;
    bus.node(3).pays = false;
    bus.Run();
    bus.ExpectSum(Numbers(6, {3}), 1);
    EXPECT_EQ(bus.node(0).charges, commits ? 2U : 1U);
    bus.ExpectNothingTwice();
  }
}

TEST(MaskedRoundTest, TooFewLeftEndTheRoundWithoutASum) {
  MaskedBus bus(5);
  bus.node(1).pays = false;
  bus.node(3).pays = false;
  bus.Run();
  for (size_t i = 0; i < bus.size(); ++i) {
    ASSERT_TRUE(bus.node(i).outcome.has_value());
    EXPECT_EQ(ReasonOf(bus.node(i).outcome->status()), reasons::kMaskedRoundFailed);
    EXPECT_LE(bus.node(i).charges, 1U);
  }
}

// Two members get a key only after its deadline: the sets that are signed differ, so no member
// gives a share, and no member pays.
TEST(MaskedRoundTest, ViewsThatDifferCostNoCharge) {
  MaskedBus bus(6);
  std::vector<federation::Item> late;
  bus.lose = [&](const federation::Item& item, size_t to) {
    const bool lost = item.kind == federation::ItemKind::kMaskKey && AttemptOf(item) == 0 &&
                      item.origin == MaskedBus::IdOf(4) && to < 2;
    if (lost && to == 0) {
      late.push_back(item);
    }
    return lost;
  };
  bus.Run(limits::kMaskKeysMillis + 5'000);
  ASSERT_EQ(late.size(), 1U);
  bus.Deliver(0, late[0]);
  bus.Deliver(1, late[0]);
  bus.Run();
  // Four of six named it, which is too few: the key is late for the members that are far from it.
  bus.ExpectSum(Numbers(6, {4}), 1);
  for (size_t i = 0; i < bus.size(); ++i) {
    EXPECT_EQ(bus.node(i).charges, i == 4 ? 0U : 1U) << "node " << i;
  }
}

// Five of six signed the set of all. One key came late for the sixth, which cannot exclude that the
// others formed another set: it sits this round out and pays nothing.
TEST(MaskedRoundTest, ForWhomAloneAKeyWasLateSitsTheRoundOut) {
  MaskedBus bus(6);
  std::vector<federation::Item> late;
  bus.lose = [&](const federation::Item& item, size_t to) {
    const bool lost = item.kind == federation::ItemKind::kMaskKey && AttemptOf(item) == 0 &&
                      item.origin == MaskedBus::IdOf(4) && to == 0;
    if (lost) {
      late.push_back(item);
    }
    return lost;
  };
  bus.Run(limits::kMaskKeysMillis + 5'000);
  ASSERT_EQ(late.size(), 1U);
  bus.Deliver(0, late[0]);
  bus.Run();
  EXPECT_EQ(bus.node(0).charges, 0U);
  bus.node(0).stopped = true;
  bus.ExpectSum(Numbers(6, {0}), 1);
}

// Where most members include a member that one of them does not include, they go on without that
// one, which pays nothing.
TEST(MaskedRoundTest, WhoDiffersFromMostInWhoTheMembersAreIsLeftOut) {
  MaskedBus bus(6);
  bus.Begin(2, {bus.group().begin(), bus.group().end() - 1});
  bus.Run();
  ASSERT_TRUE(bus.node(2).outcome.has_value());
  EXPECT_FALSE(bus.node(2).outcome->ok());
  EXPECT_EQ(bus.node(2).charges, 0U);
  bus.node(2).stopped = true;
  bus.ExpectSum(Numbers(6, {2}), 1);
}

// Where only a few members include another one, all go on without that other one.
TEST(MaskedRoundTest, WhomTooFewTakeForAMemberIsLeftOut) {
  MaskedBus bus(6);
  for (const size_t node : {0, 1, 2}) {
    bus.Begin(node, {bus.group().begin(), bus.group().end() - 1});
  }
  bus.Run();
  bus.ExpectSum(Numbers(5), 1);
  EXPECT_EQ(bus.node(5).charges, 0U);
}

TEST(MaskedRoundTest, WhoGivesTwoKeysHasNoPart) {
  MaskedBus bus(6);
  bus.intercept = [&bus](size_t from, const federation::Item& item) {
    if (from == 1 && item.kind == federation::ItemKind::kMaskKey && AttemptOf(item) == 0) {
      auto other = *federation::DecodeMaskKey(AsBytes(*item.payload));
      other.offer.key[5] ^= 1;
      bus.Send(MaskedBus::ItemOf(item.origin, item.kind, federation::EncodeMaskKey(other)));
    }
    return false;
  };
  bus.Run();
  for (size_t i = 0; i < bus.size(); ++i) {
    EXPECT_THAT(bus.node(i).refused, testing::ElementsAre(MaskedBus::IdOf(1))) << "node " << i;
    if (i != 1) {
      ASSERT_TRUE(bus.node(i).outcome.has_value() && bus.node(i).outcome->ok());
      EXPECT_EQ((*bus.node(i).outcome)->weight(), 5U);
      EXPECT_EQ(bus.node(i).charges, 1U);
    }
  }
}

// A member that gives shares for two sets of one attempt, or two shares for one set, does not count
// at all.
TEST(MaskedRoundTest, WhoGivesTwoSharesHasNoPart) {
  for (const bool other_set : {true, false}) {
    MaskedBus bus(6);
    std::optional<federation::Item> held;  // the last share, while the others arrive
    bus.intercept = [&](size_t from, const federation::Item& item) {
      if (from == 2 && item.kind == federation::ItemKind::kMaskShare && !held) {
        held = item;
        return true;
      }
      if (from == 1 && item.kind == federation::ItemKind::kMaskShare) {
        auto other = *federation::DecodeMaskShare(AsBytes(*item.payload));
        other.update.set[0] ^= other_set ? 1 : 0;
        other.update.values[0] += 9;
        bus.Send(MaskedBus::ItemOf(item.origin, item.kind, federation::EncodeMaskShare(other)));
      }
      return false;
    };
    bus.Run(5'000);
    ASSERT_TRUE(held.has_value());
    bus.Send(*held);
    bus.Run();
    for (size_t i = 0; i < bus.size(); ++i) {
      if (i == 1) {
        continue;
      }
      EXPECT_TRUE(bus.node(i).refused.contains(MaskedBus::IdOf(1)));
      ASSERT_TRUE(bus.node(i).outcome.has_value() && bus.node(i).outcome->ok());
      const federation::MaskedOutcome& outcome = **bus.node(i).outcome;
      EXPECT_EQ(outcome.attempt, 1);
      EXPECT_EQ(outcome.weight(), 5U);
      EXPECT_EQ(outcome.units, bus.PlainSum(outcome));
    }
  }
}

// A member that copies a key could not mask with it. Others cannot know whose key it was, so that
// attempt goes on without both.
TEST(MaskedRoundTest, ACopiedKeyIsInNoSet) {
  MaskedBus bus(7);
  std::optional<federation::MaskKeyItem> honest;
  bus.intercept = [&](size_t from, const federation::Item& item) {
    if (item.kind != federation::ItemKind::kMaskKey || AttemptOf(item) != 0) {
      return false;
    }
    if (from == 0) {
      honest = *federation::DecodeMaskKey(AsBytes(*item.payload));
    }
    if (from == 1 && honest) {
      bus.node(1).stopped = true;
      bus.Send(MaskedBus::ItemOf(item.origin, item.kind, federation::EncodeMaskKey(*honest)));
    }
    return bus.node(from).stopped;
  };
  bus.Run();
  bus.ExpectSum(Numbers(7, {0, 1}), 0);
}

TEST(MaskedRoundTest, AKeyOfSmallOrderIsRefused) {
  MaskedBus bus(6);
  bus.intercept = [&](size_t from, const federation::Item& item) {
    if (from == 1 && item.kind == federation::ItemKind::kMaskKey) {
      auto zero = *federation::DecodeMaskKey(AsBytes(*item.payload));
      zero.offer.key = {};
      bus.node(1).stopped = true;
      bus.Send(MaskedBus::ItemOf(item.origin, item.kind, federation::EncodeMaskKey(zero)));
    }
    return bus.node(from).stopped;
  };
  bus.Run();
  bus.ExpectSum(Numbers(6, {1}), 0);
  EXPECT_TRUE(bus.node(0).refused.contains(MaskedBus::IdOf(1)));
}

// An update that was not clipped shows in the sum, but its sender does not: every further attempt
// would cost all members a charge.
TEST(MaskedRoundTest, ALiarsShareCostsOneChargeAndNoMore) {
  MaskedBus bus(6);
  bool lying = false;
  bus.intercept = [&](size_t from, const federation::Item& item) {
    return from == 1 &&
           (item.kind == federation::ItemKind::kMaskCommitment ||
            item.kind == federation::ItemKind::kMaskShare) &&
           !lying;
  };
  bus.prepare = [&](size_t node, const federation::MaskInputWanted& wanted) {
    if (node == 1) {  // masks nothing, and commits to noise
      const std::string share = NoiseFor(bus, wanted);
      lying = true;
      bus.Send(MaskedBus::ItemOf(bus.node(1).id, federation::ItemKind::kMaskCommitment,
                                 CommitmentOf(share)));
      bus.Send(MaskedBus::ItemOf(bus.node(1).id, federation::ItemKind::kMaskShare, share));
      return std::optional<privacy::masking::MaskInput>();
    }
    return std::optional(privacy::masking::MaskInput{
        .contributors = static_cast<uint32_t>(wanted.set.members.size()),
        .units = UnitsOf(bus.layout(), bus.random())});
  };
  bus.Run();
  for (size_t i = 0; i < bus.size(); ++i) {
    if (i != 1) {
      ASSERT_TRUE(bus.node(i).outcome.has_value());
      EXPECT_EQ(ReasonOf(bus.node(i).outcome->status()), reasons::kUpdateInvalid);
      EXPECT_EQ(bus.node(i).charges, 1U);
    }
  }
}

// The secret of its key was lost with the process: the member sends nothing more in that attempt,
// and the others go on without it.
TEST(MaskedRoundTest, ARestartedMemberGivesNoSecondKey) {
  MaskedBus bus(6);
  bus.Run(400);  // keys have been sent
  ASSERT_EQ(bus.said().size(), 6U);
  bus.Begin(2, bus.group(), bus.said());
  bus.Run();
  bus.ExpectSum(Numbers(6, {2}), 1);
  bus.ExpectNothingTwice();
  for (size_t i = 0; i < bus.size(); ++i) {
    EXPECT_TRUE(bus.node(i).refused.empty());
  }
}

TEST(MaskedRoundTest, ItemsOfOthersHaveNoEffect) {
  MaskedBus bus(4);
  federation::MaskedRound& round = *bus.node(0).round;
  const auto session =
      privacy::masking::MaskingSession::Begin({.cluster = {5}, .round = MaskedBus::kRound},
                                              bus.layout(), MaskedBus::IdOf(1), MaskEntropy(3));
  ASSERT_TRUE(session.ok());
  const federation::MaskKeyItem key{.attempt = 0, .offer = session->offer()};
  const auto reason = [&](const federation::Item& item) {
    return ReasonOf(round.OnItem(item, bus.now()).status());
  };
  EXPECT_EQ(reason(MaskedBus::ItemOf(MaskedBus::IdOf(9), federation::ItemKind::kMaskKey,
                                     federation::EncodeMaskKey(key))),
            reasons::kCliqueInvalid);
  federation::Item item = MaskedBus::ItemOf(MaskedBus::IdOf(1), federation::ItemKind::kMaskKey,
                                            federation::EncodeMaskKey(key));
  item.round += 1;
  EXPECT_EQ(reason(item), reasons::kUpdateInvalid);
  federation::MaskKeyItem other = key;
  other.offer.layout[0] ^= 1;
  EXPECT_EQ(reason(MaskedBus::ItemOf(MaskedBus::IdOf(1), federation::ItemKind::kMaskKey,
                                     federation::EncodeMaskKey(other))),
            reasons::kMaskLayoutMismatch);
  EXPECT_EQ(reason(MaskedBus::ItemOf(MaskedBus::IdOf(1), federation::ItemKind::kMaskSet,
                                     federation::EncodeMaskKey(key))),
            reasons::kUpdateInvalid);
  bus.Run();
  bus.ExpectSum(Numbers(4), 0);
}

TEST(MaskedRoundTest, RefusesGroupsAndTimesThatAreNone) {
  const auto reason = [](size_t members, federation::MaskedSchedule schedule) {
    federation::MaskedRoundConfig config{
        .round = {}, .layout = SmallMaskLayout(), .schedule = schedule, .random = MaskEntropy(1)};
    for (size_t i = 0; i < members; ++i) {
      config.group.push_back(MaskedBus::IdOf(i));
    }
    return ReasonOf(federation::MaskedRound::Begin(std::move(config), {}).status());
  };
  EXPECT_EQ(reason(4, {}), "");
  EXPECT_EQ(reason(3, {}), reasons::kInvalidArgument);
  EXPECT_EQ(reason(17, {}), reasons::kInvalidArgument);
  EXPECT_EQ(reason(4, {.keys_ms = limits::kMaskCommitsMillis}), reasons::kInvalidArgument);
  EXPECT_EQ(reason(4, {.commits_ms = limits::kMaskSharesMillis}), reasons::kInvalidArgument);
  EXPECT_EQ(reason(4, {.attempt_ms = limits::kMaxMaskAttemptMillis + 1}),
            reasons::kInvalidArgument);
}

}  // namespace
}  // namespace ruvd::test
