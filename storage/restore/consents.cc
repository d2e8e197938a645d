// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/restore/consents.h"

#include <string_view>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "storage/consent/consent_rows.h"
#include "storage/consent/consent_store.h"

namespace ruvd::storage {
namespace {

constexpr size_t kChangesPerBatch = 1000;

// The restored store keeps what it knows of its own items, which may be older than those of the
// present store.
bool IsOfItem(std::string_view key) {
  return key.starts_with(consent_rows::kReleasePrefix);
}

}  // namespace

absl::Status CarryConsents(const Database& present, Database& restored) {
  Batch batch;
  size_t changes = 0;
  // The restored store is used only once all of it is complete, so it may be written in parts.
  const auto write_if_full = [&]() -> absl::StatusOr<bool> {
    if (++changes % kChangesPerBatch == 0) {
      RETURN_IF_ERROR(restored.Write(std::exchange(batch, {}), Durability::kProcessCrash));
    }
    return true;
  };
  const auto remove = [&](std::string_view key) -> absl::StatusOr<bool> {
    if (IsOfItem(key)) {
      return true;
    }
    batch.Delete(ColumnFamily::kConsent, key);
    return write_if_full();
  };
  const absl::Status removed = restored.Scan(
      ColumnFamily::kConsent, "", "", [&](const RowView& row) { return remove(row.key); }, remove);
  RETURN_IF_ERROR(removed);
  const absl::Status copied = present.Scan(
      ColumnFamily::kConsent, "", "",
      [&](const RowView& row) {
        batch.Put(ColumnFamily::kConsent, row.key, row.value, row.generation);
        return write_if_full();
      },
      [](std::string_view) -> absl::StatusOr<bool> {
        return Error(absl::StatusCode::kDataLoss, reasons::kStoreCorrupt,
                     "a consent of the present store does not open");
      });
  RETURN_IF_ERROR(copied);
  return restored.Write(std::move(batch), Durability::kPowerLoss);
}

absl::Status SuspendConsent(Database& restored) {
  return ConsentStore(restored).Suspend();
}

}  // namespace ruvd::storage
