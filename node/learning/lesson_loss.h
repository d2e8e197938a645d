// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "absl/status/statusor.h"
#include "inference/adapter/adapter.h"
#include "inference/train/losses.h"
#include "node/learning/learning_services.h"

namespace ruvd::learning {

// Returns the mean loss of lessons in nats per token (ScoreCompletion), with `adapter` on top of
// `beneath`; a null adapter adds nothing. Equal seeds give equal masks. There must be a lesson.
// Gives way to serving between two lessons. Returns CANCELLED and the errors of the forward pass.
absl::StatusOr<double> LossOfLessons(const LearningServices& services,
                                     inference::AdapterMix beneath,
                                     std::span<const inference::TrainingExample> lessons,
                                     std::shared_ptr<const inference::Adapter> adapter,
                                     uint64_t seed);

}  // namespace ruvd::learning
