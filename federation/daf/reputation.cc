// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/daf/reputation.h"

#include <algorithm>
#include <cmath>

#include "base/reasons.h"
#include "base/status.h"
#include "federation/limits.h"

namespace ruvd::federation {

ReputationTable::Verdicts ReputationTable::DecayedTo(uint64_t round, Verdicts verdicts) {
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

void ReputationTable::Record(const privacy::NodeId& peer, const Digest& update, uint64_t round,
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
      const Verdicts faded = DecayedTo(round, entry.second);
      return faded.helped + faded.harmed + faded.last_helped + faded.last_harmed;
    }));
  }
  Verdicts& verdicts = peers_[peer];
  verdicts = DecayedTo(round, verdicts);
  if (!again) {
    verdicts.helped += verdicts.last_helped;
    verdicts.harmed += verdicts.last_harmed;
    verdicts.last = update;
  }
  verdicts.last_helped = shown == 0 ? 0 : helped / shown;
  verdicts.last_harmed = shown == 0 ? 0 : harmed / shown;
}

std::vector<ReputationTable::Known> ReputationTable::All(uint64_t round) const {
  std::vector<Known> all;
  all.reserve(peers_.size());
  for (const auto& [peer, verdicts] : peers_) {
    const Verdicts now = DecayedTo(round, verdicts);
    all.push_back({.peer = peer,
                   .helped = now.helped,
                   .harmed = now.harmed,
                   .last = now.last,
                   .last_helped = now.last_helped,
                   .last_harmed = now.last_harmed});
  }
  return all;
}

absl::StatusOr<ReputationTable> ReputationTable::Restore(std::span<const Known> known,
                                                         uint64_t round) {
  ReputationTable table;
  const auto counts = [](double value) { return std::isfinite(value) && value >= 0; };
  for (const Known& one : known) {
    if (table.peers_.size() >= limits::kMaxMembers || !counts(one.helped) || !counts(one.harmed) ||
        !counts(one.last_helped) || !counts(one.last_harmed) ||
        (!table.peers_.empty() && table.peers_.rbegin()->first >= one.peer)) {
      return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                   "the saved verdicts on peers are invalid; they are measured again");
    }
    table.peers_[one.peer] = {.helped = one.helped,
                              .harmed = one.harmed,
                              .last = one.last,
                              .last_helped = one.last_helped,
                              .last_harmed = one.last_harmed,
                              .round = round};
  }
  return table;
}

double ReputationTable::Of(const privacy::NodeId& peer, uint64_t round) const {
  const auto found = peers_.find(peer);
  if (found == peers_.end()) {
    return 0.5;
  }
  const Verdicts now = DecayedTo(round, found->second);
  const double helped = now.helped + now.last_helped;
  return (1 + helped) / (2 + helped + now.harmed + now.last_harmed);
}

}  // namespace ruvd::federation
