// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/bytes.h"
#include "storage/db/database.h"

namespace ruvd::storage {

// An item that travels between nodes, after verification: raw envelope bytes and payload.
struct FederatedItem {
  std::string header;
  std::string body;
  std::string signature;
  std::string payload;
  int64_t received_ms = 0;
};

// Items received from or offered to peers, by message id (SHA-256 of header and body). An id never
// changes its content. It has no state besides the database. Thread-safe.
class ItemStore {
 public:
  // `database` must outlive the store.
  explicit ItemStore(Database& database) : database_(database) {}

  // Stores an item; an item that is already stored under this id stays as it is. Returns
  // LIMIT_EXCEEDED (storage/limits.h), DISK_FULL or another error of Database::Write.
  absl::Status Put(const Digest& id, const FederatedItem& item);

  // Returns kNotFound with reason NOT_FOUND for an unknown id.
  absl::StatusOr<FederatedItem> Get(const Digest& id) const;

  // Returns whether there is a row for the id, without opening its value.
  absl::StatusOr<bool> Contains(const Digest& id) const;

  // Shows all items in the order of their ids, as they were at one moment, until the callback
  // returns false. Rows that do not open or decode are skipped and their keys are shown to
  // `damaged`: a peer can send these items again.
  absl::Status ForEach(
      const std::function<bool(const Digest& id, const FederatedItem& item)>& callback,
      const std::function<void(std::string_view key)>& damaged) const;

  // Removes damaged rows, so that their items can be stored again. A missing row is not an error.
  absl::Status DeleteDamaged(std::span<const std::string> keys);

  // Deletes an item. An unknown id is not an error.
  absl::Status Delete(const Digest& id);

 private:
  Database& database_;
};

// The plaintext of an item's row. DecodeItem returns STORE_CORRUPT for bytes that EncodeItem does
// not make.
std::string EncodeItem(const FederatedItem& item);
absl::StatusOr<FederatedItem> DecodeItem(std::string_view bytes);

}  // namespace ruvd::storage
