// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/learning/lesson_memory.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "base/bytes.h"
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

// Returns the digest of what a completion teaches.
Digest SourceOf(const storage::Trajectory& trajectory, std::string_view target) {
  ByteWriter writer;
  for (const std::string_view text :
       {std::string_view(trajectory.user_id), std::string_view(trajectory.prompt)}) {
    writer.Write(static_cast<uint32_t>(text.size())).WriteText(text);
  }
  return Sha256(writer.WriteText(target).str());
}

Digest SourceOf(const std::string& name, const Lesson& lesson) {
  return TextLessonOf(name).has_value() ? Digest{} : SourceOf(lesson.trajectory, lesson.target);
}

}  // namespace

absl::StatusOr<std::vector<LessonToRemember>> LessonsToRemember(const LearningServices& services,
                                                                float min_rating,
                                                                size_t max_texts) {
  std::vector<LessonToRemember> lessons;
  RETURN_IF_ERROR(
      services.trajectories->ForEachSince(0, [&](const storage::Trajectory& trajectory) {
        const std::string target = TargetText(trajectory, min_rating);
        if (!target.empty() && !IsExcludedFromLearning(services, trajectory)) {
          lessons.push_back(
              {.name = trajectory.response_id, .source = SourceOf(trajectory, target)});
        }
        return CheckCancelled(services).ok();
      }));
  std::vector<LessonToRemember> texts;
  if (services.lessons != nullptr) {
    RETURN_IF_ERROR(services.lessons->ForEachEntry([&](const storage::LessonEntry& entry) {
      texts.push_back({.name = NameOfTextLesson(entry.id)});
      return texts.size() < max_texts && CheckCancelled(services).ok();
    }));
  }
  RETURN_IF_ERROR(CheckCancelled(services));
  lessons.insert(lessons.end(), texts.rbegin(), texts.rend());
  return lessons;
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
  remembered.source = SourceOf(name, *lesson);
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

absl::StatusOr<bool> StillTeaches(const LearningServices& services,
                                  const serving::RememberedLesson& lesson, float min_rating) {
  if (TextLessonOf(lesson.name).has_value()) {
    ASSIGN_OR_RETURN(const bool gone, IsGone(services, lesson.name));
    return !gone;
  }
  ASSIGN_OR_RETURN(const std::optional<Lesson> now, ReadLesson(services, lesson.name, min_rating));
  return now && SourceOf(lesson.name, *now) == lesson.source;
}

storage::ObservedLesson ToKeep(const inference::MemoryParameters& parameters,
                               const serving::RememberedLesson& lesson) {
  storage::ObservedLesson kept{.name = lesson.name,
                               .user_id = lesson.user_id,
                               .made_by = parameters.EntryId(),
                               .source = lesson.source};
  if (lesson.masked != nullptr) {
    kept.masked = lesson.masked->Serialize();
  }
  if (lesson.causal != nullptr) {
    kept.causal = lesson.causal->Serialize();
  }
  return kept;
}

namespace {

// Returns a kept lesson as it is remembered; nullopt if it is damaged.
std::optional<serving::RememberedLesson> FromKept(const inference::MemoryParameters& parameters,
                                                  const storage::ObservedLesson& kept,
                                                  TimePoint read) {
  serving::RememberedLesson lesson{
      .name = kept.name, .user_id = kept.user_id, .source = kept.source, .read = read};
  const uint64_t id = serving::RunIdOf(kept.name);
  for (const bool causal : {false, true}) {
    const std::string& bytes = causal ? kept.causal : kept.masked;
    if (bytes.empty()) {
      continue;
    }
    auto run = inference::MemoryRun::Parse(bytes, id, parameters.dimension);
    if (!run.ok()) {
      return std::nullopt;
    }
    (causal ? lesson.causal : lesson.masked) = *std::move(run);
  }
  return lesson;
}

}  // namespace

absl::StatusOr<KeptLessons> ReadKeptLessons(const LearningServices& services,
                                            const inference::MemoryParameters& parameters,
                                            std::span<const LessonToRemember> wanted,
                                            storage::ObservedStore& store) {
  const TimePoint read = services.clock->Now();
  const Digest made_by = parameters.EntryId();
  std::map<std::string_view, size_t> places;
  for (size_t i = 0; i < wanted.size(); ++i) {
    places.emplace(wanted[i].name, i);
  }
  KeptLessons kept;
  std::map<size_t, serving::RememberedLesson> found;
  size_t unreadable = 0;
  RETURN_IF_ERROR(store.ForEach(
      [&](const storage::ObservedLesson& lesson) {
        const auto place = places.find(lesson.name);
        if (place == places.end() || lesson.source != wanted[place->second].source ||
            lesson.made_by != made_by) {
          kept.outdated.insert(lesson.name);
        } else if (auto remembered = FromKept(parameters, lesson, read)) {
          found.emplace(place->second, *std::move(remembered));
        } else {
          kept.outdated.insert(lesson.name);
          ++unreadable;
        }
        return CheckCancelled(services).ok();
      },
      &kept.damaged));
  RETURN_IF_ERROR(CheckCancelled(services));
  kept.damaged += unreadable;
  for (auto& [place, lesson] : found) {
    kept.lessons.push_back(std::move(lesson));
  }
  return kept;
}

}  // namespace ruvd::learning
