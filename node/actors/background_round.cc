// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/actors/background_round.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <deque>
#include <iterator>
#include <optional>
#include <utility>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"
#include "inference/adapter/adapter_bytes.h"
#include "inference/adapter/bank.h"
#include "inference/train/cluster.h"
#include "inference/train/trainer.h"
#include "node/actors/generation_task.h"
#include "node/actors/pattern_payload.h"
#include "node/actors/shared_items.h"
#include "node/limits.h"

namespace ruvd {
namespace {

// A trajectory that teaches something.
struct Lesson {
  Trajectory trajectory;
  std::string wanted;
  float reward = 1;
};

// Lessons that are learned together, and the pattern that holds what was learned of them so far.
struct LessonCluster {
  std::vector<const Lesson*> lessons;
  std::optional<Pattern> pattern;  // none: a new one
};

float RewardOf(const Trajectory& trajectory) {
  if (trajectory.edited_text.has_value() || trajectory.accepted.value_or(false)) {
    return 1;
  }
  return trajectory.rating.value_or(0);
}

absl::Status CheckCancelled(const BackgroundServices& services) {
  return services.cancelled && services.cancelled()
             ? Error(absl::StatusCode::kCancelled, reasons::kCancelled,
                     "the node stopped before this was learned; it is learned after the next start")
             : absl::OkStatus();
}

// Embeddings of another model, or without today's whitening, are not comparable with the patterns'.
absl::Status EmbedAnew(const BackgroundServices& services, std::vector<Lesson>& lessons) {
  for (Lesson& lesson : lessons) {
    Trajectory& trajectory = lesson.trajectory;
    if (trajectory.embedded_by != AsText(services.package_id)) {
      const auto tokens = PromptTokens(services.transformer->model(), trajectory.prompt);
      ASSIGN_OR_RETURN(trajectory.embedding,
                       EmbedText(*services.transformer, tokens, services.whitening));
      trajectory.prompt_tokens.clear();  // of that model's tokenizer
      RETURN_IF_ERROR(CheckCancelled(services));
    }
  }
  return absl::OkStatus();
}

// Whether the pattern that learned it was removed. Patterns of other models are elsewhere.
bool IsForgotten(const BackgroundServices& services, const Trajectory& trajectory) {
  return trajectory.learned_in && trajectory.learned_by == AsText(services.package_id) &&
         absl::IsNotFound(services.patterns->GetWithoutPayload(*trajectory.learned_in).status());
}

// Fresh lessons, oldest first, then the newest of the others; as many as a round takes. Those of
// `fresh` that found no room are added to `waiting`.
absl::StatusOr<std::vector<Lesson>> CollectLessons(const BackgroundServices& services,
                                                   float min_rating,
                                                   const std::set<std::string>& fresh,
                                                   std::set<std::string>* waiting) {
  std::vector<Lesson> lessons;
  std::deque<Lesson> others;
  RETURN_IF_ERROR(services.trajectories->ForEachSince(0, [&](const Trajectory& trajectory) {
    std::string wanted = WantedText(trajectory, min_rating);
    const bool is_fresh = fresh.contains(trajectory.response_id);
    if (!wanted.empty() && is_fresh && lessons.size() == limits::kMaxRoundTrajectories) {
      waiting->insert(trajectory.response_id);
    } else if (!wanted.empty() && (is_fresh || !IsForgotten(services, trajectory))) {
      Lesson lesson{trajectory, std::move(wanted), RewardOf(trajectory)};
      if (is_fresh) {
        lessons.push_back(std::move(lesson));
      } else {
        others.push_front(std::move(lesson));
      }
      others.resize(std::min(others.size(), limits::kMaxRoundTrajectories - lessons.size()));
    }
    return CheckCancelled(services).ok();
  }));
  RETURN_IF_ERROR(CheckCancelled(services));
  std::ranges::move(others, std::back_inserter(lessons));
  RETURN_IF_ERROR(EmbedAnew(services, lessons));
  return lessons;
}

// Clients may store embeddings of any length.
float Cosine(std::span<const float> a, std::span<const float> b) {
  double dot = 0;
  double squares_a = 0;
  double squares_b = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    dot += static_cast<double>(a[i]) * b[i];
    squares_a += static_cast<double>(a[i]) * a[i];
    squares_b += static_cast<double>(b[i]) * b[i];
  }
  const double lengths = std::sqrt(squares_a * squares_b);
  return lengths > 0 ? static_cast<float>(dot / lengths) : 0;
}

// Whether learning may go on in a pattern: completions find it, and it has no adapter that somebody
// else made.
bool IsLearnedHere(const Pattern& pattern) {
  return pattern.bank == static_cast<uint32_t>(BankOf(1)) &&
         (pattern.examples > 0 || pattern.adapter_name.empty());
}

// The fewest clusters of new lessons whose members are all near their centroid.
absl::StatusOr<std::vector<LessonCluster>> ClusterNew(const BackgroundServices& services,
                                                      const std::vector<const Lesson*>& lessons,
                                                      float similarity, Random& random) {
  std::vector<ClusterItem> items;
  items.reserve(lessons.size());
  for (const Lesson* lesson : lessons) {
    items.push_back({.embedding = lesson->trajectory.embedding, .bank = BankOf(1)});
  }
  Clustering clustering;
  bool tight = false;
  for (int k = 1; !tight && k <= static_cast<int>(items.size()); ++k) {
    RETURN_IF_ERROR(CheckCancelled(services));
    ASSIGN_OR_RETURN(clustering, ClusterItems(items, {.clusters = k}, random));
    tight = true;
    for (size_t i = 0; i < items.size(); ++i) {
      tight &=
          Cosine(items[i].embedding, clustering.centroids[clustering.assignment[i]]) >= similarity;
    }
  }
  std::vector<LessonCluster> clusters(clustering.centroids.size());
  for (size_t i = 0; i < items.size(); ++i) {
    clusters[clustering.assignment[i]].lessons.push_back(lessons[i]);
  }
  return clusters;
}

// The patterns of this node that fresh lessons belong to, each with all of its lessons, and new
// clusters of the rest. A lesson stays with its pattern: clustering everything anew would move
// patterns away from what they had learned.
absl::StatusOr<std::vector<LessonCluster>> ClusterLessons(const BackgroundServices& services,
                                                          const BackgroundOptions& options,
                                                          const std::vector<Lesson>& lessons,
                                                          const std::set<std::string>& fresh,
                                                          Random& random) {
  std::vector<LessonCluster> clusters;
  RETURN_IF_ERROR(ForEachPatternOf(*services.patterns, services.origin, [&](Pattern& pattern) {
    if (IsLearnedHere(pattern)) {
      pattern.payload.clear();  // of all own patterns it would be too much
      clusters.push_back({.lessons = {}, .pattern = pattern});
    }
    return absl::OkStatus();
  }));
  std::vector<const Lesson*> new_lessons;
  for (const Lesson& lesson : lessons) {
    LessonCluster* nearest = nullptr;
    float best = options.cluster_similarity;
    for (LessonCluster& cluster : clusters) {
      const float similarity = Cosine(lesson.trajectory.embedding, cluster.pattern->embedding);
      if (similarity >= best) {
        best = similarity;
        nearest = &cluster;
      }
    }
    if (nearest != nullptr) {
      nearest->lessons.push_back(&lesson);
    } else if (fresh.contains(lesson.trajectory.response_id)) {
      new_lessons.push_back(&lesson);
    }
  }
  std::erase_if(clusters, [&](const LessonCluster& cluster) {
    return std::ranges::none_of(cluster.lessons, [&](const Lesson* lesson) {
      return fresh.contains(lesson->trajectory.response_id);
    });
  });
  if (!new_lessons.empty()) {
    ASSIGN_OR_RETURN(std::vector<LessonCluster> created,
                     ClusterNew(services, new_lessons, options.cluster_similarity, random));
    std::ranges::move(created, std::back_inserter(clusters));
  }
  return clusters;
}

// The mean of the lessons' embeddings, of length one.
std::vector<float> CentroidOf(const LessonCluster& cluster) {
  std::vector<double> sum(cluster.lessons.front()->trajectory.embedding.size(), 0.0);
  for (const Lesson* lesson : cluster.lessons) {
    for (size_t i = 0; i < sum.size(); ++i) {
      sum[i] += lesson->trajectory.embedding[i];
    }
  }
  double squares = 0;
  for (const double value : sum) {
    squares += value * value;
  }
  std::vector<float> centroid;
  centroid.reserve(sum.size());
  for (const double value : sum) {
    centroid.push_back(static_cast<float>(value / std::sqrt(squares)));
  }
  return centroid;
}

// Prompt and wanted text as tokens, cut to the context: the end of the prompt and the beginning of
// the text stay.
TrainingExample MakeExample(const Model& model, const Lesson& lesson) {
  TrainingExample example;
  example.prompt = lesson.trajectory.prompt_tokens;
  if (example.prompt.empty()) {
    example.prompt = PromptTokens(model, lesson.trajectory.prompt);
  }
  example.completion = model.tokenizer().EncodeContinuation(lesson.wanted);
  example.weight = lesson.reward;
  const size_t context = static_cast<size_t>(model.config().context);
  const size_t half = context / 2;
  if (example.prompt.size() + example.completion.size() > context) {
    if (example.prompt.size() > half) {
      example.prompt.erase(example.prompt.begin(), example.prompt.end() - static_cast<long>(half));
    }
    example.completion.resize(std::min(example.completion.size(), context - example.prompt.size()));
  }
  return example;
}

std::vector<TrainingExample> MakeExamples(const Model& model,
                                          const std::vector<const Lesson*>& lessons) {
  std::vector<TrainingExample> examples;
  examples.reserve(lessons.size());
  for (const Lesson* lesson : lessons) {
    examples.push_back(MakeExample(model, *lesson));
  }
  return examples;
}

TrainingOptions MakeTrainingOptions(const BackgroundServices& services,
                                    const BackgroundOptions& options, uint64_t seed) {
  TrainingOptions training;
  training.rank = options.rank;
  if (options.steps > 0) {
    training.steps = options.steps;
  }
  training.seed = seed;
  training.cancelled = services.cancelled;
  return training;
}

// The core of a set of lessons, empty if it does not lower their held-out loss.
absl::StatusOr<std::vector<float>> TrainCore(const BackgroundServices& services,
                                             const BackgroundOptions& options,
                                             const std::vector<const Lesson*>& lessons,
                                             uint64_t seed) {
  if (services.frame == nullptr) {
    return std::vector<float>();
  }
  ASSIGN_OR_RETURN(TrainingResult result,
                   TrainLastLayerCore(*services.transformer, *services.frame,
                                      MakeExamples(services.transformer->model(), lessons), nullptr,
                                      MakeTrainingOptions(services, options, seed)));
  if (result.held_out_after >= result.held_out_before) {
    result.core.clear();
  }
  return std::move(result.core);
}

Pattern NewPattern(const BackgroundServices& services, Random& random) {
  Pattern pattern;
  for (size_t i = 0; i < pattern.id.size(); i += sizeof(uint64_t)) {
    const uint64_t bits = random.Next();
    std::memcpy(pattern.id.data() + i, &bits, sizeof(bits));
  }
  pattern.origin = services.origin;
  pattern.created_ms = services.clock->WallMillis();
  pattern.tier = SharingTier::kPrivate;
  // Trained over all t, retrieved at the beginning of a request.
  pattern.bank = static_cast<uint32_t>(BankOf(1));
  return pattern;
}

// What was learned of a cluster.
struct Lessons {
  Adapter adapter;
  std::vector<float> core;
  std::vector<float> centroid;
  float quality = 0;
  uint32_t examples = 0;
};

float MeanReward(const LessonCluster& cluster) {
  float reward = 0;
  for (const Lesson* lesson : cluster.lessons) {
    reward += lesson->reward;
  }
  return reward / static_cast<float>(cluster.lessons.size());
}

// The pattern with what was learned in place of what was known.
Pattern WithLessons(const BackgroundServices& services, Lessons lessons, Pattern pattern) {
  // A row that does not decode is replaced; whether it was made private nobody knows.
  const auto before = DecodePatternPayload(pattern.payload);
  PatternPayload payload{.core = std::move(lessons.core),
                         .withheld = !before.ok() || before->withheld};
  if (services.frame != nullptr) {
    payload.frame_id = services.frame->id;
  }
  lessons.adapter.name = PatternAdapterName(pattern.id, AdapterId(lessons.adapter));
  lessons.adapter.version = pattern.adapter_version + 1;
  payload.adapter = EncodeAdapter(lessons.adapter);
  pattern.payload = EncodePatternPayload(payload);
  pattern.adapter_name = lessons.adapter.name;
  pattern.adapter_version = lessons.adapter.version;
  pattern.embedding = std::move(lessons.centroid);
  pattern.quality = lessons.quality;
  pattern.examples = lessons.examples;
  // Peers take what is later only, also from a node whose clock went back.
  pattern.updated_ms = std::max(services.clock->WallMillis(), pattern.updated_ms + 1);
  return pattern;
}

// Whether what was learned of `begun` is about `current`, too.
bool SameToLearning(const Pattern& begun, const Pattern& current) {
  return begun.embedding == current.embedding && begun.bank == current.bank &&
         begun.adapter_name == current.adapter_name &&
         begun.adapter_version == current.adapter_version;
}

// Stores what was learned in the pattern as it is by now: training takes minutes, in which users
// and peers change patterns. One that was deleted stays deleted, what somebody else taught stays.
absl::Status StoreLessons(const BackgroundServices& services, const Lessons& lessons,
                          const std::optional<Pattern>& begun, const Pattern& fresh,
                          LearnedPattern* learned) {
  constexpr int kTries = 5;
  absl::Status stored;
  for (int i = 0; i < kTries && (i == 0 || absl::IsAborted(stored)); ++i) {
    Pattern known = fresh;
    std::optional<HybridTime> expected;
    if (begun) {
      absl::StatusOr<Pattern> current = services.patterns->Get(begun->id);
      if (absl::IsNotFound(current.status())) {
        learned->outcome = RoundOutcome::kDeleted;
        return absl::OkStatus();
      }
      RETURN_IF_ERROR(current.status());
      if (!SameToLearning(*begun, *current)) {
        learned->outcome = RoundOutcome::kChanged;
        return absl::OkStatus();
      }
      known = *std::move(current);
      expected = known.stamp;
    }
    const Pattern pattern = WithLessons(services, lessons, std::move(known));
    stored = services.patterns->Update(pattern, expected);
    learned->adapter_name = pattern.adapter_name;
    learned->adapter_version = pattern.adapter_version;
  }
  // The other clusters can still be learned.
  if (absl::IsInvalidArgument(stored) || ReasonOf(stored) == reasons::kLimitExceeded) {
    spdlog::error("what was learned cannot be stored: {}", MessageOf(stored));
    learned->outcome = RoundOutcome::kRefused;
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(stored);
  learned->outcome = RoundOutcome::kKept;
  return absl::OkStatus();
}

// Whether the words of a user are gone that were there when training began: minutes ago.
absl::StatusOr<bool> SomeWereErased(const BackgroundServices& services,
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

absl::Status LearnCluster(const BackgroundServices& services, const BackgroundOptions& options,
                          const LessonCluster& cluster, const Pattern& pattern, uint64_t seed,
                          LearnedPattern* learned) {
  const Model& model = services.transformer->model();
  ASSIGN_OR_RETURN(const TrainingResult result,
                   TrainLastLayerLora(*services.transformer, MakeExamples(model, cluster.lessons),
                                      nullptr, MakeTrainingOptions(services, options, seed)));
  learned->held_out_before = result.held_out_before;
  learned->held_out_after = result.held_out_after;
  if (!(result.held_out_before - result.held_out_after > options.min_improvement)) {
    learned->outcome = RoundOutcome::kNoImprovement;
    return absl::OkStatus();
  }
  Lessons lessons{.adapter = *result.adapter,
                  .centroid = CentroidOf(cluster),
                  .quality = MeanReward(cluster),
                  .examples = static_cast<uint32_t>(cluster.lessons.size())};
  ASSIGN_OR_RETURN(lessons.core, TrainCore(services, options, cluster.lessons, seed));
  ASSIGN_OR_RETURN(const bool erased, SomeWereErased(services, cluster));
  if (erased) {
    learned->outcome = RoundOutcome::kErased;
    return absl::OkStatus();
  }
  return StoreLessons(services, lessons, cluster.pattern, pattern, learned);
}

// Notes with the trajectories that this round took them, so that no start takes them again.
absl::Status SettleLessons(const BackgroundServices& services, const LessonCluster& cluster,
                           const LearnedPattern& learned) {
  const bool has_pattern =
      learned.outcome == RoundOutcome::kKept || learned.outcome == RoundOutcome::kDeleted;
  for (const Lesson* lesson : cluster.lessons) {
    RETURN_IF_ERROR(
        services.trajectories->SetLearned(lesson->trajectory, AsText(services.package_id),
                                          has_pattern ? std::optional(learned.id) : std::nullopt));
  }
  return absl::OkStatus();
}

// Learns a cluster; what fails is noted with it. An error ends the round: others would fail, too.
absl::Status TakeCluster(const BackgroundServices& services, const BackgroundOptions& options,
                         const LessonCluster& cluster, Random& random, BackgroundRound* round) {
  const Pattern pattern =
      cluster.pattern.has_value() ? *cluster.pattern : NewPattern(services, random);
  LearnedPattern& learned = round->patterns.emplace_back();
  learned.id = pattern.id;
  learned.examples = static_cast<int>(cluster.lessons.size());
  for (const Lesson* lesson : cluster.lessons) {
    learned.responses.insert(lesson->trajectory.response_id);
  }
  learned.failure = LearnCluster(services, options, cluster, pattern, random.Next(), &learned);
  if (!learned.failure.ok()) {
    learned.outcome = RoundOutcome::kFailed;
  }
  if (learned.outcome == RoundOutcome::kFailed || learned.outcome == RoundOutcome::kChanged ||
      learned.outcome == RoundOutcome::kErased) {
    // Of what was changed the failure is a disk that is full.
    const bool others_would_fail =
        absl::IsCancelled(learned.failure) || absl::IsResourceExhausted(learned.failure);
    return others_would_fail ? learned.failure : absl::OkStatus();
  }
  for (const std::string& response : learned.responses) {
    round->waiting.erase(response);
  }
  return SettleLessons(services, cluster, learned);
}

absl::Status RunRound(const BackgroundServices& services, const BackgroundOptions& options,
                      const std::set<std::string>& fresh, Random& random, BackgroundRound* round) {
  round->waiting = fresh;  // until it is known which of them teach anything
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
                   ClusterLessons(services, options, lessons, fresh, random));
  for (const LessonCluster& cluster : clusters) {
    RETURN_IF_ERROR(TakeCluster(services, options, cluster, random, round));
  }
  return absl::OkStatus();
}

}  // namespace

std::string WantedText(const Trajectory& trajectory, float min_rating) {
  if (trajectory.edited_text.has_value()) {
    return *trajectory.edited_text;
  }
  if (trajectory.accepted.value_or(false) || trajectory.rating.value_or(-1) >= min_rating) {
    return trajectory.completion;
  }
  return "";
}

BackgroundRound RunBackgroundRound(const BackgroundServices& services,
                                   const BackgroundOptions& options,
                                   const std::set<std::string>& fresh, Random& random) {
  BackgroundRound round;
  round.status = RunRound(services, options, fresh, random, &round);
  return round;
}

}  // namespace ruvd
