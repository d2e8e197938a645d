// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "privacy/consent/user_consent.h"
#include "storage/db/database.h"

namespace ruvd::storage {

// What users and sessions agreed to, one row for each of them: the newest record. Keys are hashes,
// since keys are not sealed. Stateless over the database, thread-safe.
class UserConsentStore {
 public:
  // `database` outlives the store.
  explicit UserConsentStore(Database& database) : database_(database) {}

  struct Records {
    std::vector<privacy::UserConsent> read;  // in the order of their keys; the caller verifies each
    // Keys of rows that do not open or decode: each may have been a withdrawal.
    std::set<std::string> damaged;
  };
  // The errors of Database::Scan.
  absl::StatusOr<Records> All() const;

  // Replaces the record of its subject. Fsynced before it returns: what was withdrawn stays
  // withdrawn.
  absl::Status Put(const privacy::UserConsent& record);

  // The key of a subject's row.
  static std::string KeyOf(const privacy::ConsentSubject& subject);

 private:
  Database& database_;
};

// What is wrong with the plaintext of such a row. STORE_CORRUPT.
absl::Status CheckUserConsentRow(std::string_view key, std::string_view value);

}  // namespace ruvd::storage
