// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "federation/masked/limits.h"
#include "privacy/identity/node_key.h"

namespace ruvd::federation {

// What is remembered of a member of masked rounds that failed, or may have failed, in one of them.
struct ConductMark {
  privacy::NodeId member{};
  uint64_t round = 0;      // of the newest failure
  uint64_t out_until = 0;  // the first round in which it may be in a group again; 0: any round
  uint8_t failures = 0;    // groups without a possible sum of which it may be the cause
  uint8_t withheld = 0;    // shares that it owed and did not give
  uint8_t sums = 0;        // that contain it, since the newest failure

  bool operator==(const ConductMark&) const = default;
};

// The marks of all members that have one, by member.
using Conduct = std::map<privacy::NodeId, ConductMark>;

// What became of a group whose members agreed on a set and committed to shares, of whom at least
// three quarters gave theirs.
struct GroupOutcome {
  std::vector<privacy::NodeId> members;   // of the set, ascending
  std::vector<privacy::NodeId> withheld;  // members that owe their share, or gave two
  bool summed = false;                    // whether the shares have a sum that members can make
};

// Returns whether a member may be in no group of this round.
bool IsLeftOut(const Conduct& conduct, const privacy::NodeId& member, uint64_t round);
// Returns whether a member is on probation. It is in groups as small as possible, so that few
// others are charged for a sum that it spoils, until enough sums contain it: kFirstProbation after
// the first failure, and kProbationGrowth times as many after each further one.
bool IsOnProbation(const Conduct& conduct, const privacy::NodeId& member);

// Returns what the announcers of a round remember, the nodes that gave a key in it: a number of a
// mark holds if more than a third of them say so much or more, and who says nothing of a member
// says 0. So a third of these announcers cannot mark another member, however many members the
// cluster has, and a member that lets half of the announcers see one thing and half another is
// marked by one of the halves. Fewer than kMinCliqueMembers announcers are not asked: one vote
// would be more than a third of them. Every list is ascending by member.
Conduct ConductByVotes(std::span<const std::vector<ConductMark>> votes);

// Adds what became of the groups of a round. Members that withheld a share are known, and are left
// out of rounds from the next one on: of 2 after the first time, and of twice as many each time, up
// to kMaxRoundsOut. If a sum is impossible, its cause is unknown: the members with the most
// failures are suspected, and each gets one failure more. A member that has more failures than all
// others of its group is taken for the cause and left out. Where one member alone spoils sums, it
// is the cause: others get a failure only together with it, so they never have more. Two that spoil
// sums one after the other can have an honest member left out that was in sums of both, and the
// second one need not be marked, because only members with the most failures get one more.
void AddOutcomes(std::span<const GroupOutcome> outcomes, uint64_t round, Conduct* conduct);

// Forgets, before a round begins, what has no effect any more, and marks beyond kMaxConductMarks:
// those with the fewest failures and owed shares, and of these the oldest.
void ForgetOldConduct(uint64_t round, Conduct* conduct);

}  // namespace ruvd::federation
