// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/consent/withdrawal_store.h"

#include <string>
#include <utility>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"
#include "storage/consent/consent_rows.h"
#include "storage/db/row_key.h"

namespace ruvd::storage {
namespace {

// The key contains a hash, because one moment may have several records.
std::string WithdrawalKey(const privacy::Withdrawal& withdrawal) {
  return RowKey()
      .Text(consent_rows::kWithdrawalPrefix)
      .U64(static_cast<uint64_t>(withdrawal.withdrawn_ms))
      .Bytes(Sha256(std::string_view(withdrawal.Encode())))
      .Take();
}

// Returns the record of a row if it belongs to the row's key.
absl::StatusOr<privacy::Withdrawal> DecodeRow(std::string_view key, std::string_view value) {
  absl::StatusOr<privacy::Withdrawal> withdrawal = privacy::Withdrawal::Parse(AsBytes(value));
  if (!withdrawal.ok() || key != WithdrawalKey(*withdrawal)) {
    return Error(absl::StatusCode::kDataLoss, reasons::kStoreCorrupt,
                 "a withdrawal does not decode or is stored under the key of another one; restore "
                 "a backup of the store");
  }
  return withdrawal;
}

}  // namespace

absl::Status CheckWithdrawalRow(std::string_view key, std::string_view value) {
  return DecodeRow(key, value).status();
}

absl::StatusOr<std::vector<privacy::Withdrawal>> WithdrawalStore::All() const {
  std::vector<privacy::Withdrawal> all;
  RETURN_IF_ERROR(database_.Scan(ColumnFamily::kConsent, consent_rows::kWithdrawalPrefix,
                                 EndOfPrefix(consent_rows::kWithdrawalPrefix),
                                 [&all](const RowView& view) -> absl::StatusOr<bool> {
                                   ASSIGN_OR_RETURN(privacy::Withdrawal withdrawal,
                                                    DecodeRow(view.key, view.value));
                                   all.push_back(std::move(withdrawal));
                                   return true;
                                 }));
  return all;
}

absl::Status WithdrawalStore::Put(const privacy::Withdrawal& withdrawal) {
  Batch batch;
  batch.Put(ColumnFamily::kConsent, WithdrawalKey(withdrawal), withdrawal.Encode());
  return database_.Write(std::move(batch), Durability::kPowerLoss);
}

}  // namespace ruvd::storage
