// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

#include "base/clock.h"
#include "base/executor.h"
#include "node/runtime/actor_system.h"
#include "node/serving/extensions/pattern_graph.h"
#include "storage/db/database.h"
#include "storage/patterns/pattern_store.h"

namespace ruvd::actors {

// How often patterns of peers were made durable. Thread-safe.
struct PeerCommits {
  std::atomic<uint64_t> commits{0};  // since the start
  // Changes that waited for a commit together with another one, since the start. A client's change
  // that was under way at that time counts, too.
  std::atomic<uint64_t> put_off{0};
};

struct MaintenanceOptions {
  storage::Database* database = nullptr;
  storage::PatternStore* patterns = nullptr;
  serving::PatternGraph* graph = nullptr;  // null: there are no relations to maintain
  Executor* pool = nullptr;                // low priority; one round runs on it at a time
  std::function<bool()> cancelled;         // ends a round between two of its steps
  Duration period = std::chrono::seconds(1);
  PeerCommits* commits = nullptr;  // null: not counted
};

// Starts the actor that maintains the store while the node serves, in short rounds off the request
// path. It makes patterns of peers durable, with one fsync for all that came since the last round.
// It re-seals values of retired data keys (including those of a rotation that was interrupted
// before the start), removes keys of users without rows, lets the pattern store link, repair,
// expire, evict and write checkpoints, and removes relations of deleted sessions and patterns. A
// failure is reported once per reason and tried again. Patterns removed without a request are
// reported as sums, at most once a minute. Everything borrowed must outlive the system.
void StartMaintenanceActor(runtime::ActorSystem& system, const MaintenanceOptions& options);

}  // namespace ruvd::actors
