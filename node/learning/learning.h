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

// What a user says of a completion, or does with it. Exactly one of the signals is set.
struct Feedback {
  std::string response_id;
  std::optional<float> rating;
  std::optional<std::string> edited_text;
  std::optional<bool> accepted;
  bool copied = false;                          // implicit signals: weaker than what users say
  bool regenerated = false;                     // another completion was asked for instead
  std::map<std::string, std::string> metadata;  // kept with the completion, learned by nobody
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
  // Lessons that these losses were measured on and that training never saw; 0: the taught ones
  // under other masks.
  uint32_t held_back = 0;
  double seconds = 0;
  // Positions that the request's session was taught at once; 0: none.
  uint32_t session_lessons = 0;
  // From the feedback to the last of the changes; 0: nothing changed.
  double learned_in_ms = 0;
  std::vector<storage::LearningChange> changes;  // oldest first
};

// What a round that an operator asked for did.
struct RoundSummary {
  uint32_t patterns_kept = 0;
  uint32_t patterns_without_gain = 0;
  uint32_t patterns_failed = 0;
  uint32_t patterns_merged = 0;
  uint32_t lessons_waiting = 0;  // for a later round
  double seconds = 0;
  std::vector<storage::LearningChange> changes;
};

// What learning is doing.
struct LearningStatus {
  bool enabled = true;
  bool paused = false;  // by an operator
  bool round_running = false;
  uint32_t lessons_waiting = 0;
  uint64_t rounds = 0;   // since the start
  uint32_t changes = 0;  // listed
  LearningThrottleStatus throttle;
  RouterStatus router;
};

// The learning loops: trajectories with feedback teach their sessions at once and become clusters,
// clusters become patterns with adapters. Thread-safe; callbacks run on the learning actor's
// thread, once what they tell is stored.
class LearningActor {
 public:
  template <typename T>
  using Done = std::function<void(absl::StatusOr<T>)>;

  virtual ~LearningActor() = default;
  virtual absl::Status Submit(Feedback feedback, Done<FeedbackAnswer> done) = 0;

  // Changes back what the change of this token changed; empty: the newest that stands and can be
  // undone. NOT_FOUND; CANNOT_UNDO (FAILED_PRECONDITION) where others came on top of it, where it
  // was undone, or where what was there before is gone.
  virtual void Undo(std::string token, Done<storage::LearningChange> done) = 0;
  // The newest changes, newest first.
  virtual void ListChanges(size_t count, Done<std::vector<storage::LearningChange>> done) = 0;

  // Ends a round that runs, whose lessons wait, and keeps all loops from learning until resumed,
  // also after a restart. Feedback is recorded all the same.
  virtual void SetPaused(bool paused, Done<LearningStatus> done) = 0;
  virtual void GetStatus(Done<LearningStatus> done) = 0;

  // A round now, of what waits; with `replay` of all completions that teach something, but for what
  // was deleted or undone. Answers at its end. LEARNING_PAUSED (FAILED_PRECONDITION) while it is
  // paused or switched off.
  virtual void RunBackground(bool replay, Done<RoundSummary> done) = 0;
};

}  // namespace ruvd::learning
