// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/masked/round_items.h"

#include <algorithm>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "privacy/masking/masked_sum.h"
#include "privacy/reasons.h"

namespace ruvd::federation {
namespace {

absl::Status NotOfTheGroup(const privacy::NodeId& member) {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kCliqueInvalid,
               "an item of a masked round names node {}, which is not in this group; the nodes "
               "have different views of the members; wait for the next round",
               ToHex(member).substr(0, 16));
}

}  // namespace

MaskedRoundItems::MaskedRoundItems(const privacy::masking::MaskedSumId& round, const Digest& layout,
                                   size_t values, const std::vector<privacy::NodeId>& group)
    : round_(round), layout_(layout), values_(values), group_(group) {
  RUVD_CHECK(group.size() <= limits::kMaxCliqueMembers);
}

bool MaskStatements::HasShareOf(const Digest& set_hash_of_share) const {
  return committed_to == set_hash_of_share && shared_with == set_hash_of_share &&
         opened == commitment;
}

absl::Status MaskedRoundItems::CheckLayout(const Digest& layout) const {
  if (layout == layout_) {
    return absl::OkStatus();
  }
  return Error(absl::StatusCode::kFailedPrecondition, reasons::kMaskLayoutMismatch,
               "a member of the masked round uses another model, frame, grid or number of "
               "values; give all members the same configuration");
}

// Decodes a payload into statements, and returns the attempt to which it belongs.
absl::StatusOr<uint8_t> MaskedRoundItems::Read(ItemKind kind, std::string_view payload,
                                               const privacy::NodeId& sender,
                                               MaskStatements& statements) const {
  RETURN_IF_ERROR(CheckMaskItem(kind, payload, round_.round, sender));
  if (kind == ItemKind::kMaskKey) {
    ASSIGN_OR_RETURN(const MaskKeyItem item, DecodeMaskKey(AsBytes(payload)));
    RETURN_IF_ERROR(CheckLayout(item.offer.layout));
    statements.key = item.offer.key;
    return item.attempt;
  }
  if (kind == ItemKind::kMaskSet) {
    ASSIGN_OR_RETURN(MaskSetItem item, DecodeMaskSet(AsBytes(payload), round_.cluster));
    RETURN_IF_ERROR(CheckLayout(item.clique.layout));
    // The set may name nodes that are not in this group, if its signer has another view of who
    // takes part. No member here agrees with it, but its signer was not silent.
    statements.set_hash = item.clique.SetHash();
    statements.set = std::move(item.clique);
    return item.attempt;
  }
  if (kind == ItemKind::kMaskCommitment) {
    ASSIGN_OR_RETURN(const MaskCommitmentItem item, DecodeMaskCommitment(AsBytes(payload)));
    RETURN_IF_ERROR(CheckLayout(item.layout));
    statements.committed_to = item.set;
    statements.commitment = item.share;
    return item.attempt;
  }
  ASSIGN_OR_RETURN(const MaskShareItem item, DecodeMaskShare(AsBytes(payload)));
  RETURN_IF_ERROR(CheckLayout(item.update.layout));
  if (item.update.values.size() != values_) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kMaskLayoutMismatch,
                 "a share has {} values in a masked sum of {} values; update the sending node",
                 item.update.values.size(), values_);
  }
  statements.shared_with = item.update.set;
  statements.opened = CommitmentTo(payload);
  return item.attempt;
}

absl::StatusOr<MaskedRoundItems::AddResult> MaskedRoundItems::Add(const Item& item) {
  if (!IsMaskItem(item.kind) || item.round != round_.round) {
    return Error(
        absl::StatusCode::kInvalidArgument, reasons::kUpdateInvalid,
        "an item of kind {} and round {} does not belong to masked round {}; it came late or early",
        ItemKindName(item.kind), item.round, round_.round);
  }
  return Add(item.kind, item.origin, item.payload);
}

