// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/learning/deep_lessons.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <utility>

#include "base/bytes.h"
#include "base/status.h"
#include "node/learning/deep_limits.h"
#include "node/learning/lesson_clusters.h"
#include "node/serving/late_embedding.h"

namespace ruvd::learning {
namespace {

constexpr size_t kReadAtOnce = 64;  // a slice reads and tokenises for about 100 ms

// Returns nullopt if the lesson is gone or no longer teaches anything.
absl::StatusOr<std::optional<Lesson>> ReadLesson(const LearningServices& services,
                                                 const std::string& response, float min_rating) {
  absl::StatusOr<storage::Trajectory> trajectory = services.trajectories->Get(response);
  if (absl::IsNotFound(trajectory.status())) {
    return std::nullopt;
  }
  RETURN_IF_ERROR(trajectory.status());
  Lesson lesson = LessonOf(*std::move(trajectory), min_rating);
  if (lesson.target.empty()) {
    return std::nullopt;
  }
  if (lesson.trajectory.embedded_by != AsText(services.package_id)) {
    lesson.trajectory.prompt_tokens.clear();  // these tokens come from another tokenizer
  }
  return lesson;
}

// Returns the prompt's embedding as its request computes it, which is not that of the example,
// because training cuts long prompts.
absl::StatusOr<std::vector<float>> PromptOf(const LearningServices& services,
                                            const storage::Trajectory& trajectory) {
  if (trajectory.embedded_by != AsText(services.package_id) || trajectory.embedding.empty()) {
    RETURN_IF_ERROR(YieldBetweenPieces(services));
  }
  return serving::EmbeddingOf(trajectory, EmbedderOf(services), services.whitening,
                              services.package_id);
}

}  // namespace

absl::StatusOr<DeepLessons> ChooseDeepLessons(const LearningServices& services, float min_rating) {
  std::deque<Lesson> lessons;  // only their ids are set
  std::deque<size_t> places;   // position of each in the store
  size_t place = 0;
  RETURN_IF_ERROR(
      services.trajectories->ForEachSince(0, [&](const storage::Trajectory& trajectory) {
        if (!TargetText(trajectory, min_rating).empty() &&
            !IsExcludedFromLearning(services, trajectory)) {
          if (lessons.size() == limits::kMaxDeepLessons) {
            lessons.pop_front();
            places.pop_front();
          }
          lessons.emplace_back().trajectory.response_id = trajectory.response_id;
          places.push_back(place);
        }
        ++place;
        return CheckCancelled(services).ok();
      }));
  RETURN_IF_ERROR(CheckCancelled(services));
  // A round takes hours on a busy node. If its lessons leave the store meanwhile, it starts again
  // or, because they may have been erased, ends without a version.
  const size_t margin = services.trajectories->capacity() / 2;
  while (!places.empty() && places.front() + margin < place) {
    lessons.pop_front();
    places.pop_front();
  }
  std::vector<const Lesson*> pointers;
  pointers.reserve(lessons.size());
  for (const Lesson& lesson : lessons) {
    pointers.push_back(&lesson);
  }
  DeepLessons chosen;
  const LessonSplit split = HoldBackLessons(pointers, limits::kMaxDeepHeldBack);
  chosen.taught.reserve(split.taught.size());
  chosen.held_back.reserve(split.held_back.size());
  for (const Lesson* lesson : split.taught) {
    chosen.taught.push_back(lesson->trajectory.response_id);
  }
  for (const Lesson* lesson : split.held_back) {
    chosen.held_back.push_back(lesson->trajectory.response_id);
  }
  return chosen;
}

size_t SelectionCount(size_t held_back) {
  return held_back < 2 * limits::kMinSelection ? 0 : std::min(held_back / 2, limits::kMaxSelection);
}

absl::StatusOr<bool> ReadExamples(const LearningServices& services,
                                  std::span<const std::string> responses, float min_rating,
                                  const ReadLessons& out) {
  size_t read = 0;
  for (const std::string& response : responses) {
    if (++read % kReadAtOnce == 0) {
      RETURN_IF_ERROR(YieldBetweenPieces(services));
    }
    ASSIGN_OR_RETURN(const auto lesson, ReadLesson(services, response, min_rating));
    if (!lesson) {
      return false;
    }
    const Lesson* const one = &*lesson;
    auto made = MakeExamples(services.transformer->model(), std::span(&one, 1));
    if (out.prompts != nullptr) {
      ASSIGN_OR_RETURN(out.prompts->emplace_back(), PromptOf(services, lesson->trajectory));
    }
    out.examples->push_back(std::move(made.front()));
    if (!lesson->trajectory.user_id.empty()) {
      out.of_users->push_back(response);
    }
  }
  return true;
}

}  // namespace ruvd::learning
