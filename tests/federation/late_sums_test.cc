// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Sums that are found in items alone, by nodes that did not follow the round.

#include "federation/masked/late_sums.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "base/bytes.h"
#include "tests/federation/masked_bus.h"
#include "tests/federation/masked_clique.h"

namespace ruvd::test {
namespace {

using federation::Item;
using federation::ItemKind;
using federation::MaskedOutcome;
using testing::IsEmpty;

constexpr uint64_t kRound = MaskedBus::kRound;

std::vector<privacy::NodeId> Nodes(size_t first, size_t count) {
  std::vector<privacy::NodeId> ids;
  for (size_t i = first; i < first + count; ++i) {
    ids.push_back(MaskedBus::IdOf(i));
  }
  return ids;
}

std::vector<MaskedOutcome> SumsOf(const std::vector<Item>& items,
                                  const privacy::masking::MaskLayout& layout = SmallMaskLayout()) {
  return federation::MaskedSumsOf({.cluster = {5}, .round = kRound}, layout, items);
}

std::vector<Item> Joined(std::vector<Item> a, const std::vector<Item>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

Item* FirstOf(std::vector<Item>& items, ItemKind kind) {
  return &*std::ranges::find(items, kind, &Item::kind);
}

bool Equal(const std::vector<MaskedOutcome>& a, const std::vector<MaskedOutcome>& b) {
  return std::ranges::equal(a, b, [](const MaskedOutcome& x, const MaskedOutcome& y) {
    return x.attempt == y.attempt && x.set == y.set && x.units == y.units;
  });
}

TEST(LateSums, AreThoseOfTheMembersThatFollowedTheRound) {
  for (const size_t members : {4, 7, 16}) {
    MaskedBus bus(members, members);
    bus.Run();
    std::set<size_t> all;
    for (size_t i = 0; i < members; ++i) {
      all.insert(i);
    }
    bus.ExpectSum(all, 0);
    const std::vector<MaskedOutcome> sums = SumsOf(bus.said());
    ASSERT_EQ(sums.size(), 1U);
    EXPECT_EQ(sums[0].units, (*bus.node(0).outcome)->units);
    EXPECT_EQ(sums[0].set, (*bus.node(0).outcome)->set);
    EXPECT_EQ(sums[0].attempt, 0);
  }
}

TEST(LateSums, OfASecondAttemptNameIt) {
  MaskedBus bus(5, 3);
  bus.node(2).answers = false;
  bus.Run();
  bus.ExpectSum({0, 1, 3, 4}, 1);
  const std::vector<MaskedOutcome> sums = SumsOf(bus.said());
  ASSERT_EQ(sums.size(), 1U) << "what was given in vain is no sum";
  EXPECT_EQ(sums[0].attempt, 1);
  EXPECT_EQ(sums[0].units, (*bus.node(0).outcome)->units);
}

TEST(LateSums, NeedEveryShareAndTheSet) {
  Random random(1);
  const CliqueItems clique = ItemsOfClique(Nodes(0, 4), kRound, 0, SmallMaskLayout(), random);
  ASSERT_EQ(SumsOf(clique.items).size(), 1U);
  for (size_t without = 0; without < clique.items.size(); ++without) {
    std::vector<Item> items = clique.items;
    items.erase(items.begin() + static_cast<std::ptrdiff_t>(without));
    const ItemKind kind = clique.items[without].kind;
    EXPECT_EQ(SumsOf(items).size(),
              kind == ItemKind::kMaskShare || kind == ItemKind::kMaskCommitment ? 0U : 1U);
  }
  std::vector<Item> no_set = clique.items;
  std::erase_if(no_set, [](const Item& item) { return item.kind == ItemKind::kMaskSet; });
  EXPECT_THAT(SumsOf(no_set), IsEmpty());
}

TEST(LateSums, OfAllGroupsAreFound) {
  Random random(2);
  const CliqueItems one = ItemsOfClique(Nodes(0, 4), kRound, 0, SmallMaskLayout(), random);
  const CliqueItems other = ItemsOfClique(Nodes(4, 5), kRound, 2, SmallMaskLayout(), random);
  const std::vector<MaskedOutcome> sums = SumsOf(Joined(one.items, other.items));
  ASSERT_EQ(sums.size(), 2U);
  EXPECT_EQ(sums[0].units, one.sum);
  EXPECT_EQ(sums[1].units, other.sum);
  EXPECT_EQ(sums[1].attempt, 2);
}

// Both are returned; ApplyRounds counts the one with the lowest attempt.
TEST(LateSums, ThatShareAMemberAreBothFound) {
  Random random(3);
  const CliqueItems one = ItemsOfClique(Nodes(0, 5), kRound, 1, SmallMaskLayout(), random);
  const CliqueItems other = ItemsOfClique(Nodes(0, 4), kRound, 0, SmallMaskLayout(), random);
  const std::vector<MaskedOutcome> sums = SumsOf(Joined(one.items, other.items));
  ASSERT_EQ(sums.size(), 2U);
  EXPECT_EQ(sums[0].units, other.sum);
  EXPECT_EQ(sums[1].units, one.sum);
}

TEST(LateSums, OfALiarDoNotCountInAnyAttempt) {
  Random random(4);
  const CliqueItems one = ItemsOfClique(Nodes(0, 4), kRound, 0, SmallMaskLayout(), random);
  const CliqueItems honest = ItemsOfClique(Nodes(8, 4), kRound, 0, SmallMaskLayout(), random);
  const CliqueItems again = ItemsOfClique(Nodes(0, 4), kRound, 1, SmallMaskLayout(), random);
  const std::vector<Item> items = Joined(one.items, honest.items);
  ASSERT_EQ(SumsOf(items).size(), 2U);
  for (const ItemKind kind :
       {ItemKind::kMaskKey, ItemKind::kMaskSet, ItemKind::kMaskCommitment, ItemKind::kMaskShare}) {
    // A second statement of the second attempt takes the place of one of the third node's first.
    std::vector<Item> said = again.items;
    std::erase_if(said, [&](const Item& item) {
      return item.kind != kind || item.origin != MaskedBus::IdOf(2);
    });
    ASSERT_EQ(said.size(), 1U);
    std::string payload = *said[0].payload;
    payload[0] = 0;
    const Item lie = MaskItemOf(said[0].origin, kind, kRound, payload);
    for (const bool first : {true, false}) {
      const std::vector<MaskedOutcome> sums =
          SumsOf(first ? Joined({lie}, items) : Joined(items, {lie}));
      ASSERT_EQ(sums.size(), 1U) << ItemKindName(kind);
      EXPECT_EQ(sums[0].units, honest.sum);
    }
  }
}

TEST(LateSums, IgnoreWhatDoesNotBelongToTheRound) {
  Random random(5);
  const CliqueItems clique = ItemsOfClique(Nodes(0, 4), kRound, 0, SmallMaskLayout(), random);
  privacy::masking::MaskLayout other = SmallMaskLayout();
  other.grid.clip_units = 500;
  const std::vector<Item> noise =
      Joined(ItemsOfClique(Nodes(0, 4), kRound + 1, 0, SmallMaskLayout(), random).items,
             ItemsOfClique(Nodes(0, 4), kRound, 0, other, random).items);
  std::vector<Item> items = Joined(noise, clique.items);
  items.push_back(MaskItemOf(MaskedBus::IdOf(1), ItemKind::kMaskShare, kRound, "?"));
  items.push_back(MaskItemOf(MaskedBus::IdOf(1), ItemKind::kMaskKey, kRound, ""));
  // What another node says of a member is not its statement.
  items.push_back(MaskItemOf(MaskedBus::IdOf(9), ItemKind::kMaskShare, kRound,
                             *FirstOf(items, ItemKind::kMaskShare)->payload));
  const std::vector<MaskedOutcome> sums = SumsOf(items);
  ASSERT_EQ(sums.size(), 1U);
  EXPECT_EQ(sums[0].units, clique.sum);
  EXPECT_EQ(SumsOf(items, other).size(), 1U);
}

TEST(LateSums, WithMasksThatDoNotCancelAreLeftOut) {
  Random random(6);
  CliqueItems clique = ItemsOfClique(Nodes(0, 4), kRound, 0, SmallMaskLayout(), random);
  Item* const item = FirstOf(clique.items, ItemKind::kMaskShare);
  auto share = federation::DecodeMaskShare(AsBytes(*item->payload)).value();
  for (uint32_t& value : share.update.values) {
    value = static_cast<uint32_t>(random.Next());
  }
  const std::string noise = federation::EncodeMaskShare(share);
  *item = MaskItemOf(item->origin, item->kind, kRound, noise);
  EXPECT_THAT(SumsOf(clique.items), IsEmpty()) << "it did not commit to this share";
  Item* const commitment = FirstOf(clique.items, ItemKind::kMaskCommitment);
  *commitment = MaskItemOf(commitment->origin, commitment->kind, kRound, CommitmentOf(noise));
  EXPECT_THAT(SumsOf(clique.items), IsEmpty());
}

// ---- What became of the sets

std::vector<federation::GroupOutcome> OutcomesOf(const std::vector<Item>& items) {
  return federation::GroupOutcomesOf({.cluster = {5}, .round = kRound}, SmallMaskLayout(), items);
}

// Returns the items without those of one kind that nodes from `first` on sent.
std::vector<Item> Without(std::vector<Item> items, ItemKind kind, size_t first) {
  std::erase_if(items, [&](const Item& item) {
    return item.kind == kind && item.origin >= MaskedBus::IdOf(first);
  });
  return items;
}

// Found by review: a commitment that came late marked its sender, though it had cost no charge.
TEST(GroupOutcomes, WithoutAllCommitmentsMarkNoMember) {
  Random random(7);
  const CliqueItems clique = ItemsOfClique(Nodes(0, 8), kRound, 0, SmallMaskLayout(), random);
  const std::vector<Item> items = Without(clique.items, ItemKind::kMaskCommitment, 7);
  EXPECT_THAT(OutcomesOf(items), IsEmpty());
  EXPECT_THAT(OutcomesOf(Without(items, ItemKind::kMaskShare, 0)), IsEmpty());
}

// Found by review: a liar whose late share prompted one member made all others look like it.
TEST(GroupOutcomes, MarkWhoOwesAShareOnlyIfThreeQuartersGaveTheirs) {
  Random random(8);
  for (const auto& [members, most] : {std::pair<size_t, size_t>{4, 1}, {7, 1}, {8, 2}, {16, 4}}) {
    const CliqueItems clique =
        ItemsOfClique(Nodes(0, members), kRound, 0, SmallMaskLayout(), random);
    for (size_t missing = 1; missing < members; ++missing) {
      const auto outcomes =
          OutcomesOf(Without(clique.items, ItemKind::kMaskShare, members - missing));
      ASSERT_EQ(outcomes.size(), missing <= most ? 1U : 0U) << missing << " of " << members;
      if (missing <= most) {
        EXPECT_EQ(outcomes[0].withheld, Nodes(members - missing, missing));
        EXPECT_FALSE(outcomes[0].summed);
      }
    }
  }
}

// The others paid for its commitment, whatever it contradicts afterwards.
TEST(GroupOutcomes, MarkWhoContradictsItselfAfterTheCommitments) {
  Random random(9);
  const CliqueItems clique = ItemsOfClique(Nodes(0, 4), kRound, 0, SmallMaskLayout(), random);
  const CliqueItems again = ItemsOfClique(Nodes(0, 4), kRound, 0, SmallMaskLayout(), random);
  for (const Item& item : again.items) {
    if (item.origin == MaskedBus::IdOf(2)) {
      const auto outcomes = OutcomesOf(Joined(clique.items, {item}));
      ASSERT_EQ(outcomes.size(), 1U) << ItemKindName(item.kind);
      EXPECT_EQ(outcomes[0].withheld, Nodes(2, 1));
    }
  }
}

// Found by review: a share with too few values made the sum fail, and suspects of all members.
TEST(GroupOutcomes, TakeAShareOfAWrongLengthForNone) {
  Random random(10);
  const CliqueItems clique = ItemsOfClique(Nodes(0, 4), kRound, 0, SmallMaskLayout(), random);
  for (const size_t values : {SmallMaskLayout().Values() - 1, SmallMaskLayout().Values() + 1}) {
    std::vector<Item> items = clique.items;
    Item* const share = FirstOf(items, ItemKind::kMaskShare);
    auto lie = federation::DecodeMaskShare(AsBytes(*share->payload)).value();
    lie.update.values.resize(values);
    const std::string payload = federation::EncodeMaskShare(lie);
    *share = MaskItemOf(share->origin, share->kind, kRound, payload);
    Item* const commitment = FirstOf(items, ItemKind::kMaskCommitment);
    *commitment = MaskItemOf(commitment->origin, commitment->kind, kRound, CommitmentOf(payload));
    const auto outcomes = OutcomesOf(items);
    ASSERT_EQ(outcomes.size(), 1U);
    EXPECT_EQ(outcomes[0].withheld, Nodes(0, 1));
    EXPECT_THAT(SumsOf(items), IsEmpty());
  }
}

// Whatever the order in which items come, and however often, equal items give equal sums; and a
// part of the items gives no other sum than all of them.
RC_GTEST_PROP(LateSumsProperty, DependOnTheSetOfItemsAlone, ()) {
  Random random(*rc::gen::inRange<uint64_t>(0, 1000));
  std::vector<Item> all;
  for (const auto& [first, count, attempt] :
       {std::tuple<size_t, size_t, uint8_t>{0, 4, 0}, {4, 4, 1}, {8, 5, 0}}) {
    all = Joined(
        all, ItemsOfClique(Nodes(first, count), kRound, attempt, SmallMaskLayout(), random).items);
  }
  const std::vector<MaskedOutcome> whole = SumsOf(all);
  RC_ASSERT(whole.size() == 3U);
  std::vector<Item> part;
  const uint64_t dropped = *rc::gen::inRange<uint64_t>(0, 4);
  for (const Item& item : all) {
    if (random.Below(40) >= dropped) {
      part.push_back(item);
    }
  }
  const std::vector<MaskedOutcome> expected = SumsOf(part);
  for (const MaskedOutcome& sum : expected) {
    RC_ASSERT(std::ranges::any_of(whole, [&](const MaskedOutcome& one) {
      return one.set == sum.set && one.units == sum.units && one.attempt == sum.attempt;
    }));
  }
  std::vector<Item> shuffled = Joined(part, part);
  for (size_t i = shuffled.size(); i > 1; --i) {
    std::swap(shuffled[i - 1], shuffled[random.Below(i)]);
  }
  RC_ASSERT(Equal(SumsOf(shuffled), expected));
}

}  // namespace
}  // namespace ruvd::test
