// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <span>

#include "absl/status/statusor.h"
#include "inference/engine/sampling_options.h"
#include "inference/transformer/transformer.h"

namespace ruvd::inference {

// How sure a model is of what follows a prompt, before any token is decided: means over the
// positions that were looked at.
struct FirstForward {
  float entropy = 1;     // of the whole vocabulary; 1 if all tokens are equally likely
  float confidence = 0;  // probability of the likeliest token
};

// Runs one short forward of the base model over the end of the prompt and the first masks after it,
// at most `tokens` of them; in autoregressive mode, over the end of the prompt only. A cascade
// decides by the result. INVALID_ARGUMENT for an empty prompt, MODEL_CORRUPT if logits are not
// finite, and the errors of Transformer::Forward.
absl::StatusOr<FirstForward> ReadFirstForward(Transformer& transformer,
                                              std::span<const TokenId> prompt, DecodingMode mode,
                                              int tokens);

}  // namespace ruvd::inference
