// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "federation/learner/plan.h"
#include "inference/adapter/frame_set.h"
#include "inference/train/losses.h"
#include "node/learning/learning_services.h"
#include "node/sharing/core_lesson_trainer.h"

namespace ruvd::sharing {

// Trains on lessons of this node's stores. It gives way to serving between slices. Lessons are read
// when they are needed; one that is gone by then ends the work with ABORTED and the reason CHANGED,
// because it was withdrawn. One that is damaged by then teaches nothing and ends nothing. Further
// errors of the work: CANCELLED, and those of the stores. Use it on the learning thread.
class StoredLessonTrainer final : public CoreLessonTrainer {
 public:
  // All but `memory_bytes` is borrowed for the life of the trainer.
  struct Parts {
    const learning::LearningServices* services = nullptr;
    const inference::FrameSet* frame = nullptr;
    std::span<const std::string> lessons;  // names of ReadLesson
    float min_rating = 0;
    uint64_t memory_bytes = 0;  // of the activations
  };
  // Fails as CoreLessonTrainer::Begin does.
  static absl::StatusOr<std::unique_ptr<StoredLessonTrainer>> Create(
      const Parts& parts, const federation::LearnerPlan& plan);

  size_t lessons() const override { return parts_.lessons.size(); }
  // Returns how often a damaged lesson was to be read.
  size_t damaged() const { return damaged_; }

 private:
  explicit StoredLessonTrainer(const Parts& parts);
  absl::StatusOr<std::optional<inference::TrainingExample>> Read(size_t lesson) override;
  // Gives way once the slice is over.
  absl::Status BetweenSlices(uint64_t bytes) override;
  absl::Status BeforeReading() override;

  const Parts parts_;
  TimePoint slice_ends_{};
  size_t damaged_ = 0;
};

}  // namespace ruvd::sharing
