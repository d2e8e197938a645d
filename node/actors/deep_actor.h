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
  learning::LearningThrottle* throttle = nullptr;  // null: learning gives way to no one
  // A piece of a round uses the pool's thread for about this long; other work runs in between.
  Duration piece = std::chrono::seconds(1);
};

// Starts the deep actor in `system`. An interrupted round resumes at once. Everything borrowed must
// outlive the system.
std::unique_ptr<learning::DeepActor> StartDeepActor(runtime::ActorSystem& system,
                                                    const DeepActorOptions& options);

// Takes the version that a change published out of service; the version served before it is served
// again. Returns CANNOT_UNDO if the version is already gone, or if a newer version, which was
// trained from it, is served.
absl::Status WithdrawDeep(serving::AdapterCatalog& catalog, const storage::LearningChange& change);

}  // namespace ruvd::actors
