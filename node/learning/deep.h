// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "absl/status/statusor.h"
#include "node/learning/deep_ratings.h"
#include "node/learning/deep_round.h"

namespace ruvd::learning {

// The state of the deep loop.
struct DeepStatus {
  bool running = false;
  uint64_t step = 0;               // number of steps done
  uint64_t steps = 0;              // number of steps to do; 0: no round runs, or one is beginning
  uint32_t served_version = 0;     // 0: none
  std::optional<DeepResult> last;  // the last round since the start
};

// The deep loop: rounds on schedule or on demand, run in pieces on a pool, and the ratings of the
// versions they published. Thread-safe; callbacks run on the actor's thread.
class DeepActor {
 public:
  template <typename T>
  using Done = std::function<void(absl::StatusOr<T>)>;

  virtual ~DeepActor() = default;
  // Runs a round now, or joins the running one; answers at its end, after minutes or hours. Fails
  // with LEARNING_PAUSED (FAILED_PRECONDITION) while learning is paused or off.
  virtual void Run(Done<DeepResult> done) = 0;
  virtual void GetStatus(Done<DeepStatus> done) = 0;
  // Reports that a completion was rated. If the version that served it does worse than the one
  // before it, that version is taken back.
  virtual void OnRated(DeepRating rating) = 0;
  // Reports that a user was erased or lessons from texts withdrawn: EWC++ memories with these
  // lessons are removed soon.
  virtual void OnLessonsWithdrawn() = 0;
};

}  // namespace ruvd::learning
