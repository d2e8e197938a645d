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

// The withdrawals among a node's live items. With a withdrawal a member takes back items of its
// own. Size is bounded by the item table. Not thread-safe.
class WithdrawalIndex {
 public:
  // `item` must be a withdrawal whose payload was checked.
  void Add(const Item& item);
  void Remove(const Item& item);

  // Returns whether an item of another kind is withdrawn, by its id or as a version of a pattern. A
  // withdrawal cannot be withdrawn.
  bool Covers(const Item& item) const;
  // Returns this for an item of which only the manifest is known.
  bool CoversId(const Digest& id, const privacy::NodeId& origin, int64_t created_ms) const;
  // Returns the creation time up to which versions of a pattern are withdrawn; nullopt if they are
  // not.
  std::optional<int64_t> PatternWithdrawn(const privacy::NodeId& origin,
                                          const privacy::Withdrawal::PatternName& pattern) const;
  // Returns whether a known withdrawal of the same or a later key of its node covers all that this
  // one covers, which a key of that epoch signs. One of an earlier key may end before it.
  bool Knows(const privacy::Withdrawal& withdrawal, uint32_t key_epoch) const;
  // Returns this for an item; false for one of another kind.
  bool Knows(const Item& item) const;
  // Returns the ids of withdrawals, of the same or an earlier key, that cover nothing that the
  // withdrawal `item` does not cover.
  std::vector<Digest> SupersededBy(const Item& item) const;

 private:
  struct Signed {
    privacy::Withdrawal withdrawal;
    uint32_t key_epoch = 0;
  };
  // Returns nullopt for an item of another kind.
  static std::optional<Signed> Read(const Item& item);

  std::map<privacy::NodeId, std::map<Digest, Signed>> by_origin_;  // then by message id
};

// Returns the error WITHDRAWN, which says that the node called `name` took the item back.
absl::Status WithdrawnItem(std::string_view name);

// Decodes a withdrawal of the member whose key is `key`; it can withdraw only items of its own.
// Returns WITHDRAWAL_INVALID or SIGNATURE_INVALID for a bad one.
absl::StatusOr<privacy::Withdrawal> DecodeWithdrawal(std::string_view payload,
                                                     const privacy::NodeId& sender,
                                                     const privacy::PublicKey& key);

}  // namespace ruvd::federation
