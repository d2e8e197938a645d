// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/learning/feedback_intake.h"

#include <fmt/format.h>

#include <utility>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"
#include "inference/instant/lessons.h"
#include "node/learning/lesson_clusters.h"
#include "node/log/log.h"
#include "ruvd/storage/v1/change.pb.h"

namespace ruvd::learning {
namespace {

// Returns what a signal is worth to the session, in [0, 1]. Implicit signals are the weakest that
// count.
float RewardOf(const Feedback& feedback) {
  if (feedback.copied) {
    return inference::kTeachingReward;
  }
  if (feedback.regenerated) {
    return inference::kRejectingReward;
  }
  return feedback.rating.value_or(feedback.accepted.value_or(false) ? 1.0F : 0.0F);
}

// Writes the rating as the request's quality to the witness log, where the entry may have expired.
void NoteQuality(const FeedbackServices& services, const Feedback& feedback) {
  if (services.witness == nullptr || !(feedback.rating || feedback.accepted)) {
    return;
  }
  const absl::Status noted = services.witness->SetQuality(feedback.response_id, RewardOf(feedback));
  if (!noted.ok() && !absl::IsNotFound(noted)) {
    LogWarning("the quality of {} is not noted: {}", feedback.response_id, MessageOf(noted));
  }
}

uint32_t TeachSession(const FeedbackServices& services, const Feedback& feedback) {
  const inference::Tokenizer& tokenizer = services.model->tokenizer();
  const absl::StatusOr<size_t> lessons =
      feedback.edited_text.has_value()
          ? services.instant->LearnEdit(feedback.response_id,
                                        tokenizer.EncodeContinuation(*feedback.edited_text))
          : services.instant->LearnReward(feedback.response_id, RewardOf(feedback));
  return static_cast<uint32_t>(lessons.value_or(0));
}

bool MoveRelations(const FeedbackServices& services, const Feedback& feedback,
                   const storage::Trajectory& trajectory) {
  // A correction says nothing in favour of the patterns that served the response.
  constexpr float kNeither = (inference::kTeachingReward + inference::kRejectingReward) / 2;
  const absl::StatusOr<bool> moved = services.graph->Vote(
      trajectory, feedback.edited_text.has_value() ? kNeither : RewardOf(feedback));
  if (!moved.ok()) {
    LogWarning("the relations of a session to its patterns are not moved: {}",
               MessageOf(moved.status()));
  }
  return moved.value_or(false);
}

// What a session was taught is listed after the fact, because it forgets it at the next restart
// anyway.
void ListFeedback(const FeedbackServices& services, storage::ChangeKind kind,
                  StoredFeedback* taken) {
  storage::LearningChange change{.created_ms = services.clock->WallMillis(),
                                 .loop = storage::LearningLoop::kInstant,
                                 .kind = kind,
                                 .responses = {taken->trajectory.response_id},
                                 .user_id = taken->trajectory.user_id,
                                 .session_id = taken->trajectory.session_id,
                                 .lessons = taken->session_lessons};
  // If the user was erased in between, the user's key is destroyed, and nothing may be sealed with
  // a new one.
  const auto still = [&] { return services.trajectories->Get(taken->trajectory.response_id).ok(); };
  absl::StatusOr<storage::LearningChange> listed =
      services.changes->Add(std::move(change), {}, still);
  if (listed.ok()) {
    taken->change = *std::move(listed);
  } else if (!absl::IsAborted(listed.status())) {
    LogWarning("what feedback taught cannot be listed: {}", MessageOf(listed.status()));
  }
}

}  // namespace

std::string_view SignalName(const Feedback& feedback) {
  return feedback.edited_text.has_value() ? "edit"
         : feedback.accepted.has_value()  ? "accept"
         : feedback.copied                ? "copy"
         : feedback.regenerated           ? "regenerate"
                                          : "rating";
}

absl::StatusOr<StoredFeedback> StoreFeedback(const FeedbackServices& services,
                                             const Feedback& feedback, bool teach) {
  RETURN_IF_ERROR(
      services.trajectories->SetFeedback(feedback.response_id, {.owner = feedback.owner,
                                                                .rating = feedback.rating,
                                                                .edited_text = feedback.edited_text,
                                                                .accepted = feedback.accepted,
                                                                .copied = feedback.copied,
                                                                .regenerated = feedback.regenerated,
                                                                .metadata = feedback.metadata}));
  NoteQuality(services, feedback);
  StoredFeedback taken;
  ASSIGN_OR_RETURN(taken.trajectory, services.trajectories->Get(feedback.response_id));
  if (teach && services.instant != nullptr) {
    taken.session_lessons = TeachSession(services, feedback);
  }
  if (teach && services.graph != nullptr) {
    taken.relations_moved = MoveRelations(services, feedback, taken.trajectory);
  }
  const bool session = taken.session_lessons > 0 || taken.relations_moved;
  const bool remembered = teach && services.memory_rating &&
                          !TargetText(taken.trajectory, *services.memory_rating).empty();
  if ((session || remembered) && services.changes != nullptr) {
    // The undo of the one takes the other back, too.
    ListFeedback(
        services,
        session ? storage::ChangeKind::kSessionTaught : storage::ChangeKind::kLessonRemembered,
        &taken);
  }
  return taken;
}

std::string IdempotencyKeyOf(const Feedback& feedback) {
  if (feedback.idempotency_key.empty()) {
    return "";
  }
  std::string key;
  const auto add = [&key](std::string_view text) {
    key += fmt::format("{}:", text.size());  // the length keeps different lists of texts apart
    key += text;
  };
  add(feedback.owner);
  add(feedback.idempotency_key);
  add(feedback.response_id);
  add(SignalName(feedback));
  add(feedback.edited_text.value_or(""));
  add(feedback.rating ? fmt::format("{}", *feedback.rating) : "");
  add(feedback.accepted.value_or(false) ? "accepted" : "");
  for (const auto& [name, value] : feedback.metadata) {
    add(name);
    add(value);
  }
  return std::string(AsText(Sha256(key)));
}

absl::StatusOr<std::optional<FeedbackAnswer>> FindAnswer(const FeedbackServices& services,
                                                         const std::string& key) {
  if (services.answers == nullptr) {
    return std::nullopt;
  }
  ASSIGN_OR_RETURN(const std::optional<std::string> bytes, services.answers->Find(key));
  storage::v1::FeedbackAnswer row;
  if (!bytes || !row.ParseFromString(*bytes)) {
    return std::nullopt;
  }
  FeedbackAnswer answer{.learned = row.learned(),
                        .explanation = row.explanation(),
                        .pattern_id = row.pattern_id(),
                        .adapter_name = row.adapter_name(),
                        .adapter_version = row.adapter_version(),
                        .held_out_before = row.held_out_before(),
                        .held_out_after = row.held_out_after(),
                        .held_back = row.held_back(),
                        .seconds = row.seconds(),
                        .session_lessons = row.session_lessons(),
                        .learned_in_ms = row.learned_in_ms()};
  for (const std::string& token : row.changes()) {
    absl::StatusOr<storage::LearningChange> change =
        services.changes == nullptr ? absl::NotFoundError("") : services.changes->Find(token);
    if (change.ok()) {  // a change may have left the list
      answer.changes.push_back(*std::move(change));
    }
  }
  return answer;
}

void StoreAnswer(const FeedbackServices& services, const std::string& key,
                 const FeedbackAnswer& answer) {
  if (services.answers == nullptr || key.empty()) {
    return;
  }
  storage::v1::FeedbackAnswer row;
  row.set_learned(answer.learned);
  row.set_explanation(answer.explanation);
  row.set_pattern_id(answer.pattern_id);
  row.set_adapter_name(answer.adapter_name);
  row.set_adapter_version(answer.adapter_version);
  row.set_held_out_before(answer.held_out_before);
  row.set_held_out_after(answer.held_out_after);
  row.set_held_back(answer.held_back);
  row.set_seconds(answer.seconds);
  row.set_session_lessons(answer.session_lessons);
  row.set_learned_in_ms(answer.learned_in_ms);
  for (const storage::LearningChange& change : answer.changes) {
    row.add_changes(storage::TokenOf(change));
  }
  const absl::Status remembered = services.answers->Remember(key, row.SerializeAsString());
  if (!remembered.ok()) {
    LogWarning("the answer to a feedback is not remembered: {}", MessageOf(remembered));
  }
}

}  // namespace ruvd::learning
