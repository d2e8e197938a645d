// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/random.h"
#include "inference/train/losses.h"
#include "node/learning/learning_services.h"
#include "storage/patterns/pattern.h"
#include "storage/trajectories/trajectory_store.h"

namespace ruvd::learning {

// A trajectory that teaches something.
struct Lesson {
  storage::Trajectory trajectory;
  std::string target;
  float reward = 1;    // in [0, 1]; its weight in training
  bool fresh = false;  // no round has taken its feedback yet
};

// Lessons that are learned together, and the pattern that holds what was learned from them so far.
struct LessonCluster {
  std::vector<const Lesson*> lessons;
  std::optional<storage::Pattern> pattern;  // without its payload; nullopt: a new pattern
};

// The lessons of a cluster: those that are trained on, and those that only measure the result.
struct LessonSplit {
  std::vector<const Lesson*> taught;
  std::vector<const Lesson*> held_back;
};

// Returns the text that a trajectory teaches: the user's edit; or the completion if it was
// accepted, rated well, or copied without any negative feedback. Empty if it teaches nothing.
std::string TargetText(const storage::Trajectory& trajectory, float min_rating);

// Returns what a trajectory teaches; `target` is empty if that is nothing.
Lesson LessonOf(storage::Trajectory trajectory, float min_rating);

// Returns whether the pattern that learned a trajectory was deleted, or the learning undone; then
// the trajectory must not be taught again. Patterns of other models are not looked at.
bool IsExcludedFromLearning(const LearningServices& services,
                            const storage::Trajectory& trajectory);

// Returns the lessons of a round, as many as one round takes: those of `fresh`, oldest first, then
// the newest of the others. Lessons whose pattern was deleted are left out, even from `fresh`.
// Lessons of `fresh` that do not fit are added to `waiting`. All embeddings are of the services'
// package. Returns CANCELLED and the errors of the store and of the forward pass.
absl::StatusOr<std::vector<Lesson>> CollectLessons(const LearningServices& services,
                                                   float min_rating,
                                                   const std::set<std::string>& fresh,
                                                   std::set<std::string>* waiting);

// Returns the patterns of this node that fresh lessons belong to, each with all of its lessons, and
// new clusters for the rest: as few as possible, with all members within `similarity` (cosine) of
// their centroid. A lesson stays with its pattern, because clustering everything again would move
// patterns away from what they had learned.
absl::StatusOr<std::vector<LessonCluster>> ClusterLessons(const LearningServices& services,
                                                          const std::vector<Lesson>& lessons,
                                                          float similarity, Random& random);

// Returns whether learning may continue in a pattern: completions can find it, and its adapter was
// not made elsewhere.
bool IsLearnedHere(const storage::Pattern& pattern);

// Returns the patterns of this node for which IsLearnedHere is true, in order of id, without
// payloads, because all payloads may take gigabytes. Skips damaged patterns. Returns CANCELLED and
// the errors of the store.
absl::StatusOr<std::vector<storage::Pattern>> PatternsLearnedHere(const LearningServices& services);

// Holds back a quarter of four or more lessons, but at most `most`; with fewer than four, none.
// Lessons that earlier rounds took are held back first. Equal lessons always give the same split.
LessonSplit HoldBackLessons(std::span<const Lesson* const> lessons, size_t most = SIZE_MAX);

// Returns the mean of the lessons' embeddings, normalised to length one.
std::vector<float> CentroidOf(std::span<const Lesson* const> lessons);

// Returns prompts and target texts as tokens, cut to the context: the end of the prompt and the
// beginning of the text stay.
std::vector<inference::TrainingExample> MakeExamples(const inference::Model& model,
                                                     std::span<const Lesson* const> lessons);

}  // namespace ruvd::learning
