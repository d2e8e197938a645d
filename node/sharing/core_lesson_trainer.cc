// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/sharing/core_lesson_trainer.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/bytes.h"
#include "base/random.h"
#include "base/status.h"
#include "federation/reasons.h"
#include "node/limits.h"

namespace ruvd::sharing {
namespace {

constexpr size_t kReadAtOnce = 64;  // a slice reads and tokenises for about 100 ms

static_assert(inference::train::kShareTenths == federation::kScheduleBins);

}  // namespace

absl::StatusOr<inference::CoreShape> CoreShapeOfPlan(const federation::LearnerPlan& plan,
                                                     const inference::FrameSet& frame) {
  ASSIGN_OR_RETURN(inference::CoreShape shape,
                   CoreShapeOf(frame, static_cast<int>(plan.rank), plan.boundaries));
  if (frame.id != plan.frame_id || shape.values_per_bank() != plan.values_per_bank) {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kPlanMismatch,
                 "the cluster's learning plan is for frame {} with {} values in a bank, but this "
                 "node has frame {} with {}; give all nodes the same model, frame and "
                 "`federation` keys",
                 ToHex(plan.frame_id), plan.values_per_bank, ToHex(frame.id),
                 shape.values_per_bank());
  }
  return shape;
}

absl::Status CoreLessonTrainer::Begin(const federation::LearnerPlan& plan) {
  ASSIGN_OR_RETURN(const inference::CoreShape shape, CoreShapeOfPlan(plan, *core_.frame));
  ASSIGN_OR_RETURN(weights_, inference::train::ModelWeights::Create(
                                 core_.model, nullptr, *core_.runner,
                                 inference::train::TrainingPrecision::kMixed));
  ASSIGN_OR_RETURN(trainer_, inference::train::CoreTrainer::Create(
                                 {.model = core_.model,
                                  .weights = weights_.get(),
                                  .frame = core_.frame,
                                  .runner = core_.runner,
                                  .pass = {.memory_bytes = core_.memory_bytes}},
                                 shape));
  return absl::OkStatus();
}

absl::StatusOr<std::vector<inference::TrainingExample>> CoreLessonTrainer::ReadSome(size_t most,
                                                                                    uint64_t seed) {
  std::vector<size_t> order(lessons());
  std::iota(order.begin(), order.end(), size_t{0});
  Random random(seed);
  random.Shuffle(std::span(order));
  order.resize(std::min(order.size(), most));
  std::vector<inference::TrainingExample> examples;
  for (size_t i = 0; i < order.size(); ++i) {
    if (i % kReadAtOnce == 0) {
      RETURN_IF_ERROR(BeforeReading());
    }
    ASSIGN_OR_RETURN(std::optional<inference::TrainingExample> example, Read(order[i]));
    if (example) {
      examples.push_back(*std::move(example));
    }
  }
  return examples;
}

absl::StatusOr<federation::LessonTrainer::Trained> CoreLessonTrainer::Train(
    const federation::BankedValues& from, const federation::LearnerPlan::Local& local,
    uint64_t seed) {
  ASSIGN_OR_RETURN(
      std::vector<inference::TrainingExample> examples,
      ReadSome(std::min(size_t{local.steps} * local.batch, limits::kMaxDeepLessons), seed));
  ASSIGN_OR_RETURN(
      const std::unique_ptr<inference::train::Objective> objective,
      inference::train::MakeObjective(*core_.model, std::move(examples),
                                      {.batch = static_cast<int>(local.batch), .seed = seed}));
  ASSIGN_OR_RETURN(
      inference::train::CoreTrainer::Trained trained,
      trainer_->Train(from, *objective,
                      {.learning_rate = local.learning_rate,
                       .count = local.steps,
                       .prox = local.prox,
                       .hold = local.hold},
                      /*state=*/nullptr, [this](uint64_t bytes) { return BetweenSlices(bytes); }));
  return Trained{
      .values = std::move(trained.values), .maskings = trained.maskings, .loss = trained.loss};
}

absl::Status CoreLessonTrainer::Gradients(const federation::BankedValues& at,
                                          std::span<const Draw> draws,
                                          std::span<float* const> gradients) {
  std::vector<inference::TrainingExample> examples;
  std::vector<inference::train::CoreTrainer::Draw> readable;
  std::vector<float*> places;
  examples.reserve(draws.size());  // its elements are pointed to
  for (size_t i = 0; i < draws.size(); ++i) {
    ASSIGN_OR_RETURN(std::optional<inference::TrainingExample> example, Read(draws[i].lesson));
    if (example) {
      examples.push_back(*std::move(example));
      readable.push_back({.text = &examples.back(), .seed = draws[i].seed});
      places.push_back(gradients[i]);
    }
  }
  std::vector<double> shares(readable.size());
  return trainer_->Gradients(at, readable, places, shares,
                             [this](uint64_t bytes) { return BetweenSlices(bytes); });
}

}  // namespace ruvd::sharing
