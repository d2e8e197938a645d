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
  // Mixes the model with its neighbours: p = (1 - s) p_LM + s p_kNN (kNN-LM, arXiv 1911.00172).
  // p_kNN gives each of the nearest positions the weight exp(cos / temperature), and s =
  // neighbour_share * W / (W + prior) with W the sum of their exp((cos - 1) / temperature), so
  // positions that are less like the query count for less. With a prior of 0 the share is fixed, as
  // in kNN-LM. A share of 0 turns voting off; a share must be below 1. The defaults are one of the
  // combinations that bench/experiments/learn_instant tries, but not the one that it chose
  // (bench/RESULTS.md). At most limits::kMaxInstantNeighbours positions vote.
  float neighbour_share = 0.4F;
  int neighbours = 256;
  float temperature = 0.08F;
  float prior = 1;
  // Whether the changes of the output rows are applied
  bool rows = true;
  // Factor by which these changes shrink with every later step
  float decay = 0.999F;
  // Positions in effect; when there are more, the oldest steps lose their effect
  size_t capacity = limits::kMaxInstantPositions;
  // Positions of steps that lost their effect but are held, so that they can return when other
  // steps are left out
  size_t reserve = limits::kMaxInstantReserve;
};

// What a session has learned: steps in the order in which they were learned. An instance is
// immutable, so a completion keeps the memory that it began with while the session goes on
// learning; a change makes a new memory that shares the steps. Leaving out a step gives, bit for
// bit, the memory that never had it, as long as the steps left out have at most `reserve` positions
// together; beyond that, the older steps that they displaced are lost. Thread-safe.
class InstantMemory {
 public:
  explicit InstantMemory(const InstantMemoryOptions& options) : options_(options) {}

  // Returns a memory with `step` after the others; it replaces a step of the same id. Steps of
  // another width are dropped. The newest steps are in effect, as many as have at most `capacity`
  // positions together, and always at least the last one.
  std::shared_ptr<const InstantMemory> With(std::shared_ptr<const InstantStep> step) const;
  // Returns a memory without the step of this id.
  std::shared_ptr<const InstantMemory> Without(std::string_view id) const;
  // Returns whether a step of this id is in effect or held in reserve.
  bool Has(std::string_view id) const;

  // Steps and positions in effect
  size_t steps() const { return steps_.size() - reserved_; }
  size_t positions() const { return positions_; }
  // Bytes of all steps, including those shared with other memories and those without effect
  size_t bytes() const;

  // Changes rows of logits (rows x vocabulary) by what was learned at similar hidden states;
  // `hidden` (rows x width) holds the states that made these rows. The changes of the output rows
  // come first, then the votes of the neighbours, as logits of the mixed distribution up to a
  // constant. A row without finite probabilities stays unchanged. The result of a row does not
  // depend on the other rows. Nothing happens if the memory is empty or its steps have another
  // width.
  void Adjust(std::span<const float> hidden, size_t rows, std::span<float> logits) const;

 private:
  struct Neighbour {
    float similarity = 0;
    uint32_t position = 0;
  };

  void Score(std::span<const float> hidden, size_t rows, std::span<float> scores) const;
  void ApplyRows(std::span<const float> scores, float length, std::span<float> logits) const;
  void MixNeighbours(std::span<const float> scores, std::span<float> logits) const;
  // Returns the nearest positions that vote, nearest first, ties to the older one.
  std::vector<Neighbour> Nearest(std::span<const float> scores) const;
  // Makes a memory of these steps, which have one width, oldest first.
  static std::shared_ptr<const InstantMemory> Of(
      const InstantMemoryOptions& options,
      std::span<const std::shared_ptr<const InstantStep>> steps);
  // Returns how many of the newest steps have at most this many positions together; the newest
  // always counts.
  static size_t CountNewest(std::span<const std::shared_ptr<const InstantStep>> steps,
                            size_t positions);
  std::span<const std::shared_ptr<const InstantStep>> ActiveSteps() const {
    return std::span(steps_).subspan(reserved_);
  }

  InstantMemoryOptions options_;
  std::vector<std::shared_ptr<const InstantStep>> steps_;  // oldest first
  size_t reserved_ = 0;                   // number of the oldest steps that have no effect
  std::vector<InstantStep::Vote> votes_;  // of all positions in effect, in the order of the scores
  size_t positions_ = 0;                  // in effect
};

}  // namespace ruvd::inference
