// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/items/item_store.h"

#include <cstring>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "ruvd/storage/v1/storage.pb.h"
#include "storage/limits.h"

namespace ruvd::storage {
namespace {

absl::Status Corrupt() {
  return Error(absl::StatusCode::kDataLoss, reasons::kStoreCorrupt,
               "a row of a federated item does not decode; restore the store from a backup");
}

absl::Status Check(const FederatedItem& item) {
  const size_t envelope = item.header.size() + item.body.size() + item.signature.size();
  if (envelope > limits::kMaxItemEnvelopeBytes ||
      item.payload.size() > limits::kMaxItemPayloadBytes) {
    return Error(
        absl::StatusCode::kInvalidArgument, reasons::kLimitExceeded,
        "a federated item has an envelope of {} and a payload of {} bytes, but the limits are "
        "{} and {}; refuse it",
        envelope, item.payload.size(), limits::kMaxItemEnvelopeBytes, limits::kMaxItemPayloadBytes);
  }
  return absl::OkStatus();
}

}  // namespace

std::string EncodeItem(const FederatedItem& item) {
  v1::FederatedItem row;
  row.set_header(item.header);
  row.set_body(item.body);
  row.set_signature(item.signature);
  row.set_payload(item.payload);
  row.set_received_ms(item.received_ms);
  return row.SerializeAsString();
}

absl::StatusOr<FederatedItem> DecodeItem(std::string_view bytes) {
  v1::FederatedItem row;
  if (!row.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return Corrupt();
  }
  return FederatedItem{.header = std::move(*row.mutable_header()),
                       .body = std::move(*row.mutable_body()),
                       .signature = std::move(*row.mutable_signature()),
                       .payload = std::move(*row.mutable_payload()),
                       .received_ms = row.received_ms()};
}

absl::Status ItemStore::Put(const Digest& id, const FederatedItem& item) {
  RETURN_IF_ERROR(Check(item));
  ASSIGN_OR_RETURN(const bool stored, Contains(id));
  if (stored) {
    return absl::OkStatus();
  }
  Batch batch;
  batch.Put(ColumnFamily::kItem, AsText(id), EncodeItem(item));
  return database_.Write(std::move(batch), Durability::kProcessCrash);
}

absl::StatusOr<FederatedItem> ItemStore::Get(const Digest& id) const {
  ASSIGN_OR_RETURN(const std::string row, database_.Get(ColumnFamily::kItem, AsText(id)));
  return DecodeItem(row);
}

absl::StatusOr<bool> ItemStore::Contains(const Digest& id) const {
  return database_.Contains(ColumnFamily::kItem, AsText(id));
}

absl::Status ItemStore::ForEach(
    const std::function<bool(const Digest& id, const FederatedItem& item)>& callback,
    const std::function<void(std::string_view key)>& damaged) const {
  const auto pass_over = [&](std::string_view key) -> absl::StatusOr<bool> {
    damaged(key);
    return true;
  };
  const auto show = [&](const RowView& row) -> absl::StatusOr<bool> {
    Digest id;
    const absl::StatusOr<FederatedItem> item = DecodeItem(row.value);
    if (row.key.size() != id.size() || !item.ok()) {
      return pass_over(row.key);
    }
    std::memcpy(id.data(), row.key.data(), id.size());
    return callback(id, *item);
  };
  return database_.Scan(ColumnFamily::kItem, "", "", show, pass_over);
}

absl::Status ItemStore::DeleteDamaged(std::span<const std::string> keys) {
  Batch batch;
  batch.MarkFreesSpace();
  for (const std::string& key : keys) {
    batch.Delete(ColumnFamily::kItem, key);
  }
  return keys.empty() ? absl::OkStatus()
                      : database_.Write(std::move(batch), Durability::kProcessCrash);
}

absl::Status ItemStore::Delete(const Digest& id) {
  Batch batch;
  batch.Delete(ColumnFamily::kItem, AsText(id));
  return database_.Write(std::move(batch), Durability::kProcessCrash);
}

}  // namespace ruvd::storage
