// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/consent/withdrawal_store.h"

#include <string>
#include <utility>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"
#include "storage/db/row_key.h"

namespace ruvd {
namespace {

constexpr char kWithdrawalPrefix[] = "w/";

// With a hash, since one moment may need several records.
std::string WithdrawalKey(const Withdrawal& withdrawal) {
  return RowKey()
      .Text(kWithdrawalPrefix)
      .U64(static_cast<uint64_t>(withdrawal.withdrawn_ms))
      .Bytes(Sha256(std::string_view(withdrawal.Encode())))
      .Take();
}

}  // namespace

absl::StatusOr<std::vector<Withdrawal>> WithdrawalStore::All() const {
  std::vector<Withdrawal> all;
  RETURN_IF_ERROR(database_.Scan(
      ColumnFamily::kConsent, kWithdrawalPrefix, EndOfPrefix(kWithdrawalPrefix),
      [&all](const RowView& view) -> absl::StatusOr<bool> {
        absl::StatusOr<Withdrawal> withdrawal = Withdrawal::Parse(AsBytes(view.value));
        if (!withdrawal.ok()) {
          return Error(absl::StatusCode::kDataLoss, reasons::kStoreCorrupt,
                       "a withdrawal does not decode; restore a backup of the store");
        }
        all.push_back(*std::move(withdrawal));
        return true;
      }));
  return all;
}

absl::Status WithdrawalStore::Put(const Withdrawal& withdrawal) {
  Batch batch;
  batch.Put(ColumnFamily::kConsent, WithdrawalKey(withdrawal), withdrawal.Encode());
  return database_.Write(std::move(batch), Durability::kPowerLoss);
}

}  // namespace ruvd
