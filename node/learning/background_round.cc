// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/learning/background_round.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"
#include "inference/adapter/adapter_bytes.h"
#include "inference/adapter/bank.h"
#include "node/learning/lesson_clusters.h"
#include "node/learning/stale_patterns.h"
#include "node/log/log.h"
#include "node/serving/pattern_payload.h"
#include "node/serving/served_adapters.h"

namespace ruvd::learning {
namespace {

storage::Pattern NewPattern(const LearningServices& services, Random& random) {
  storage::Pattern pattern;
  for (size_t i = 0; i < pattern.id.size(); i += sizeof(uint64_t)) {
    const uint64_t bits = random.Next();
    std::memcpy(pattern.id.data() + i, &bits, sizeof(bits));
  }
  pattern.origin = services.origin;
  pattern.created_ms = services.clock->WallMillis();
  pattern.tier = storage::SharingTier::kPrivate;
  // The adapter is trained over all t and retrieved at the beginning of a request.
  pattern.bank = static_cast<uint32_t>(inference::BankOf(1));
  return pattern;
}

// What was learned from a cluster.
struct Lessons {
  PatternTraining training;
  bool keeps_adapter = false;  // false: the pattern loses its adapter
  std::vector<float> centroid;
  float reward = 0;        // mean of all lessons
  float new_reward = 0;    // mean of the fresh lessons
  float kept_quality = 0;  // share that a known pattern keeps of its quality
  uint32_t examples = 0;
  std::vector<std::string> fresh;  // responses
};

void AddRewards(const LessonCluster& cluster, float decay, Lessons* lessons) {
  size_t fresh = 0;
  for (const Lesson* lesson : cluster.lessons) {
    lessons->reward += lesson->reward;
    lessons->new_reward += lesson->fresh ? lesson->reward : 0;
    fresh += lesson->fresh ? 1 : 0;
    if (lesson->fresh) {
      lessons->fresh.push_back(lesson->trajectory.response_id);
    }
  }
  lessons->reward /= static_cast<float>(cluster.lessons.size());
  lessons->new_reward /= static_cast<float>(std::max<size_t>(1, fresh));
  lessons->kept_quality = std::pow(decay, static_cast<float>(fresh));
}

// Returns the new quality. Old evidence decays with each new lesson, so that a pattern follows what
// users think of it now, but one lesson does not outweigh all earlier ones.
float QualityOf(const storage::Pattern& known, const Lessons& lessons) {
  if (known.examples == 0) {
    return lessons.reward;
  }
  return lessons.kept_quality * known.quality + (1 - lessons.kept_quality) * lessons.new_reward;
}

// Returns the pattern with the new lessons in place of its old ones.
storage::Pattern WithLessons(const LearningServices& services, Lessons lessons,
                             storage::Pattern pattern) {
  // A row that does not decode is replaced. It is withheld, because a client may have made it
  // private.
  const auto before = serving::DecodePatternPayload(pattern.payload);
  serving::PatternPayload payload{.withheld = !before.ok() || before->withheld,
                                  .deep_version = lessons.training.deep_version};
  ++pattern.adapter_version;
  pattern.adapter_name.clear();
  if (lessons.keeps_adapter) {
    inference::Adapter adapter = *lessons.training.result.adapter;
    adapter.name = serving::PatternAdapterName(pattern.id, inference::AdapterId(adapter));
    adapter.version = pattern.adapter_version;
    pattern.adapter_name = adapter.name;
    payload.cores = std::move(lessons.training.result.cores);
    if (!payload.cores) {
      payload.adapter = inference::EncodeAdapter(adapter);
    }
    payload.contributors = std::move(lessons.training.contributors);
    payload.shareable = lessons.training.shareable;
    payload.stays_here = lessons.training.stays_here;
  }
  pattern.payload = serving::EncodePatternPayload(payload);
  pattern.embedding = std::move(lessons.centroid);
  pattern.quality = QualityOf(pattern, lessons);
  pattern.examples = lessons.examples;
  // Peers accept only later updates, so the time must grow even if this node's clock went back.
  pattern.updated_ms = std::max(services.clock->WallMillis(), pattern.updated_ms + 1);
  return pattern;
}

// Returns whether what was learned for `begun` still fits `current`.
bool SameToLearning(const storage::Pattern& begun, const storage::Pattern& current) {
  return begun.embedding == current.embedding && begun.bank == current.bank &&
         begun.adapter_name == current.adapter_name &&
         begun.adapter_version == current.adapter_version;
}

// Lists the change, makes it, and removes it from the list if it was not made.
absl::Status StoreListed(const LearningServices& services, const Lessons& lessons,
                         const std::optional<storage::Pattern>& before,
                         const storage::Pattern& after, LearnedPattern* learned) {
  storage::LearningChange change{.loop = storage::LearningLoop::kBackground,
                                 .kind = storage::ChangeKind::kPatternStored,
                                 .responses = lessons.fresh,
                                 .pattern = after.id,
                                 .adapter_name = after.adapter_name,
                                 .version_before = before ? before->adapter_version : 0,
                                 .version = after.adapter_version,
                                 .lessons = after.examples};
  const storage::PatternImage image{.id = after.id, .before = before};
  ASSIGN_OR_RETURN(change, ListChange(services, std::move(change), std::span(&image, 1)));
  const absl::Status stored =
      services.patterns->Update(after, before ? std::optional(before->stamp) : std::nullopt);
  if (stored.ok()) {
    learned->change = std::move(change);
  } else {
    UnlistChange(services, change);
  }
  return stored;
}

// Stores what was learned in the pattern's current state: training takes minutes, in which users
// and peers may change patterns. A deleted pattern stays deleted, and a changed adapter stays.
absl::Status StoreLessons(const LearningServices& services, const Lessons& lessons,
                          const std::optional<storage::Pattern>& begun,
                          const storage::Pattern& fresh, LearnedPattern* learned) {
  constexpr int kTries = 5;
  absl::Status stored;
  for (int i = 0; i < kTries && (i == 0 || absl::IsAborted(stored)); ++i) {
    std::optional<storage::Pattern> known;
    if (begun) {
      absl::StatusOr<storage::Pattern> current = services.patterns->Get(begun->id);
      if (absl::IsNotFound(current.status())) {
        learned->outcome = ClusterOutcome::kDeleted;
        return absl::OkStatus();
      }
      RETURN_IF_ERROR(current.status());
      if (!SameToLearning(*begun, *current)) {
        learned->outcome = ClusterOutcome::kChanged;
        return absl::OkStatus();
      }
      known = *std::move(current);
    }
    const storage::Pattern pattern = WithLessons(services, lessons, known.value_or(fresh));
    stored = StoreListed(services, lessons, known, pattern, learned);
    learned->adapter_name = pattern.adapter_name;
    learned->adapter_version = pattern.adapter_version;
  }
  // Other clusters can still be learned after this error.
  if (absl::IsInvalidArgument(stored) || ReasonOf(stored) == reasons::kLimitExceeded) {
    LogError("what was learned cannot be stored: {}", MessageOf(stored));
    learned->outcome = ClusterOutcome::kRefused;
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(stored);
  learned->outcome = lessons.keeps_adapter ? ClusterOutcome::kKept : ClusterOutcome::kRetired;
  return absl::OkStatus();
}

// Returns whether a trajectory of a user has disappeared since training began, minutes ago.
absl::StatusOr<bool> AnyLessonErased(const LearningServices& services,
                                     const LessonCluster& cluster) {
  for (const Lesson* lesson : cluster.lessons) {
    if (lesson->trajectory.user_id.empty()) {
      continue;
    }
    const absl::Status there = services.trajectories->Get(lesson->trajectory.response_id).status();
    if (absl::IsNotFound(there)) {
      return true;
    }
    RETURN_IF_ERROR(there);
  }
  return false;
}

// Returns whether the cluster's pattern has a stale adapter. A new adapter gained nothing on top of
// what is served, and the old one was never measured on it.
absl::StatusOr<bool> HasStaleAdapter(const LearningServices& services, const LessonCluster& cluster,
                                     uint32_t served_version) {
  if (!cluster.pattern || cluster.pattern->adapter_name.empty()) {
    return false;
  }
  const absl::StatusOr<storage::Pattern> pattern = services.patterns->Get(cluster.pattern->id);
  if (absl::IsNotFound(pattern.status())) {
    return false;
  }
  RETURN_IF_ERROR(pattern.status());
  const auto payload = serving::DecodePatternPayload(pattern->payload);
  return payload.ok() && IsStale(services, *payload, served_version);
}

absl::Status LearnCluster(const LearningServices& services, const BackgroundOptions& options,
                          const LessonCluster& cluster, const storage::Pattern& pattern,
                          uint64_t seed, LearnedPattern* learned) {
  const LessonSplit split = HoldBackLessons(cluster.lessons);
  learned->held_back = static_cast<int>(split.held_back.size());
  Lessons lessons{.centroid = CentroidOf(cluster.lessons),
                  .examples = static_cast<uint32_t>(cluster.lessons.size())};
  ASSIGN_OR_RETURN(lessons.training, TrainPattern(services, options.training, split, seed));
  const inference::TrainingResult& result = lessons.training.result;
  const uint32_t deep_version = lessons.training.deep_version;
  learned->held_out_before = result.held_out_before;
  learned->held_out_after = result.held_out_after;
  lessons.keeps_adapter = Improves(result, options.training);
  if (!lessons.keeps_adapter) {
    ASSIGN_OR_RETURN(const bool stale, HasStaleAdapter(services, cluster, deep_version));
    if (!stale) {
      learned->outcome = ClusterOutcome::kNoImprovement;
      return absl::OkStatus();
    }
  }
  AddRewards(cluster, options.quality_decay, &lessons);
  ASSIGN_OR_RETURN(const bool erased, AnyLessonErased(services, cluster));
  if (erased) {
    learned->outcome = ClusterOutcome::kErased;
    return absl::OkStatus();
  }
  if (services.catalog != nullptr &&
      serving::ServedDeepVersion(*services.catalog) != deep_version) {
    learned->outcome = ClusterOutcome::kChanged;  // another deep version is served by now
    return absl::OkStatus();
  }
  return StoreLessons(services, lessons, cluster.pattern, pattern, learned);
}

// Records with the trajectories that this round took them, so that no later start takes them again.
absl::Status SettleLessons(const LearningServices& services, const LessonCluster& cluster,
                           const LearnedPattern& learned) {
  // Lessons of a known pattern belong to it even if this round added nothing: they go when it goes.
  const bool has_pattern = learned.outcome == ClusterOutcome::kKept || cluster.pattern.has_value();
  for (const Lesson* lesson : cluster.lessons) {
    RETURN_IF_ERROR(
        services.trajectories->SetLearned(lesson->trajectory, AsText(services.package_id),
                                          has_pattern ? std::optional(learned.id) : std::nullopt));
  }
  return absl::OkStatus();
}

// Learns a cluster and records a failure with it. Returns an error, which ends the round, only if
// other clusters would fail, too.
absl::Status TakeCluster(const LearningServices& services, const BackgroundOptions& options,
                         const LessonCluster& cluster, Random& random, BackgroundRound* round) {
  const storage::Pattern pattern =
      cluster.pattern.has_value() ? *cluster.pattern : NewPattern(services, random);
  LearnedPattern& learned = round->patterns.emplace_back();
  learned.id = pattern.id;
  learned.examples = static_cast<int>(cluster.lessons.size());
  for (const Lesson* lesson : cluster.lessons) {
    learned.responses.insert(lesson->trajectory.response_id);
  }
  learned.failure = LearnCluster(services, options, cluster, pattern, random.Next(), &learned);
  if (!learned.failure.ok()) {
    learned.outcome = ClusterOutcome::kFailed;
  }
  if (learned.outcome == ClusterOutcome::kFailed || learned.outcome == ClusterOutcome::kChanged ||
      learned.outcome == ClusterOutcome::kErased) {
    // Where storing failed, the reason that affects all clusters is a full disk.
    const bool others_would_fail =
        absl::IsCancelled(learned.failure) || absl::IsResourceExhausted(learned.failure);
    return others_would_fail ? learned.failure : absl::OkStatus();
  }
  for (const std::string& response : learned.responses) {
    round->waiting.erase(response);
  }
  return SettleLessons(services, cluster, learned);
}

absl::Status RunRound(const LearningServices& services, const BackgroundOptions& options,
                      const FreshLessons& wanted, Random& random, BackgroundRound* round) {
  round->waiting = wanted.responses;  // until it is known which of them teach anything
  std::set<std::string> fresh = wanted.responses;
  if (wanted.stale_patterns) {
    ASSIGN_OR_RETURN(std::set<std::string> stale,
                     LessonsOfStalePatterns(services, options.min_rating));
    fresh.merge(stale);
  }
  std::set<std::string> without_room;
  ASSIGN_OR_RETURN(const std::vector<Lesson> lessons,
                   CollectLessons(services, options.min_rating, fresh, &without_room));
  round->waiting = std::move(without_room);
  for (const Lesson& lesson : lessons) {
    if (fresh.contains(lesson.trajectory.response_id)) {
      round->waiting.insert(lesson.trajectory.response_id);
    }
  }
  if (round->waiting.empty()) {
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const std::vector<LessonCluster> clusters,
                   ClusterLessons(services, lessons, options.cluster_similarity, random));
  for (const LessonCluster& cluster : clusters) {
    RETURN_IF_ERROR(TakeCluster(services, options, cluster, random, round));
  }
  std::set<storage::PatternId> kept;
  for (const LearnedPattern& learned : round->patterns) {
    if (learned.outcome == ClusterOutcome::kKept) {
      kept.insert(learned.id);
    }
  }
  ASSIGN_OR_RETURN(round->merged, MergeNearPatterns(services, lessons, kept,
                                                    options.merge_similarity, random.Next()));
  return absl::OkStatus();
}

}  // namespace

BackgroundRound RunBackgroundRound(const LearningServices& services,
                                   const BackgroundOptions& options, const FreshLessons& fresh,
                                   Random& random) {
  BackgroundRound round;
  round.status = RunRound(services, options, fresh, random, &round);
  return round;
}

}  // namespace ruvd::learning
