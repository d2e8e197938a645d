// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "node/learning/learning_services.h"
#include "node/learning/lesson_clusters.h"
#include "storage/lessons/lesson.h"

namespace ruvd::learning {

// Rounds name every lesson by a text: a completion by its response id, and a lesson from a person's
// texts by "text:" and 32 hexadecimal digits. No response id has a colon.
std::string NameOfTextLesson(const storage::LessonId& id);
// Does the opposite; nullopt for every other name.
std::optional<storage::LessonId> TextLessonOf(std::string_view name);

// Reads a lesson from the store that has it. Lessons from texts have the reward 1. Nullopt if it is
// gone, damaged or teaches nothing. Returns the errors of the stores.
absl::StatusOr<std::optional<Lesson>> ReadLesson(const LearningServices& services,
                                                 const std::string& name, float min_rating);
// Reads a completion by its response id. Its target is empty if it teaches nothing. Nullopt if it
// is gone or damaged. Returns the errors of the store. Thread-safe.
absl::StatusOr<std::optional<Lesson>> ReadCompletion(const LearningServices& services,
                                                     const std::string& response, float min_rating);

// Returns whether the lesson is no longer in its store: its user was erased, it was withdrawn, or
// newer completions displaced it. Returns the errors of the stores. Thread-safe.
absl::StatusOr<bool> IsGone(const LearningServices& services, const std::string& name);

// Returns whether the lesson has a row that does not open or decode. Thread-safe.
bool IsDamaged(const LearningServices& services, const std::string& name);

// The lessons from texts that a round takes, as names.
struct TextLessons {
  std::vector<std::string> taught;
  std::vector<std::string> held_back;
};

// Chooses `most` lessons from texts, all equally likely by the seed, or all of them if there are no
// more. A quarter, but at most `most_held_back`, is held back: all lessons of some sources, and the
// first ones of at most one source more, because neighbouring pieces of one text tell too much
// about each other. As long as no text comes or goes, every round holds back the same sources.
// Returns CANCELLED and the errors of the store.
absl::StatusOr<TextLessons> ChooseTextLessons(const LearningServices& services, size_t most,
                                              size_t most_held_back, uint64_t seed);

}  // namespace ruvd::learning
