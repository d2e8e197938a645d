// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/daf/reputation.h"

#include <algorithm>

#include "federation/limits.h"

namespace ruvd {

void ReputationTable::Record(const NodeId& peer, std::span<const BankScore> alone,
                             const GateOptions& options) {
  constexpr double kFading = 0.9;
  const auto helped = std::ranges::count_if(
      alone, [&](const BankScore& score) { return ShowsGain(score, options); });
  const auto harmed = std::ranges::count_if(
      alone, [&](const BankScore& score) { return ShowsHarm(score, options); });
  if (helped + harmed == 0) {
    return;
  }
  if (peers_.size() >= limits::kMaxMembers && !peers_.contains(peer)) {
    peers_.erase(std::ranges::min_element(
        peers_, {}, [](const auto& entry) { return entry.second.helped + entry.second.harmed; }));
  }
  Verdicts& verdicts = peers_[peer];
  verdicts.helped = kFading * verdicts.helped + static_cast<double>(helped);
  verdicts.harmed = kFading * verdicts.harmed + static_cast<double>(harmed);
}

double ReputationTable::Of(const NodeId& peer) const {
  const auto found = peers_.find(peer);
  if (found == peers_.end()) {
    return 0.5;
  }
  const Verdicts& verdicts = found->second;
  return (1 + verdicts.helped) / (2 + verdicts.helped + verdicts.harmed);
}

}  // namespace ruvd
