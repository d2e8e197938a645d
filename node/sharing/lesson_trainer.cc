// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/sharing/lesson_trainer.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/bytes.h"
#include "base/random.h"
#include "base/status.h"
#include "federation/reasons.h"
#include "node/learning/lesson_clusters.h"
#include "node/learning/text_lessons.h"
#include "node/limits.h"
#include "storage/reasons.h"

namespace ruvd::sharing {
namespace {

constexpr size_t kReadAtOnce = 64;  // a slice reads and tokenises for about 100 ms

static_assert(inference::train::kShareTenths == federation::kScheduleBins);

absl::Status Changed() {
  return Error(absl::StatusCode::kAborted, reasons::kChanged,
               "a lesson was withdrawn while its round was computed, so nothing is offered in this "
               "round; the next one is made without it");
}

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

absl::StatusOr<std::unique_ptr<StoredLessonTrainer>> StoredLessonTrainer::Create(
    const Parts& parts, const federation::LearnerPlan& plan) {
  ASSIGN_OR_RETURN(const inference::CoreShape shape, CoreShapeOfPlan(plan, *parts.frame));
  std::unique_ptr<StoredLessonTrainer> made(new StoredLessonTrainer(parts));
  inference::Transformer& transformer = *parts.services->transformer;
  ASSIGN_OR_RETURN(made->weights_, inference::train::ModelWeights::Create(
                                       transformer.shared_model(), nullptr, transformer.runner()));
  ASSIGN_OR_RETURN(made->trainer_, inference::train::CoreTrainer::Create(
                                       {.model = transformer.shared_model(),
                                        .weights = made->weights_.get(),
                                        .frame = parts.frame,
                                        .runner = &transformer.runner(),
                                        .pass = {.memory_bytes = parts.memory_bytes}},
                                       shape));
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

absl::StatusOr<std::optional<inference::TrainingExample>> StoredLessonTrainer::Read(
    size_t lesson) const {
  ASSIGN_OR_RETURN(
      const std::optional<learning::Lesson> read,
      learning::ReadLesson(*parts_.services, parts_.lessons[lesson], parts_.min_rating));
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

absl::StatusOr<std::vector<inference::TrainingExample>> StoredLessonTrainer::ReadSome(
    size_t most, uint64_t seed) const {
  std::vector<size_t> order(lessons());
  std::iota(order.begin(), order.end(), size_t{0});
  Random random(seed);
  random.Shuffle(std::span(order));
  order.resize(std::min(order.size(), most));
  std::vector<inference::TrainingExample> examples;
  for (size_t i = 0; i < order.size(); ++i) {
    if (i % kReadAtOnce == 0) {
      RETURN_IF_ERROR(YieldBetweenPieces(*parts_.services));
    }
    ASSIGN_OR_RETURN(std::optional<inference::TrainingExample> example, Read(order[i]));
    if (example) {
      examples.push_back(*std::move(example));
    }
  }
  return examples;
}

absl::StatusOr<federation::LessonTrainer::Trained> StoredLessonTrainer::Train(
    const federation::BankedValues& from, const federation::LearnerPlan::Local& local,
    uint64_t seed) {
  ASSIGN_OR_RETURN(
      std::vector<inference::TrainingExample> examples,
      ReadSome(std::min(size_t{local.steps} * local.batch, limits::kMaxDeepLessons), seed));
  ASSIGN_OR_RETURN(
      const std::unique_ptr<inference::train::Objective> objective,
      inference::train::MakeObjective(parts_.services->transformer->model(), std::move(examples),
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

absl::Status StoredLessonTrainer::Gradients(const federation::BankedValues& at,
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
