// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/relay/relay_planner.h"

#include <algorithm>

#include "federation/limits.h"
#include "federation/link/backoff.h"

namespace ruvd::federation {
namespace {

// Makes room in a full map: among the entries that may go, removes the one that `before` sorts
// first.
template <typename Map, typename MayGo, typename Before>
bool MakeRoom(Map& map, MayGo may_go, Before before) {
  auto chosen = map.end();
  for (auto it = map.begin(); it != map.end(); ++it) {
    if (may_go(it->second) && (chosen == map.end() || before(it->second, chosen->second))) {
      chosen = it;
    }
  }
  if (chosen == map.end()) {
    return false;
  }
  map.erase(chosen);
  return true;
}

}  // namespace

bool RelayPlanner::Begin(const privacy::NodeId& target, DialPurpose purpose, TimePoint now) {
  const auto searching = std::ranges::count_if(
      targets_, [](const auto& entry) { return entry.second.phase != Target::Phase::kIdle; });
  const auto known = targets_.find(target);
  if (std::cmp_greater_equal(searching, limits::kMaxRelaySearches) ||
      (known != targets_.end() &&
       (known->second.phase != Target::Phase::kIdle || known->second.next_try > now))) {
    return false;
  }
  if (known == targets_.end() && targets_.size() >= limits::kMaxRelayTargets &&
      !MakeRoom(
          targets_, [](const Target& t) { return t.phase == Target::Phase::kIdle; },
          [](const Target& a, const Target& b) { return a.next_try < b.next_try; })) {
    return false;
  }
  Target& begun = targets_[target];
  begun.phase = Target::Phase::kDue;
  begun.purpose = purpose;
  begun.asked.clear();
  return true;
}

int RelayPlanner::FailuresOf(const privacy::NodeId& relay, TimePoint now) const {
  const auto found = distrusted_.find(relay);
  return found == distrusted_.end() || found->second.until <= now ? 0 : found->second.failures;
}

std::optional<privacy::NodeId> RelayPlanner::Next(const privacy::NodeId& target,
                                                  std::span<const privacy::NodeId> relays,
                                                  TimePoint now, Random& random) {
  Target& search = targets_.at(target);
  std::vector<privacy::NodeId> candidates;
  for (const privacy::NodeId& relay : relays) {
    if (relay != target && !search.asked.contains(relay)) {
      candidates.push_back(relay);
    }
  }
  if (candidates.empty() || search.asked.size() >= limits::kMaxRelaysAsked) {
    search.phase = Target::Phase::kIdle;
    search.next_try = now + BackoffDelay(search.attempts++, limits::kBackoffMax, random);
    return std::nullopt;
  }
  random.Shuffle(std::span<privacy::NodeId>(candidates));
  const privacy::NodeId chosen = *std::ranges::min_element(
      candidates, {}, [this, now](const privacy::NodeId& relay) { return FailuresOf(relay, now); });
  search.asked.insert(chosen);
  search.phase = Target::Phase::kAsking;
  return chosen;
}

DialPurpose RelayPlanner::OnOpened(const privacy::NodeId& target) {
  const auto found = targets_.find(target);
  if (found == targets_.end()) {
    return DialPurpose::kMesh;
  }
  found->second.phase = Target::Phase::kIdle;
  found->second.attempts = 0;
  return found->second.purpose;
}

void RelayPlanner::OnEnded(const privacy::NodeId& target, const privacy::NodeId& relay, End end,
                           TimePoint now) {
  if (end == End::kFailed) {
    Distrust(relay, now);
  }
  const auto found = targets_.find(target);
  if (found != targets_.end() && found->second.phase == Target::Phase::kAsking) {
    found->second.phase = Target::Phase::kDue;
  }
}

void RelayPlanner::Distrust(const privacy::NodeId& relay, TimePoint now) {
  if (distrusted_.size() >= limits::kMaxRelayTargets && !distrusted_.contains(relay)) {
    MakeRoom(
        distrusted_, [](const Distrusted&) { return true; },
        [](const Distrusted& a, const Distrusted& b) { return a.until < b.until; });
  }
  Distrusted& entry = distrusted_[relay];
  entry.failures = entry.until <= now ? 1 : entry.failures + 1;
  entry.until = now + limits::kRelayDistrust;
}

std::vector<privacy::NodeId> RelayPlanner::Due() const {
  std::vector<privacy::NodeId> due;
  for (const auto& [target, search] : targets_) {
    if (search.phase == Target::Phase::kDue) {
      due.push_back(target);
    }
  }
  return due;
}

size_t RelayPlanner::Searching(DialPurpose purpose) const {
  return static_cast<size_t>(std::ranges::count_if(targets_, [purpose](const auto& entry) {
    return entry.second.phase != Target::Phase::kIdle && entry.second.purpose == purpose;
  }));
}

}  // namespace ruvd::federation
