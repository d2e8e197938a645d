// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/learning/lesson_clusters.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <deque>
#include <iterator>
#include <utility>

#include "base/bytes.h"
#include "base/status.h"
#include "inference/adapter/bank.h"
#include "inference/train/cluster.h"
#include "node/limits.h"
#include "node/log/log.h"
#include "node/serving/late_embedding.h"
#include "node/serving/prompt_tokens.h"
#include "storage/similarity/cosine.h"

namespace ruvd::learning {
namespace {

// One lesson in this many measures what the others taught.
constexpr size_t kHeldBackOneOf = 4;

// The reward of a copied completion, which is an implicit signal: half of an edit's.
constexpr float kCopiedReward = 0.5F;

float RewardOf(const storage::Trajectory& trajectory) {
  if (trajectory.edited_text.has_value() || trajectory.accepted.value_or(false)) {
    return 1;
  }
  return trajectory.rating.value_or(trajectory.copied ? kCopiedReward : 0);
}

// Embeds lessons whose requests searched nothing and therefore stored no embedding, and those whose
// embeddings come from another model or another whitening, because these are not comparable with
// the patterns'. A lesson that cannot be embedded is left out, so that it does not keep the others
// from being learned.
absl::Status EmbedAnew(const LearningServices& services, std::vector<Lesson>* lessons) {
  std::set<std::string> failed;
  for (Lesson& lesson : *lessons) {
    storage::Trajectory& trajectory = lesson.trajectory;
    const bool same_package = trajectory.embedded_by == AsText(services.package_id);
    if (same_package && !trajectory.embedding.empty()) {
      continue;
    }
    RETURN_IF_ERROR(YieldBetweenPieces(services));
    absl::StatusOr<std::vector<float>> embedding = serving::EmbeddingOf(
        trajectory, EmbedderOf(services), services.whitening, services.package_id);
    RETURN_IF_ERROR(CheckCancelled(services));
    if (!embedding.ok()) {
      LogWarning("response {} cannot be learned: {}", trajectory.response_id,
                 MessageOf(embedding.status()));
      failed.insert(trajectory.response_id);
      continue;
    }
    trajectory.embedding = *std::move(embedding);
    if (!same_package) {
      trajectory.prompt_tokens.clear();  // these tokens come from the other tokenizer
    }
  }
  std::erase_if(*lessons, [&failed](const Lesson& lesson) {
    return failed.contains(lesson.trajectory.response_id);
  });
  return absl::OkStatus();
}

// Returns the fewest clusters of new lessons in which all members are near their centroid.
absl::StatusOr<std::vector<LessonCluster>> ClusterNew(const LearningServices& services,
                                                      const std::vector<const Lesson*>& lessons,
                                                      float similarity, Random& random) {
  std::vector<inference::ClusterItem> items;
  items.reserve(lessons.size());
  for (const Lesson* lesson : lessons) {
    items.push_back({.embedding = lesson->trajectory.embedding, .bank = inference::BankOf(1)});
  }
  inference::Clustering clustering;
  bool tight = false;
  for (int k = 1; !tight && k <= static_cast<int>(items.size()); ++k) {
    RETURN_IF_ERROR(CheckCancelled(services));
    ASSIGN_OR_RETURN(clustering, inference::ClusterItems(items, {.clusters = k}, random));
    tight = true;
    for (size_t i = 0; i < items.size(); ++i) {
      tight &= storage::CosineSimilarity(items[i].embedding,
                                         clustering.centroids[clustering.assignment[i]])
                   .value_or(0) >= similarity;
    }
  }
  std::vector<LessonCluster> clusters(clustering.centroids.size());
  for (size_t i = 0; i < items.size(); ++i) {
    clusters[clustering.assignment[i]].lessons.push_back(lessons[i]);
  }
  return clusters;
}

// Returns prompt and target text as tokens, cut to the context: the end of the prompt and the
// beginning of the text stay.
inference::TrainingExample MakeExample(const inference::Model& model, const Lesson& lesson) {
  inference::TrainingExample example;
  example.prompt = lesson.trajectory.prompt_tokens;
  if (example.prompt.empty()) {
    example.prompt = serving::PromptTokens(model, lesson.trajectory.prompt);
  }
  example.completion = model.tokenizer().EncodeContinuation(lesson.target);
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

}  // namespace

std::string TargetText(const storage::Trajectory& trajectory, float min_rating) {
  if (trajectory.edited_text.has_value()) {
    return *trajectory.edited_text;
  }
  const bool liked =
      trajectory.accepted.value_or(false) || trajectory.rating.value_or(-1) >= min_rating;
  const bool disliked =
      trajectory.rating.has_value() || trajectory.accepted.has_value() || trajectory.regenerated;
  return liked || (trajectory.copied && !disliked) ? trajectory.completion : "";
}

Lesson LessonOf(storage::Trajectory trajectory, float min_rating) {
  Lesson lesson{.target = TargetText(trajectory, min_rating), .reward = RewardOf(trajectory)};
  lesson.trajectory = std::move(trajectory);
  return lesson;
}

bool IsExcludedFromLearning(const LearningServices& services,
                            const storage::Trajectory& trajectory) {
  return trajectory.learned_in && trajectory.learned_by == AsText(services.package_id) &&
         absl::IsNotFound(services.patterns->GetWithoutPayload(*trajectory.learned_in).status());
}

absl::StatusOr<std::vector<Lesson>> CollectLessons(const LearningServices& services,
                                                   float min_rating,
                                                   const std::set<std::string>& fresh,
                                                   std::set<std::string>* waiting) {
  std::deque<Lesson> newest;  // fresh ones, oldest first
  std::deque<Lesson> others;  // newest first
  RETURN_IF_ERROR(
      services.trajectories->ForEachSince(0, [&](const storage::Trajectory& trajectory) {
        Lesson lesson = LessonOf(trajectory, min_rating);
        lesson.fresh = fresh.contains(trajectory.response_id);
        const bool teaches =
            !lesson.target.empty() && !IsExcludedFromLearning(services, trajectory);
        if (teaches && lesson.fresh) {
          newest.push_back(std::move(lesson));
          if (newest.size() > limits::kMaxRoundTrajectories) {
            waiting->insert(newest.front().trajectory.response_id);
            newest.pop_front();
          }
        } else if (teaches) {
          others.push_front(std::move(lesson));
        }
        others.resize(std::min(others.size(), limits::kMaxRoundTrajectories - newest.size()));
        return CheckCancelled(services).ok();
      }));
  RETURN_IF_ERROR(CheckCancelled(services));
  std::vector<Lesson> lessons(std::make_move_iterator(newest.begin()),
                              std::make_move_iterator(newest.end()));
  std::ranges::move(others, std::back_inserter(lessons));
  RETURN_IF_ERROR(EmbedAnew(services, &lessons));
  return lessons;
}

bool IsLearnedHere(const storage::Pattern& pattern) {
  return pattern.bank == static_cast<uint32_t>(inference::BankOf(1)) &&
         (pattern.examples > 0 || pattern.adapter_name.empty());
}

absl::StatusOr<std::vector<storage::Pattern>> PatternsLearnedHere(
    const LearningServices& services) {
  constexpr uint32_t kPage = 256;
  std::vector<storage::Pattern> learned;
  std::string token;
  do {
    ASSIGN_OR_RETURN(storage::PatternPage page,
                     services.patterns->List(kPage, token, {.origin = services.origin}));
    RETURN_IF_ERROR(CheckCancelled(services));
    for (storage::Pattern& pattern : page.patterns) {
      if (IsLearnedHere(pattern)) {
        learned.push_back(std::move(pattern));
      }
    }
    token = page.next_page_token;
  } while (!token.empty());
  return learned;
}

absl::StatusOr<std::vector<LessonCluster>> ClusterLessons(const LearningServices& services,
                                                          const std::vector<Lesson>& lessons,
                                                          float similarity, Random& random) {
  ASSIGN_OR_RETURN(std::vector<storage::Pattern> patterns, PatternsLearnedHere(services));
  std::vector<LessonCluster> clusters;
  clusters.reserve(patterns.size());
  for (storage::Pattern& pattern : patterns) {
    clusters.push_back({.lessons = {}, .pattern = std::move(pattern)});
  }
  std::vector<const Lesson*> new_lessons;
  for (const Lesson& lesson : lessons) {
    LessonCluster* nearest = nullptr;
    float best = similarity;
    for (LessonCluster& cluster : clusters) {
      const float likeness =
          storage::CosineSimilarity(lesson.trajectory.embedding, cluster.pattern->embedding)
              .value_or(0);
      if (likeness >= best) {
        best = likeness;
        nearest = &cluster;
      }
    }
    if (nearest != nullptr) {
      nearest->lessons.push_back(&lesson);
    } else if (lesson.fresh) {
      new_lessons.push_back(&lesson);
    }
  }
  std::erase_if(clusters, [&](const LessonCluster& cluster) {
    return std::ranges::none_of(cluster.lessons,
                                [](const Lesson* lesson) { return lesson->fresh; });
  });
  if (!new_lessons.empty()) {
    ASSIGN_OR_RETURN(std::vector<LessonCluster> created,
                     ClusterNew(services, new_lessons, similarity, random));
    std::ranges::move(created, std::back_inserter(clusters));
  }
  return clusters;
}

LessonSplit HoldBackLessons(std::span<const Lesson* const> lessons, size_t most) {
  LessonSplit split{.taught = {lessons.begin(), lessons.end()}, .held_back = {}};
  const size_t count = std::min(lessons.size() / kHeldBackOneOf, most);
  // The hash is independent of when a lesson came and what it says.
  const auto order = [](const Lesson* lesson) {
    return std::pair(lesson->fresh, Sha256(lesson->trajectory.response_id));
  };
  std::ranges::sort(split.taught, {}, order);
  const auto taught = split.taught.begin() + static_cast<ptrdiff_t>(count);
  split.held_back.assign(split.taught.begin(), taught);
  split.taught.erase(split.taught.begin(), taught);
  return split;
}

std::vector<float> CentroidOf(std::span<const Lesson* const> lessons) {
  std::vector<double> sum(lessons.front()->trajectory.embedding.size(), 0.0);
  for (const Lesson* lesson : lessons) {
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

std::vector<inference::TrainingExample> MakeExamples(const inference::Model& model,
                                                     std::span<const Lesson* const> lessons) {
  std::vector<inference::TrainingExample> examples;
  examples.reserve(lessons.size());
  for (const Lesson* lesson : lessons) {
    examples.push_back(MakeExample(model, *lesson));
  }
  return examples;
}

}  // namespace ruvd::learning
