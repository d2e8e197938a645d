// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/gossip/origin_budget.h"

#include <algorithm>

#include "federation/gossip/learner_items.h"
#include "federation/limits.h"
#include "privacy/limits.h"

namespace ruvd::federation {
namespace {

// Allowed for one that an honest node makes, because clocks differ and items are repeated after
// restarts.
constexpr double kSlack = 2;

double RoundSeconds(const LearnerPlan* plan) {
  return plan == nullptr ? limits::kOriginMaskRoundSeconds
                         : static_cast<double>(plan->round_ms) / 1000;
}

// Returns the bytes of the largest items that an honest node makes in a round.
double RoundBytes(const LearnerPlan* plan) {
  if (plan == nullptr) {
    return static_cast<double>(limits::kMaxMaskAttempts * limits::kMaxPayloadBytes);
  }
  const uint64_t contribution = MaxLearnerPayloadBytes(ItemKind::kContribution, plan);
  return static_cast<double>((1 + limits::kMaxMaskAttempts) * contribution +
                             limits::kMaxVerdictsOfJudge *
                                 MaxLearnerPayloadBytes(ItemKind::kVerdict, plan) +
                             MaxLearnerPayloadBytes(ItemKind::kCheckpoint, plan));
}

}  // namespace

OriginBudget::OriginBudget(const LearnerPlan* plan, size_t mask_items)
    : rounds_per_second_(1 / RoundSeconds(plan)),
      mask_items_(static_cast<double>(mask_items)),
      bytes_{.rate = limits::kOriginBytesPerSecond + kSlack * RoundBytes(plan) * rounds_per_second_,
             .burst = limits::kOriginByteBurst} {}

OriginBudget::Limit OriginBudget::LimitOf(ItemKind kind) const {
  const double rounds = kSlack * rounds_per_second_;
  switch (kind) {
    case ItemKind::kPattern:
      return {.rate = limits::kOriginPatternsPerSecond,
              .burst = kSlack * limits::kMaxPatternsPerOrigin};
    case ItemKind::kExpert:
      return {.rate = limits::kOriginExpertsPerSecond, .burst = limits::kOriginExpertBurst};
    case ItemKind::kWithdrawal:
      return {.rate = limits::kOriginWithdrawalsPerSecond,
              .burst = kSlack * limits::kMaxWithdrawalsPerOrigin};
    case ItemKind::kMaskKey:
    case ItemKind::kMaskSet:
    case ItemKind::kMaskCommitment:
    case ItemKind::kMaskShare:
      return {.rate = rounds * limits::kMaxMaskAttempts, .burst = kSlack * mask_items_};
    case ItemKind::kContribution:
      return {.rate = rounds, .burst = kSlack * limits::kMaxContributionsPerOrigin};
    case ItemKind::kVerdict:
      return {.rate = rounds * limits::kMaxVerdictsOfJudge,
              .burst = kSlack * limits::kMaxContributionsPerOrigin};
    case ItemKind::kCheckpoint:
      break;
  }
  return {.rate = rounds, .burst = limits::kOriginCheckpointBurst};
}

void OriginBudget::MakeRoom() {
  if (origins_.size() < limits::kMaxOriginBudgets) {
    return;
  }
  origins_.erase(
      std::ranges::min_element(origins_, {}, [](const auto& entry) { return entry.second.used; }));
}

OriginBudget::Origin& OriginBudget::OriginOf(const privacy::NodeId& origin, TimePoint now) {
  auto known = origins_.find(origin);
  if (known == origins_.end()) {
    MakeRoom();
    known = origins_
                .emplace(origin, Origin{.bytes = TokenBucket(bytes_.rate, bytes_.burst, now),
                                        .items = {},
                                        .used = now})
                .first;
  }
  known->second.used = now;
  return known->second;
}

TokenBucket& OriginBudget::ItemsOf(Origin& origin, ItemKind kind, TimePoint now) const {
  const Limit limit = LimitOf(kind);
  return origin.items.try_emplace(kind, limit.rate, limit.burst, now).first->second;
}

// A withdrawal is small, and must not wait because of the items that it takes back.
bool OriginBudget::Allows(const privacy::NodeId& origin, ItemKind kind, uint64_t bytes,
                          TimePoint now) {
  Origin& budget = OriginOf(origin, now);
  if (!ItemsOf(budget, kind, now).Has(now)) {
    ++put_off_items_;
    return false;
  }
  const bool has_bytes =
      kind == ItemKind::kWithdrawal || budget.bytes.Has(now, static_cast<double>(bytes));
  put_off_bytes_ += has_bytes ? 0 : 1;
  return has_bytes;
}

void OriginBudget::Charge(const privacy::NodeId& origin, ItemKind kind, uint64_t bytes,
                          TimePoint now) {
  Origin& budget = OriginOf(origin, now);
  ItemsOf(budget, kind, now).Charge(now);
  if (kind != ItemKind::kWithdrawal) {
    budget.bytes.Charge(now, static_cast<double>(bytes));
  }
}

}  // namespace ruvd::federation
