// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/bytes.h"
#include "storage/db/database.h"

namespace ruvd::storage {

// The patterns of one model package, which no other model can use.
struct PatternCollection {
  uint32_t number = 0;
  Digest model_hash{};  // id of the model package; zero when the row cannot be read
  uint32_t dimension = 0;
  int64_t created_ms = 0;
  size_t patterns = 0;  // live ones
  bool damaged = false;
};

// Returns the collections of a store, by number. It reads every row of the family slot.
absl::StatusOr<std::vector<PatternCollection>> ListPatternCollections(const Database& database);

// Makes a collection's patterns unreadable and removes them: destroys the data key of its scope and
// deletes its rows. Tombstones are removed too: a peer may offer a pattern again that was deleted
// here. The store begins a new life, so followers of the log of changes list all patterns again.
// The empty collection stays for the model that made it. No PatternStore may be open on it. After
// an interruption, call it again. Deleted bytes leave the files with Database::Compact. Returns
// NOT_FOUND for an unknown number, or an error of Database.
absl::Status ErasePatternCollection(Database& database, uint32_t number);

}  // namespace ruvd::storage
