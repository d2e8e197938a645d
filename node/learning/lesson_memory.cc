// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/learning/lesson_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
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

// The tokens of a lesson; the first `given` are context and are not remembered.
struct LessonTokens {
  std::vector<inference::TokenId> tokens;
  size_t given = 0;
  size_t prompt = 0;  // tokens before the text, at least 1
  bool ends = false;  // the last token ends the text
};

// A long prompt loses its beginning, a long text its end.
LessonTokens TokensOf(const inference::Model& model, const Lesson& lesson, bool with_prompt) {
  // A conversation has control tokens that its text does not give.
  const bool conversation = !lesson.trajectory.prompt_tokens.empty();
  const auto most = std::min(static_cast<size_t>(model.config().context), limits::kMaxMemoryRun);
  LessonTokens result;
  result.tokens = conversation ? lesson.trajectory.prompt_tokens
                               : serving::PromptTokens(model, lesson.trajectory.prompt);
  std::vector<inference::TokenId> text = model.tokenizer().EncodeContinuation(lesson.target);
  if (lesson.trajectory.edited_text.has_value()) {
    // A correction is the whole answer, so its end is remembered, too. Without it a completion goes
    // on with the words of other lessons.
    const std::optional<inference::TokenId> end =
        conversation ? model.tokenizer().end_of_turn_id() : model.tokenizer().eos_id();
    if (end) {
      text.push_back(*end);
      result.ends = true;
    }
  }
  result.given = result.tokens.size();
  if (with_prompt) {
    const NewPart fresh =
        conversation ? NewPartOf(result.tokens,
                                 [&](auto token) { return model.tokenizer().IsSpecial(token); })
                     : NewPart{0, result.tokens.size()};
    result.given = fresh.begin;
    result.tokens.resize(text.empty() ? fresh.end : result.tokens.size());
  }
  // A prompt that is remembered leaves the text half of the room only where the text needs it.
  const size_t beside = with_prompt ? std::min(text.size(), most / 2) : most / 2;
  const size_t prompt = std::min(result.tokens.size(), most - beside);
  const size_t dropped = result.tokens.size() - prompt;
  result.tokens.erase(result.tokens.begin(),
                      result.tokens.begin() + static_cast<ptrdiff_t>(dropped));
  result.given = std::max<size_t>(result.given - std::min(result.given, dropped), 1);
  result.prompt = std::max<size_t>(prompt, 1);
  if (text.size() > most - prompt) {
    text.resize(most - prompt);
    result.ends = false;
  }
  result.tokens.insert(result.tokens.end(), text.begin(), text.end());
  return result;
}

// Returns whether the prompt of a completion is remembered. One without a user would be
// everybody's.
bool WithPrompt(const MemoryRules& rules, const storage::Trajectory& trajectory) {
  return rules.prompts && !trajectory.user_id.empty();
}

// Returns the digest of what a completion teaches this model.
Digest SourceOf(const LearningServices& services, const MemoryRules& rules,
                const storage::Trajectory& trajectory, std::string_view target) {
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
  const Digest taught = Sha256(writer.WriteText(target).str());
  return WithPrompt(rules, trajectory) ? Sha256(fmt::format("{} prompt", ToHex(taught))) : taught;
}

// Completions that teach rank above prompts, which no person judged, and those above texts, which
// are many and of which a person wrote none for this node.
constexpr uint64_t kCompletions = uint64_t{1} << 63;
constexpr uint64_t kPrompts = uint64_t{1} << 62;

uint64_t RankOf(const storage::Trajectory& trajectory, std::string_view target) {
  return (target.empty() ? kPrompts : kCompletions) |
         static_cast<uint64_t>(std::max<int64_t>(trajectory.created_ms, 0));
}

// What was undone or deleted must not teach again, whichever package learned it.
bool MayTeach(const LearningServices& services, const MemoryRules& rules,
              const storage::Trajectory& trajectory, std::string_view target) {
  const bool teaches = !target.empty() || WithPrompt(rules, trajectory);
  const bool undone = trajectory.learned_in && *trajectory.learned_in == storage::PatternId{};
  return teaches && !undone && !IsExcludedFromLearning(services, trajectory);
}

using UsersOfSources = std::map<storage::LessonSourceId, std::string>;

// Returns the users of all sources of texts; "" for one without a user.
absl::StatusOr<UsersOfSources> ReadUsersOfSources(const storage::LessonStore& lessons) {
  constexpr size_t kPage = 256;
  UsersOfSources users;
  std::optional<storage::LessonSourceId> after;
  for (bool more = true; more;) {
    ASSIGN_OR_RETURN(const std::vector<storage::LessonSource> page,
                     lessons.ListSources(after, kPage));
    for (const storage::LessonSource& source : page) {
      users.emplace(source.id, source.user_id);
      after = source.id;
    }
    more = page.size() == kPage;
  }
  return users;
}

// Reads a lesson of any kind. Nullopt if it is gone or damaged.
absl::StatusOr<std::optional<Lesson>> Read(const LearningServices& services,
                                           const MemoryRules& rules, const std::string& name) {
  return TextLessonOf(name) ? ReadLesson(services, name, rules.min_rating)
                            : ReadCompletion(services, name, rules.min_rating);
}

}  // namespace

