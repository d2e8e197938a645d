// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/counters/store_life.h"

#include <array>
#include <string>
#include <utility>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"
#include "privacy/sodium.h"

namespace ruvd {
namespace {

constexpr char kLifeKey[] = "life";

}  // namespace

absl::StatusOr<uint64_t> StoreLife(Database& database) {
  absl::StatusOr<std::string> row = database.Get(ColumnFamily::kDefault, kLifeKey);
  if (absl::IsNotFound(row.status())) {
    RETURN_IF_ERROR(BeginStoreLife(database));
    row = database.Get(ColumnFamily::kDefault, kLifeKey);
  }
  RETURN_IF_ERROR(row.status());
  const auto life = ByteReader(AsBytes(*row)).Read<uint64_t>();
  if (!life) {
    return Error(absl::StatusCode::kDataLoss, reasons::kStoreCorrupt,
                 "the row with the number of the store's life does not decode; restore the store "
                 "from a backup");
  }
  return *life;
}

absl::Status BeginStoreLife(Database& database) {
  std::array<uint8_t, sizeof(uint64_t)> life;
  SecureRandomBytes(life);
  Batch batch;
  batch.Put(ColumnFamily::kDefault, kLifeKey, AsText(life));
  return database.Write(std::move(batch), Durability::kPowerLoss);
}

}  // namespace ruvd
