// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/masked/groups.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <string_view>
#include <utility>

#include "privacy/limits.h"

namespace ruvd::federation {
namespace {

using Groups = std::vector<std::vector<privacy::NodeId>>;
using Ids = std::vector<privacy::NodeId>;

size_t GroupsOf(size_t members) {
  return (members + limits::kMaxCliqueMembers - 1) / limits::kMaxCliqueMembers;
}

// Returns the members in the order that the beacon draws, each once.
Ids Drawn(const Digest& beacon, std::span<const privacy::NodeId> members) {
  constexpr std::string_view kDomain("RUVDLLM-GROUP-v1\0", 17);
  std::map<Digest, privacy::NodeId> drawn;
  for (const privacy::NodeId& id : members) {
    ByteWriter writer;
    writer.WriteText(kDomain).WriteBytes(beacon).WriteBytes(id);
    drawn[Sha256(writer.str())] = id;
  }
  Ids ids;
  for (const auto& [hash, id] : drawn) {
    ids.push_back(id);
  }
  return ids;
}

// Groups are runs of neighbours; if members were dealt out in turn, one additional member would
// move all later ones.
void AddRuns(std::span<const privacy::NodeId> members, Groups* groups) {
  const size_t count = GroupsOf(members.size());
  const size_t first = groups->size();
  groups->resize(first + count);
  for (size_t place = 0; place < members.size(); ++place) {
    (*groups)[first + place * count / members.size()].push_back(members[place]);
  }
}

// Spreads members on probation over small groups, and fills these up with others. Returns the
// others that are left.
Ids AddSmallGroups(const Ids& watched, const Ids& others, Groups* groups) {
  const size_t members = watched.size() + others.size();
  groups->resize(std::min(watched.size(), members / limits::kMinCliqueMembers));
  for (size_t i = 0; i < watched.size(); ++i) {
    (*groups)[i % groups->size()].push_back(watched[i]);
  }
  auto next = others.begin();
  for (Ids& group : *groups) {
    while (group.size() < limits::kMinCliqueMembers && next != others.end()) {
      group.push_back(*next++);
    }
  }
  Ids rest(next, others.end());
  if (rest.size() < limits::kMinCliqueMembers) {  // too few for a group of their own
    for (size_t i = 0; i < rest.size(); ++i) {
      (*groups)[i % groups->size()].push_back(rest[i]);
    }
    rest.clear();
  }
  return rest;
}

}  // namespace

Digest PledgeOf(const privacy::ClusterId& cluster, const privacy::NodeId& member,
                const Digest& number) {
  constexpr std::string_view kDomain("RUVDLLM-PLEDGE-v1\0", 18);
  ByteWriter writer;
  writer.WriteText(kDomain).WriteBytes(cluster).WriteBytes(member).WriteBytes(number);
  return Sha256(writer.str());
}

Digest GroupBeacon(const privacy::masking::MaskedSumId& round,
                   const std::map<privacy::NodeId, DrawnNumber>& said) {
  constexpr std::string_view kDomain("RUVDLLM-BEACON-v1\0", 18);
  ByteWriter writer;
  writer.WriteText(kDomain).WriteBytes(round.cluster).Write(round.round);
  for (const auto& [member, drawn] : said) {
    const bool pledged = drawn.pledge == PledgeOf(round.cluster, member, drawn.number);
    writer.WriteBytes(member).WriteBytes(pledged ? drawn.number : Digest{});
  }
  return Sha256(writer.str());
}

Digest BeaconByVotes(std::span<const Digest> votes) {
  std::map<Digest, size_t> counts;
  for (const Digest& vote : votes) {
    ++counts[vote];
  }
  const auto most = std::ranges::max_element(
      counts, [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == counts.end() ? Digest{} : most->first;  // the first one of equals
}

std::vector<std::vector<privacy::NodeId>> MaskedGroups(
    const Digest& beacon, std::span<const privacy::NodeId> members,
    const std::map<privacy::NodeId, uint8_t>& on_probation) {
  const Ids drawn = Drawn(beacon, members);
  Groups groups;
  if (drawn.size() < limits::kMinCliqueMembers) {
    return groups;
  }
  Ids watched;
  Ids others;
  std::ranges::partition_copy(drawn, std::back_inserter(watched), std::back_inserter(others),
                              [&](const privacy::NodeId& id) { return on_probation.contains(id); });
  if (!watched.empty()) {
    std::ranges::stable_sort(watched, std::greater<>(),
                             [&](const privacy::NodeId& id) { return on_probation.at(id); });
    others = AddSmallGroups(watched, others, &groups);
  }
  AddRuns(others, &groups);
  for (Ids& group : groups) {
    std::ranges::sort(group);
  }
  return groups;
}

size_t UsualGroupSize(size_t members) {
  if (members < limits::kMinCliqueMembers) {
    return 0;
  }
  return members / GroupsOf(members);
}

}  // namespace ruvd::federation