NewPart NewPartOf(std::span<const inference::TokenId> conversation,
                  const std::function<bool(inference::TokenId)>& is_control) {
  // Fewer tokens between two control tokens are the name of a role.
  constexpr size_t kShortestMessage = 8;
  NewPart part{.begin = conversation.size(), .end = conversation.size()};
  while (part.begin > 0) {
    if (is_control(conversation[--part.begin])) {
      if (part.end - part.begin > kShortestMessage) {
        return {part.begin + 1, part.end};
      }
      part.end = part.begin;
    }
  }
  return part.end >= kShortestMessage ? part : NewPart{conversation.size(), conversation.size()};
}

absl::StatusOr<std::vector<LessonToRemember>> LessonsToRemember(const LearningServices& services,
                                                                const MemoryRules& rules,
                                                                size_t max_texts) {
  std::vector<LessonToRemember> lessons;
  RETURN_IF_ERROR(
      services.trajectories->ForEachSince(0, [&](const storage::Trajectory& trajectory) {
        const std::string target = TargetText(trajectory, rules.min_rating);
        if (MayTeach(services, rules, trajectory, target)) {
          lessons.push_back({.name = trajectory.response_id,
                             .user_id = trajectory.user_id,
                             .source = SourceOf(services, rules, trajectory, target),
                             .rank = RankOf(trajectory, target)});
        }
        return CheckCancelled(services).ok();
      }));
  std::ranges::sort(lessons, std::greater(), &LessonToRemember::rank);
  if (services.lessons != nullptr) {
    ASSIGN_OR_RETURN(const UsersOfSources users, ReadUsersOfSources(*services.lessons));
    std::map<std::string, size_t> texts;
    RETURN_IF_ERROR(services.lessons->ForEachEntry([&](const storage::LessonEntry& entry) {
      const auto source = users.find(entry.source);
      const std::string user_id = source == users.end() ? "" : source->second;
      if (++texts[user_id] <= max_texts) {
        lessons.push_back(
            {.name = NameOfTextLesson(entry.id), .user_id = user_id, .rank = entry.number});
      }
      return CheckCancelled(services).ok();
    }));
  }
  RETURN_IF_ERROR(CheckCancelled(services));
  return lessons;
}

absl::StatusOr<std::optional<serving::RememberedLesson>> ObserveToRemember(
    const LearningServices& services, const inference::MemoryParameters& parameters,
    const LessonToRemember& wanted, const MemoryRules& rules) {
  serving::RememberedLesson remembered{
      .name = wanted.name, .rank = wanted.rank, .read = services.clock->Now()};
  ASSIGN_OR_RETURN(const std::optional<Lesson> lesson, Read(services, rules, wanted.name));
  if (!lesson || !MayTeach(services, rules, lesson->trajectory, lesson->target)) {
    return std::nullopt;
  }
  const bool completion = !TextLessonOf(wanted.name);
  inference::Transformer& transformer = EmbedderOf(services);
  const LessonTokens read =
      TokensOf(transformer.model(), *lesson, completion && WithPrompt(rules, lesson->trajectory));
  if (read.tokens.size() <= read.given) {
    return std::nullopt;
  }
  const uint64_t id = serving::RunIdOf(wanted.name);
  remembered.user_id = lesson->trajectory.user_id;
  if (completion) {
    remembered.source = SourceOf(services, rules, lesson->trajectory, lesson->target);
    remembered.rank = RankOf(lesson->trajectory, lesson->target);
  }
  // Equal lessons are masked alike, so that a restart remembers the same.
  Random random(id);
  for (const bool causal : {false, true}) {
    RETURN_IF_ERROR(CheckCancelled(services));
    if (!causal && !transformer.model().tokenizer().mask_id()) {
      continue;
    }
    std::vector<inference::ObservedLesson> readings;
    ASSIGN_OR_RETURN(readings.emplace_back(),
                     ObserveLesson(transformer, read.tokens, read.given, causal, random));
    if (completion && !causal && read.prompt < read.tokens.size()) {
      if (read.ends) {
        // Under random masks the end would be found anywhere, and texts would end early.
        readings.front().tokens.back().probability = std::numeric_limits<float>::quiet_NaN();
      }
      // Who asks the same again expects the same words: read as they are written, they are found.
      ASSIGN_OR_RETURN(readings.emplace_back(),
                       ObserveFromPrefixes(transformer, read.tokens, read.prompt));
    }
    (causal ? remembered.causal : remembered.masked) =
        inference::RunOf(parameters, id, read.tokens, readings);
  }
  return remembered;
}

absl::StatusOr<bool> StillTeaches(const LearningServices& services, const std::string& name,
                                  const Digest& source, const MemoryRules& rules) {
  if (TextLessonOf(name)) {
    ASSIGN_OR_RETURN(const bool gone, IsGone(services, name));
    return !gone;
  }
  ASSIGN_OR_RETURN(const std::optional<Lesson> now,
                   ReadCompletion(services, name, rules.min_rating));
  return now && MayTeach(services, rules, now->trajectory, now->target) &&
         SourceOf(services, rules, now->trajectory, now->target) == source;
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
  for (const auto& [place, lesson] : found) {
    RETURN_IF_ERROR(CheckCancelled(services));
    auto remembered = FromKept(parameters, lesson, read);
    if (!remembered) {
      ++kept.damaged;
      kept.outdated.insert(lesson.name);
      continue;
    }
    remembered->rank = wanted[place].rank;
    kept.lessons.push_back(*std::move(remembered));
  }
  return kept;
}

}  // namespace ruvd::learning
