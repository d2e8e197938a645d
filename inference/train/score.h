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
  int samples = 32;   // mask draws to average, stratified over t; ignored for autoregressive
  uint64_t seed = 0;  // equal seeds see equal masks, whatever the adapters
  int block_length = 16;
  // Asked before every forward; once it says yes, the score is given up with CANCELLED. Empty:
  // never.
  std::function<bool()> cancelled = nullptr;
};

// Nats per completion token given the prompt: the negative ELBO under exact-count masking of the
// completion (k uniform on 1..L, weight L/k; equals the 1/t integral, diffusion-lm.md §1), or the
// block-diffusion NELBO, or the next-token cross-entropy. The prompt is never masked. An empty
// completion is INVALID_ARGUMENT.
absl::StatusOr<double> ScoreCompletion(Transformer& transformer, std::span<const TokenId> prompt,
                                       std::span<const TokenId> completion,
                                       const AdapterMix* adapters, const ScoreOptions& options);
// The same with adapters by t, the masked share of the completion; of next tokens those of t = 1.
// Empty: none.
absl::StatusOr<double> ScoreCompletion(Transformer& transformer, std::span<const TokenId> prompt,
                                       std::span<const TokenId> completion,
                                       const AdaptersOfT& adapters, const ScoreOptions& options);

}  // namespace ruvd::inference
