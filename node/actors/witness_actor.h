// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "node/runtime/actor_system.h"
#include "node/serving/erasure_fence.h"
#include "node/serving/request_trace.h"
#include "storage/sessions/session_index.h"
#include "storage/witness/witness_log.h"

namespace ruvd::actors {

struct WitnessActorOptions {
  const Clock* clock = nullptr;
  storage::WitnessLog* log = nullptr;
  storage::SessionIndex* sessions = nullptr;
  serving::ErasureFence* fence = nullptr;  // null: users are not erased
};

// Starts the actor behind the witness log and the session index. It writes queued entries when they
// are due, records the turns of conversations, expires old entries while the wall clock can be
// trusted, and writes the rest when it stops. Everything borrowed must outlive the system. Returns
// the errors of reading the log.
absl::StatusOr<std::unique_ptr<serving::RequestRecorder>> StartWitnessActor(
    runtime::ActorSystem& system, const WitnessActorOptions& options);

}  // namespace ruvd::actors
