// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/bytes.h"
#include "privacy/consent/user_consent.h"
#include "storage/db/database.h"
#include "storage/patterns/pattern.h"

namespace ruvd::storage {

// What an update that left this node was made of.
struct ReleaseSources {
  Digest item{};  // message id
  int64_t created_ms = 0;
  std::map<PatternId, int64_t> patterns;  // whose cores it is the mean of, with their updated_ms
  std::vector<privacy::Contributor> contributors;  // whose lessons those were trained on, each once
  bool operator==(const ReleaseSources&) const = default;
};

// The sources of this node's own updates, one row for each. Patterns change and go after they were
// released; who is in a noised update nobody can tell from its values. Stateless over the database,
// thread-safe.
class ReleaseSourceStore {
 public:
  // `database` outlives the store.
  explicit ReleaseSourceStore(Database& database) : database_(database) {}

  // In the order of their items. Rows that do not open or decode are left out: whoever holds such
  // an item does not know whose it is. The errors of Database::Scan.
  absl::StatusOr<std::vector<ReleaseSources>> All() const;

  // Fsynced before it returns.
  absl::Status Put(const ReleaseSources& sources);

  // OK too where there is no such row.
  absl::Status Delete(std::span<const Digest> items);

 private:
  Database& database_;
};

// What is wrong with the plaintext of such a row. STORE_CORRUPT.
absl::Status CheckReleaseSourceRow(std::string_view key, std::string_view value);

}  // namespace ruvd::storage
