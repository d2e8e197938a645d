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
  std::string wanted;
  float reward = 1;    // 0 to 1; its weight in training
  bool fresh = false;  // no round has taken its feedback
};

// Lessons that are learned together, and the pattern that holds what was learned of them so far.
struct LessonCluster {
  std::vector<const Lesson*> lessons;
  std::optional<storage::Pattern> pattern;  // without its payload; none: a new one
};

// The lessons of a cluster that are trained on, and those that only measure what that gave.
struct LessonSplit {
  std::vector<const Lesson*> taught;
  std::vector<const Lesson*> held_back;
};

// The text a trajectory teaches: the user's edit, or the completion if it was accepted or rated
// well, or copied where nobody said or did anything against it. Empty if it teaches nothing.
std::string WantedText(const storage::Trajectory& trajectory, float min_rating);

// What a trajectory teaches; `wanted` is empty where that is nothing.
Lesson LessonOf(storage::Trajectory trajectory, float min_rating);

// Whether the pattern that learned a trajectory was removed, or what it learned undone: then it is
// not to be taught again. Patterns of other models are elsewhere.
bool IsForgotten(const LearningServices& services, const storage::Trajectory& trajectory);

// The lessons of a round, as many as one takes: those of `fresh`, oldest first, then the newest of
// the others. Those whose pattern is gone are left out, also of `fresh`. Those of `fresh` that
// found no room are added to `waiting`. All have embeddings of the services' package. CANCELLED;
// the errors of the store and of the forward pass.
absl::StatusOr<std::vector<Lesson>> CollectLessons(const LearningServices& services,
                                                   float min_rating,
                                                   const std::set<std::string>& fresh,
                                                   std::set<std::string>* waiting);

// The patterns of this node that fresh lessons belong to, each with all of its lessons, and new
// clusters of the rest, the fewest whose members are all within `similarity` (cosine) of their
// centroid. A lesson stays with its pattern: clustering everything anew would move patterns away
// from what they had learned.
absl::StatusOr<std::vector<LessonCluster>> ClusterLessons(const LearningServices& services,
                                                          const std::vector<Lesson>& lessons,
                                                          float similarity, Random& random);

// Whether learning may go on in a pattern: completions find it, and it has no adapter that somebody
// else made.
bool IsLearnedHere(const storage::Pattern& pattern);

// The patterns of this node of which that is so, in order of id, without their payloads: those of
// all may have gigabytes. Passes over damaged ones. CANCELLED; the errors of the store.
absl::StatusOr<std::vector<storage::Pattern>> PatternsLearnedHere(const LearningServices& services);

// Of four lessons and more a quarter, or `most`, is held back, those that were learned before
// first; always the same ones of equal lessons. Of fewer: none.
LessonSplit HoldBackLessons(std::span<const Lesson* const> lessons, size_t most = SIZE_MAX);

// The mean of the lessons' embeddings, of length one.
std::vector<float> CentroidOf(std::span<const Lesson* const> lessons);

// Prompts and wanted texts as tokens, cut to the context: the end of the prompt and the beginning
// of the text stay.
std::vector<inference::TrainingExample> MakeExamples(const inference::Model& model,
                                                     std::span<const Lesson* const> lessons);

// Cosine of the angle between two vectors of one length; 0 where one of them is zero.
float Cosine(std::span<const float> a, std::span<const float> b);

}  // namespace ruvd::learning
