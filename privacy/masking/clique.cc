// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "privacy/masking/clique.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "base/reasons.h"
#include "base/status.h"
#include "privacy/dp/distributed_gaussian.h"
#include "privacy/limits.h"
#include "privacy/reasons.h"

namespace ruvd::privacy::masking {
namespace {

// The table of the discrete Gaussian ends at 13 standard deviations.
constexpr int64_t kNoiseReach = 13;
// This makes the sum mod 2^32 equal to the true sum.
static_assert(limits::kMaxCliqueMembers *
                  (limits::kMaxMaskUnits + kNoiseReach * limits::kMaxNoiseUnits) <
              (int64_t{1} << 31));
static_assert(limits::kMaxGridUnits <= limits::kMaxMaskUnits);
static_assert(limits::kMaxCliqueMembers <= kThirdColludes);

}  // namespace

size_t MaskLayout::Values() const {
  return std::accumulate(bank_values.begin(), bank_values.end(), size_t{0});
}

uint32_t MaskLayout::ColludersAmong(size_t members) const {
  return colluders == kThirdColludes ? static_cast<uint32_t>((members + 2) / 3) : colluders;
}

int64_t MaskLayout::MaxUnitsBeforeNoise() const {
  return unit_limit == 0 ? grid.clip_units : unit_limit;
}

absl::Status MaskLayout::Check() const {
  const size_t values = Values();
  if (values == 0) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "the masked sum has no values; name its banks");
  }
  if (values > limits::kMaxMaskedValues) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kLimitExceeded,
                 "the masked sum has {} values, more than the limit of {}; share a smaller rank",
                 values, limits::kMaxMaskedValues);
  }
  if (grid.clip_units < limits::kMinClipUnits || grid.clip_units > limits::kMaxGridUnits ||
      grid.sigma_units == 0 || grid.sigma_units > limits::kMaxNoiseUnits ||
      (colluders >= limits::kMaxCliqueMembers && colluders != kThirdColludes)) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "cannot make a masked sum with a clip norm of {} units, noise of {} units and {} "
                 "colluders; give a clip norm of {} to {} units, noise of 1 to {} units and fewer "
                 "than {} colluders",
                 grid.clip_units, grid.sigma_units, colluders, limits::kMinClipUnits,
                 limits::kMaxGridUnits, limits::kMaxNoiseUnits, limits::kMaxCliqueMembers);
  }
  if (unit_limit > limits::kMaxMaskUnits) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "a member of a masked sum cannot add {} units to a value, only {}; set a lower "
                 "limit",
                 unit_limit, limits::kMaxMaskUnits);
  }
  return absl::OkStatus();
}

absl::StatusOr<int64_t> MaskLayout::MaxUnitsPerMember(size_t members) const {
  ASSIGN_OR_RETURN(
      const dp::NoiseShares shares,
      dp::SplitNoise(grid, static_cast<uint32_t>(members), ColludersAmong(members), Values()));
  return MaxUnitsBeforeNoise() + kNoiseReach * shares.share_units;
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
  // The count above delimits the values, so layouts with and without a limit have different bytes.
  if (unit_limit != 0) {
    writer.Write(unit_limit);
  }
  return Sha256(writer.str());
}

absl::Status Clique::Check() const {
  if (members.size() < limits::kMinCliqueMembers || members.size() > limits::kMaxCliqueMembers) {
    return Error(
        absl::StatusCode::kFailedPrecondition, reasons::kCliqueInvalid,
        "a masked sum cannot have {} participants, but {} to {}; wait for more or split them",
        members.size(), limits::kMinCliqueMembers, limits::kMaxCliqueMembers);
  }
  std::set<MaskPublicKey> keys;
  for (size_t i = 0; i < members.size(); ++i) {
    const bool ascending = i == 0 || members[i - 1].id < members[i].id;
    if (!ascending || !keys.insert(members[i].key).second) {
      return Error(absl::StatusCode::kInvalidArgument, reasons::kCliqueInvalid,
                   "the participants of a masked sum are listed twice or out of order; list each "
                   "once, ascending by id");
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

}  // namespace ruvd::privacy::masking
