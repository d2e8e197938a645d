// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "inference/transformer/transformer.h"
#include "node/learning/learning_services.h"
#include "node/serving/extensions/lesson_memories.h"

namespace ruvd::learning {

// Returns the names of the lessons that the node's memory may hold, in the order in which they are
// remembered: completions that teach something, oldest first, then the texts that were added last,
// oldest first. `max_texts` bounds the texts. Returns CANCELLED and the errors of the stores.
absl::StatusOr<std::vector<std::string>> LessonsToRemember(const LearningServices& services,
                                                           float min_rating, size_t max_texts);

// Reads a lesson with the model, masked (unless the model has no mask token) and from left to
// right. What does not fit the model's context is left out at the end. Nullopt if the lesson is
// gone, teaches nothing or has fewer than two tokens. Returns the errors of the stores and of
// Transformer::Forward.
absl::StatusOr<std::optional<serving::RememberedLesson>> ObserveToRemember(
    const LearningServices& services, const inference::MemoryParameters& parameters,
    const std::string& name, float min_rating);

}  // namespace ruvd::learning
