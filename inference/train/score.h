// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "inference/engine/generation.h"
#include "inference/evaluate/nelbo.h"
#include "inference/evaluate/paired.h"
#include "inference/transformer/transformer.h"

namespace ruvd::inference {

struct ScoreOptions {
  DecodingMode mode = DecodingMode::kDiffusion;
  int samples = 32;   // mask draws to average, stratified over t; ignored in autoregressive mode
  uint64_t seed = 0;  // equal seeds give equal masks, whatever the adapters
  int block_length = 16;
  MemoryReader* memory = nullptr;  // takes part as in a completion; null: none
  // Asked before every forward; true ends the scoring with CANCELLED. May be empty
  std::function<bool()> cancelled = nullptr;
};

// Returns nats per completion token given the prompt: the NELBO under exact-count masking of the
// completion (k uniform on 1..L, weight L/k, which equals the integral over t with weight 1/t), the
// block-diffusion NELBO, or the next-token cross-entropy, by mode. The prompt is never masked.
// INVALID_ARGUMENT for an empty completion.
absl::StatusOr<double> ScoreCompletion(Transformer& transformer, std::span<const TokenId> prompt,
                                       std::span<const TokenId> completion,
                                       const AdapterMix* adapters, const ScoreOptions& options);
// Returns the score with the adapters of each masking; the next-token score uses those of t = 1. An
// empty `adapters` means no adapters.
absl::StatusOr<double> ScoreCompletion(Transformer& transformer, std::span<const TokenId> prompt,
                                       std::span<const TokenId> completion,
                                       const AdaptersOfStep& adapters, const ScoreOptions& options);

// ScoreCompletion one forward at a time, so that other work can come between two of them. Not
// thread-safe. What the options refer to must outlive it.
class StepwiseScore {
 public:
  // Draws the masks. Returns INVALID_ARGUMENT for an empty completion or an option out of range,
  // and CONTEXT_TOO_LONG.
  static absl::StatusOr<StepwiseScore> Begin(const Model& model, std::span<const TokenId> prompt,
                                             std::span<const TokenId> completion,
                                             const ScoreOptions& options);
  // Scores the next masking on a transformer of that model, and returns whether it was the last
  // one. Returns CANCELLED, INVALID_ARGUMENT for the next-token score of a single token, and the
  // errors of the forward. Do not call it after the last one or after an error.
  absl::StatusOr<bool> Step(Transformer& transformer, const AdaptersOfStep& adapters);
  // Returns nats per completion token, once Step has returned true.
  double nats_per_token() const { return nats_per_token_; }

 private:
  explicit StepwiseScore(const ScoreOptions& options) : options_(options) {}
  const AdapterMix* AdaptersAt(double t, std::span<const TokenId> known,
                               const AdaptersOfStep& adapters) const;
  absl::Status ReadMasked(Transformer& transformer, const AdaptersOfStep& adapters);

  ScoreOptions options_;
  std::vector<TokenId> tokens_;          // prompt and completion
  size_t prompt_ = 0;                    // tokens of the prompt
  std::vector<Corruption> corruptions_;  // empty in autoregressive mode
  size_t next_ = 0;                      // the corruption that is read next
  double sum_ = 0;                       // of the nats per token of those before
  double nats_per_token_ = 0;
};

}  // namespace ruvd::inference
