// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/parallel.h"
#include "inference/memory/learning/projection_training.h"

namespace ruvd::inference {

// Where the trained numbers are in one list: the projection (dimension x width), the logarithm of
// the temperature, the bonuses (left, right, both), the two factors of the bias, and the four of
// the share that only training uses: share = 0.95 sigmoid(a + b (log mass - log entries) + c
// entropy
// + d t).
struct ProjectionLayout {
  size_t width = 0;
  size_t dimension = 0;

  static constexpr size_t kBonuses = kMemoryLeft + kMemoryRight + 1;
  size_t temperature() const { return width * dimension; }
  size_t bonuses() const { return temperature() + 1; }
  size_t biases() const { return bonuses() + kBonuses; }
  size_t share() const { return biases() + 2; }
  size_t size() const { return share() + 4; }
};

// One step's queries and entries, as indices of examples.
struct ProjectionBatch {
  const ProjectionExamples* examples = nullptr;
  std::vector<size_t> queries;
  std::vector<size_t> entries;
};

// Computes the loss of TrainProjection on a batch, in nats per token, and its gradient.
class ProjectionStep {
 public:
  // `mean` is subtracted from hidden states.
  ProjectionStep(ParallelRunner& runner, const ProjectionLayout& layout,
                 std::span<const float> mean)
      : runner_(runner), layout_(layout), mean_(mean) {}
  // `gradient` has layout.size() values.
  double Run(const ProjectionBatch& batch, std::span<const float> parameters,
             std::span<float> gradient);

 private:
  // Keys and what their derivative needs
  struct Keys {
    std::vector<float> centred;  // rows x width
    std::vector<float> units;    // rows x dimension
    std::vector<float> lengths;  // rows
    std::vector<float> slopes;   // rows x dimension: derivative of the loss by the units
  };
  // What each row of scores contributes to the small parameters
  struct RowSums {
    double loss = 0;
    std::vector<double> by_match;  // sum of the slopes of the scores, by MatchCode
    double by_temperature = 0;
    double by_share[4] = {};
  };

  void ComputeKeys(const ProjectionBatch& batch, std::span<const size_t> rows,
                   std::span<const float> projection, Keys* keys) const;
  void GatherNeighbours(const ProjectionBatch& batch);
  void RunRow(const ProjectionBatch& batch, std::span<const float> parameters, double weight,
              size_t row);
  void AddSmallGradients(const ProjectionBatch& batch, std::span<float> gradient) const;
  void AddProjectionGradient(Keys* keys, std::span<float> gradient) const;

  ParallelRunner& runner_;
  const ProjectionLayout layout_;
  const std::span<const float> mean_;
  Keys queries_;
  Keys entries_;
  std::vector<TokenId> left_[kMemoryLeft];    // by entry
  std::vector<TokenId> right_[kMemoryRight];  // by entry
  std::vector<TokenId> targets_;              // by entry
  std::vector<float> log_probabilities_;      // by entry, from below bounded
  std::vector<float> scores_;                 // queries x entries, then their slopes
  std::vector<RowSums> sums_;
};

}  // namespace ruvd::inference
