// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "base/executor.h"
#include "base/mutex.h"
#include "node/api/query_lane.h"
#include "storage/patterns/pattern_store.h"

namespace ruvd::api {

// Finishes calls of a lane once their writes are durable. Calls that arrive during an fsync share
// the next one, so that many writers need few of them and no thread of a lane waits for the disk.
// Thread-safe. This object must outlive its calls, and the borrowed objects must outlive it.
class SyncedAnswers {
 public:
  SyncedAnswers(Executor* executor, QueryLane* lane, storage::PatternStore* patterns)
      : executor_(*executor), lane_(*lane), patterns_(*patterns) {}
  SyncedAnswers(const SyncedAnswers&) = delete;
  SyncedAnswers& operator=(const SyncedAnswers&) = delete;

  using Done = std::function<void(const absl::Status&)>;
  // Calls `done` once, which finishes the call: with OK only after a sync that covers all writes
  // before this one.
  void Finish(Done done);

 private:
  // Makes one fsync for all waiting calls.
  void SyncOnce();

  Executor& executor_;
  QueryLane& lane_;
  storage::PatternStore& patterns_;
  Mutex mutex_;
  std::vector<Done> waiting_ ABSL_GUARDED_BY(mutex_);
  bool posted_ ABSL_GUARDED_BY(mutex_) = false;  // SyncOnce is posted or running
};

}  // namespace ruvd::api
