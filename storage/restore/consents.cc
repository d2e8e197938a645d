// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/restore/consents.h"

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"
#include "privacy/consent/user_consent.h"
#include "storage/consent/consent_rows.h"
#include "storage/consent/consent_store.h"

namespace ruvd::storage {
namespace {

constexpr size_t kChangesPerBatch = 1000;

// Returns when a consent was given or withdrawn; for rows of items, which do not change, 0.
absl::StatusOr<int64_t> TimeOf(std::string_view key, std::string_view value) {
  if (key == consent_rows::kOperatorKey) {
    ASSIGN_OR_RETURN(const privacy::ConsentRecord record, DecodeConsent(value));
    return record.since_ms;
  }
  if (key.starts_with(consent_rows::kUserPrefix)) {
    ASSIGN_OR_RETURN(const privacy::UserConsent record,
                     privacy::UserConsent::Parse(AsBytes(value)));
    return record.granted_ms;
  }
  return 0;
}

}  // namespace

absl::Status CarryConsents(const Database& present, Database& restored) {
  std::map<std::string, int64_t, std::less<>> known;  // what the backup has, by key
  const absl::Status scanned = restored.Scan(
      ColumnFamily::kConsent, "", "",
      [&](const RowView& row) -> absl::StatusOr<bool> {
        // A damaged row gives way to any other.
        known.emplace(row.key,
                      TimeOf(row.key, row.value).value_or(std::numeric_limits<int64_t>::min()));
        return true;
      },
      [](std::string_view) -> absl::StatusOr<bool> { return true; });
  RETURN_IF_ERROR(scanned);
  Batch batch;
  size_t changes = 0;
  const auto copy = [&](const RowView& row) -> absl::StatusOr<bool> {
    ASSIGN_OR_RETURN(const int64_t time_ms, TimeOf(row.key, row.value));
    const auto backup = known.find(row.key);
    if (backup != known.end() && backup->second > time_ms) {
      return true;
    }
    batch.Put(ColumnFamily::kConsent, row.key, row.value, row.generation);
    if (++changes % kChangesPerBatch == 0) {
      // The restored store is used only once all of it is complete.
      RETURN_IF_ERROR(restored.Write(std::exchange(batch, {}), Durability::kProcessCrash));
    }
    return true;
  };
  const absl::Status copied = present.Scan(ColumnFamily::kConsent, "", "", copy);
  RETURN_IF_ERROR(copied);
  return restored.Write(std::move(batch), Durability::kPowerLoss);
}

absl::Status SuspendConsent(Database& restored) {
  const absl::Status suspended = ConsentStore(restored).Suspend();
  if (!absl::IsDataLoss(suspended)) {
    return suspended;
  }
  Batch batch;  // a row that says nothing allows nothing
  batch.Delete(ColumnFamily::kConsent, consent_rows::kOperatorKey);
  return restored.Write(std::move(batch), Durability::kPowerLoss);
}

}  // namespace ruvd::storage
