// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/db/file_key.h"

#include <array>
#include <string>
#include <utility>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"
#include "privacy/sodium.h"

namespace ruvd::storage {

absl::StatusOr<privacy::SealKey> FileKey(Database& database, std::string_view row,
                                         std::string_view files) {
  absl::StatusOr<std::string> stored = database.Get(ColumnFamily::kDefault, row);
  if (absl::IsNotFound(stored.status())) {
    std::array<uint8_t, privacy::kSealKeyBytes> fresh;
    privacy::SecureRandomBytes(fresh);
    Batch batch;
    batch.Put(ColumnFamily::kDefault, row, AsText(fresh));
    const absl::Status written = database.Write(std::move(batch), Durability::kPowerLoss);
    absl::StatusOr<privacy::SealKey> key = privacy::SealKey::FromBytes(fresh);
    privacy::SecureWipe(fresh);
    RETURN_IF_ERROR(written);
    return key;
  }
  RETURN_IF_ERROR(stored.status());
  absl::StatusOr<privacy::SealKey> key = privacy::SealKey::FromBytes(AsBytes(*stored));
  privacy::SecureWipe({reinterpret_cast<uint8_t*>(stored->data()), stored->size()});
  if (!key.ok()) {
    return Error(absl::StatusCode::kDataLoss, reasons::kStoreCorrupt,
                 "the key of {} is damaged; restore the store from a backup", files);
  }
  return key;
}

}  // namespace ruvd::storage
