// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/sharing/lost_shares.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"
#include "federation/masked/limits.h"
#include "federation/reasons.h"
#include "node/log/log.h"
#include "node/sharing/limits.h"

namespace ruvd::sharing {

void LostShares::NoteShares(std::span<const federation::Item> items, uint64_t first_live,
                            uint64_t round) {
  for (const federation::Item& item : items) {
    if (item.kind == federation::ItemKind::kMaskShare && item.origin == self_ &&
        item.round >= first_live) {
      shared_.insert(item.round);
    }
  }
  const uint64_t first = round - std::min(round, limits::kConductRounds);
  shared_.erase(shared_.begin(), shared_.lower_bound(first));
  summed_.erase(summed_.begin(), summed_.lower_bound(first));
}

void LostShares::NoteSum(uint64_t round) {
  summed_.insert(round);
}

absl::Status LostShares::Check(uint64_t round) const {
  std::vector<uint64_t> lost;
  std::ranges::set_difference(shared_, summed_, std::back_inserter(lost));
  std::erase_if(lost, [round](uint64_t one) { return one >= round; });
  if (lost.size() < limits::kMaxLostShares) {
    return absl::OkStatus();
  }
  return Error(absl::StatusCode::kFailedPrecondition, reasons::kMaskedRoundFailed,
               "{} shares of this node in the last {} rounds came to nothing, because a member "
               "spoiled the sums or kept its share, so this node gives none before round {}; the "
               "log names members that were left out: let the authority revoke the one that lies",
               lost.size(), limits::kConductRounds,
               lost[lost.size() - limits::kMaxLostShares] + limits::kConductRounds + 1);
}

void LogLeftOut(const federation::Conduct& conduct, uint64_t round) {
  for (const auto& [member, mark] : conduct) {
    if (mark.out_until > round && mark.round + 1 == round) {
      LogWarning(
          "member {} is left out of masked sums before round {}: it owed {} share(s), and {} "
          "sum(s) with it were impossible",
          ToHex(member).substr(0, 16), mark.out_until, mark.withheld, mark.failures);
    }
  }
}

}  // namespace ruvd::sharing
