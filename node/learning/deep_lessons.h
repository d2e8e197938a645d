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

// The lessons of a deep round, as response ids.
struct DeepLessons {
  std::vector<std::string> taught;
  std::vector<std::string> held_back;  // lessons that judge the result; the first SelectionCount of
                                       // them say when to stop
};

// Chooses the newest limits::kMaxDeepLessons that teach something and are not forgotten. Only
// lessons among the newest half of the store's capacity are taken, so that they stay in the store
// until as many new trajectories have come. A quarter, but at most limits::kMaxDeepHeldBack, is
// held back. Returns CANCELLED and the errors of the store.
absl::StatusOr<DeepLessons> ChooseDeepLessons(const LearningServices& services, float min_rating);

// Returns how many of `held_back` lessons, counted from the first, decide when to stop; 0 if there
// are too few.
size_t SelectionCount(size_t held_back);

// Where ReadExamples puts lessons as training sees them. `prompts` may be null; `of_users` gets the
// responses that belong to a user.
struct ReadLessons {
  std::vector<inference::TrainingExample>* examples = nullptr;
  std::vector<std::vector<float>>* prompts = nullptr;
  std::vector<std::string>* of_users = nullptr;
};

// Reads the lessons. Returns false if a lesson is no longer in the store.
absl::StatusOr<bool> ReadExamples(const LearningServices& services,
                                  std::span<const std::string> responses, float min_rating,
                                  const ReadLessons& out);

}  // namespace ruvd::learning
