// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/consent/consent_store.h"

#include <cstring>
#include <utility>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"
#include "ruvd/storage/v1/storage.pb.h"
#include "storage/consent/consent_rows.h"

namespace ruvd::storage {
std::string EncodeConsent(const privacy::ConsentRecord& record, const SharedTotals& left,
                          bool suspended) {
  v1::ConsentRecord row;
  row.set_tier(static_cast<uint32_t>(record.tier));
  row.set_since_ms(record.since_ms);
  row.set_signature(std::string(AsText(record.signature)));
  row.set_plain_left(left.plain);
  row.set_bytes_sent(left.bytes_sent);
  row.set_suspended(suspended);
  return row.SerializeAsString();
}

absl::StatusOr<privacy::ConsentRecord> DecodeConsent(std::string_view bytes) {
  v1::ConsentRecord row;
  privacy::ConsentRecord record;
  if (!row.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) ||
      row.tier() < static_cast<uint32_t>(privacy::ConsentTier::kPrivate) ||
      row.tier() > static_cast<uint32_t>(privacy::ConsentTier::kPublic) ||
      row.signature().size() != record.signature.size()) {
    return Error(absl::StatusCode::kDataLoss, reasons::kStoreCorrupt,
                 "the consent row does not decode; nothing is shared until consent is set again");
  }
  record.tier = static_cast<privacy::ConsentTier>(row.tier());
  record.since_ms = row.since_ms();
  std::memcpy(record.signature.data(), row.signature().data(), record.signature.size());
  return record;
}

absl::StatusOr<std::optional<privacy::ConsentRecord>> ConsentStore::Get() const {
  const absl::StatusOr<std::string> row =
      database_.Get(ColumnFamily::kConsent, consent_rows::kOperatorKey);
  if (absl::IsNotFound(row.status())) {
    return std::nullopt;
  }
  RETURN_IF_ERROR(row.status());
  ASSIGN_OR_RETURN(const privacy::ConsentRecord record, DecodeConsent(*row));
  return record;
}

absl::Status ConsentStore::Set(const privacy::ConsentRecord& record) {
  const MutexLock lock(mutex_);
  return Write(record, LoadSharedTotals().value_or(SharedTotals{.plain = true}),
               /*suspended=*/false);
}

absl::Status ConsentStore::Suspend() {
  const MutexLock lock(mutex_);
  ASSIGN_OR_RETURN(const std::optional<privacy::ConsentRecord> record, Get());
  if (!record || record->tier == privacy::ConsentTier::kPrivate) {
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const SharedTotals left, LoadSharedTotals());
  return Write(*record, left, /*suspended=*/true);
}

absl::StatusOr<bool> ConsentStore::IsSuspended() const {
  ASSIGN_OR_RETURN(const std::optional<v1::ConsentRecord> row, GetRow());
  return row && row->suspended();
}

absl::StatusOr<std::optional<v1::ConsentRecord>> ConsentStore::GetRow() const {
  ASSIGN_OR_RETURN(const std::optional<privacy::ConsentRecord> record, Get());
  if (!record) {
    return std::nullopt;
  }
  ASSIGN_OR_RETURN(const std::string bytes,
                   database_.Get(ColumnFamily::kConsent, consent_rows::kOperatorKey));
  v1::ConsentRecord row;
  // Get has parsed the same bytes
  row.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
  return row;
}

absl::StatusOr<SharedTotals> ConsentStore::LoadSharedTotals() const {
  ASSIGN_OR_RETURN(const std::optional<v1::ConsentRecord> row, GetRow());
  return row ? SharedTotals{.plain = row->plain_left(), .bytes_sent = row->bytes_sent()}
             : SharedTotals();
}

absl::Status ConsentStore::StoreSharedTotals(const SharedTotals& left) {
  const MutexLock lock(mutex_);
  ASSIGN_OR_RETURN(const std::optional<privacy::ConsentRecord> record, Get());
  if (!record) {
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const bool suspended, IsSuspended());
  return Write(*record, left, suspended);
}

absl::Status ConsentStore::Write(const privacy::ConsentRecord& record, const SharedTotals& left,
                                 bool suspended) {
  Batch batch;
  batch.Put(ColumnFamily::kConsent, consent_rows::kOperatorKey,
            EncodeConsent(record, left, suspended));
  return database_.Write(std::move(batch), Durability::kPowerLoss);
}

}  // namespace ruvd::storage
