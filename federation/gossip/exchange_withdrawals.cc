// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// How ItemExchange handles withdrawals.

#include "base/bytes.h"
#include "federation/gossip/exchange.h"

namespace ruvd::federation {

bool ItemExchange::HasEffect(const Item& item) {
  if (!withdrawals_.Covers(item)) {
    if (!withdrawals_.Knows(item)) {
      return true;
    }
  } else {
    outbox_->Refuse(/*link=*/0, WithdrawnItem(ToHex(item.origin).substr(0, 16)));
  }
  table_.AddTombstone(item.id, item.expires_ms);
  holders_.erase(item.id);
  return false;
}

void ItemExchange::Apply(const Item& item) {
  for (const Digest& id : withdrawals_.SupersededBy(item)) {
    DropAll([&id](const Item& older) { return older.id == id; }, /*withdrawn=*/false);
  }
  withdrawals_.Add(item);
  DropAll(
      [this, &item](const Item& other) {
        return other.origin == item.origin && withdrawals_.Covers(other);
      },
      /*withdrawn=*/true);
}

}  // namespace ruvd::federation
