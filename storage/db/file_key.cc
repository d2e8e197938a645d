// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/db/file_key.h"

#include <string>
#include <utility>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"
#include "privacy/sodium.h"

namespace ruvd::storage {

absl::StatusOr<privacy::DataKey> ReadStoredSecret(const Database& database, std::string_view row,
                                                  std::string_view what) {
  ASSIGN_OR_RETURN(std::string stored, database.Get(ColumnFamily::kDefault, row));
  absl::StatusOr<privacy::DataKey> secret = privacy::DataKey::FromBytes(AsBytes(stored));
  privacy::SecureWipe({reinterpret_cast<uint8_t*>(stored.data()), stored.size()});
  if (!secret.ok()) {
    return Error(absl::StatusCode::kDataLoss, reasons::kStoreCorrupt,
                 "the key of {} is damaged; restore the store from a backup", what);
  }
  return secret;
}

absl::StatusOr<privacy::DataKey> StoredSecret(Database& database, std::string_view row,
                                              std::string_view what) {
  absl::StatusOr<privacy::DataKey> stored = ReadStoredSecret(database, row, what);
  if (!absl::IsNotFound(stored.status())) {
    return stored;
  }
  privacy::DataKey fresh = privacy::DataKey::Generate();
  Batch batch;
  batch.Put(ColumnFamily::kDefault, row, AsText(fresh.bytes()));
  RETURN_IF_ERROR(database.Write(std::move(batch), Durability::kPowerLoss));
  return fresh;
}

absl::StatusOr<privacy::SealKey> FileKey(Database& database, std::string_view row,
                                         std::string_view files) {
  ASSIGN_OR_RETURN(const privacy::DataKey secret, StoredSecret(database, row, files));
  return privacy::SealKey::FromBytes(secret.bytes());
}

}  // namespace ruvd::storage
