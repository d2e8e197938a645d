// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "federation/events/item.h"
#include "privacy/consent/withdrawal.h"

namespace ruvd::federation {

// What members took back of what they sent: the withdrawals among a node's live items, each of its
// own origin. Bounded by what the item table keeps. Not thread-safe.
class WithdrawalIndex {
 public:
  // `item` is a withdrawal whose payload was checked.
  void Add(const Item& item);
  void Remove(const Item& item);

  // Whether an item of another kind is withdrawn, by its id or as a version of a pattern. Nothing
  // withdraws a withdrawal.
  bool Covers(const Item& item) const;
  // The same of what only the manifest is known.
  bool CoversId(const Digest& id, const privacy::NodeId& origin, int64_t created_ms) const;
  // Until when versions of a pattern are withdrawn, by their creation; nullopt: none is.
  std::optional<int64_t> PatternWithdrawn(const privacy::NodeId& origin,
                                          const privacy::Withdrawal::PatternName& pattern) const;
  // Whether a known one says all that this one says.
  bool Knows(const privacy::Withdrawal& withdrawal) const;
  // Ids of those that say nothing that this one does not say, too.
  std::vector<Digest> SupersededBy(const privacy::Withdrawal& withdrawal) const;

 private:
  std::map<privacy::NodeId, std::map<Digest, privacy::Withdrawal>>
      by_origin_;  // then by message id
};

// WITHDRAWN: says of an item that the node called `name` took it back.
absl::Status WithdrawnItem(std::string_view name);

// The withdrawal that a payload is, of the member whose key is `key`: it can take back its own
// items only. WITHDRAWAL_INVALID, SIGNATURE_INVALID.
absl::StatusOr<privacy::Withdrawal> DecodeWithdrawal(std::string_view payload,
                                                     const privacy::NodeId& sender,
                                                     const privacy::PublicKey& key);

}  // namespace ruvd::federation
