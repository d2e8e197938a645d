// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/executor.h"
#include "node/learning/deep.h"
#include "node/learning/deep_round.h"
#include "node/learning/learning_throttle.h"
#include "node/runtime/actor_system.h"

namespace ruvd::actors {

struct DeepActorOptions {
  learning::DeepServices services;
  learning::DeepOptions round;
  bool enabled = true;
  Duration interval{};       // between two rounds; zero: on demand only
  Executor* pool = nullptr;  // a thread of its own, or that of background rounds
  learning::LearningThrottle* throttle = nullptr;  // null: learning gives way to nobody
  // A piece of a round holds the pool's thread for so long; others go between.
  Duration piece = std::chrono::seconds(1);
};

// Starts the deep actor in `system`. An interrupted round goes on at once. Everything borrowed
// outlives the system.
std::unique_ptr<learning::DeepActor> StartDeepActor(runtime::ActorSystem& system,
                                                    const DeepActorOptions& options);

// Takes the version that a change published out of service; what was served before is served again.
// CANNOT_UNDO where it is gone already, or a newer version, which goes on from it, is served.
absl::Status WithdrawDeep(serving::AdapterCatalog& catalog, const storage::LearningChange& change);

}  // namespace ruvd::actors
