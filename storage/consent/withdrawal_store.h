// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "privacy/consent/withdrawal.h"
#include "storage/db/database.h"

namespace ruvd::storage {

// What this node took back of the items it had sent, in order of time. It has no state besides the
// database. Thread-safe.
class WithdrawalStore {
 public:
  // `database` must outlive the store.
  explicit WithdrawalStore(Database& database) : database_(database) {}

  // Returns all withdrawals; STORE_CORRUPT for an invalid row, or an error of Database::Scan.
  absl::StatusOr<std::vector<privacy::Withdrawal>> All() const;

  // Stores a withdrawal and fsyncs it before returning.
  absl::Status Put(const privacy::Withdrawal& withdrawal);

 private:
  Database& database_;
};

// Returns STORE_CORRUPT if the plaintext of such a row is wrong.
absl::Status CheckWithdrawalRow(std::string_view key, std::string_view value);

}  // namespace ruvd::storage
