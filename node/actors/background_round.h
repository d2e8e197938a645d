// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/clock.h"
#include "base/random.h"
#include "inference/adapter/frame.h"
#include "inference/model/transformer.h"
#include "inference/retrieval/whitening.h"
#include "storage/patterns/pattern_store.h"
#include "storage/trajectories/trajectory_store.h"

namespace ruvd {

// What a background round works with. All borrowed.
struct BackgroundServices {
  const Clock* clock = nullptr;
  Transformer* transformer = nullptr;
  TrajectoryStore* trajectories = nullptr;
  PatternStore* patterns = nullptr;
  const Whitening* whitening = nullptr;  // of embeddings; null: none
  Digest package_id{};                   // of the model that embeds
  const Frame* frame = nullptr;          // null: nothing is prepared for sharing
  Digest origin{};                       // this node's id
  std::function<bool()> cancelled;
};

struct BackgroundOptions {
  float min_rating = 0.7F;
  // Cosine at which a lesson belongs to a pattern. Above the similarity of retrieval, so that a
  // pattern is found for each of its lessons and stays about one thing.
  float cluster_similarity = 0.8F;
  int rank = 2;
  int steps = 0;  // 0: the trainer's default
  float min_improvement = 0;
};

// What became of a cluster of lessons.
enum class RoundOutcome : uint8_t {
  kKept,
  kNoImprovement,  // the held-out loss did not fall enough
  kDeleted,        // the pattern was deleted meanwhile, and stays so
  kChanged,        // embedding, bank or adapter are a user's by now: a later round begins with them
  kErased,         // a user whose words it learned was erased: a later round goes without them
  kRefused,        // the store takes no such pattern
  kFailed,         // `failure`; a later round tries again
};

// One cluster of good trajectories and what became of it.
struct LearnedPattern {
  PatternId id{};
  std::string adapter_name;
  uint32_t adapter_version = 0;
  int examples = 0;
  double held_out_before = 0;
  double held_out_after = 0;
  RoundOutcome outcome = RoundOutcome::kFailed;
  absl::Status failure;
  std::set<std::string> responses;
};

struct BackgroundRound {
  std::vector<LearnedPattern> patterns;
  // Those of `fresh` that a later round has to learn.
  std::set<std::string> waiting;
  absl::Status status;  // why the round ended before its end; `patterns` has what came before
};

// The background loop of SONA (DESIGN section 6), once: takes the good trajectories, those of
// `fresh` before others, clusters their embeddings, and for every cluster that holds one of `fresh`
// trains a MicroLoRA on re-noised accepted text, keeps it if its held-out loss falls, and stores it
// as a new pattern or as the next version of the near pattern it had already learned. What was
// learned in a pattern that is gone by now is not taught again: who deletes a pattern means it.
// Notes with the trajectories what became of them.
BackgroundRound RunBackgroundRound(const BackgroundServices& services,
                                   const BackgroundOptions& options,
                                   const std::set<std::string>& fresh, Random& random);

// The text a trajectory teaches: the user's edit, or the completion if it was accepted or rated
// well. Empty if it teaches nothing.
std::string WantedText(const Trajectory& trajectory, float min_rating);

}  // namespace ruvd
