// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/db/sync_group.h"

namespace ruvd::storage::db {

absl::Status SyncGroup::Sync() {
  const MutexLock lock(mutex_);
  const uint64_t wanted = begun_ + 1;
  while (done_ < wanted) {
    if (running_) {
      ended_.Wait(mutex_);
      continue;
    }
    running_ = true;
    ++begun_;
    mutex_.Unlock();
    const absl::Status status = sync_();
    mutex_.Lock();
    running_ = false;
    done_ = begun_;
    last_ = status;
    ended_.NotifyAll();
  }
  // A failure is permanent (see FailureLatch), so a later result is never better than ours.
  return last_;
}

}  // namespace ruvd::storage::db
