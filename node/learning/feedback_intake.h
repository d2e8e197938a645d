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
#include "node/serving/instant_loop.h"
#include "node/serving/pattern_graph.h"
#include "storage/changes/answer_store.h"
#include "storage/changes/change_store.h"
#include "storage/trajectories/trajectory_store.h"
#include "storage/witness/witness_log.h"

namespace ruvd::learning {

// What taking feedback in works with. All borrowed.
struct FeedbackServices {
  const Clock* clock = nullptr;
  const inference::Model* model = nullptr;
  storage::TrajectoryStore* trajectories = nullptr;
  storage::ChangeStore* changes = nullptr;  // null: what is taught is not listed
  storage::AnswerStore* answers = nullptr;  // null: feedback that comes again is learned again
  storage::WitnessLog* witness = nullptr;   // learns of ratings; null: there is none
  serving::InstantLoop* instant = nullptr;  // null: sessions remember nothing
  serving::PatternGraph* graph = nullptr;   // null: sessions have no relations to patterns
};

// A feedback that is stored.
struct TakenFeedback {
  storage::Trajectory trajectory;                 // with it
  uint32_t session_lessons = 0;                   // positions its session was taught
  bool relations_moved = false;                   // ... and whether its relations to patterns moved
  std::optional<storage::LearningChange> change;  // the listed change that this is
};

// Stores the signal with its trajectory, so that it survives a crash from here on, tells the
// witness log of its rating, and, with `teach`, teaches the session at once: that takes
// microseconds, and its session need not remember the response any more; the session's relations to
// patterns take some rows. UNKNOWN_RESPONSE; the errors of TrajectoryStore::SetFeedback.
absl::StatusOr<TakenFeedback> TakeFeedback(const FeedbackServices& services,
                                           const Feedback& feedback, bool teach);

// What the answer to a feedback is remembered by: a hash of its idempotency key with all that it
// says, so that a key that a client uses again for another response or signal names another
// feedback. Empty where it has no key.
std::string AnswerKeyOf(const Feedback& feedback);

// What a feedback of this AnswerKeyOf was answered before, also by an earlier life of the node;
// nullopt where it is new. The errors of the store.
absl::StatusOr<std::optional<FeedbackAnswer>> FindAnswer(const FeedbackServices& services,
                                                         const std::string& key);
// Remembers an answer. What cannot be written is logged: the feedback itself is stored.
void RememberAnswer(const FeedbackServices& services, const std::string& key,
                    const FeedbackAnswer& answer);

// "edit", "accept", "copy", "regenerate" or "rating".
std::string_view SignalName(const Feedback& feedback);

}  // namespace ruvd::learning
