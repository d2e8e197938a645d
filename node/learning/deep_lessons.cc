// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/learning/deep_lessons.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <utility>

#include "base/bytes.h"
#include "base/random.h"
#include "base/status.h"
#include "node/learning/deep_limits.h"
#include "node/learning/lesson_clusters.h"
#include "node/learning/text_lessons.h"
#include "storage/lessons/lesson_store.h"

namespace ruvd::learning {
namespace {

constexpr size_t kReadAtOnce = 64;  // a slice reads and tokenises for about 100 ms

// Returns the newest completions that teach something and are not forgotten, as many as a round
// takes, oldest first. Only their ids are set.
absl::StatusOr<std::deque<Lesson>> NewestCompletions(const LearningServices& services,
                                                     float min_rating) {
  std::deque<Lesson> lessons;
  std::deque<size_t> places;  // position of each among the requests with feedback
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
        place += storage::HasFeedback(trajectory) ? 1 : 0;
        return CheckCancelled(services).ok();
      }));
  RETURN_IF_ERROR(CheckCancelled(services));
  // A round takes hours on a busy node. If its lessons leave the store meanwhile, it starts again
  // or, because they may have been erased, ends without a version.
  const size_t margin = services.trajectories->feedback_capacity() / 2;
  while (!places.empty() && places.front() + margin < place) {
    lessons.pop_front();
    places.pop_front();
  }
  return lessons;
}

}  // namespace

absl::StatusOr<DeepLessons> ChooseDeepLessons(const LearningServices& services, float min_rating,
                                              uint64_t seed) {
  ASSIGN_OR_RETURN(std::deque<Lesson> completions, NewestCompletions(services, min_rating));
  // Texts get what completions leave, and at least half of a round if there are that many.
  const size_t texts = services.lessons == nullptr ? 0 : services.lessons->size();
  const size_t room = limits::kMaxDeepLessons - std::min(texts, limits::kMaxDeepLessons / 2);
  while (completions.size() > room) {
    completions.pop_front();
  }
  const size_t most_texts = std::min(texts, limits::kMaxDeepLessons - completions.size());
  const size_t all = std::max<size_t>(completions.size() + most_texts, 1);
  const size_t judging_texts = limits::kMaxDeepHeldBack * most_texts / all;
  std::vector<const Lesson*> pointers;
  pointers.reserve(completions.size());
  for (const Lesson& lesson : completions) {
    pointers.push_back(&lesson);
  }
  DeepLessons chosen;
  const LessonSplit split = HoldBackLessons(pointers, limits::kMaxDeepHeldBack - judging_texts);
  ASSIGN_OR_RETURN(TextLessons from_texts,
                   ChooseTextLessons(services, most_texts, judging_texts, seed));
  chosen.taught = std::move(from_texts.taught);
  chosen.held_back = std::move(from_texts.held_back);
  for (const Lesson* lesson : split.taught) {
    chosen.taught.push_back(lesson->trajectory.response_id);
  }
  for (const Lesson* lesson : split.held_back) {
    chosen.held_back.push_back(lesson->trajectory.response_id);
  }
  if (!from_texts.held_back.empty()) {
    // The first of them decide when to stop, and the others judge: both get some of each kind.
    Random(seed).Shuffle(std::span(chosen.held_back));
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
    out.examples->push_back(std::move(made.front()));
    if (!lesson->trajectory.user_id.empty() || TextLessonOf(response)) {
      out.revocable->push_back(response);
    }
  }
  return true;
}

}  // namespace ruvd::learning
