// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/learning/lesson_memory.h"

#include <algorithm>
#include <utility>

#include "base/random.h"
#include "base/status.h"
#include "inference/memory/learning/observe_lesson.h"
#include "inference/memory/limits.h"
#include "node/learning/lesson_clusters.h"
#include "node/learning/text_lessons.h"
#include "node/serving/prompt_tokens.h"
#include "storage/lessons/lesson_store.h"

namespace ruvd::learning {
namespace {

// The tokens of a lesson, of which the first `given` are its prompt.
struct LessonTokens {
  std::vector<inference::TokenId> tokens;
  size_t given = 0;
};

// A long prompt loses its beginning, a long text its end.
LessonTokens TokensOf(const inference::Model& model, const Lesson& lesson) {
  const auto most = std::min(static_cast<size_t>(model.config().context), limits::kMaxMemoryRun);
  LessonTokens result;
  result.tokens = serving::PromptTokens(model, lesson.trajectory.prompt);
  std::vector<inference::TokenId> text = model.tokenizer().EncodeContinuation(lesson.target);
  const size_t prompt = std::min(result.tokens.size(), most / 2);
  result.tokens.erase(result.tokens.begin(), result.tokens.end() - static_cast<ptrdiff_t>(prompt));
  result.given = std::max<size_t>(prompt, 1);
  text.resize(std::min(text.size(), most - prompt));
  result.tokens.insert(result.tokens.end(), text.begin(), text.end());
  return result;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> LessonsToRemember(const LearningServices& services,
                                                           float min_rating, size_t max_texts) {
  std::vector<std::string> names;
  RETURN_IF_ERROR(
      services.trajectories->ForEachSince(0, [&](const storage::Trajectory& trajectory) {
        if (!TargetText(trajectory, min_rating).empty() &&
            !IsExcludedFromLearning(services, trajectory)) {
          names.push_back(trajectory.response_id);
        }
        return CheckCancelled(services).ok();
      }));
  std::vector<std::string> texts;
  if (services.lessons != nullptr) {
    RETURN_IF_ERROR(services.lessons->ForEachEntry([&](const storage::LessonEntry& entry) {
      texts.push_back(NameOfTextLesson(entry.id));
      return texts.size() < max_texts && CheckCancelled(services).ok();
    }));
  }
  RETURN_IF_ERROR(CheckCancelled(services));
  names.insert(names.end(), texts.rbegin(), texts.rend());
  return names;
}

absl::StatusOr<std::optional<serving::RememberedLesson>> ObserveToRemember(
    const LearningServices& services, const inference::MemoryParameters& parameters,
    const std::string& name, float min_rating) {
  serving::RememberedLesson remembered{.name = name, .read = services.clock->Now()};
  ASSIGN_OR_RETURN(const std::optional<Lesson> lesson, ReadLesson(services, name, min_rating));
  if (!lesson || lesson->target.empty()) {
    return std::nullopt;
  }
  inference::Transformer& transformer =
      services.embedder != nullptr ? *services.embedder : *services.transformer;
  const LessonTokens read = TokensOf(transformer.model(), *lesson);
  if (read.tokens.size() <= read.given) {
    return std::nullopt;
  }
  const uint64_t id = serving::RunIdOf(name);
  remembered.user_id = lesson->trajectory.user_id;
  // Equal lessons are masked alike, so that a restart remembers the same.
  Random random(id);
  for (const bool causal : {false, true}) {
    if (!causal && !transformer.model().tokenizer().mask_id()) {
      continue;
    }
    ASSIGN_OR_RETURN(const inference::ObservedLesson observed,
                     ObserveLesson(transformer, read.tokens, read.given, causal, random));
    (causal ? remembered.causal : remembered.masked) =
        inference::RunOf(parameters, id, read.tokens, observed);
  }
  return remembered;
}

}  // namespace ruvd::learning
