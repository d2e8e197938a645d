// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/parallel.h"
#include "federation/learner/local_round.h"
#include "federation/learner/plan.h"
#include "inference/adapter/core_shape.h"
#include "inference/adapter/frame_set.h"
#include "inference/model/model.h"
#include "inference/train/core_trainer.h"
#include "inference/train/limits.h"
#include "inference/train/losses.h"
#include "inference/train/model_weights.h"

namespace ruvd::sharing {

// Trains the cores of a plan in the model alone: no other adapter is beneath them. Where lessons
// come from, a derived class decides. Not thread-safe.
class CoreLessonTrainer : public federation::LessonTrainer {
 public:
  // All but `memory_bytes` is borrowed for the life of the trainer.
  struct Parts {
    std::shared_ptr<const inference::Model> model;
    const inference::FrameSet* frame = nullptr;
    ParallelRunner* runner = nullptr;
    uint64_t memory_bytes = limits::kBackgroundTrainingBytes;  // of the activations
  };

  // Trains on as many lessons as the steps have maskings, but at most limits::kMaxDeepLessons,
  // chosen by the seed; on all of them if there are no more. Fails as the lessons, BetweenSlices
  // and CoreTrainer::Train do.
  absl::StatusOr<Trained> Train(const federation::BankedValues& from,
                                const federation::LearnerPlan::Local& local, uint64_t seed) final;
  // Fails as the lessons, BetweenSlices and CoreTrainer::Gradients do.
  absl::Status Gradients(const federation::BankedValues& at, std::span<const Draw> draws,
                         std::span<float* const> gradients) final;

 protected:
  explicit CoreLessonTrainer(Parts parts) : core_(std::move(parts)) {}
  // Must be called first, once. Returns PLAN_MISMATCH if the cores of the plan are not those of the
  // frame, and the errors of CoreTrainer::Create.
  absl::Status Begin(const federation::LearnerPlan& plan);

  // Returns a lesson as training sees it; nullopt if it has no completion.
  virtual absl::StatusOr<std::optional<inference::TrainingExample>> Read(size_t lesson) = 0;
  // Are called between slices of the work, with the bytes that it holds, and before some dozens of
  // lessons are read. An error ends the work, which returns it.
  virtual absl::Status BetweenSlices(uint64_t bytes) = 0;
  virtual absl::Status BeforeReading() = 0;

 private:
  absl::StatusOr<std::vector<inference::TrainingExample>> ReadSome(size_t most, uint64_t seed);

  const Parts core_;
  std::unique_ptr<inference::train::ModelWeights> weights_;
  std::unique_ptr<inference::train::CoreTrainer> trainer_;
};

// Returns PLAN_MISMATCH if a plan is not for this frame, or has other values than its cores, and
// the errors of CoreShapeOf.
absl::StatusOr<inference::CoreShape> CoreShapeOfPlan(const federation::LearnerPlan& plan,
                                                     const inference::FrameSet& frame);

}  // namespace ruvd::sharing
