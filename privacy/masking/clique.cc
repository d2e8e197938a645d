// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "privacy/masking/clique.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "base/status.h"
#include "privacy/limits.h"
#include "privacy/reasons.h"

namespace ruvd::masking {

size_t MaskLayout::Values() const {
  return std::accumulate(bank_values.begin(), bank_values.end(), size_t{0});
}

Digest MaskLayout::Hash() const {
  constexpr std::string_view kDomain("RUVDLLM-LAYOUT-v1\0", 18);
  ByteWriter writer;
  writer.WriteText(kDomain).WriteBytes(model_hash).WriteBytes(frame_id);
  writer.Write(static_cast<int32_t>(grid.exponent)).Write(grid.clip_units);
  writer.Write(grid.sigma_units).Write(colluders);
  writer.Write(static_cast<uint32_t>(bank_values.size()));
  for (const uint32_t values : bank_values) {
    writer.Write(values);
  }
  return Sha256(writer.str());
}

absl::Status Clique::Check() const {
  if (members.size() < limits::kMinCliqueMembers || members.size() > limits::kMaxCliqueMembers) {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kCliqueInvalid,
                 "a masked sum of {} participants; it takes {} to {}, wait for more or split them",
                 members.size(), limits::kMinCliqueMembers, limits::kMaxCliqueMembers);
  }
  std::set<MaskPublicKey> keys;
  for (size_t i = 0; i < members.size(); ++i) {
    const bool ascending = i == 0 || members[i - 1].id < members[i].id;
    if (!ascending || !keys.insert(members[i].key).second) {
      return Error(absl::StatusCode::kInvalidArgument, reasons::kCliqueInvalid,
                   "participants of a masked sum are listed twice or out of order; list each once, "
                   "ascending by id");
    }
  }
  return absl::OkStatus();
}

const CliqueMember* Clique::Find(const NodeId& id) const {
  const auto found = std::ranges::find(members, id, &CliqueMember::id);
  return found == members.end() ? nullptr : &*found;
}

bool Clique::IsRestartOf(const Clique& former) const {
  return round == former.round && layout == former.layout &&
         members.size() < former.members.size() &&
         std::ranges::all_of(
             members,
             [&former](const CliqueMember& member) {
               const CliqueMember* const before = former.Find(member.id);
               return before != nullptr && *before == member;
             });
}

Digest Clique::SetHash() const {
  constexpr std::string_view kDomain("RUVDLLM-CLIQUE-v1\0", 18);
  ByteWriter writer;
  writer.WriteText(kDomain).WriteBytes(round.cluster).Write(round.round).WriteBytes(layout);
  writer.Write(static_cast<uint8_t>(members.size()));
  for (const CliqueMember& member : members) {
    writer.WriteBytes(member.id).WriteBytes(member.key);
  }
  return Sha256(writer.str());
}

}  // namespace ruvd::masking
