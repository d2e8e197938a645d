// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/sharing/judging_texts.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <string>
#include <utility>

#include "base/status.h"
#include "node/learning/lesson_clusters.h"
#include "node/learning/text_lessons.h"
#include "node/limits.h"
#include "storage/lessons/lesson_store.h"

namespace ruvd::sharing {
namespace {

Digest IdOfText(const inference::ScoredDocument& text) {
  ByteWriter bytes;
  bytes.Write(static_cast<uint64_t>(text.prompt.size()));
  for (const std::vector<inference::TokenId>* tokens : {&text.prompt, &text.completion}) {
    for (const inference::TokenId token : *tokens) {
      bytes.Write(token);
    }
  }
  return Sha256(bytes.str());
}

}  // namespace

absl::StatusOr<std::vector<inference::ScoredDocument>> ChooseEvaluationLessons(
    const learning::LearningServices& services, float min_rating) {
  std::deque<std::string> newest;
  RETURN_IF_ERROR(
      services.trajectories->ForEachSince(0, [&](const storage::Trajectory& trajectory) {
        if (learning::IsEvaluationLesson(trajectory.response_id) &&
            !learning::TargetText(trajectory, min_rating).empty() &&
            !learning::IsExcludedFromLearning(services, trajectory)) {
          newest.push_back(trajectory.response_id);
          if (newest.size() > limits::kMaxEvaluationLessons) {
            newest.pop_front();
          }
        }
        return CheckCancelled(services).ok();
      }));
  if (services.lessons != nullptr) {
    RETURN_IF_ERROR(services.lessons->ForEachEntry([&](const storage::LessonEntry& entry) {
      std::string name = learning::NameOfTextLesson(entry.id);
      const bool room = newest.size() < limits::kMaxEvaluationLessons;
      if (room && learning::IsEvaluationLesson(name)) {
        newest.push_back(std::move(name));
      }
      return room && CheckCancelled(services).ok();
    }));
  }
  RETURN_IF_ERROR(CheckCancelled(services));
  return DocumentsOfLessons(services, std::vector<std::string>(newest.begin(), newest.end()),
                            min_rating);
}

absl::StatusOr<std::vector<inference::ScoredDocument>> DocumentsOfLessons(
    const learning::LearningServices& services, std::span<const std::string> names,
    float min_rating) {
  std::vector<inference::ScoredDocument> documents;
  for (const std::string& name : names) {
    ASSIGN_OR_RETURN(const std::optional<learning::Lesson> lesson,
                     learning::ReadLesson(services, name, min_rating));
    if (!lesson) {
      continue;
    }
    const learning::Lesson* const one = &*lesson;
    inference::TrainingExample example = std::move(
        learning::MakeExamples(services.transformer->model(), std::span(&one, 1)).front());
    if (!example.completion.empty()) {
      documents.push_back(
          {.prompt = std::move(example.prompt), .completion = std::move(example.completion)});
    }
  }
  return documents;
}

std::vector<inference::ScoredDocument> DocumentsOf(
    const std::vector<std::vector<inference::TokenId>>& passages) {
  std::vector<inference::ScoredDocument> documents;
  for (const std::vector<inference::TokenId>& passage : passages) {
    documents.push_back(
        {.prompt = {passage.front()}, .completion = {std::next(passage.begin()), passage.end()}});
  }
  return documents;
}

std::vector<JudgingText> WithIds(std::vector<inference::ScoredDocument> texts) {
  std::vector<JudgingText> documents;
  for (inference::ScoredDocument& text : texts) {
    const Digest id = IdOfText(text);
    documents.push_back({.id = id, .text = std::move(text)});
  }
  // No document may count twice.
  std::ranges::sort(documents, {}, &JudgingText::id);
  const auto repeated = std::ranges::unique(documents, {}, &JudgingText::id);
  documents.erase(repeated.begin(), repeated.end());
  return documents;
}

}  // namespace ruvd::sharing
