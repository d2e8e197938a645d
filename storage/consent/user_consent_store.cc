// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/consent/user_consent_store.h"

#include <string>
#include <utility>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"
#include "storage/consent/consent_rows.h"
#include "storage/db/row_key.h"

namespace ruvd::storage {
namespace {

// Returns the record of a row if it belongs to the row's key.
absl::StatusOr<privacy::UserConsent> DecodeRow(std::string_view key, std::string_view value) {
  absl::StatusOr<privacy::UserConsent> record = privacy::UserConsent::Parse(AsBytes(value));
  if (!record.ok() || key != UserConsentStore::KeyOf(record->subject)) {
    return Error(absl::StatusCode::kDataLoss, reasons::kStoreCorrupt,
                 "a consent of a user does not decode or belongs to another user; no data that it "
                 "may concern is shared until a backup is restored or the user is asked again");
  }
  return record;
}

}  // namespace

std::string UserConsentStore::KeyOf(const privacy::ConsentSubject& subject) {
  ByteWriter writer;
  writer.Write(static_cast<uint8_t>(subject.kind)).WriteText(subject.id);
  return std::string(consent_rows::kUserPrefix).append(AsText(Sha256(AsBytes(writer.Take()))));
}

absl::Status CheckUserConsentRow(std::string_view key, std::string_view value) {
  return DecodeRow(key, value).status();
}

absl::StatusOr<UserConsentStore::Records> UserConsentStore::All() const {
  Records records;
  const auto damaged = [&records](std::string_view key) -> absl::StatusOr<bool> {
    records.damaged.emplace(key);
    return true;
  };
  const auto read = [&](const RowView& view) -> absl::StatusOr<bool> {
    absl::StatusOr<privacy::UserConsent> record = DecodeRow(view.key, view.value);
    if (!record.ok()) {
      return damaged(view.key);
    }
    records.read.push_back(*std::move(record));
    return true;
  };
  RETURN_IF_ERROR(database_.Scan(ColumnFamily::kConsent, consent_rows::kUserPrefix,
                                 EndOfPrefix(consent_rows::kUserPrefix), read, damaged));
  return records;
}

absl::Status UserConsentStore::Put(const privacy::UserConsent& record) {
  Batch batch;
  batch.Put(ColumnFamily::kConsent, KeyOf(record.subject), record.Encode());
  return database_.Write(std::move(batch), Durability::kPowerLoss);
}

}  // namespace ruvd::storage
