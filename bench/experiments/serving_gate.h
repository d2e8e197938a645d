// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "inference/evaluate/paired.h"
#include "inference/model/transformer.h"
#include "inference/retrieval/whitening.h"

namespace ruvd::bench {

// Decides as a node does whether an adapter serves a request: by the cosine between the whitened
// embedding of its prompt and the patterns that the adapter was learned from. Borrows the
// transformer.
class ServingGate {
 public:
  // Whitening from the prompts of public text, as `ruvd model whiten` estimates it.
  static absl::StatusOr<ServingGate> Create(Transformer& transformer,
                                            std::span<const ScoredDocument> base);

  // Adds the centroids of clusters of prompts: what the background loop would have stored.
  absl::Status Learn(std::span<const ScoredDocument> texts);
  // Whether a pattern is near enough, by text. No text has an empty prompt.
  absl::StatusOr<std::vector<bool>> Opens(std::span<const ScoredDocument> texts) const;
  size_t patterns() const { return patterns_.size(); }

 private:
  ServingGate(Transformer& transformer, Whitening whitening)
      : transformer_(&transformer), whitening_(std::move(whitening)) {}

  Transformer* transformer_;
  Whitening whitening_;
  std::vector<std::vector<float>> patterns_;
};

}  // namespace ruvd::bench
