// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "privacy/ledger/ledger_entry.h"

namespace ruvd::storage::ledger {

// The privacy spent so far, kept in a file outside the store. The file is written before an entry,
// so neither a crash nor an older copy of the store makes the ledger forget a charge. The numbers
// only grow.
struct Counter {
  uint64_t node_rho_q32 = 0;
  uint64_t example_rho_q32 = 0;

  uint64_t& Of(privacy::PrivacyUnit unit) {
    return unit == privacy::PrivacyUnit::kNode ? node_rho_q32 : example_rho_q32;
  }
  uint64_t Of(privacy::PrivacyUnit unit) const {
    return unit == privacy::PrivacyUnit::kNode ? node_rho_q32 : example_rho_q32;
  }
  bool operator==(const Counter&) const = default;
};

// Returns the two numbers in decimal as "NODE EXAMPLE\n".
std::string FormatCounter(const Counter& counter);
// Returns LEDGER_BROKEN for a text that FormatCounter does not make.
absl::StatusOr<Counter> ParseCounter(std::string_view text);

}  // namespace ruvd::storage::ledger
