// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "federation/learner/local_round.h"
#include "federation/learner/plan.h"
#include "inference/adapter/frame_set.h"
#include "inference/train/core_trainer.h"
#include "inference/train/losses.h"
#include "inference/train/model_weights.h"
#include "node/learning/learning_services.h"

namespace ruvd::sharing {

// Trains the cores of a plan on lessons of this node's stores, in the model alone: no other adapter
// is beneath them. It gives way to serving between slices. Lessons are read when they are needed;
// one that is gone by then ends the work with ABORTED and the reason CHANGED, because it was
// withdrawn. Use it on the learning thread.
class StoredLessonTrainer final : public federation::LessonTrainer {
 public:
  // All but `memory_bytes` is borrowed for the life of the trainer.
  struct Parts {
    const learning::LearningServices* services = nullptr;
    const inference::FrameSet* frame = nullptr;
    std::span<const std::string> lessons;  // names of ReadLesson
    float min_rating = 0;
    uint64_t memory_bytes = 0;  // of the activations
  };
  // Returns PLAN_MISMATCH if the cores of the plan are not those of the frame, and the errors of
  // CoreTrainer::Create.
  static absl::StatusOr<std::unique_ptr<StoredLessonTrainer>> Create(
      const Parts& parts, const federation::LearnerPlan& plan);

  size_t lessons() const override { return parts_.lessons.size(); }
  // Trains on as many lessons as the steps have maskings, but at most limits::kMaxDeepLessons,
  // chosen by the seed; on all of them if there are no more. Further errors: CANCELLED and those of
  // the stores and of the trainer.
  absl::StatusOr<Trained> Train(const federation::BankedValues& from,
                                const federation::LearnerPlan::Local& local,
                                uint64_t seed) override;
  // Errors: CANCELLED, and those of the stores and of the trainer.
  absl::Status Gradients(const federation::BankedValues& at, std::span<const Draw> draws,
                         std::span<float* const> gradients) override;

 private:
  explicit StoredLessonTrainer(const Parts& parts) : parts_(parts) {}
  // Returns a lesson as training sees it; nullopt if it has no completion.
  absl::StatusOr<std::optional<inference::TrainingExample>> Read(size_t lesson) const;
  absl::StatusOr<std::vector<inference::TrainingExample>> ReadSome(size_t most,
                                                                   uint64_t seed) const;
  // Gives way once the slice is over.
  absl::Status BetweenSlices(uint64_t bytes);

  const Parts parts_;
  std::unique_ptr<inference::train::ModelWeights> weights_;
  std::unique_ptr<inference::train::CoreTrainer> trainer_;
  TimePoint slice_ends_{};
};

// Returns PLAN_MISMATCH if a plan is not for this frame, or has other values than its cores, and
// the errors of CoreShapeOf.
absl::StatusOr<inference::CoreShape> CoreShapeOfPlan(const federation::LearnerPlan& plan,
                                                     const inference::FrameSet& frame);

}  // namespace ruvd::sharing
