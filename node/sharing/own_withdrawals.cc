// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/sharing/own_withdrawals.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "base/status.h"
#include "federation/limits.h"
#include "federation/patterns/shared_pattern.h"
#include "node/log/log.h"
#include "privacy/limits.h"

namespace ruvd::sharing {
namespace {

// Returns the next names of a list, as many as a record has room for.
template <typename Name>
std::vector<Name> NextNames(const std::vector<Name>& names, size_t at) {
  const size_t begin = std::min(at, names.size());
  const size_t end = std::min(at + limits::kMaxWithdrawnItems, names.size());
  return {names.begin() + static_cast<ptrdiff_t>(begin),
          names.begin() + static_cast<ptrdiff_t>(end)};
}

}  // namespace

std::vector<privacy::Withdrawal> OwnWithdrawals::LoadStored(int64_t now_ms) const {
  if (store_ == nullptr) {
    return {};
  }
  absl::StatusOr<std::vector<privacy::Withdrawal>> all = store_->All();
  if (!all.ok()) {
    LogError("withdrawals from before the start cannot be repeated to peers: {} [{}]",
             MessageOf(all.status()), ReasonOf(all.status()));
    return {};
  }
  std::erase_if(*all, [this, now_ms](privacy::Withdrawal& one) {
    return one.withdrawn_ms + limits::kWithdrawalLifeMillis <= now_ms || !one.Resign(key_).ok();
  });
  if (all->size() > limits::kMaxWithdrawalsPerOrigin) {
    all->erase(all->begin(), all->end() - limits::kMaxWithdrawalsPerOrigin);
  }
  return *std::move(all);
}

void OwnWithdrawals::Add(const federation::Item& item) {
  const auto pattern = item.kind == federation::ItemKind::kPattern
                           ? federation::DecodeSharedPattern(AsBytes(*item.payload))
                           : absl::StatusOr<federation::SharedPattern>(absl::NotFoundError(""));
  if (pattern.ok()) {
    const auto [place, added] = patterns_.try_emplace(pattern->id, pattern->created_ms);
    place->second = std::max(place->second, pattern->created_ms);
    total_.patterns += added ? 1 : 0;
  } else if (updates_.insert(item.id).second) {
    ++total_.updates;
  }
}

void OwnWithdrawals::Add(const federation::Actions& actions) {
  for (const federation::Action& action : actions) {
    if (const auto* withdrawn = std::get_if<federation::ItemWithdrawn>(&action);
        withdrawn != nullptr && withdrawn->own) {
      Add(withdrawn->item);
    }
  }
}

absl::StatusOr<privacy::Withdrawal> OwnWithdrawals::Sign(std::vector<Digest> updates,
                                                         std::vector<PatternName> patterns,
                                                         int64_t now_ms) {
  ASSIGN_OR_RETURN(privacy::Withdrawal withdrawal,
                   privacy::Withdrawal::Sign(std::move(updates), /*everything=*/false, now_ms, key_,
                                             std::move(patterns)));
  if (const absl::Status stored = store_ == nullptr ? absl::OkStatus() : store_->Put(withdrawal);
      !stored.ok()) {
    LogError("a withdrawal of items could not be stored: {} [{}]", MessageOf(stored),
             ReasonOf(stored));
  }
  latest_ = withdrawal;
  return withdrawal;
}

std::vector<privacy::Withdrawal> OwnWithdrawals::Take(const std::set<PatternName>& offered,
                                                      int64_t now_ms) {
  std::set<Digest> updates = std::exchange(updates_, {});
  std::set<PatternName> patterns;
  for (const auto& [name, created_ms] : std::exchange(patterns_, {})) {
    patterns.insert(name);
    now_ms = std::max(now_ms, created_ms);  // even if the clock went back
  }
  // The contents of the latest record are repeated if they fit.
  std::set<Digest> all_updates(latest_.items.begin(), latest_.items.end());
  std::set<PatternName> all_patterns(latest_.patterns.begin(), latest_.patterns.end());
  all_updates.insert(updates.begin(), updates.end());
  all_patterns.insert(patterns.begin(), patterns.end());
  const bool goes_on = now_ms < latest_.withdrawn_ms + limits::kItemLifeMillis;
  if (goes_on && std::max(all_updates.size(), all_patterns.size()) <= limits::kMaxWithdrawnItems) {
    updates = std::move(all_updates);
    patterns = std::move(all_patterns);
  }
  std::erase_if(patterns, [&offered](const PatternName& name) { return offered.contains(name); });
  const std::vector<Digest> ids(updates.begin(), updates.end());
  const std::vector<PatternName> names(patterns.begin(), patterns.end());
  std::vector<privacy::Withdrawal> records;
  for (size_t at = 0; at < std::max(ids.size(), names.size()); at += limits::kMaxWithdrawnItems) {
    auto record = Sign(NextNames(ids, at), NextNames(names, at), now_ms);
    if (record.ok()) {
      records.push_back(*std::move(record));
    } else {
      LogError("a withdrawal could not be sent to peers: {}", MessageOf(record.status()));
    }
  }
  return records;
}

}  // namespace ruvd::sharing
