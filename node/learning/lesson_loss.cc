// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/learning/lesson_loss.h"

#include <utility>

#include "base/status.h"
#include "inference/train/score.h"

namespace ruvd::learning {
namespace {

constexpr int kSamples = 8;  // maskings of each lesson

}  // namespace

absl::StatusOr<double> LossOfLessons(const LearningServices& services,
                                     inference::AdapterMix beneath,
                                     std::span<const inference::TrainingExample> lessons,
                                     std::shared_ptr<const inference::Adapter> adapter,
                                     uint64_t seed) {
  if (adapter != nullptr) {
    beneath.parts.push_back({.adapter = std::move(adapter), .weight = 1.0F});
  }
  double sum = 0;
  for (size_t i = 0; i < lessons.size(); ++i) {
    RETURN_IF_ERROR(YieldBetweenPieces(services));
    ASSIGN_OR_RETURN(const double nats,
                     inference::ScoreCompletion(
                         *services.transformer, lessons[i].prompt, lessons[i].completion, &beneath,
                         {.samples = kSamples, .seed = seed + i, .cancelled = services.cancelled}));
    sum += nats;
  }
  return sum / static_cast<double>(lessons.size());
}

}  // namespace ruvd::learning
