// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "privacy/consent/consent.h"
#include "storage/db/database.h"

namespace ruvd::storage {

namespace v1 {
class ConsentRecord;
}  // namespace v1

// A summary of what has left the node since its store was made.
struct SharedTotals {
  bool plain = false;       // items without noise were offered to peers
  uint64_t bytes_sent = 0;  // bytes of items, to all peers together
  bool operator==(const SharedTotals&) const = default;
};

// The operator's consent, and a summary of what left the node under all consents so far. It has no
// state besides the database. Thread-safe.
class ConsentStore {
 public:
  // `database` must outlive the store.
  explicit ConsentStore(Database& database) : database_(database) {}

  // Returns the stored record, or nullopt when none was ever given. The caller verifies its
  // signature.
  absl::StatusOr<std::optional<privacy::ConsentRecord>> Get() const;

  // Stores a record and fsyncs it before returning: a withdrawn consent stays withdrawn. The
  // summary of what left is kept; if the former row does not decode, plain items are assumed to
  // have left.
  absl::Status Set(const privacy::ConsentRecord& record);

  // Marks the stored consent, if it allows any sharing: it allows none until it is given anew by
  // Set. Fsyncs; returns the errors of Get or Database::Write.
  absl::Status Suspend();
  // Returns whether the stored consent is marked by Suspend; the errors of Get.
  absl::StatusOr<bool> IsSuspended() const;

  // Returns the summary; all zero when no consent was ever given. Returns the errors of Get.
  absl::StatusOr<SharedTotals> LoadSharedTotals() const;

  // Stores the summary beside the record and fsyncs it; without a record it stores nothing. Returns
  // an error of Get or Database::Write.
  absl::Status StoreSharedTotals(const SharedTotals& left);

 private:
  // Returns nullopt when no consent was ever given.
  absl::StatusOr<std::optional<v1::ConsentRecord>> GetRow() const;
  absl::Status Write(const privacy::ConsentRecord& record, const SharedTotals& left, bool suspended)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Database& database_;
  Mutex mutex_;  // held from the reading of a row to its writing
};

// The plaintext of the consent row. DecodeConsent returns STORE_CORRUPT for bytes that
// EncodeConsent does not make.
std::string EncodeConsent(const privacy::ConsentRecord& record, const SharedTotals& left = {},
                          bool suspended = false);
absl::StatusOr<privacy::ConsentRecord> DecodeConsent(std::string_view bytes);

}  // namespace ruvd::storage
