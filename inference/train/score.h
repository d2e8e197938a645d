// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "absl/status/statusor.h"
#include "inference/engine/generation.h"
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

}  // namespace ruvd::inference
