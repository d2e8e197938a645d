// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/membership/dial_planner.h"

#include <algorithm>

#include "federation/limits.h"
#include "federation/link/backoff.h"

namespace ruvd::federation {
namespace {

// The backoff reaches its maximum after this many attempts.
constexpr int kMaxBackoffAttempts = 7;

}  // namespace

DialPlanner::DialPlanner(std::vector<std::string> seeds, std::string own_address) {
  for (std::string& seed : seeds) {
    targets_[std::move(seed)].seed = true;
  }
  if (!own_address.empty()) {
    targets_[std::move(own_address)].self_until = TimePoint::max();
  }
}

void DialPlanner::MakeRoom() {
  auto oldest = targets_.end();
  for (auto it = targets_.begin(); it != targets_.end(); ++it) {
    const Target& target = it->second;
    if (!target.seed && target.self_until == TimePoint{} && !target.dialing_since &&
        (oldest == targets_.end() || target.next_try < oldest->second.next_try)) {
      oldest = it;
    }
  }
  if (oldest != targets_.end()) {
    targets_.erase(oldest);
  }
}

bool DialPlanner::Begin(const std::string& address, DialPurpose purpose, TimePoint now) {
  if (address.empty()) {
    return false;
  }
  if (targets_.size() >= limits::kMaxAddresses && !targets_.contains(address)) {
    MakeRoom();
  }
  Target& target = targets_[address];
  if (!Ready(target, now)) {
    return false;
  }
  target.dialing_since = now;
  target.answered = false;
  target.purpose = purpose;
  return true;
}

void DialPlanner::OnOpened(const std::string& address) {
  if (auto found = targets_.find(address); found != targets_.end()) {
    found->second.dialing_since.reset();
    found->second.unanswered = 0;
    found->second.answered = true;
  }
}

DialPurpose DialPlanner::OnIdentified(const std::string& address, const privacy::NodeId& owner) {
  const auto found = targets_.find(address);
  if (found == targets_.end()) {
    return DialPurpose::kMesh;
  }
  found->second.owner = owner;
  found->second.attempts = 0;
  found->second.hopeless = false;
  return found->second.purpose;
}

void DialPlanner::OnFailed(const std::string& address, bool hopeless, TimePoint now,
                           Random& random) {
  const auto found = targets_.find(address);
  if (found == targets_.end()) {
    return;
  }
  Target& target = found->second;
  target.dialing_since.reset();
  target.unanswered += target.answered ? 0 : 1;
  target.hopeless = target.hopeless || hopeless;
  if (target.hopeless) {
    target.attempts = std::max(target.attempts, kMaxBackoffAttempts);
  }
  const bool heals = target.seed || target.purpose == DialPurpose::kHeal;
  const Duration cap = heals && !target.hopeless ? limits::kSeedBackoffMax : limits::kBackoffMax;
  target.next_try = now + BackoffDelay(target.attempts, cap, random);
  ++target.attempts;
}

bool DialPlanner::Unreachable(const std::string& address, TimePoint now) const {
  const auto found = targets_.find(address);
  return found != targets_.end() &&
         (found->second.self_until > now || found->second.unanswered >= limits::kDialsBeforeRelay);
}

void DialPlanner::OnSelf(const std::string& address, TimePoint now) {
  if (auto found = targets_.find(address); found != targets_.end()) {
    found->second.self_until = std::max(found->second.self_until, now + limits::kSelfMemory);
  }
}

void DialPlanner::Expire(TimePoint now, Random& random) {
  for (auto& [address, target] : targets_) {
    if (target.dialing_since && now - *target.dialing_since > limits::kDialTimeout) {
      OnFailed(address, /*hopeless=*/false, now, random);
    }
  }
}

size_t DialPlanner::Dialing(DialPurpose purpose) const {
  return static_cast<size_t>(
      std::count_if(targets_.begin(), targets_.end(), [purpose](const auto& entry) {
        return entry.second.dialing_since && entry.second.purpose == purpose;
      }));
}

std::vector<std::string> DialPlanner::DueSeeds(
    const std::function<bool(const privacy::NodeId&)>& linked,
    const std::function<bool(const privacy::NodeId&)>& settled, bool all, TimePoint now) const {
  std::vector<std::string> due;
  for (const auto& [address, target] : targets_) {
    const bool useful =
        !target.owner || (!linked(*target.owner) && (all || !settled(*target.owner)));
    if (target.seed && useful && Ready(target, now)) {
      due.push_back(address);
    }
  }
  return due;
}

}  // namespace ruvd::federation
