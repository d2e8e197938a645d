// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/counters/store_incarnation.h"

#include <array>
#include <optional>
#include <string>
#include <utility>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"
#include "privacy/sodium.h"

namespace ruvd::storage {
namespace {

// Returns nullopt when the row is missing or damaged: both end a life.
absl::StatusOr<std::optional<uint64_t>> ReadLife(const Database& database) {
  const absl::StatusOr<std::string> row = database.Get(ColumnFamily::kDefault, kStoreLifeRow);
  if (absl::IsNotFound(row.status()) || absl::IsDataLoss(row.status())) {
    return std::nullopt;
  }
  RETURN_IF_ERROR(row.status());
  return ByteReader(AsBytes(*row)).Read<uint64_t>();
}

}  // namespace

absl::StatusOr<uint64_t> StoreIncarnation(Database& database) {
  if (!database.recovery().remembered) {
    // The store still has the row of the life that ended with the loss.
    return privacy::SecureRandomNumber();
  }
  ASSIGN_OR_RETURN(std::optional<uint64_t> life, ReadLife(database));
  if (!life) {
    RETURN_IF_ERROR(BeginStoreIncarnation(database));
    ASSIGN_OR_RETURN(life, ReadLife(database));
  }
  if (!life) {
    return Error(absl::StatusCode::kDataLoss, reasons::kStoreCorrupt,
                 "the number of the store's life was written and cannot be read; check the disk");
  }
  return *life;
}

absl::Status BeginStoreIncarnation(Database& database) {
  std::array<uint8_t, sizeof(uint64_t)> life;
  privacy::SecureRandomBytes(life);
  Batch batch;
  batch.Put(ColumnFamily::kDefault, kStoreLifeRow, AsText(life));
  return database.Write(std::move(batch), Durability::kPowerLoss);
}

}  // namespace ruvd::storage
