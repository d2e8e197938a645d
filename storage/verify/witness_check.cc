// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <string>

#include "base/bytes.h"
#include "storage/db/row_key.h"
#include "storage/verify/row_checks.h"
#include "storage/verify/row_problems.h"
#include "storage/witness/witness_rows.h"

namespace ruvd::storage {
namespace {

constexpr ColumnFamily kWitnessFamily = ColumnFamily::kWitness;

// Checks a record, its embeddings and the row that finds it by its id.
absl::Status CheckRecord(const Database& database, const RowView& row, RowProblems* complaints) {
  const absl::StatusOr<WitnessEntry> entry = witness::DecodeRecord(row.value);
  if (!complaints->Ok(row.key, entry.status())) {
    return absl::OkStatus();
  }
  if (row.key != witness::RecordKey(entry->timestamp_ms, entry->request_id)) {
    complaints->Add(row.key, "it holds another entry");
  }
  if (!entry->of_user) {  // an erasure may have removed a user's embeddings
    RETURN_IF_ERROR(
        complaints->Expect(database, kWitnessFamily, row.key, witness::EmbeddingsKey(row.key)));
  }
  return complaints->Expect(database, kWitnessFamily, row.key, witness::IdKey(entry->request_id));
}

// Checks the row that finds an entry by its id. An entry that does not decode is reported itself.
absl::Status CheckIdRow(const Database& database, const RowView& row, RowProblems* complaints) {
  const absl::StatusOr<std::string> stored = database.Get(kWitnessFamily, row.value);
  if (absl::IsNotFound(stored.status())) {
    return complaints->Expect(database, kWitnessFamily, row.key, row.value);
  }
  const auto entry =
      stored.ok() ? witness::DecodeRecord(*stored) : absl::StatusOr<WitnessEntry>(stored.status());
  if (entry.ok() && row.key != witness::IdKey(entry->request_id)) {
    complaints->Add(row.key, "it leads to another entry");
  }
  return absl::OkStatus();
}

absl::Status CheckOther(const Database& database, const RowView& row, RowProblems* complaints) {
  WitnessEntry entry;
  if (row.key.starts_with(witness::kEmbeddingsPrefix)) {
    complaints->Ok(row.key, witness::DecodeEmbeddings(row.value, &entry));
    return complaints->Expect(database, kWitnessFamily, row.key, witness::RecordKeyBeside(row.key));
  }
  if (row.key.starts_with(witness::kIdPrefix)) {
    return CheckIdRow(database, row, complaints);
  }
  if (row.key == witness::kExpiryKey) {
    complaints->Ok(row.key, witness::DecodeExpiry(row.value).status());
  } else if (row.key != witness::kCountKey) {
    complaints->Add(row.key, "this is not a key of the witness log");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckWitnessRows(Database& database, StoreReport* report) {
  RowProblems complaints("witness", report);
  uint64_t records = 0;
  const auto check = [&](const RowView& row) -> absl::StatusOr<bool> {
    if (row.key.starts_with(witness::kRecordPrefix)) {
      ++records;
      RETURN_IF_ERROR(CheckRecord(database, row, &complaints));
    } else {
      RETURN_IF_ERROR(CheckOther(database, row, &complaints));
    }
    return true;
  };
  bool whole = true;
  const auto pass = [&](std::string_view) -> absl::StatusOr<bool> {
    whole = false;
    return true;
  };
  RETURN_IF_ERROR(database.Scan(kWitnessFamily, "", "", check, pass));
  const absl::StatusOr<uint64_t> count = witness::ReadCount(database);
  if (complaints.Ok(witness::kCountKey, count.status()) && whole && *count != records) {
    complaints.Add(witness::kCountKey,
                   fmt::format("there are {} entries, but the count is {}", records, *count));
  }
  return absl::OkStatus();
}

}  // namespace ruvd::storage
