// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "node/learning/learning_throttle.h"
#include "node/learning/router_learner.h"
#include "storage/changes/learning_change.h"

namespace ruvd::learning {

// What a user says about a completion or does with it. Exactly one of the signals is set.
struct Feedback {
  std::string owner = {};  // the response must be this key's, as in storage::Trajectory; "": any
  std::string response_id;
  std::optional<float> rating;
  std::optional<std::string> edited_text;
  std::optional<bool> accepted;
  bool copied = false;                          // implicit signals are weaker than explicit ones
  bool regenerated = false;                     // another completion was asked for instead
  std::map<std::string, std::string> metadata;  // stored with the completion, never learned
  std::string idempotency_key;
};

struct FeedbackAnswer {
  bool learned = false;
  std::string explanation;
  std::string pattern_id;
  std::string adapter_name;
  uint32_t adapter_version = 0;
  double held_out_before = 0;
  double held_out_after = 0;
  // Number of held-out lessons that these losses were measured on. 0: they were measured on the
  // taught lessons under other masks.
  uint32_t held_back = 0;
  double seconds = 0;
  // Number of positions that the request's session was taught at once.
  uint32_t session_lessons = 0;
  // Milliseconds from the feedback to the last of the changes; 0: nothing changed.
  double learned_in_ms = 0;
  std::vector<storage::LearningChange> changes;  // oldest first
};

// The result of a round that an operator asked for.
struct BackgroundRoundSummary {
  uint32_t patterns_kept = 0;
  uint32_t patterns_without_gain = 0;
  uint32_t patterns_failed = 0;
  uint32_t patterns_merged = 0;
  uint32_t lessons_waiting = 0;  // left for a later round
  double seconds = 0;
  std::vector<storage::LearningChange> changes;
};

// The state of learning.
struct LearningStatus {
  bool enabled = true;
  bool paused = false;  // by an operator
  bool round_running = false;
  uint32_t lessons_waiting = 0;
  uint64_t rounds = 0;   // since the start
  uint32_t changes = 0;  // number of listed changes
  LearningThrottleStatus throttle;
  RouterStatus router;
};

// The learning loops: feedback teaches sessions at once; trajectories with feedback become
// clusters, and clusters become patterns with adapters. Thread-safe; callbacks run on the learning
// actor's thread, after what they report is stored.
class LearningActor {
 public:
  template <typename T>
  using Done = std::function<void(absl::StatusOr<T>)>;

  virtual ~LearningActor() = default;
  virtual absl::Status Submit(Feedback feedback, Done<FeedbackAnswer> done) = 0;

  // Undoes the change with this token; an empty token means the newest change that stands and can
  // be undone. Fails with NOT_FOUND, and with CANNOT_UNDO (FAILED_PRECONDITION) if later changes
  // depend on it, it was undone before, or the state before it is no longer kept.
  virtual void Undo(std::string token, Done<storage::LearningChange> done) = 0;
  // Lists the newest changes, newest first.
  virtual void ListChanges(size_t count, Done<std::vector<storage::LearningChange>> done) = 0;

  // Pausing ends a running round, whose lessons wait, and stops all loops from learning until they
  // are resumed, even across a restart. Feedback is still recorded.
  virtual void SetPaused(bool paused, Done<LearningStatus> done) = 0;
  virtual void GetStatus(Done<LearningStatus> done) = 0;

  // Runs a round now on what waits; with `replay`, on all completions that teach something, except
  // what was deleted or undone. Answers at its end. Fails with LEARNING_PAUSED
  // (FAILED_PRECONDITION) while learning is paused or off.
  virtual void RunBackground(bool replay, Done<BackgroundRoundSummary> done) = 0;
};

}  // namespace ruvd::learning
