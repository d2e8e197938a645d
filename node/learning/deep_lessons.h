// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "inference/train/losses.h"
#include "node/learning/learning_services.h"

namespace ruvd::learning {

// The lessons of a deep round, by the names of ReadLesson.
struct DeepLessons {
  std::vector<std::string> taught;
  std::vector<std::string> held_back;  // lessons that judge the result; the first SelectionCount of
                                       // them say when to stop
};

// Chooses limits::kMaxDeepLessons: the newest completions that teach something and are not
// forgotten, and lessons from texts, by the seed, which get at least half if there are that many.
// Only completions among the newest half of their store's capacity are taken, so that they stay in
// it until as many new ones have come. A quarter, but at most limits::kMaxDeepHeldBack, is held
// back. Returns CANCELLED and the errors of the stores.
absl::StatusOr<DeepLessons> ChooseDeepLessons(const LearningServices& services, float min_rating,
                                              uint64_t seed);

// Returns how many of `held_back` lessons, counted from the first, decide when to stop; 0 if there
// are too few.
size_t SelectionCount(size_t held_back);

// Where ReadExamples puts lessons as training sees them. `revocable` gets the lessons that a person
// may take back: those of a user, and those from texts.
struct ReadLessons {
  std::vector<inference::TrainingExample>* examples = nullptr;
  std::vector<std::string>* revocable = nullptr;
};

// Reads the lessons. Returns false if a lesson is no longer in the store.
absl::StatusOr<bool> ReadExamples(const LearningServices& services,
                                  std::span<const std::string> responses, float min_rating,
                                  const ReadLessons& out);

}  // namespace ruvd::learning
