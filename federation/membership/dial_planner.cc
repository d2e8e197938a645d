// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/membership/dial_planner.h"

#include "federation/limits.h"
#include "federation/link/backoff.h"

namespace ruvd {
namespace {

// Attempts after which the backoff is at its maximum.
constexpr int kMaxBackoffAttempts = 7;

}  // namespace

DialPlanner::DialPlanner(std::vector<std::string> seeds, std::string own_address) {
  for (std::string& seed : seeds) {
    targets_[std::move(seed)].seed = true;
  }
  if (!own_address.empty()) {
    targets_[std::move(own_address)].self = true;
  }
}

void DialPlanner::AddAddress(const std::string& address, const NodeId& owner, bool silent) {
  if (address.empty()) {
    return;
  }
  const auto found = targets_.find(address);
  if (found != targets_.end()) {
    found->second.owner = owner;
    found->second.silent = silent;
  } else if (targets_.size() < limits::kMaxAddresses) {
    targets_[address].owner = owner;
    targets_[address].silent = silent;
  }
}

void DialPlanner::OnOpened(const std::string& address) {
  if (auto found = targets_.find(address); found != targets_.end()) {
    found->second.dialing_since.reset();
  }
}

void DialPlanner::OnIdentified(const std::string& address, const NodeId& owner) {
  if (auto found = targets_.find(address); found != targets_.end()) {
    found->second.owner = owner;
    found->second.attempts = 0;
    found->second.hopeless = false;
  }
}

void DialPlanner::OnFailed(const std::string& address, bool hopeless, TimePoint now,
                           Random& random) {
  const auto found = targets_.find(address);
  if (found == targets_.end()) {
    return;
  }
  Target& target = found->second;
  target.dialing_since.reset();
  target.hopeless = target.hopeless || hopeless;
  if (target.hopeless) {
    target.attempts = std::max(target.attempts, kMaxBackoffAttempts);
  }
  const Duration cap =
      target.seed && !target.hopeless ? limits::kSeedBackoffMax : limits::kBackoffMax;
  target.next_try = now + BackoffDelay(target.attempts, cap, random);
  ++target.attempts;
}

void DialPlanner::OnSelf(const std::string& address) {
  if (auto found = targets_.find(address); found != targets_.end()) {
    found->second.self = true;
  }
}

bool DialPlanner::Due(const Target& target, const std::set<NodeId>& linked, TimePoint now) const {
  return !target.self && !target.dialing_since && target.next_try <= now &&
         (!target.owner || !linked.contains(*target.owner));
}

std::vector<std::string> DialPlanner::Plan(const std::set<NodeId>& linked, size_t links,
                                           TimePoint now, Random& random) {
  std::vector<std::string> chosen;
  std::vector<std::string> others;
  size_t busy = links;
  for (auto& [address, target] : targets_) {
    if (target.dialing_since && now - *target.dialing_since > limits::kDialTimeout) {
      OnFailed(address, /*hopeless=*/false, now, random);
    }
    busy += target.dialing_since ? 1 : 0;
    if (Due(target, linked, now)) {
      (target.seed || target.silent ? chosen : others).push_back(address);
    }
  }
  random.Shuffle(std::span<std::string>(others));
  for (std::string& address : others) {
    if (busy + chosen.size() >= limits::kTargetLinks) {
      break;
    }
    chosen.push_back(std::move(address));
  }
  for (const std::string& address : chosen) {
    targets_[address].dialing_since = now;
  }
  return chosen;
}

}  // namespace ruvd
