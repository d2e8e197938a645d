// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/learning/text_lessons.h"

#include <algorithm>
#include <utility>

#include "base/bytes.h"
#include "base/random.h"
#include "base/status.h"
#include "storage/lessons/lesson_store.h"

namespace ruvd::learning {
namespace {

constexpr std::string_view kPrefix = "text:";

// A damaged row costs its own lesson only.
bool IsGoneOrDamaged(const absl::Status& status) {
  return absl::IsNotFound(status) || absl::IsDataLoss(status);
}

absl::StatusOr<std::optional<Lesson>> ReadTextLesson(const LearningServices& services,
                                                     const storage::LessonId& id) {
  if (services.lessons == nullptr) {
    return std::nullopt;
  }
  absl::StatusOr<storage::StoredLesson> stored = services.lessons->Get(id);
  if (IsGoneOrDamaged(stored.status())) {
    return std::nullopt;
  }
  RETURN_IF_ERROR(stored.status());
  Lesson lesson;
  lesson.trajectory.response_id = NameOfTextLesson(id);
  lesson.trajectory.user_id = stored->user_id;
  lesson.trajectory.prompt = std::move(stored->prompt);
  lesson.trajectory.created_ms = stored->created_ms;
  lesson.target = std::move(stored->text);
  return lesson;
}

// Sorts by source, and lessons of a source in the order of the text. The ids of sources are keyed
// hashes, so their order is as good as a random one. It is the same in every round: otherwise a
// round would be judged by texts that the version before it had learned.
void SortBySource(std::vector<storage::LessonEntry>* entries) {
  std::ranges::sort(*entries, {}, [](const storage::LessonEntry& entry) {
    return std::pair(entry.source, entry.number);
  });
}

}  // namespace

std::string NameOfTextLesson(const storage::LessonId& id) {
  return std::string(kPrefix) + ToHex(id);
}

std::optional<storage::LessonId> TextLessonOf(std::string_view name) {
  if (!name.starts_with(kPrefix)) {
    return std::nullopt;
  }
  const std::optional<std::string> bytes = FromHex(name.substr(kPrefix.size()));
  storage::LessonId id{};
  if (!bytes || bytes->size() != id.size()) {
    return std::nullopt;
  }
  std::ranges::copy(AsBytes(*bytes), id.begin());
  return id;
}

absl::StatusOr<std::optional<Lesson>> ReadCompletion(const LearningServices& services,
                                                     const std::string& response,
                                                     float min_rating) {
  absl::StatusOr<storage::Trajectory> trajectory = services.trajectories->Get(response);
  if (IsGoneOrDamaged(trajectory.status())) {
    return std::nullopt;
  }
  RETURN_IF_ERROR(trajectory.status());
  Lesson lesson = LessonOf(*std::move(trajectory), min_rating);
  if (lesson.trajectory.embedded_by != AsText(services.package_id)) {
    lesson.trajectory.prompt_tokens.clear();  // these tokens come from another tokenizer
  }
  return lesson;
}

absl::StatusOr<std::optional<Lesson>> ReadLesson(const LearningServices& services,
                                                 const std::string& name, float min_rating) {
  if (const std::optional<storage::LessonId> id = TextLessonOf(name)) {
    return ReadTextLesson(services, *id);
  }
  ASSIGN_OR_RETURN(std::optional<Lesson> lesson, ReadCompletion(services, name, min_rating));
  if (lesson && lesson->target.empty()) {
    lesson.reset();
  }
  return lesson;
}

absl::StatusOr<bool> IsGone(const LearningServices& services, const std::string& name) {
  if (const std::optional<storage::LessonId> id = TextLessonOf(name)) {
    if (services.lessons == nullptr) {
      return true;
    }
    ASSIGN_OR_RETURN(const bool there, services.lessons->Contains(*id));
    return !there;
  }
  const absl::Status there = services.trajectories->Get(name).status();
  if (absl::IsNotFound(there)) {
    return true;
  }
  RETURN_IF_ERROR(there);
  return false;
}

bool IsDamaged(const LearningServices& services, const std::string& name) {
  if (const std::optional<storage::LessonId> id = TextLessonOf(name)) {
    return services.lessons != nullptr && absl::IsDataLoss(services.lessons->Get(*id).status());
  }
  return absl::IsDataLoss(services.trajectories->Get(name).status());
}

absl::StatusOr<TextLessons> ChooseTextLessons(const LearningServices& services, size_t most,
                                              size_t most_held_back, uint64_t seed) {
  std::vector<storage::LessonEntry> entries;
  if (services.lessons != nullptr) {
    RETURN_IF_ERROR(services.lessons->ForEachEntry([&](const storage::LessonEntry& entry) {
      entries.push_back(entry);
      return CheckCancelled(services).ok();
    }));
    RETURN_IF_ERROR(CheckCancelled(services));
  }
  Random random(seed);
  for (size_t i = 0; i < std::min(most, entries.size()); ++i) {
    std::swap(entries[i], entries[i + random.Below(entries.size() - i)]);
  }
  entries.resize(std::min(most, entries.size()));
  SortBySource(&entries);
  constexpr size_t kHeldBackOneOf = 4;
  const size_t held_back = std::min(entries.size() / kHeldBackOneOf, most_held_back);
  TextLessons lessons;
  for (size_t i = 0; i < entries.size(); ++i) {
    (i < held_back ? lessons.held_back : lessons.taught).push_back(NameOfTextLesson(entries[i].id));
  }
  return lessons;
}

}  // namespace ruvd::learning
