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

std::optional<WithdrawalIndex::Signed> WithdrawalIndex::Read(const Item& item) {
  if (item.kind != ItemKind::kWithdrawal) {
    return std::nullopt;
  }
  auto withdrawal = privacy::Withdrawal::Parse(AsBytes(*item.payload));
  const auto header = privacy::ParseHeader(AsBytes(item.envelope->header));
  if (!withdrawal.ok() || !header.ok()) {
    return std::nullopt;
  }
  return Signed{.withdrawal = *std::move(withdrawal), .key_epoch = header->key_epoch};
}

void WithdrawalIndex::Add(const Item& item) {
  if (auto read = Read(item)) {
    by_origin_[item.origin][item.id] = *std::move(read);
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
           return entry.second.withdrawal.Covers(id, origin, created_ms);
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
    for (const auto& [item, known] : of_origin->second) {
      const privacy::Withdrawal& withdrawal = known.withdrawal;
      if (withdrawal.CoversPattern(pattern, origin, withdrawal.withdrawn_ms)) {
        until = std::max(until.value_or(withdrawal.withdrawn_ms), withdrawal.withdrawn_ms);
      }
    }
  }
  return until;
}

bool WithdrawalIndex::Knows(const privacy::Withdrawal& withdrawal, uint32_t key_epoch) const {
  const auto of_origin = by_origin_.find(withdrawal.node);
  return of_origin != by_origin_.end() &&
         std::ranges::any_of(of_origin->second, [&](const auto& entry) {
           return entry.second.key_epoch >= key_epoch &&
                  entry.second.withdrawal.Includes(withdrawal);
         });
}

bool WithdrawalIndex::Knows(const Item& item) const {
  const std::optional<Signed> read = Read(item);
  return read && Knows(read->withdrawal, read->key_epoch);
}

std::vector<Digest> WithdrawalIndex::SupersededBy(const Item& item) const {
  std::vector<Digest> superseded;
  const std::optional<Signed> read = Read(item);
  if (const auto of_origin = by_origin_.find(item.origin); read && of_origin != by_origin_.end()) {
    for (const auto& [id, older] : of_origin->second) {
      if (older.key_epoch <= read->key_epoch && read->withdrawal.Includes(older.withdrawal)) {
        superseded.push_back(id);
      }
    }
  }
  return superseded;
}

}  // namespace ruvd::federation
