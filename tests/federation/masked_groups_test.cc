// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// How the members of a masked round are drawn into groups.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "base/bytes.h"
#include "federation/masked/groups.h"
#include "privacy/limits.h"

namespace ruvd::test {
namespace {

using federation::DrawnNumber;
using federation::GroupBeacon;
using federation::MaskedGroups;
using federation::PledgeOf;

std::vector<privacy::NodeId> Members(size_t count) {
  std::vector<privacy::NodeId> members;
  for (uint64_t i = 0; i < count; ++i) {
    members.push_back(Sha256(ByteWriter().Write(i).str()));
  }
  return members;
}

RC_GTEST_PROP(MaskedGroups, HoldEveryMemberOnceWhateverTheOrder, ()) {
  const auto count = *rc::gen::inRange<size_t>(0, 200);
  const Digest beacon{*rc::gen::arbitrary<uint8_t>(), *rc::gen::arbitrary<uint8_t>()};
  std::vector<privacy::NodeId> members = Members(count);
  std::map<privacy::NodeId, uint8_t> watched;
  const auto rate = *rc::gen::inRange<uint64_t>(0, 5);
  for (size_t i = 0; i < count; ++i) {
    if (*rc::gen::inRange<uint64_t>(0, 5) < rate) {
      watched.emplace(members[i], static_cast<uint8_t>(i % 3));
    }
  }
  const auto groups = MaskedGroups(beacon, members, watched);
  std::ranges::reverse(members);
  members.insert(members.end(), members.begin(), members.end());
  RC_ASSERT(MaskedGroups(beacon, members, watched) == groups);
  std::set<privacy::NodeId> placed;
  for (const std::vector<privacy::NodeId>& group : groups) {
    RC_ASSERT(group.size() >= limits::kMinCliqueMembers);
    RC_ASSERT(group.size() <= limits::kMaxCliqueMembers);
    RC_ASSERT(std::ranges::is_sorted(group));
    placed.insert(group.begin(), group.end());
  }
  RC_ASSERT(placed.size() == (count < limits::kMinCliqueMembers ? 0 : count));
}

TEST(MaskedGroups, AreFewAndLargeWhileNobodyIsOnProbation) {
  EXPECT_EQ(MaskedGroups({1}, Members(40)).size(), 3U);
  EXPECT_EQ(federation::UsualGroupSize(40), 13U);
  EXPECT_EQ(federation::UsualGroupSize(16), 16U);
  EXPECT_EQ(federation::UsualGroupSize(3), 0U);
}

// With one of 16 on probation, three others share its fate, and the twelve others add up together.
TEST(MaskedGroups, SpreadMembersOnProbationOverSmallOnes) {
  const std::vector<privacy::NodeId> members = Members(16);
  for (const size_t watched : {1, 2, 3, 4, 16}) {
    std::map<privacy::NodeId, uint8_t> some;
    for (size_t i = 0; i < watched; ++i) {
      some.emplace(members[i], uint8_t{1});
    }
    size_t with = 0;
    for (const std::vector<privacy::NodeId>& group : MaskedGroups({7}, members, some)) {
      const auto of = std::ranges::count_if(
          group, [&](const privacy::NodeId& id) { return some.contains(id); });
      with += of > 0 ? 1 : 0;
      EXPECT_TRUE(of == 0 || group.size() == limits::kMinCliqueMembers) << watched;
    }
    EXPECT_EQ(with, std::min<size_t>(watched, 4));
  }
}

// The four of them with more failures than the others are in four groups.
TEST(MaskedGroups, PartTheMembersWithTheMostFailures) {
  const std::vector<privacy::NodeId> members = Members(16);
  std::map<privacy::NodeId, uint8_t> all;
  for (size_t i = 0; i < members.size(); ++i) {
    all.emplace(members[i], static_cast<uint8_t>(i < 4 ? 2 : 1));
  }
  for (uint8_t beacon = 0; beacon < 20; ++beacon) {
    for (const std::vector<privacy::NodeId>& group : MaskedGroups({beacon}, members, all)) {
      EXPECT_EQ(
          std::ranges::count_if(group, [&](const privacy::NodeId& id) { return all.at(id) == 2; }),
          1);
    }
  }
}

// Found by review: groups were a hash of cluster, round and member, so that members could see years
// ahead when they surround another one.
TEST(MaskedGroups, CannotBeComputedBeforeTheNumbersAreRevealed) {
  const std::vector<privacy::NodeId> members = Members(40);
  const privacy::masking::MaskedSumId round{.cluster = {1}, .round = 5};
  std::map<privacy::NodeId, DrawnNumber> numbers;
  for (const privacy::NodeId& id : members) {
    numbers[id] = {.pledge = PledgeOf({1}, id, Digest{3}), .number = Digest{3}};
  }
  const Digest beacon = GroupBeacon(round, numbers);
  EXPECT_NE(GroupBeacon({.cluster = {1}, .round = 6}, numbers), beacon);
  std::map<privacy::NodeId, DrawnNumber> other = numbers;
  other[members[3]] = {.pledge = PledgeOf({1}, members[3], Digest{4}), .number = Digest{4}};
  EXPECT_NE(GroupBeacon(round, other), beacon);
  EXPECT_NE(MaskedGroups(GroupBeacon(round, other), members), MaskedGroups(beacon, members));
  // A member that chooses its number when it knows the others' has no more choice than silence.
  other[members[3]].number = {};
  const Digest without = GroupBeacon(round, other);
  for (const uint8_t chosen : {1, 2, 3}) {
    other[members[3]].number = Digest{chosen};
    EXPECT_EQ(GroupBeacon(round, other), without);
  }
  EXPECT_EQ(federation::BeaconByVotes({}), Digest{});
  EXPECT_EQ(federation::BeaconByVotes(std::vector<Digest>{{3}, {2}, {3}}), Digest{3});
  EXPECT_EQ(federation::BeaconByVotes(std::vector<Digest>{{3}, {2}}), Digest{2});
  EXPECT_NE(PledgeOf({1}, members[0], Digest{3}), PledgeOf({1}, members[1], Digest{3}))
      << "a copied pledge is of no use";
}

}  // namespace
}  // namespace ruvd::test
