// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/ledger/ledger_counter.h"

#include <charconv>

#include "base/status.h"
#include "storage/reasons.h"

namespace ruvd::storage::ledger {

std::string FormatCounter(const Counter& counter) {
  return fmt::format("{} {}\n", counter.node_rho_q32, counter.example_rho_q32);
}

absl::StatusOr<Counter> ParseCounter(std::string_view text) {
  Counter counter;
  const char* const end = text.data() + text.size();
  const auto node = std::from_chars(text.data(), end, counter.node_rho_q32);
  if (node.ec == std::errc() && node.ptr != end) {
    std::from_chars(node.ptr + 1, end, counter.example_rho_q32);
  }
  if (FormatCounter(counter) != text) {
    return Error(absl::StatusCode::kDataLoss, reasons::kLedgerBroken,
                 "the counter file of the privacy ledger is damaged; restore it from a backup, or "
                 "remove it: one release then counts as spent");
  }
  return counter;
}

}  // namespace ruvd::storage::ledger
