// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "storage/db/database.h"

namespace ruvd::storage {

// Keeps counters that must never go back, whatever happens to the log. The boot counter is stored
// twice: in a sealed row and in a fsynced file of its own ("boot-counter" in the store's folder),
// because point-in-time recovery after damage to the log silently drops the newest rows. The
// greater of the two counts. Thread-safe.
class CounterStore {
 public:
  // `database` must outlive the store.
  explicit CounterStore(Database& database);

  // Returns a number from 1 on that is greater than every one returned before, by this or any
  // earlier process. It is on disk and fsynced before the call returns. Returns STORE_CORRUPT when
  // the file is not a counter, or an error of Database::Write or WriteFileAtomically; a failed call
  // may skip a number.
  absl::StatusOr<uint64_t> NextBoot();

 private:
  absl::StatusOr<uint64_t> ReadRow() const;
  absl::StatusOr<uint64_t> ReadFileCounter() const;

  Database& database_;
  const std::string file_;
  Mutex mutex_;
};

}  // namespace ruvd::storage
