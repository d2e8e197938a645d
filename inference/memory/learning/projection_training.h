// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/parallel.h"
#include "inference/memory/learning/observe_lesson.h"
#include "inference/memory/memory_parameters.h"

namespace ruvd::inference {

// Observed tokens of one kind of text, of which each is both an entry and a query for the others.
struct ProjectionExamples {
  size_t width = 0;
  std::vector<ObservedToken> tokens;
  // The tokens beside each one, seen or not; kNoToken beyond the lesson
  std::vector<std::array<TokenId, kMemoryLeft>> left;
  std::vector<std::array<TokenId, kMemoryRight>> right;
  std::vector<float> hidden;        // tokens x width
  std::vector<uint32_t> documents;  // which document a token is of

  // Adds an observed lesson of a document.
  void Add(std::span<const TokenId> lesson, const ObservedLesson& observed, uint32_t document);
  size_t size() const { return tokens.size(); }
};

struct ProjectionTrainingOptions {
  int dimension = 128;  // of the keys: a multiple of 32
  int steps = 300;
  size_t queries = 1024;   // of a step
  size_t entries = 16384;  // of a step
  double learning_rate = 0.02;
  uint64_t seed = 1;
  // For baselines: without keys the score is that of an n-gram cache, and without keys and
  // neighbours all entries score the same, as in a unigram cache.
  bool keys = true;
  bool neighbours = true;
  // Called after each step with its number and loss; may be null. An error ends the training.
  std::function<absl::Status(int step, double loss)> progress;
};

// Learns the parts of MemoryParameters that decide a score: mean, projection, temperature, bonuses
// and biases; the rest of the result is empty. Each step reads random entries of one kind with
// random queries of the same kind, but of other documents, and descends the cross-entropy of the
// mixture of the model and the memory, whose share is a logistic function of the mass of the
// scores, the entropy and t. The projection starts from the leading principal components, scaled to
// equal variance. Returns INVALID_ARGUMENT without examples or for a width below the dimension, and
// what `progress` returned.
absl::StatusOr<MemoryParameters> TrainProjection(ParallelRunner& runner,
                                                 std::span<const ProjectionExamples> kinds,
                                                 const ProjectionTrainingOptions& options);

}  // namespace ruvd::inference
