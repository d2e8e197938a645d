// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/gossip/withdrawal_index.h"

#include <algorithm>
#include <utility>

#include "base/bytes.h"
#include "base/status.h"
#include "federation/patterns/shared_pattern.h"
#include "federation/reasons.h"
#include "privacy/reasons.h"

namespace ruvd::federation {

absl::Status WithdrawnItem(std::string_view name) {
  return Error(absl::StatusCode::kFailedPrecondition, reasons::kWithdrawn,
               "node {} took this item back; it has no effect", name);
}

absl::StatusOr<privacy::Withdrawal> DecodeWithdrawal(std::string_view payload,
                                                     const privacy::NodeId& sender,
                                                     const privacy::PublicKey& key) {
  ASSIGN_OR_RETURN(privacy::Withdrawal withdrawal, privacy::Withdrawal::Parse(AsBytes(payload)));
  if (withdrawal.node != sender) {
    return Error(absl::StatusCode::kPermissionDenied, reasons::kWithdrawalInvalid,
                 "node {} tried to take back what node {} sent; only the sender can", ToHex(sender),
                 ToHex(withdrawal.node));
  }
  RETURN_IF_ERROR(withdrawal.Verify(key));
  return withdrawal;
}

void WithdrawalIndex::Add(const Item& item) {
  auto withdrawal = privacy::Withdrawal::Parse(AsBytes(*item.payload));
  if (withdrawal.ok()) {
    by_origin_[item.origin][item.id] = *std::move(withdrawal);
  }
}

void WithdrawalIndex::Remove(const Item& item) {
  const auto of_origin = by_origin_.find(item.origin);
  if (of_origin != by_origin_.end()) {
    of_origin->second.erase(item.id);
    if (of_origin->second.empty()) {
      by_origin_.erase(of_origin);
    }
  }
}

bool WithdrawalIndex::CoversId(const Digest& id, const privacy::NodeId& origin,
                               int64_t created_ms) const {
  const auto of_origin = by_origin_.find(origin);
  return of_origin != by_origin_.end() &&
         std::ranges::any_of(of_origin->second, [&](const auto& entry) {
           return entry.second.Covers(id, origin, created_ms);
         });
}

bool WithdrawalIndex::Covers(const Item& item) const {
  if (item.kind == ItemKind::kWithdrawal || !by_origin_.contains(item.origin)) {
    return false;
  }
  if (CoversId(item.id, item.origin, item.created_ms)) {
    return true;
  }
  if (item.kind != ItemKind::kPattern) {
    return false;
  }
  // The whole pattern is read only if its name was withdrawn, because every item is checked here.
  const auto id = SharedPatternId(AsBytes(*item.payload));
  const auto until = id ? PatternWithdrawn(item.origin, *id) : std::nullopt;
  if (!until) {
    return false;
  }
  const auto pattern = DecodeSharedPattern(AsBytes(*item.payload));
  return pattern.ok() && pattern->created_ms <= *until;
}

std::optional<int64_t> WithdrawalIndex::PatternWithdrawn(
    const privacy::NodeId& origin, const privacy::Withdrawal::PatternName& pattern) const {
  std::optional<int64_t> until;
  if (const auto of_origin = by_origin_.find(origin); of_origin != by_origin_.end()) {
    for (const auto& [item, withdrawal] : of_origin->second) {
      if (withdrawal.CoversPattern(pattern, origin, withdrawal.withdrawn_ms)) {
        until = std::max(until.value_or(withdrawal.withdrawn_ms), withdrawal.withdrawn_ms);
      }
    }
  }
  return until;
}

bool WithdrawalIndex::Knows(const privacy::Withdrawal& withdrawal) const {
  const auto of_origin = by_origin_.find(withdrawal.node);
  return of_origin != by_origin_.end() &&
         std::ranges::any_of(of_origin->second, [&withdrawal](const auto& entry) {
           return entry.second.Includes(withdrawal);
         });
}

std::vector<Digest> WithdrawalIndex::SupersededBy(const privacy::Withdrawal& withdrawal) const {
  std::vector<Digest> superseded;
  if (const auto of_origin = by_origin_.find(withdrawal.node); of_origin != by_origin_.end()) {
    for (const auto& [item, older] : of_origin->second) {
      if (withdrawal.Includes(older)) {
        superseded.push_back(item);
      }
    }
  }
  return superseded;
}

}  // namespace ruvd::federation
