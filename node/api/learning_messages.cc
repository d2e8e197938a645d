// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/api/learning_messages.h"

#include <string>

#include "base/bytes.h"
#include "node/api/message_times.h"

namespace ruvd::api {
namespace {

// The store numbers loops and kinds of changes as the messages do.
learning::v1::LearningLoop WireLoop(storage::LearningLoop loop) {
  static_assert(static_cast<int>(storage::LearningLoop::kInstant) ==
                learning::v1::LEARNING_LOOP_INSTANT);
  static_assert(static_cast<int>(storage::LearningLoop::kDeep) == learning::v1::LEARNING_LOOP_DEEP);
  return static_cast<learning::v1::LearningLoop>(loop);
}
learning::v1::ChangeKind WireKind(storage::ChangeKind kind) {
  static_assert(static_cast<int>(storage::ChangeKind::kSessionTaught) ==
                learning::v1::CHANGE_KIND_SESSION_TAUGHT);
  static_assert(static_cast<int>(storage::ChangeKind::kLessonRemembered) ==
                learning::v1::CHANGE_KIND_LESSON_REMEMBERED);
  return static_cast<learning::v1::ChangeKind>(kind);
}
// The messages number these from 1, because 0 is "not set".
learning::v1::RouterVerdict WireVerdict(learning::RouterVerdict verdict) {
  static_assert(static_cast<int>(learning::RouterVerdict::kPublished) + 1 ==
                learning::v1::ROUTER_VERDICT_PUBLISHED);
  static_assert(static_cast<int>(learning::RouterVerdict::kWithdrawn) + 1 ==
                learning::v1::ROUTER_VERDICT_TAKEN_BACK);
  return static_cast<learning::v1::RouterVerdict>(static_cast<int>(verdict) + 1);
}
learning::v1::DeepOutcome WireOutcome(learning::DeepOutcome outcome) {
  static_assert(static_cast<int>(learning::DeepOutcome::kPublished) + 1 ==
                learning::v1::DEEP_OUTCOME_PUBLISHED);
  static_assert(static_cast<int>(learning::DeepOutcome::kBaseChanged) + 1 ==
                learning::v1::DEEP_OUTCOME_BASE_CHANGED);
  return static_cast<learning::v1::DeepOutcome>(static_cast<int>(outcome) + 1);
}

}  // namespace

void WriteFeedbackAnswer(const learning::FeedbackAnswer& answer,
                         learning::v1::SubmitFeedbackResponse* message) {
  message->set_learned(answer.learned);
  message->set_explanation(answer.explanation);
  message->set_pattern_id(answer.pattern_id);
  message->set_adapter_name(answer.adapter_name);
  message->set_adapter_version(answer.adapter_version);
  message->set_held_out_loss_before(answer.held_out_before);
  message->set_held_out_loss_after(answer.held_out_after);
  *message->mutable_duration() = SecondsToDuration(answer.seconds);
  message->set_session_lessons(answer.session_lessons);
  message->set_held_back_lessons(answer.held_back);
  if (answer.learned_in_ms > 0) {
    *message->mutable_learned_in() = MillisToDuration(answer.learned_in_ms);
  }
  for (const storage::LearningChange& change : answer.changes) {
    WriteChange(change, message->add_changes());
  }
  if (!answer.changes.empty()) {
    message->set_undo_token(storage::TokenOf(answer.changes.back()));
  }
}

void WriteChange(const storage::LearningChange& change, learning::v1::Change* message) {
  message->set_undo_token(storage::TokenOf(change));
  *message->mutable_create_time() = ToTimestamp(change.created_ms);
  message->set_loop(WireLoop(change.loop));
  message->set_kind(WireKind(change.kind));
  for (const std::string& response : change.responses) {
    message->add_response_ids(response);
  }
  message->set_on_demand(change.on_demand);
  message->set_session_id(change.session_id);
  message->set_pattern_id(change.pattern ? ToHex(*change.pattern) : "");
  message->set_merged_pattern_id(change.merged ? ToHex(*change.merged) : "");
  message->set_adapter_name(change.adapter_name);
  message->set_version_before(change.version_before);
  message->set_version(change.version);
  message->set_lessons(change.lessons);
  SetTime(change.undone_ms, [&] { return message->mutable_undo_time(); });
  const bool needs_images = change.kind == storage::ChangeKind::kPatternStored ||
                            change.kind == storage::ChangeKind::kPatternsMerged;
  message->set_can_be_undone(change.undone_ms == 0 && !change.forgotten &&
                             (change.images > 0 || !needs_images));
}

void WriteRouterStatus(const learning::RouterStatus& status, learning::v1::RouterStatus* message) {
  message->set_kind(status.kind);
  message->set_version(status.version);
  message->set_outcomes(status.outcomes);
  message->set_waiting(status.waiting);
  if (status.last) {
    message->set_last_verdict(WireVerdict(status.last->verdict));
    message->set_last_outcomes(status.last->outcomes);
    message->set_last_gain(status.last->gain);
    message->set_last_standard_error(status.last->standard_error);
  }
}

void WriteLearningStatus(const learning::LearningStatus& status,
                         learning::v1::LearningStatus* message) {
  message->set_enabled(status.enabled);
  message->set_paused(status.paused);
  message->set_round_running(status.round_running);
  message->set_lessons_waiting(status.lessons_waiting);
  message->set_rounds(status.rounds);
  message->set_changes(status.changes);
  if (status.throttle.p99_learning > 0) {
    *message->mutable_p99_step_time() = SecondsToDuration(status.throttle.p99_learning);
  }
  if (status.throttle.p99_without > 0) {
    *message->mutable_p99_step_time_without() = SecondsToDuration(status.throttle.p99_without);
  }
  *message->mutable_paused_time() = SecondsToDuration(status.throttle.paused_seconds);
  message->set_pauses(status.throttle.pauses);
  message->set_training_bytes(status.throttle.memory_bytes);
  message->set_budget_bytes(status.throttle.budget_bytes);
  WriteRouterStatus(status.router, message->mutable_router());
}

void WriteRoundSummary(const learning::BackgroundRoundSummary& summary,
                       learning::v1::BackgroundResult* message) {
  message->set_patterns_kept(summary.patterns_kept);
  message->set_patterns_without_gain(summary.patterns_without_gain);
  message->set_patterns_failed(summary.patterns_failed);
  message->set_patterns_merged(summary.patterns_merged);
  message->set_lessons_waiting(summary.lessons_waiting);
  *message->mutable_duration() = SecondsToDuration(summary.seconds);
  for (const storage::LearningChange& change : summary.changes) {
    WriteChange(change, message->add_changes());
  }
}

void WriteDeepResult(const learning::DeepResult& result, learning::v1::DeepResult* message) {
  message->set_outcome(WireOutcome(result.outcome));
  message->set_version(result.version);
  message->set_lessons(result.lessons);
  message->set_held_back_lessons(result.held_back);
  message->set_steps(result.steps);
  message->set_least_lessons(result.least_lessons);
  message->set_resumed_at(result.resumed_at);
  message->set_held_out_loss_before(result.held_out_before);
  message->set_held_out_loss_after(result.held_out_after);
  message->set_standard_error(result.standard_error);
  message->set_general_loss_before(result.general_before);
  message->set_general_loss_after(result.general_after);
  if (result.change) {
    WriteChange(*result.change, message->mutable_change());
  }
}

void WriteDeepStatus(const learning::DeepStatus& status, learning::v1::DeepStatus* message) {
  message->set_running(status.running);
  message->set_step(status.step);
  message->set_steps(status.steps);
  message->set_served_version(status.served_version);
  if (status.last) {
    WriteDeepResult(*status.last, message->mutable_last());
  }
}

void WriteLesson(const storage::Trajectory& trajectory, std::string_view text,
                 learning::v1::Lesson* message) {
  message->set_response_id(trajectory.response_id);
  *message->mutable_create_time() = ToTimestamp(trajectory.created_ms);
  message->set_prompt(trajectory.prompt);
  message->set_completion(trajectory.completion);
  message->set_text(std::string(text));
  if (trajectory.rating) {
    message->set_rating(*trajectory.rating);
  }
  if (trajectory.accepted) {
    message->set_accepted(*trajectory.accepted);
  }
  message->set_edited(trajectory.edited_text.has_value());
  message->set_copied(trajectory.copied);
  message->mutable_metadata()->insert(trajectory.metadata.begin(), trajectory.metadata.end());
  message->set_pattern_id(trajectory.learned_in ? ToHex(*trajectory.learned_in) : "");
}

}  // namespace ruvd::api
