// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/api/synced_answers.h"

#include <utility>

namespace ruvd::api {

void SyncedAnswers::Finish(Done done) {
  {
    const MutexLock lock(mutex_);
    waiting_.push_back(std::move(done));
    if (posted_) {
      return;
    }
    posted_ = true;
  }
  executor_.Post([this] { SyncOnce(); });
}

// When a stopping server finishes its last call, this object may be destroyed, so it is not touched
// after its calls are finished.
void SyncedAnswers::SyncOnce() {
  std::vector<Done> calls;
  {
    const MutexLock lock(mutex_);
    calls.swap(waiting_);
  }
  const absl::Status status = patterns_.Sync();
  {
    const MutexLock lock(mutex_);
    posted_ = !waiting_.empty();
    if (posted_) {
      executor_.Post([this] { SyncOnce(); });
    }
  }
  for (const Done& done : calls) {
    lane_.Leave();
    done(status);
  }
}

}  // namespace ruvd::api
