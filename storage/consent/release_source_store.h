// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/bytes.h"
#include "privacy/consent/user_consent.h"
#include "storage/db/database.h"

namespace ruvd::storage {

// The people whose lessons are in a contribution, verdict or expert that left this node.
struct ReleaseSources {
  Digest item{};  // message id
  int64_t created_ms = 0;
  // People, each once
  std::vector<privacy::Contributor> contributors;
  bool operator==(const ReleaseSources&) const = default;
};

// The sources of what this node offers, one row for each item. They must be stored because lessons
// change and disappear after a release, and the values of an item do not show who is in it.
// It has no state besides the database. Thread-safe.
class ReleaseSourceStore {
 public:
  // `database` must outlive the store.
  explicit ReleaseSourceStore(Database& database) : database_(database) {}

  // Returns all sources in the order of their items. Rows that do not open or decode are left out,
  // so the contributors of such an item are unknown. Returns an error of Database::Scan.
  absl::StatusOr<std::vector<ReleaseSources>> All() const;

  // Stores sources and fsyncs them before returning.
  absl::Status Put(const ReleaseSources& sources);

  // Deletes the rows of items; a missing row is not an error.
  absl::Status Delete(std::span<const Digest> items);

 private:
  Database& database_;
};

// Returns STORE_CORRUPT if the plaintext of such a row is wrong.
absl::Status CheckReleaseSourceRow(std::string_view key, std::string_view value);

}  // namespace ruvd::storage
