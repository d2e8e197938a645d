// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "inference/instant/instant_step.h"
#include "inference/instant/limits.h"

namespace ruvd::inference {

struct InstantMemoryOptions {
  // p = (1 - s) p_LM + s p_kNN (kNN-LM, arXiv 1911.00172), where p_kNN gives each of the nearest
  // positions exp(cos / temperature), and s = neighbour_share * W / (W + prior) with W the sum of
  // their exp((cos - 1) / temperature): positions that are less like the query count for less. A
  // prior of 0 is the fixed share of kNN-LM; a share of 0, which is below 1, lets nobody vote.
  // The defaults are one of the combinations that bench/experiments/learn_instant tries, not the
  // one that it chose (bench/RESULTS.md). At most limits::kMaxInstantNeighbours vote.
  float neighbour_share = 0.4F;
  int neighbours = 256;
  float temperature = 0.08F;
  float prior = 1;
  // Whether the steps' changes of the output rows are applied.
  bool rows = true;
  // By which they shrink with every later step.
  float decay = 0.999F;
  // Positions in effect; the oldest steps give way when there are more.
  size_t capacity = limits::kMaxInstantPositions;
  // Positions of steps that gave way and are held, without effect, to come back when others are
  // left out.
  size_t reserve = limits::kMaxInstantReserve;
};

// What a session has learned: steps in the order they were learned. Immutable, so a completion that
// began with one keeps it whatever is learned meanwhile; a change makes a new memory that shares
// the steps. Leaving out a step gives, bit for bit, the memory that never had it, as long as the
// steps left out have at most `reserve` positions together; beyond that, steps that gave way to
// them are gone. Thread-safe.
class InstantMemory {
 public:
  explicit InstantMemory(const InstantMemoryOptions& options) : options_(options) {}

  // With `step` behind the others, in place of one of its id. Steps of another width are dropped.
  // Of the steps the newest are in effect, as many as have at most `capacity` positions together,
  // and the last one always.
  std::shared_ptr<const InstantMemory> With(std::shared_ptr<const InstantStep> step) const;
  // Without the step of this id.
  std::shared_ptr<const InstantMemory> Without(std::string_view id) const;
  // Whether a step of this id is in effect or held to come back.
  bool Has(std::string_view id) const;

  // Those in effect.
  size_t steps() const { return steps_.size() - reserved_; }
  size_t positions() const { return positions_; }
  // Those of all steps, shared ones and those without effect included.
  size_t bytes() const;

  // Changes rows of logits (rows x vocabulary) by what was learned at hidden states like those that
  // made them (rows x width): first the output rows' changes, then the neighbours' votes, as logits
  // of the mixed distribution up to a constant. A row without finite probabilities stays as it is.
  // A row's result does not depend on the others. Nothing happens where the memory is empty or its
  // steps have another width.
  void Adjust(std::span<const float> hidden, size_t rows, std::span<float> logits) const;

 private:
  struct Neighbour {
    float similarity = 0;
    uint32_t position = 0;
  };

  void Score(std::span<const float> hidden, size_t rows, std::span<float> scores) const;
  void ApplyRows(std::span<const float> scores, float length, std::span<float> logits) const;
  void MixNeighbours(std::span<const float> scores, std::span<float> logits) const;
  // The nearest positions that vote, nearest first, ties to the older one.
  std::vector<Neighbour> Nearest(std::span<const float> scores) const;
  // The memory of these steps, of one width, oldest first.
  static std::shared_ptr<const InstantMemory> Of(
      const InstantMemoryOptions& options,
      std::span<const std::shared_ptr<const InstantStep>> steps);
  // How many of the newest steps have at most so many positions together; the newest always counts.
  static size_t CountNewest(std::span<const std::shared_ptr<const InstantStep>> steps,
                            size_t positions);
  std::span<const std::shared_ptr<const InstantStep>> InEffect() const {
    return std::span(steps_).subspan(reserved_);
  }

  InstantMemoryOptions options_;
  std::vector<std::shared_ptr<const InstantStep>> steps_;  // oldest first
  size_t reserved_ = 0;                   // of the oldest steps, that have no effect
  std::vector<InstantStep::Vote> votes_;  // of all positions in effect, in the order of the scores
  size_t positions_ = 0;                  // in effect
};

}  // namespace ruvd::inference
