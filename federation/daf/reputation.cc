// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/daf/reputation.h"

#include <algorithm>
#include <cmath>

#include "federation/limits.h"

namespace ruvd {

ReputationTable::Verdicts ReputationTable::FadedTo(uint64_t round, Verdicts verdicts) {
  if (round > verdicts.round) {
    const double fading = std::pow(0.9, static_cast<double>(round - verdicts.round));
    verdicts.helped *= fading;
    verdicts.harmed *= fading;
    verdicts.last_helped *= fading;
    verdicts.last_harmed *= fading;
    verdicts.round = round;
  }
  return verdicts;
}

void ReputationTable::Record(const NodeId& peer, const Digest& update, uint64_t round,
                             std::span<const BankScore> alone, const GateOptions& options) {
  const auto helped = static_cast<double>(std::ranges::count_if(
      alone, [&](const BankScore& score) { return ShowsGain(score, options); }));
  const auto harmed = static_cast<double>(std::ranges::count_if(
      alone, [&](const BankScore& score) { return ShowsHarm(score, options); }));
  const auto known = peers_.find(peer);
  const bool again = known != peers_.end() && known->second.last == update;
  const double shown = helped + harmed;
  if (shown == 0 && !again) {
    return;
  }
  if (known == peers_.end() && peers_.size() >= limits::kMaxMembers) {
    peers_.erase(std::ranges::min_element(peers_, {}, [round](const auto& entry) {
      const Verdicts faded = FadedTo(round, entry.second);
      return faded.helped + faded.harmed + faded.last_helped + faded.last_harmed;
    }));
  }
  Verdicts& verdicts = peers_[peer];
  verdicts = FadedTo(round, verdicts);
  if (!again) {
    verdicts.helped += verdicts.last_helped;
    verdicts.harmed += verdicts.last_harmed;
    verdicts.last = update;
  }
  verdicts.last_helped = shown == 0 ? 0 : helped / shown;
  verdicts.last_harmed = shown == 0 ? 0 : harmed / shown;
}

double ReputationTable::Of(const NodeId& peer, uint64_t round) const {
  const auto found = peers_.find(peer);
  if (found == peers_.end()) {
    return 0.5;
  }
  const Verdicts now = FadedTo(round, found->second);
  const double helped = now.helped + now.last_helped;
  return (1 + helped) / (2 + helped + now.harmed + now.last_harmed);
}

}  // namespace ruvd
