// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "privacy/ledger/ledger_entry.h"

namespace ruvd::privacy {

// Where releases are paid for. Implementations are durable before they return: storage has the one
// on disk.
class ReleaseLedger {
 public:
  virtual ~ReleaseLedger() = default;

  // Charges a release and returns the reservation's number, which grows. Once it returns OK, or an
  // error after which the entry may be on disk, the charge counts for ever. PRIVACY_BUDGET_SPENT.
  virtual absl::StatusOr<uint64_t> Reserve(const LedgerCharge& charge) = 0;

  // Notes that noise is drawn and bytes may leave from now on. NOT_FOUND for a number that is no
  // reservation; INVALID_ARGUMENT where it was spent before.
  virtual absl::Status Spend(uint64_t reservation) = 0;

  // Notes that the bytes have left. NOT_FOUND; INVALID_ARGUMENT where it was not spent.
  virtual absl::Status Release(uint64_t reservation) = 0;
};

}  // namespace ruvd::privacy
