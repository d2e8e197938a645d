// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "storage/db/database.h"

namespace ruvd::storage {

// Counters that must never go back, whatever happens to the log. The boot counter lives twice: in a
// sealed row and in a fsynced file of its own ("boot-counter" in the store's folder), because
// point-in-time recovery after damage to the log silently drops the newest rows. The greater of
// the two counts. Thread-safe.
class CounterStore {
 public:
  // `database` outlives the store.
  explicit CounterStore(Database& database);

  // A number greater than every one returned before, by this or any earlier process, from 1; on
  // disk, fsynced, before it returns. STORE_CORRUPT where the file is not a counter, the errors of
  // Database::Write and WriteFileAtomically; a failed call may skip a number.
  absl::StatusOr<uint64_t> NextBoot();

 private:
  absl::StatusOr<uint64_t> ReadRow() const;
  absl::StatusOr<uint64_t> ReadFileCounter() const;

  Database& database_;
  const std::string file_;
  Mutex mutex_;
};

}  // namespace ruvd::storage
