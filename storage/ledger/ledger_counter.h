// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "privacy/dp/rdp_curve.h"
#include "privacy/ledger/ledger_entry.h"

namespace ruvd::storage::ledger {

// All charges of lessons, of users, or of the node, as if one unit had borne them all.
struct UnitCharges {
  uint64_t newest_round = 0;
  privacy::dp::RdpCurve in_rounds;
  privacy::dp::RdpCurve for_all;  // outside rounds
  bool operator==(const UnitCharges&) const = default;
};

// The privacy charged so far, kept in a file outside the store. The file is written before an
// entry, so neither a crash nor an older copy of the store makes the ledger forget a charge. The
// numbers only grow.
struct Counter {
  UnitCharges lessons;
  UnitCharges users;
  UnitCharges node;

  UnitCharges& Of(privacy::PrivacyUnit unit) { return this->*PlaceOf(unit); }
  const UnitCharges& Of(privacy::PrivacyUnit unit) const { return this->*PlaceOf(unit); }
  void Add(const privacy::LedgerCharge& charge);
  // Raises every number to that of `other` if it is larger there.
  void RaiseTo(const Counter& other);
  // Returns whether a number has reached its largest value, from where on it no longer counts.
  bool Saturated() const;
  bool operator==(const Counter&) const = default;

 private:
  static UnitCharges Counter::* PlaceOf(privacy::PrivacyUnit unit);
};

// Returns the charges that `counter` has and `charged` lacks: entries that were lost. Lost rounds
// are charged to all units that had joined by the newest round of the counter.
std::vector<privacy::LedgerCharge> LostCharges(const Counter& counter, const Counter& charged);

// Returns three lines, "lesson ROUND CURVE CURVE" and such ones of "user" and "node", in decimal
// numbers. The curves are those in rounds and outside rounds; a unit without charges has the line
// "lesson 0".
std::string FormatCounter(const Counter& counter);
// Returns LEDGER_BROKEN for a text that FormatCounter does not make.
absl::StatusOr<Counter> ParseCounter(std::string_view text);

}  // namespace ruvd::storage::ledger