absl::StatusOr<MaskedRoundItems::AddResult> MaskedRoundItems::Add(
    ItemKind kind, const privacy::NodeId& sender, std::shared_ptr<const std::string> payload) {
  if (std::ranges::find(group_, sender) == group_.end()) {
    return NotOfTheGroup(sender);
  }
  MaskStatements read;
  ASSIGN_OR_RETURN(const uint8_t attempt, Read(kind, *payload, sender, read));
  SentStatements& said = said_[attempt][sender];
  const auto [known, added] = said.payloads.try_emplace(kind, payload);
  if (!added) {
    if (*known->second == *payload || Refused(sender)) {
      return AddResult::kKnown;
    }
    Refuse(sender);
    return AddResult::kContradiction;
  }
  MaskStatements& statements = said.statements;
  if (kind == ItemKind::kMaskKey) {
    statements.key = read.key;
  } else if (kind == ItemKind::kMaskSet) {
    statements.set = std::move(read.set);
    statements.set_hash = read.set_hash;
  } else if (kind == ItemKind::kMaskCommitment) {
    statements.committed_to = read.committed_to;
    statements.commitment = read.commitment;
  } else {
    statements.shared_with = read.shared_with;
    statements.opened = read.opened;
  }
  return AddResult::kNew;
}

MaskStatements MaskedRoundItems::Of(uint8_t attempt, const privacy::NodeId& member) const {
  const auto said = said_[attempt].find(member);
  return said == said_[attempt].end() || Refused(member) ? MaskStatements()
                                                         : said->second.statements;
}

std::map<Digest, privacy::masking::Clique> MaskedRoundItems::Named(uint8_t attempt) const {
  std::map<Digest, privacy::masking::Clique> named;
  for (const privacy::NodeId& member : group_) {
    MaskStatements statements = Of(attempt, member);
    if (statements.set) {
      named.try_emplace(statements.set_hash, *std::move(statements.set));
    }
  }
  return named;
}

std::vector<privacy::masking::Clique> MaskedRoundItems::Agreed(uint8_t attempt) const {
  std::vector<privacy::masking::Clique> agreed;
  for (auto& [hash, set] : Named(attempt)) {
    if (std::ranges::all_of(set.members,
                            [&, &name = hash](const privacy::masking::CliqueMember& member) {
                              const MaskStatements said = Of(attempt, member.id);
                              return said.set && said.set_hash == name;
                            })) {
      agreed.push_back(set);
    }
  }
  return agreed;
}

std::vector<privacy::masking::Clique> MaskedRoundItems::Complete(uint8_t attempt) const {
  std::vector<privacy::masking::Clique> complete;
  for (auto& [hash, set] : Named(attempt)) {
    if (std::ranges::all_of(set.members,
                            [&, &name = hash](const privacy::masking::CliqueMember& member) {
                              return Of(attempt, member.id).HasShareOf(name);
                            })) {
      complete.push_back(set);
    }
  }
  return complete;
}

absl::StatusOr<std::vector<int32_t>> MaskedRoundItems::Sum(
    uint8_t attempt, const privacy::masking::Clique& set,
    const privacy::masking::MaskLayout& layout) const {
  ASSIGN_OR_RETURN(privacy::masking::MaskedSum sum,
                   privacy::masking::MaskedSum::Begin(set, layout));
  for (const privacy::masking::CliqueMember& member : set.members) {
    const auto said = said_[attempt].find(member.id);
    if (said == said_[attempt].end() || Refused(member.id)) {
      continue;  // MaskedSum reports that it is missing
    }
    const auto payload = said->second.payloads.find(ItemKind::kMaskShare);
    if (payload != said->second.payloads.end()) {
      ASSIGN_OR_RETURN(const MaskShareItem item, DecodeMaskShare(AsBytes(*payload->second)));
      RETURN_IF_ERROR(sum.Add(member.id, item.update));
    }
  }
  return sum.Result();
}

}  // namespace ruvd::federation
