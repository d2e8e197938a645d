// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "inference/prefix/prefix_tree.h"
#include "inference/retrieval/whitening.h"
#include "inference/transformer/transformer.h"

namespace ruvd::inference {

// Returns what EmbedText returns for a prompt, bit for bit. If the forward that this takes is also
// the first one of an autoregressive completion without adapters, its keys and values go to
// `prefixes`, where that completion finds them, so that the prompt is forwarded once. It is the
// same forward if the model's embedding attends causally, the whole prompt is embedded (at most
// limits::kEmbeddedTokens tokens) and `prefixes` keeps float32: other formats round keys and
// values, which would change the embedding. Null shares nothing.
absl::StatusOr<std::vector<float>> EmbedPrompt(Transformer& transformer,
                                               std::span<const TokenId> tokens,
                                               const Whitening* whitening, PrefixTree* prefixes);

}  // namespace ruvd::inference
