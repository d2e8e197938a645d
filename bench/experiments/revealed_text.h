// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <vector>

#include "absl/status/statusor.h"
#include "base/random.h"
#include "inference/evaluate/paired.h"
#include "inference/retrieval/denoising_guided.h"
#include "inference/retrieval/uncertainty.h"
#include "inference/transformer/transformer.h"

namespace ruvd::bench {

// Draws as many random steps as a strategy asked at, where it might have asked: while the masked
// share is at least min_t, and min_interval apart. Every such choice is equally likely. Returns
// fewer steps where so many do not fit.
std::vector<bool> RandomSteps(size_t steps, int count, const inference::DgrOptions& options,
                              Random& random);

// A completion that is denoised with its true tokens in a given order, so that every arm sees the
// same text at the same step and there is no sampling noise. Borrows document and transformer.
class RevealedText {
 public:
  // The tokens of the completion become known in `order`, `each` of them a step.
  RevealedText(inference::Transformer& transformer, const inference::ScoredDocument& document,
               std::vector<size_t> order, size_t each);

  bool done() const { return revealed_ == order_.size(); }
  float t() const;  // masked share
  // The tokens of the completion that are known.
  std::vector<inference::TokenId> known() const;

  // What the model makes of the masked positions under a mix.
  struct Reading {
    inference::StepUncertainty step;
    std::vector<inference::PositionUncertainty> positions;
    std::vector<float> hidden;  // of the positions, x width
    double open_nats = 0;       // mean cross-entropy of all masked tokens
    double next_nats = 0;       // sum over those that this step reveals
  };
  absl::StatusOr<Reading> Read(const inference::AdapterMix* adapters) const;
  // Ends the step.
  void Reveal();

 private:
  inference::Transformer& transformer_;
  const inference::ScoredDocument& document_;
  std::vector<size_t> order_;
  size_t each_;
  size_t revealed_ = 0;
};

}  // namespace ruvd::bench
