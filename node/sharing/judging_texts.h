// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/bytes.h"
#include "inference/evaluate/paired.h"
#include "node/learning/evaluation_lessons.h"
#include "node/learning/learning_services.h"

namespace ruvd::sharing {

// Returns the newest usable evaluation lessons, at most limits::kMaxEvaluationLessons, as
// documents: the prompt is given and the text that the user wanted is scored. Lessons of erased
// users no longer exist. Returns CANCELLED and the errors of the store.
absl::StatusOr<std::vector<inference::ScoredDocument>> ChooseEvaluationLessons(
    const learning::LearningServices& services, float min_rating);

// Returns lessons as documents, by the names of ReadLesson; one that is gone, or has no completion,
// is left out. Returns the errors of the stores.
absl::StatusOr<std::vector<inference::ScoredDocument>> DocumentsOfLessons(
    const learning::LearningServices& services, std::span<const std::string> names,
    float min_rating);

// Returns general text as documents; all tokens except the first are scored.
std::vector<inference::ScoredDocument> DocumentsOf(
    const std::vector<std::vector<inference::TokenId>>& passages);

// A text that judges adapters, with a hash of its tokens.
struct JudgingText {
  Digest id{};
  inference::ScoredDocument text;
};
// Returns the texts in the order of their ids, each once.
std::vector<JudgingText> WithIds(std::vector<inference::ScoredDocument> texts);

}  // namespace ruvd::sharing
