// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/experiments/federate_lessons.h"

#include "base/status.h"

namespace ruvd::bench {

absl::StatusOr<std::unique_ptr<TextLessonTrainer>> TextLessonTrainer::Create(
    const Parts& parts, const federation::LearnerPlan& plan,
    std::span<const inference::TrainingExample> texts) {
  std::unique_ptr<TextLessonTrainer> made(new TextLessonTrainer(parts, texts));
  RETURN_IF_ERROR(made->Begin(plan));
  return made;
}

}  // namespace ruvd::bench
