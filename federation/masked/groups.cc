// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/masked/groups.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "base/bytes.h"
#include "privacy/limits.h"

namespace ruvd::federation {

std::vector<std::vector<privacy::NodeId>> MaskedGroups(const privacy::masking::MaskedSumId& round,
                                                       std::span<const privacy::NodeId> members) {
  constexpr std::string_view kDomain("RUVDLLM-GROUP-v1\0", 17);
  std::map<Digest, privacy::NodeId> drawn;
  for (const privacy::NodeId& id : members) {
    ByteWriter writer;
    writer.WriteText(kDomain).WriteBytes(round.cluster).Write(round.round).WriteBytes(id);
    drawn[Sha256(writer.str())] = id;
  }
  std::vector<std::vector<privacy::NodeId>> groups;
  if (drawn.size() < limits::kMinCliqueMembers) {
    return groups;
  }
  groups.resize((drawn.size() + limits::kMaxCliqueMembers - 1) / limits::kMaxCliqueMembers);
  // Groups are runs of neighbours; if members were dealt out in turn, one additional member would
  // move all later ones.
  size_t place = 0;
  for (const auto& [hash, id] : drawn) {
    groups[place++ * groups.size() / drawn.size()].push_back(id);
  }
  for (std::vector<privacy::NodeId>& group : groups) {
    std::ranges::sort(group);
  }
  return groups;
}

}  // namespace ruvd::federation
