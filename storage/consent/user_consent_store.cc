// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/consent/user_consent_store.h"

#include <string>
#include <utility>

#include "base/bytes.h"
#include "base/status.h"
#include "storage/db/row_key.h"

namespace ruvd {
namespace {

constexpr char kUserConsentPrefix[] = "u/";

std::string UserConsentKey(const ConsentSubject& subject) {
  ByteWriter writer;
  writer.Write(static_cast<uint8_t>(subject.kind)).WriteText(subject.id);
  return std::string(kUserConsentPrefix).append(AsText(Sha256(AsBytes(writer.Take()))));
}

}  // namespace

absl::StatusOr<UserConsentStore::Records> UserConsentStore::All() const {
  Records records;
  const auto damaged = [&records](std::string_view) -> absl::StatusOr<bool> {
    ++records.damaged;
    return true;
  };
  const auto read = [&](const RowView& view) -> absl::StatusOr<bool> {
    absl::StatusOr<UserConsent> record = UserConsent::Parse(AsBytes(view.value));
    if (!record.ok() || view.key != UserConsentKey(record->subject)) {
      return damaged(view.key);
    }
    records.read.push_back(*std::move(record));
    return true;
  };
  RETURN_IF_ERROR(database_.Scan(ColumnFamily::kConsent, kUserConsentPrefix,
                                 EndOfPrefix(kUserConsentPrefix), read, damaged));
  return records;
}

absl::Status UserConsentStore::Put(const UserConsent& record) {
  Batch batch;
  batch.Put(ColumnFamily::kConsent, UserConsentKey(record.subject), record.Encode());
  return database_.Write(std::move(batch), Durability::kPowerLoss);
}

}  // namespace ruvd
