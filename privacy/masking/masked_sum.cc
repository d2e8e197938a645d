// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "privacy/masking/masked_sum.h"

#include "base/reasons.h"
#include "base/status.h"
#include "privacy/reasons.h"

namespace ruvd::privacy::masking {
namespace {

absl::Status NotOfTheClique(std::string_view what) {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kCliqueInvalid,
               "a share of a masked sum belongs to another {}; its sender must start again", what);
}

}  // namespace

MaskedSum::MaskedSum(const Clique& clique, size_t values, int64_t most)
    : clique_(clique), set_(clique.SetHash()), most_(most), sum_(values) {}

absl::StatusOr<MaskedSum> MaskedSum::Begin(const Clique& clique, const MaskLayout& layout) {
  RETURN_IF_ERROR(clique.Check());
  if (layout.Hash() != clique.layout) {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kMaskLayoutMismatch,
                 "the participants agreed on another layout of the masked sum; give all of them "
                 "the same configuration");
  }
  RETURN_IF_ERROR(layout.Check());
  const auto members = static_cast<int64_t>(clique.members.size());
  ASSIGN_OR_RETURN(const int64_t most, layout.MaxUnitsPerMember(clique.members.size()));
  return MaskedSum(clique, layout.Values(), members * most);
}

absl::Status MaskedSum::Add(const NodeId& sender, const MaskedUpdate& update) {
  if (update.sender != sender || clique_.Find(sender) == nullptr) {
    return NotOfTheClique("sender");
  }
  if (update.round != clique_.round.round) {
    return NotOfTheClique("round");
  }
  if (update.layout != clique_.layout || update.values.size() != sum_.size()) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kMaskLayoutMismatch,
                 "a share has {} values in a masked sum of {}, or has another layout; give its "
                 "sender the same configuration",
                 update.values.size(), sum_.size());
  }
  if (update.set != set_) {
    return NotOfTheClique("set of participants");
  }
  if (!added_.insert(update.sender).second) {
    return Error(absl::StatusCode::kAlreadyExists, reasons::kReplayed,
                 "a participant of a masked sum sent a second share; it has no effect");
  }
  for (size_t i = 0; i < sum_.size(); ++i) {
    sum_[i] += update.values[i];
  }
  return absl::OkStatus();
}

std::vector<NodeId> MaskedSum::Missing() const {
  std::vector<NodeId> missing;
  for (const CliqueMember& member : clique_.members) {
    if (!added_.contains(member.id)) {
      missing.push_back(member.id);
    }
  }
  return missing;
}

absl::StatusOr<std::vector<int32_t>> MaskedSum::Result() const {
  if (const size_t missing = Missing().size(); missing > 0) {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kMaskedSumIncomplete,
                 "{} of {} shares of a masked sum are missing; wait, or start again without their "
                 "nodes",
                 missing, clique_.members.size());
  }
  std::vector<int32_t> sum(sum_.begin(), sum_.end());
  for (const int64_t value : sum) {
    if (value > most_ || value < -most_) {
      return Error(absl::StatusCode::kInvalidArgument, reasons::kUpdateInvalid,
                   "a masked sum has the value {}, but at most {} is possible: masks did not "
                   "cancel, or an update was not clipped; start again",
                   value, most_);
    }
  }
  return sum;
}

}  // namespace ruvd::privacy::masking
