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

// An item that travels between nodes, as it was verified: raw envelope bytes and payload.
struct FederatedItem {
  std::string header;
  std::string body;
  std::string signature;
  std::string payload;
  int64_t received_ms = 0;
};

// Items received from or offered to peers, by message id (SHA-256 of header and body). They are
// content-addressed: an id never changes its content. Stateless over the database, thread-safe.
class ItemStore {
 public:
  // `database` outlives the store.
  explicit ItemStore(Database& database) : database_(database) {}

  // Stores an item unless one with this id is stored already, which then stays as it is.
  // LIMIT_EXCEEDED (storage/limits.h), DISK_FULL and the other errors of Database::Write.
  absl::Status Put(const Digest& id, const FederatedItem& item);

  // kNotFound with reason NOT_FOUND.
  absl::StatusOr<FederatedItem> Get(const Digest& id) const;

  // Whether Get would find it; does not open the value.
  absl::StatusOr<bool> Contains(const Digest& id) const;

  // Shows all items in the order of their ids, as of one moment, until the callback returns false.
  // Rows that do not open or decode are passed over, their keys shown to `damaged`: a peer can send
  // them again.
  absl::Status ForEach(
      const std::function<bool(const Digest& id, const FederatedItem& item)>& callback,
      const std::function<void(std::string_view key)>& damaged) const;

  // Removes such rows, so that their items can be stored again. OK too where there is none.
  absl::Status DeleteDamaged(std::span<const std::string> keys);

  // OK too where there is no such item.
  absl::Status Delete(const Digest& id);

 private:
  Database& database_;
};

// The plaintext of an item's row. STORE_CORRUPT for bytes that EncodeItem does not make.
std::string EncodeItem(const FederatedItem& item);
absl::StatusOr<FederatedItem> DecodeItem(std::string_view bytes);

}  // namespace ruvd::storage
