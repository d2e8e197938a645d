// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "privacy/ledger/ledger_entry.h"

namespace ruvd::storage::ledger {

// What was spent, kept in a file outside the store: written before an entry is, so that neither a
// crash nor an older store in the place of the newest one makes the ledger forget a charge. It only
// grows.
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

// "<node> <example>\n", decimal.
std::string FormatCounter(const Counter& counter);
// LEDGER_BROKEN for anything else.
absl::StatusOr<Counter> ParseCounter(std::string_view text);

}  // namespace ruvd::storage::ledger
