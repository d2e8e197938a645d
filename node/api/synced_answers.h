// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <grpcpp/grpcpp.h>

#include <vector>

#include "base/executor.h"
#include "base/mutex.h"
#include "node/api/query_lane.h"
#include "storage/patterns/pattern_store.h"

namespace ruvd::api {

// Finishes calls of a lane once what they wrote is durable. Those that come while an fsync runs
// share the next one, so that many writers cost few of them and no thread of a lane waits for the
// disk. Thread-safe; outlives its calls, and what it is given outlives it.
class SyncedAnswers {
 public:
  SyncedAnswers(Executor* executor, QueryLane* lane, storage::PatternStore* patterns)
      : executor_(*executor), lane_(*lane), patterns_(*patterns) {}
  SyncedAnswers(const SyncedAnswers&) = delete;
  SyncedAnswers& operator=(const SyncedAnswers&) = delete;

  // Finishes the call, with OK only after a sync that covers what was written before this.
  void Finish(grpc::ServerUnaryReactor* reactor);

 private:
  // One fsync for all that wait.
  void SyncOnce();

  Executor& executor_;
  QueryLane& lane_;
  storage::PatternStore& patterns_;
  Mutex mutex_;
  std::vector<grpc::ServerUnaryReactor*> waiting_ ABSL_GUARDED_BY(mutex_);
  bool posted_ ABSL_GUARDED_BY(mutex_) = false;  // SyncOnce, or it runs
};

}  // namespace ruvd::api
