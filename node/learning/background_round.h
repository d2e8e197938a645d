// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/random.h"
#include "node/learning/learning_services.h"
#include "node/learning/pattern_merge.h"
#include "storage/changes/learning_change.h"
#include "storage/patterns/pattern.h"

namespace ruvd::learning {

struct BackgroundOptions {
  float min_rating = 0.7F;
  // Cosine at which a lesson belongs to a pattern. Above the similarity of retrieval, so that a
  // pattern is found for each of its lessons and stays about one thing.
  float cluster_similarity = 0.8F;
  // Cosine of the centroids at which two patterns of this node are one; above 1: none are.
  float merge_similarity = 0.9F;
  int rank = 2;
  // All linear matrices of so many of the last layers are changed.
  int layers = 2;
  int steps = 0;  // 0: the trainer's default
  float min_improvement = 0;
  // What a pattern's quality keeps of itself with each new lesson; the rest is the lesson's reward.
  float quality_decay = 0.8F;
};

// What a round learns anew.
struct FreshLessons {
  std::set<std::string> responses;
  // Also the lessons of patterns whose adapters stand on another version of the adapter of deep
  // rounds than is served, because one was published or taken back since.
  bool stale_patterns = false;
};

// What became of a cluster of lessons.
enum class RoundOutcome : uint8_t {
  kKept,
  kNoImprovement,  // the held-out loss did not fall enough
  kDeleted,        // the pattern was deleted meanwhile, and stays so
  kChanged,        // embedding, bank or adapter are a user's by now: a later round begins with them
  kErased,         // a user whose words it learned was erased: a later round goes without them
  kRetired,        // what is served says it without the pattern's adapter, which is taken away
  kRefused,        // the store takes no such pattern
  kFailed,         // `failure`; a later round tries again
};

// One cluster of good trajectories and what became of it.
struct LearnedPattern {
  storage::PatternId id{};
  std::string adapter_name;
  uint32_t adapter_version = 0;
  int examples = 0;
  // Lessons among them that were only measured on; 0: the taught ones under other masks.
  int held_back = 0;
  double held_out_before = 0;
  double held_out_after = 0;
  RoundOutcome outcome = RoundOutcome::kFailed;
  absl::Status failure;
  std::optional<storage::LearningChange> change;  // of what was kept
  std::set<std::string> responses;
};

struct BackgroundRound {
  std::vector<LearnedPattern> patterns;
  std::vector<MergedPattern> merged;
  // Those of `fresh` that a later round has to learn.
  std::set<std::string> waiting;
  absl::Status status;  // why the round ended before its end; `patterns` has what came before
};

// The background loop of SONA (DESIGN section 6), once: takes the good trajectories, those of
// `fresh` before others, clusters their embeddings, and for every cluster that holds one of `fresh`
// trains a MicroLoRA on re-noised accepted text in slices, keeps it if its held-out loss falls, and
// stores it as a new pattern or as the next version of the near pattern it had already learned.
// Trained and measured on top of what requests get that choose nothing, the adapter of deep rounds
// included. A pattern whose adapter stands on another version of that one, and cannot be taught
// anything on top of the served one, loses its adapter: nobody knows what it does there.
// Patterns that came near each other become one. What was learned in a pattern that is gone by now
// is not taught again: who deletes a pattern means it. Notes with the trajectories what became of
// them.
BackgroundRound RunBackgroundRound(const LearningServices& services,
                                   const BackgroundOptions& options, const FreshLessons& fresh,
                                   Random& random);

}  // namespace ruvd::learning
