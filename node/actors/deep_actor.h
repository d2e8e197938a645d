// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/executor.h"
#include "node/actor/actor_system.h"
#include "node/actors/deep_ratings.h"
#include "node/actors/deep_round.h"
#include "node/actors/learning_throttle.h"

namespace ruvd {

struct DeepActorOptions {
  DeepServices services;
  DeepOptions round;
  bool enabled = true;
  Duration interval{};                   // between two rounds; zero: on demand only
  Executor* pool = nullptr;              // a thread of its own, or that of background rounds
  LearningThrottle* throttle = nullptr;  // null: learning gives way to nobody
  // A piece of a round holds the pool's thread for so long; others go between.
  Duration piece = std::chrono::seconds(1);
};

// What the deep loop is doing.
struct DeepStatus {
  bool running = false;
  uint64_t step = 0;               // of `steps`
  uint64_t steps = 0;              // 0: none runs, or it begins
  uint32_t served_version = 0;     // 0: none
  std::optional<DeepResult> last;  // since the start
};

// The deep loop: rounds on schedule or on demand, in pieces on a pool, and the ratings
// of what they published. Thread-safe; callbacks run on the actor's thread.
class DeepActor {
 public:
  template <typename T>
  using Done = std::function<void(absl::StatusOr<T>)>;

  virtual ~DeepActor() = default;
  // A round now, or the one that runs; answers at its end, after minutes or hours. LEARNING_PAUSED
  // (FAILED_PRECONDITION) while learning is paused or switched off.
  virtual void Run(Done<DeepResult> done) = 0;
  virtual void GetStatus(Done<DeepStatus> done) = 0;
  // A completion was rated: where the version that served it does worse than what came before it,
  // that version is taken back.
  virtual void OnRated(DeepRating rating) = 0;
  // A user was erased: what EWC++ remembers of the user's lessons goes, soon.
  virtual void OnUserErased() = 0;
};

// Starts the deep actor in `system`. An interrupted round goes on at once. Everything borrowed
// outlives the system.
std::unique_ptr<DeepActor> StartDeepActor(ActorSystem& system, const DeepActorOptions& options);

// Takes the version that a change published out of service; what was served before is served again.
// CANNOT_UNDO where it is gone already, or a newer version, which goes on from it, is served.
absl::Status WithdrawDeep(AdapterCatalog& catalog, const LearningChange& change);

}  // namespace ruvd
