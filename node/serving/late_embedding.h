// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "base/bytes.h"
#include "inference/retrieval/whitening.h"
#include "inference/transformer/transformer.h"
#include "storage/trajectories/trajectory_store.h"

namespace ruvd::serving {

// Returns the embedding of a stored request's prompt, in the space of this model package: the
// stored one if it is in that space, and otherwise one that is computed now. A request stores none
// if nothing was searched by it. A prompt that is longer than the model's context, because another
// tokenizer made its tokens, is embedded by its end. Returns the errors of EmbedText.
absl::StatusOr<std::vector<float>> EmbeddingOf(const storage::Trajectory& trajectory,
                                               inference::Transformer& transformer,
                                               const inference::Whitening* whitening,
                                               const Digest& package_id);

}  // namespace ruvd::serving
