// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
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

// One cluster of good trajectories and what became of it.
struct LearnedPattern {
  PatternId id{};
  std::string adapter_name;
  uint32_t adapter_version = 0;
  int examples = 0;
  double held_out_before = 0;
  double held_out_after = 0;
  bool kept = false;  // false: the held-out loss did not fall enough, nothing was stored
  std::set<std::string> responses;
};

// The background loop of SONA (DESIGN section 6), once: takes the good trajectories, clusters their
// embeddings, and for every cluster that holds one of `fresh` trains a MicroLoRA on re-noised
// accepted text, keeps it if its held-out loss falls, and stores it as a new pattern or as the next
// version of the near pattern it had already learned.
absl::StatusOr<std::vector<LearnedPattern>> RunBackgroundRound(const BackgroundServices& services,
                                                               const BackgroundOptions& options,
                                                               const std::set<std::string>& fresh,
                                                               Random& random);

// The text a trajectory teaches: the user's edit, or the completion if it was accepted or rated
// well. Empty if it teaches nothing.
std::string WantedText(const Trajectory& trajectory, float min_rating);

}  // namespace ruvd
