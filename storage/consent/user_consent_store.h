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

// The consents of users and sessions, one row for each with the newest record. The row keys are
// hashes, because keys are not sealed. It has no state besides the database. Thread-safe.
class UserConsentStore {
 public:
  // `database` must outlive the store.
  explicit UserConsentStore(Database& database) : database_(database) {}

  struct Records {
    std::vector<privacy::UserConsent> read;  // in the order of their keys; the caller verifies each
    // Keys of rows that do not open or decode: each may have been a withdrawal.
    std::set<std::string> damaged;
  };
  // Returns all records, or an error of Database::Scan.
  absl::StatusOr<Records> All() const;

  // Replaces the record of its subject and fsyncs it before returning: a withdrawn consent stays
  // withdrawn.
  absl::Status Put(const privacy::UserConsent& record);

  // Returns the key of a subject's row.
  static std::string KeyOf(const privacy::ConsentSubject& subject);

 private:
  Database& database_;
};

// Returns STORE_CORRUPT if the plaintext of such a row is wrong.
absl::Status CheckUserConsentRow(std::string_view key, std::string_view value);

}  // namespace ruvd::storage
