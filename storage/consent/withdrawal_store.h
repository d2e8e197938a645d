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

// What this node took back of what it had sent, in order of time. Stateless over the database,
// thread-safe.
class WithdrawalStore {
 public:
  // `database` outlives the store.
  explicit WithdrawalStore(Database& database) : database_(database) {}

  // STORE_CORRUPT for a row that is none; the errors of Database::Scan.
  absl::StatusOr<std::vector<privacy::Withdrawal>> All() const;

  // Fsynced before it returns.
  absl::Status Put(const privacy::Withdrawal& withdrawal);

 private:
  Database& database_;
};

// What is wrong with the plaintext of such a row. STORE_CORRUPT.
absl::Status CheckWithdrawalRow(std::string_view key, std::string_view value);

}  // namespace ruvd::storage
