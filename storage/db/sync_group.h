// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <functional>

#include "absl/status/status.h"
#include "base/mutex.h"

namespace ruvd::storage::db {

// Lets concurrent callers share an fsync: while one is running, new callers gather, and the next
// one serves them all. Thread-safe.
class SyncGroup {
 public:
  // `sync` makes everything durable that was written before it was called. Only one call runs at a
  // time.
  explicit SyncGroup(std::function<absl::Status()> sync) : sync_(std::move(sync)) {}

  // Waits for a sync that began after this call began, and returns its result.
  absl::Status Sync();

 private:
  const std::function<absl::Status()> sync_;
  Mutex mutex_;
  CondVar ended_;
  bool running_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t begun_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t done_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Status last_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace ruvd::storage::db
