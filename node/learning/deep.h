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

}  // namespace ruvd::learning
