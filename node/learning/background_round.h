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
#include "node/learning/pattern_training.h"
#include "storage/changes/learning_change.h"
#include "storage/patterns/pattern.h"

namespace ruvd::learning {

struct BackgroundOptions {
  float min_rating = 0.7F;
  // Smallest cosine at which a lesson belongs to a pattern. It is above the similarity of
  // retrieval, so that a pattern is found for each of its lessons and stays about one topic.
  float cluster_similarity = 0.8F;
  // Smallest cosine of the centroids at which two patterns of this node are merged; above 1: never.
  float merge_similarity = 0.9F;
  PatternTrainingOptions training;
  // Share of its quality that a pattern keeps with each new lesson; the rest is the lesson's
  // reward.
  float quality_decay = 0.8F;
};

// What a round has to learn.
struct FreshLessons {
  std::set<std::string> responses;
  // The round also relearns the lessons of patterns whose adapters were measured on another version
  // of the deep adapter than the served one, because a version was published or taken back since.
  bool stale_patterns = false;
};

// The outcome for a cluster of lessons.
enum class ClusterOutcome : uint8_t {
  kKept,
  kNoImprovement,  // the held-out loss did not fall enough
  kDeleted,        // the pattern was deleted meanwhile and stays deleted
  kChanged,  // embedding, bank, adapter or served deep version changed meanwhile; a later round
             // learns again
  kErased,   // a user whose words it learned was erased; a later round learns without them
  kRetired,  // the served adapters suffice without the pattern's adapter, which is removed
  kRefused,  // the store refuses the pattern
  kFailed,   // see `failure`; a later round tries again
};

// One cluster of good trajectories and its outcome.
struct LearnedPattern {
  storage::PatternId id{};
  std::string adapter_name;
  uint32_t adapter_version = 0;
  int examples = 0;
  // Number of lessons that were only measured on. 0: losses were measured on the taught lessons
  // under other masks.
  int held_back = 0;
  double held_out_before = 0;
  double held_out_after = 0;
  ClusterOutcome outcome = ClusterOutcome::kFailed;
  absl::Status failure;
  std::optional<storage::LearningChange> change;  // set if something was stored
  std::set<std::string> responses;
};

struct BackgroundRound {
  std::vector<LearnedPattern> patterns;
  std::vector<MergedPattern> merged;
  // Responses of `fresh` that a later round has to learn.
  std::set<std::string> waiting;
  absl::Status status;  // an error if the round ended early; `patterns` holds what came before
};

// Runs one round of the background loop. It takes the good trajectories, those of `fresh` first,
// and clusters their embeddings. For every cluster with a lesson of `fresh`, it trains an adapter
// on re-noised accepted text in slices (TrainPattern), keeps it if the held-out loss falls, and
// stores it as a new pattern or as the next version of the near pattern that this node learned
// before. Adapters are measured on top of those that requests get without choosing, the deep
// adapter included. If a pattern's adapter was measured on another version of the deep adapter and
// nothing can be gained on top of the served one, the pattern loses its adapter, because its effect
// there is unknown. At the end, patterns whose centroids came near each other are merged. Lessons
// of a deleted pattern are not taught again, because the deletion was meant. Records with each
// trajectory what became of it.
BackgroundRound RunBackgroundRound(const LearningServices& services,
                                   const BackgroundOptions& options, const FreshLessons& fresh,
                                   Random& random);

}  // namespace ruvd::learning
