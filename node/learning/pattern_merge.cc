// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/learning/pattern_merge.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"
#include "node/learning/lesson_loss.h"
#include "node/limits.h"
#include "node/serving/pattern_payload.h"
#include "node/serving/served_adapters.h"
#include "storage/similarity/cosine.h"

namespace ruvd::learning {
namespace {

struct Candidate {
  storage::Pattern pattern;
  serving::PatternPayload payload;
  std::shared_ptr<const inference::Adapter> adapter;
};

// Reads a pattern; the adapter is null if it is missing or cannot be read.
absl::StatusOr<Candidate> Read(const LearningServices& services, const storage::PatternId& id) {
  Candidate candidate;
  ASSIGN_OR_RETURN(candidate.pattern, services.patterns->Get(id));
  absl::StatusOr<serving::PatternPayload> payload =
      serving::DecodePatternPayload(candidate.pattern.payload);
  if (payload.ok()) {
    candidate.adapter = serving::AdapterOfPattern(candidate.pattern, *payload,
                                                  services.transformer->model(), services.frame)
                            .value_or(nullptr);
    candidate.payload = *std::move(payload);
  }
  return candidate;
}

// Returns the newest lessons of the two patterns.
absl::StatusOr<std::vector<const Lesson*>> LessonsOfBoth(const LearningServices& services,
                                                         std::span<const Lesson> lessons,
                                                         const storage::PatternId& a,
                                                         const storage::PatternId& b) {
  std::vector<const Lesson*> found;
  for (const Lesson& lesson : lessons) {
    // The trajectory is read again, because this round may have learned it.
    const auto trajectory = services.trajectories->Get(lesson.trajectory.response_id);
    if (absl::IsNotFound(trajectory.status())) {
      continue;
    }
    RETURN_IF_ERROR(trajectory.status());
    if ((trajectory->learned_in == a || trajectory->learned_in == b) &&
        found.size() < limits::kMaxMergeLessons) {
      found.push_back(&lesson);
    }
  }
  return found;
}

// Returns the kept pattern with the other's quality weighed in. Its number of examples stays that
// of its centroid, because patterns with fewer than privacy.public_examples are not shared; the
// next lesson counts all.
storage::Pattern Joined(const LearningServices& services, Candidate kept, const Candidate& gone) {
  storage::Pattern joined = std::move(kept.pattern);
  const double own = std::max(1U, joined.examples);
  const double other = std::max(1U, gone.pattern.examples);
  joined.quality = static_cast<float>((own * static_cast<double>(joined.quality) +
                                       other * static_cast<double>(gone.pattern.quality)) /
                                      (own + other));
  const bool withheld = gone.payload.withheld && !kept.payload.withheld;
  const bool stays = !gone.payload.shareable && kept.payload.shareable;
  if (withheld || stays) {  // some lessons of the other pattern must not be shared
    kept.payload.withheld |= gone.payload.withheld;
    kept.payload.shareable &= gone.payload.shareable;
    joined.payload = serving::EncodePatternPayload(kept.payload);
    joined.tier = withheld ? storage::SharingTier::kPrivate : joined.tier;
  }
  joined.updated_ms = std::max(services.clock->WallMillis(), joined.updated_ms + 1);
  return joined;
}

// Returns the trajectories that a pattern learned.
absl::StatusOr<std::vector<storage::Trajectory>> LearnedIn(const LearningServices& services,
                                                           const storage::PatternId& id) {
  std::vector<storage::Trajectory> learned;
  RETURN_IF_ERROR(
      services.trajectories->ForEachSince(0, [&](const storage::Trajectory& trajectory) {
        if (trajectory.learned_in == id) {
          learned.push_back(trajectory);
        }
        return true;
      }));
  return learned;
}

absl::StatusOr<storage::LearningChange> List(const LearningServices& services,
                                             const storage::Pattern& kept,
                                             const storage::Pattern& gone,
                                             const std::vector<storage::Trajectory>& moved) {
  storage::LearningChange change{.loop = storage::LearningLoop::kBackground,
                                 .kind = storage::ChangeKind::kPatternsMerged,
                                 .pattern = kept.id,
                                 .merged = gone.id,
                                 .adapter_name = kept.adapter_name,
                                 .version_before = kept.adapter_version,
                                 .version = kept.adapter_version,
                                 .lessons = gone.examples};
  for (const storage::Trajectory& trajectory : moved) {
    change.responses.push_back(trajectory.response_id);
  }
  const storage::PatternImage images[] = {{.id = kept.id, .before = kept},
                                          {.id = gone.id, .before = gone}};
  return ListChange(services, std::move(change), images);
}

// Returns nullopt if one of the patterns was changed meanwhile.
absl::StatusOr<std::optional<storage::LearningChange>> Store(const LearningServices& services,
                                                             Candidate kept,
                                                             const Candidate& gone) {
  const storage::PatternId id = kept.pattern.id;
  const HybridTime stamp = kept.pattern.stamp;
  const auto current = services.patterns->GetWithoutPayload(gone.pattern.id);
  if (!current.ok() || current->stamp != gone.pattern.stamp) {
    return std::nullopt;
  }
  ASSIGN_OR_RETURN(const std::vector<storage::Trajectory> moved,
                   LearnedIn(services, gone.pattern.id));
  ASSIGN_OR_RETURN(const storage::LearningChange change,
                   List(services, kept.pattern, gone.pattern, moved));
  const absl::Status stored =
      services.patterns->Update(Joined(services, std::move(kept), gone), stamp);
  if (!stored.ok()) {
    UnlistChange(services, change);
    if (absl::IsAborted(stored)) {
      return std::nullopt;
    }
    return stored;
  }
  // Lessons move before the deletion, because the lessons of a deleted pattern are forgotten.
  for (const storage::Trajectory& trajectory : moved) {
    RETURN_IF_ERROR(services.trajectories->SetLearned(trajectory, trajectory.learned_by, id));
  }
  const absl::Status deleted = services.patterns->Delete(gone.pattern.id);
  if (!deleted.ok() && !absl::IsNotFound(deleted)) {
    return deleted;
  }
  return change;
}

absl::StatusOr<std::optional<MergedPattern>> MergeTwo(const LearningServices& services,
                                                      std::span<const Lesson> lessons,
                                                      const storage::PatternId& a,
                                                      const storage::PatternId& b, uint64_t seed) {
  ASSIGN_OR_RETURN(Candidate first, Read(services, a));
  ASSIGN_OR_RETURN(Candidate second, Read(services, b));
  ASSIGN_OR_RETURN(const auto shared, LessonsOfBoth(services, lessons, a, b));
  if (first.adapter == nullptr || second.adapter == nullptr || shared.empty()) {
    return std::nullopt;
  }
  const auto examples = MakeExamples(services.transformer->model(), shared);
  ASSIGN_OR_RETURN(const serving::ServedAdapters served, AdaptersBeneathPatterns(services.catalog));
  ASSIGN_OR_RETURN(const double loss,
                   LossOfLessons(services, served.mix, examples, first.adapter, seed));
  ASSIGN_OR_RETURN(const double other,
                   LossOfLessons(services, served.mix, examples, second.adapter, seed));
  if (services.catalog != nullptr &&
      serving::ServedDeepVersion(*services.catalog) != served.deep_version) {
    return std::nullopt;  // a later round merges them, on top of the adapters served by then
  }
  const bool keep_first = loss <= other;
  ASSIGN_OR_RETURN(const auto change, keep_first ? Store(services, std::move(first), second)
                                                 : Store(services, std::move(second), first));
  if (!change) {
    return std::nullopt;
  }
  return MergedPattern{.kept = keep_first ? a : b,
                       .gone = keep_first ? b : a,
                       .kept_loss = keep_first ? loss : other,
                       .gone_loss = keep_first ? other : loss,
                       .change = *change};
}

}  // namespace

absl::StatusOr<std::vector<MergedPattern>> MergeNearPatterns(
    const LearningServices& services, std::span<const Lesson> lessons,
    const std::set<storage::PatternId>& touched, float similarity, uint64_t seed) {
  ASSIGN_OR_RETURN(std::vector<storage::Pattern> patterns, PatternsLearnedHere(services));
  std::erase_if(patterns, [](const storage::Pattern& pattern) { return pattern.examples == 0; });
  std::vector<MergedPattern> merged;
  std::set<storage::PatternId> gone;
  for (const storage::Pattern& one : patterns) {
    if (!touched.contains(one.id)) {
      continue;
    }
    RETURN_IF_ERROR(CheckCancelled(services));
    for (const storage::Pattern& other : patterns) {
      const bool seen =
          touched.contains(other.id) && other.id <= one.id;  // seen before, or the same pattern
      if (seen || gone.contains(one.id) || gone.contains(other.id) ||
          storage::CosineSimilarity(one.embedding, other.embedding).value_or(0) < similarity) {
        continue;
      }
      const auto [a, b] = std::minmax(one.id, other.id);
      auto pair = MergeTwo(services, lessons, a, b, seed);
      if (absl::IsNotFound(pair.status())) {
        continue;  // deleted meanwhile
      }
      RETURN_IF_ERROR(pair.status());
      if (pair->has_value()) {
        gone.insert((*pair)->gone);
        merged.push_back(**pair);
      }
    }
  }
  return merged;
}

}  // namespace ruvd::learning
