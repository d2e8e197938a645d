// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/api/synced_answers.h"

#include <grpcpp/grpcpp.h>

#include "node/api/rpc_status.h"

namespace ruvd::api {

void SyncedAnswers::Finish(grpc::ServerUnaryReactor* reactor) {
  {
    const MutexLock lock(mutex_);
    waiting_.push_back(reactor);
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
  std::vector<grpc::ServerUnaryReactor*> calls;
  {
    const MutexLock lock(mutex_);
    calls.swap(waiting_);
  }
  const grpc::Status status = ToRpcStatus(patterns_.Sync());
  {
    const MutexLock lock(mutex_);
    posted_ = !waiting_.empty();
    if (posted_) {
      executor_.Post([this] { SyncOnce(); });
    }
  }
  for (grpc::ServerUnaryReactor* call : calls) {
    lane_.Leave();
    call->Finish(status);
  }
}

}  // namespace ruvd::api
