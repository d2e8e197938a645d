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
  // A conversation has control tokens that its text does not give.
  const auto most = std::min(static_cast<size_t>(model.config().context), limits::kMaxMemoryRun);
  LessonTokens result;
  result.tokens = lesson.trajectory.prompt_tokens.empty()
                      ? serving::PromptTokens(model, lesson.trajectory.prompt)
                      : lesson.trajectory.prompt_tokens;
  std::vector<inference::TokenId> text = model.tokenizer().EncodeContinuation(lesson.target);
  const size_t prompt = std::min(result.tokens.size(), most / 2);
  result.tokens.erase(result.tokens.begin(), result.tokens.end() - static_cast<ptrdiff_t>(prompt));
  result.given = std::max<size_t>(prompt, 1);
  text.resize(std::min(text.size(), most - prompt));
  result.tokens.insert(result.tokens.end(), text.begin(), text.end());
  return result;
}

// Returns the digest of what a completion teaches this model.
Digest SourceOf(const LearningServices& services, const storage::Trajectory& trajectory,
                std::string_view target) {
  ByteWriter writer;
  for (const std::string_view text :
       {std::string_view(trajectory.user_id), std::string_view(trajectory.prompt)}) {
    writer.Write(static_cast<uint32_t>(text.size())).WriteText(text);
  }
  const bool own_tokens = trajectory.embedded_by == AsText(services.package_id);
  writer.Write(static_cast<uint32_t>(own_tokens ? trajectory.prompt_tokens.size() : 0));
  for (const inference::TokenId token : trajectory.prompt_tokens) {
    if (own_tokens) {
      writer.Write(token);
    }
  }
  return Sha256(writer.WriteText(target).str());
}

// Completions rank above texts, which are many and of which a person wrote none for this node.
constexpr uint64_t kCompletions = uint64_t{1} << 63;

uint64_t RankOf(const storage::Trajectory& trajectory) {
  return kCompletions | static_cast<uint64_t>(std::max<int64_t>(trajectory.created_ms, 0));
}

// What was undone or deleted must not teach again, whichever package learned it.
bool MayTeach(const LearningServices& services, const storage::Trajectory& trajectory) {
  const bool undone = trajectory.learned_in && *trajectory.learned_in == storage::PatternId{};
  return !undone && !IsExcludedFromLearning(services, trajectory);
}

}  // namespace

absl::StatusOr<std::vector<LessonToRemember>> LessonsToRemember(const LearningServices& services,
                                                                float min_rating,
                                                                size_t max_texts) {
  std::vector<LessonToRemember> lessons;
  RETURN_IF_ERROR(
      services.trajectories->ForEachSince(0, [&](const storage::Trajectory& trajectory) {
        const std::string target = TargetText(trajectory, min_rating);
        if (!target.empty() && MayTeach(services, trajectory)) {
          lessons.push_back({.name = trajectory.response_id,
                             .source = SourceOf(services, trajectory, target),
                             .rank = RankOf(trajectory)});
        }
        return CheckCancelled(services).ok();
      }));
  std::ranges::reverse(lessons);
  size_t texts = 0;
  if (services.lessons != nullptr) {
    RETURN_IF_ERROR(services.lessons->ForEachEntry([&](const storage::LessonEntry& entry) {
      lessons.push_back({.name = NameOfTextLesson(entry.id), .rank = entry.number});
      return ++texts < max_texts && CheckCancelled(services).ok();
    }));
  }
  RETURN_IF_ERROR(CheckCancelled(services));
  return lessons;
}

absl::StatusOr<std::optional<serving::RememberedLesson>> ObserveToRemember(
    const LearningServices& services, const inference::MemoryParameters& parameters,
    const LessonToRemember& wanted, float min_rating) {
  serving::RememberedLesson remembered{
      .name = wanted.name, .rank = wanted.rank, .read = services.clock->Now()};
  ASSIGN_OR_RETURN(const std::optional<Lesson> lesson,
                   ReadLesson(services, wanted.name, min_rating));
  if (!lesson || lesson->target.empty() || !MayTeach(services, lesson->trajectory)) {
    return std::nullopt;
  }
  inference::Transformer& transformer = EmbedderOf(services);
  const LessonTokens read = TokensOf(transformer.model(), *lesson);
  if (read.tokens.size() <= read.given) {
    return std::nullopt;
  }
  const uint64_t id = serving::RunIdOf(wanted.name);
  remembered.user_id = lesson->trajectory.user_id;
  if (!TextLessonOf(wanted.name)) {
    remembered.source = SourceOf(services, lesson->trajectory, lesson->target);
    remembered.rank = RankOf(lesson->trajectory);
  }
  // Equal lessons are masked alike, so that a restart remembers the same.
  Random random(id);
  for (const bool causal : {false, true}) {
    RETURN_IF_ERROR(CheckCancelled(services));
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

absl::StatusOr<bool> StillTeaches(const LearningServices& services, const std::string& name,
                                  const Digest& source, float min_rating) {
  if (TextLessonOf(name)) {
    ASSIGN_OR_RETURN(const bool gone, IsGone(services, name));
    return !gone;
  }
  ASSIGN_OR_RETURN(const std::optional<Lesson> now, ReadLesson(services, name, min_rating));
  return now && MayTeach(services, now->trajectory) &&
         SourceOf(services, now->trajectory, now->target) == source;
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
                                            size_t max_tokens, storage::ObservedStore& store) {
  const TimePoint read = services.clock->Now();
  const Digest made_by = parameters.EntryId();
  std::map<std::string_view, size_t> places;
  for (size_t i = 0; i < wanted.size(); ++i) {
    places.emplace(wanted[i].name, i);
  }
  KeptLessons kept;
  std::map<size_t, storage::ObservedLesson> found;
  RETURN_IF_ERROR(store.ForEach(
      [&](storage::ObservedLesson lesson) {
        const auto place = places.find(lesson.name);
        if (place == places.end() || lesson.source != wanted[place->second].source ||
            lesson.made_by != made_by) {
          kept.outdated.insert(std::move(lesson.name));
        } else {
          found.emplace(place->second, std::move(lesson));
        }
        return CheckCancelled(services).ok();
      },
      &kept.damaged));
  size_t tokens = 0;
  for (const auto& [place, lesson] : found) {
    RETURN_IF_ERROR(CheckCancelled(services));
    auto remembered = tokens < max_tokens ? FromKept(parameters, lesson, read) : std::nullopt;
    if (!remembered) {
      kept.damaged += tokens < max_tokens ? 1 : 0;
      kept.outdated.insert(lesson.name);
      continue;
    }
    remembered->rank = wanted[place].rank;
    const auto& run = remembered->causal != nullptr ? remembered->causal : remembered->masked;
    tokens += run == nullptr ? 0 : run->size();
    kept.lessons.push_back(*std::move(remembered));
  }
  return kept;
}

}  // namespace ruvd::learning
