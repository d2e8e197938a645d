// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>

#include "absl/status/statusor.h"
#include "inference/engine/generation.h"
#include "inference/transformer/transformer.h"

namespace ruvd::inference {

// The defaults are the settings behind the figures in the models' cards: crops of 512 tokens at
// even distances over the validation stream, exact-count masks, block length 16.
struct EvaluateOptions {
  DecodingMode mode = DecodingMode::kDiffusion;
  int sequences = 256;        // crops; fewer if the stream is short
  int sequence_length = 512;  // tokens of a crop; at most the model's context
  // Passes over all crops, each with its own masks; ignored in autoregressive mode. The mask error
  // of one pass of 256 crops is 0.03 nats, of four passes 0.015.
  int samples = 4;
  int block_length = 16;  // for DecodingMode::kBlock
  uint64_t seed = 1234;   // seed of the masks
};

struct EvaluateResult {
  // NELBO, block-diffusion NELBO or next-token cross-entropy, by mode
  double nats_per_token = 0;
  // Spread of the crops' values divided by sqrt(crops): the error from the choice of text of this
  // size
  double standard_error = 0;
  // Error of nats_per_token that comes from the choice of masks, estimated from the spread of the
  // passes; 0 for one pass or in autoregressive mode
  double mask_error = 0;
  double bits_per_byte = 0;  // nats / ln 2 / bytes per token of the stream
  // Mean unweighted cross-entropy of the tokens masked at share t in (i/10, (i+1)/10], and how many
  // tokens these are; zeros in autoregressive mode
  std::array<double, 10> nats_by_t{};
  std::array<int64_t, 10> tokens_by_t{};
  int sequences = 0;
};

// Called after every crop; false stops the evaluation with CANCELLED.
using EvaluateProgress = std::function<bool(int done, int total)>;

// Measures a model on a stream of tokens (see EncodeDocuments). Errors: INVALID_ARGUMENT for a
// stream shorter than one crop or an option out of range, the errors of the forward pass, and
// CANCELLED.
absl::StatusOr<EvaluateResult> EvaluateText(Transformer& transformer,
                                            std::span<const TokenId> stream,
                                            const EvaluateOptions& options,
                                            const EvaluateProgress& progress);

}  // namespace ruvd::inference
