// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "inference/model/model.h"
#include "node/learning/learning.h"
#include "node/serving/extensions/instant_loop.h"
#include "node/serving/extensions/pattern_graph.h"
#include "storage/changes/change_store.h"
#include "storage/changes/feedback_answer_store.h"
#include "storage/trajectories/trajectory_store.h"
#include "storage/witness/witness_log.h"

namespace ruvd::learning {

// The dependencies of taking feedback in. Everything is borrowed.
struct FeedbackServices {
  const Clock* clock = nullptr;
  const inference::Model* model = nullptr;
  storage::TrajectoryStore* trajectories = nullptr;
  storage::ChangeStore* changes = nullptr;          // null: lessons of sessions are not listed
  storage::FeedbackAnswerStore* answers = nullptr;  // null: repeated feedback is learned again
  storage::WitnessLog* witness = nullptr;           // gets the ratings; null: there is no log
  serving::InstantLoop* instant = nullptr;          // null: sessions remember nothing
  serving::PatternGraph* graph = nullptr;           // null: sessions have no relations to patterns
  // The lowest rating of a completion whose words the node remembers; nullopt: it remembers none.
  std::optional<float> memory_rating = std::nullopt;
};

// A feedback that was stored.
struct StoredFeedback {
  storage::Trajectory trajectory;  // includes the feedback
  uint32_t session_lessons = 0;    // positions that its session was taught
  bool relations_moved = false;    // whether its session's relations to patterns moved
  std::optional<storage::LearningChange> change;  // what was taught, as a listed change
};

// Stores the signal with its trajectory, so that it survives a crash, and writes a rating to the
// witness log. With `teach`, also teaches the session at once, which takes microseconds and does
// nothing if the session no longer holds the response, and moves the session's relations to
// patterns, which writes a few rows, and lists that the node will remember the completion. Returns
// UNKNOWN_RESPONSE and the errors of TrajectoryStore::SetFeedback.
absl::StatusOr<StoredFeedback> StoreFeedback(const FeedbackServices& services,
                                             const Feedback& feedback, bool teach);

// Returns the key that the answer to a feedback is stored under: a hash of its owner, its
// idempotency key and its content, so that a key reused for another response or signal names
// another feedback. Empty if the feedback has no key.
std::string IdempotencyKeyOf(const Feedback& feedback);

// Returns the earlier answer to a feedback with this IdempotencyKeyOf, also from before a restart;
// nullopt if the feedback is new. Returns the errors of the store.
absl::StatusOr<std::optional<FeedbackAnswer>> FindAnswer(const FeedbackServices& services,
                                                         const std::string& key);
// Stores an answer. A failure is only logged, because the feedback itself is stored.
void StoreAnswer(const FeedbackServices& services, const std::string& key,
                 const FeedbackAnswer& answer);

// Returns "edit", "accept", "copy", "regenerate" or "rating".
std::string_view SignalName(const Feedback& feedback);

}  // namespace ruvd::learning
