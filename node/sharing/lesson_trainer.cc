// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/sharing/lesson_trainer.h"

#include <utility>
#include <vector>

#include "base/status.h"
#include "node/learning/lesson_clusters.h"
#include "node/learning/text_lessons.h"
#include "storage/reasons.h"

namespace ruvd::sharing {
namespace {

absl::Status Changed() {
  return Error(absl::StatusCode::kAborted, reasons::kChanged,
               "a lesson was withdrawn while its round was computed, so nothing is offered in this "
               "round; the next one is made without it");
}

}  // namespace

StoredLessonTrainer::StoredLessonTrainer(const Parts& parts)
    : CoreLessonTrainer({.model = parts.services->transformer->shared_model(),
                         .frame = parts.frame,
                         .runner = &parts.services->transformer->runner(),
                         .memory_bytes = parts.memory_bytes}),
      parts_(parts) {}

absl::StatusOr<std::unique_ptr<StoredLessonTrainer>> StoredLessonTrainer::Create(
    const Parts& parts, const federation::LearnerPlan& plan) {
  std::unique_ptr<StoredLessonTrainer> made(new StoredLessonTrainer(parts));
  RETURN_IF_ERROR(made->Begin(plan));
  return made;
}

absl::Status StoredLessonTrainer::BetweenSlices(uint64_t bytes) {
  const learning::LearningServices& services = *parts_.services;
  RETURN_IF_ERROR(CheckCancelled(services));
  if (services.clock->Now() < slice_ends_) {
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(YieldBetweenPieces(services, bytes));
  slice_ends_ = services.clock->Now() + services.slice;
  return absl::OkStatus();
}

absl::Status StoredLessonTrainer::BeforeReading() {
  return YieldBetweenPieces(*parts_.services);
}

absl::StatusOr<std::optional<inference::TrainingExample>> StoredLessonTrainer::Read(size_t lesson) {
  ASSIGN_OR_RETURN(
      const std::optional<learning::Lesson> read,
      learning::ReadLesson(*parts_.services, parts_.lessons[lesson], parts_.min_rating));
  if (!read && learning::IsDamaged(*parts_.services, parts_.lessons[lesson])) {
    ++damaged_;
    return std::nullopt;
  }
  if (!read) {
    return Changed();
  }
  const learning::Lesson* const one = &*read;
  std::vector<inference::TrainingExample> made =
      learning::MakeExamples(parts_.services->transformer->model(), std::span(&one, 1));
  if (made.front().completion.empty()) {
    return std::nullopt;
  }
  return std::move(made.front());
}

}  // namespace ruvd::sharing
