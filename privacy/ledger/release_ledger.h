// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "privacy/ledger/ledger_entry.h"

namespace ruvd::privacy {

// The ledger that releases are charged to. An implementation must make every change durable before
// it returns. The storage room implements it on disk.
class ReleaseLedger {
 public:
  virtual ~ReleaseLedger() = default;

  // Returns the error with which Reserve would refuse this charge now; it charges nothing.
  virtual absl::Status Check(const LedgerCharge& charge) const = 0;

  // Charges a release and returns the number of the reservation; numbers increase. If it returns
  // OK, or an error after which the entry may be on disk, the charge counts for ever. Fails with
  // PRIVACY_BUDGET_SPENT.
  virtual absl::StatusOr<uint64_t> Reserve(const LedgerCharge& charge) = 0;

  // Records that the noise is drawn and that the bytes may leave from now on. Fails with NOT_FOUND
  // for an unknown reservation and with INVALID_ARGUMENT if it was spent before.
  virtual absl::Status Spend(uint64_t reservation) = 0;

  // Records that the bytes have left. Fails with NOT_FOUND for an unknown reservation and with
  // INVALID_ARGUMENT if it was not spent.
  virtual absl::Status Release(uint64_t reservation) = 0;
};

}  // namespace ruvd::privacy
