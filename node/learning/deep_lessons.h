// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "inference/train/losses.h"
#include "node/learning/learning_services.h"

namespace ruvd::learning {

// What a deep round learns from, as response ids.
struct DeepLessons {
  std::vector<std::string> taught;
  std::vector<std::string>
      held_back;  // judge what it learned, and SelectionCount of them when to stop
};

// The newest limits::kMaxDeepLessons that teach something and are not forgotten, of those that stay
// in the store until half of its capacity has come after them; a quarter, at most
// limits::kMaxDeepHeldBack, is held back. CANCELLED; the errors of the store.
absl::StatusOr<DeepLessons> ChooseDeepLessons(const LearningServices& services, float min_rating);

// How many of so many held-back lessons, the first ones, say when to stop; 0: too few to tell.
size_t SelectionCount(size_t held_back);

// Lessons as training sees them. `prompts` may be null; `of_users` gets the responses that belong
// to somebody.
struct ReadLessons {
  std::vector<inference::TrainingExample>* examples = nullptr;
  std::vector<std::vector<float>>* prompts = nullptr;
  std::vector<std::string>* of_users = nullptr;
};

// False where a lesson is gone.
absl::StatusOr<bool> ReadExamples(const LearningServices& services,
                                  std::span<const std::string> responses, float min_rating,
                                  const ReadLessons& out);

}  // namespace ruvd::learning
