// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "privacy/identity/node_key.h"
#include "privacy/masking/clique.h"

namespace ruvd::federation {

// Returns the hash that names the number that a member reveals in the next round.
Digest PledgeOf(const privacy::ClusterId& cluster, const privacy::NodeId& member,
                const Digest& number);

// What a participant of a round said for the drawing of groups.
struct DrawnNumber {
  std::optional<Digest> pledge;  // in its key of the round before
  Digest number{};               // in its key of that round
};

// Returns the beacon that draws the groups of a round, from what members said two rounds before. It
// depends on numbers that were revealed after they had been pledged, so it cannot be known earlier.
// A number that does not fit its pledge counts as zero: a member can choose between the two beacons
// with and without its number, and no others. The owner gives the numbers of no participant if
// there are too few for a group: then everybody knows the beacon, and no member chooses it.
Digest GroupBeacon(const privacy::masking::MaskedSumId& round,
                   const std::map<privacy::NodeId, DrawnNumber>& said);

// Returns the beacon that most members named in the round before; of several the smallest, and
// zeros without members. So a member whose key reached only some of the others changes one vote and
// not all groups.
Digest BeaconByVotes(std::span<const Digest> votes);

// Splits the members of a round into groups. No leader is needed: nodes with the same view of the
// members compute the same groups, and another beacon gives others. Each group is sorted by id. Ids
// may come in any order and more than once. With fewer than kMinCliqueMembers there is no group.
//
// Without members on probation there are as few groups as kMaxCliqueMembers allows, with sizes that
// differ by at most one; if two views differ in one member but not in the number of groups, each
// group differs in at most three members. Members on probation are spread over as many groups of
// kMinCliqueMembers as there are members for, those with the most failures first, so that as few of
// them as possible are together; the others are split as above.
std::vector<std::vector<privacy::NodeId>> MaskedGroups(
    const Digest& beacon, std::span<const privacy::NodeId> members,
    const std::map<privacy::NodeId, uint8_t>& on_probation = {});

// Returns the size of the groups of so many members while none is on probation; 0: they are too
// few.
size_t UsualGroupSize(size_t members);

}  // namespace ruvd::federation
