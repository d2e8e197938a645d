// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "inference/evaluate/paired.h"
#include "inference/retrieval/denoising_guided.h"
#include "inference/retrieval/whitening.h"
#include "inference/transformer/transformer.h"

namespace ruvd::bench {

// Decides as a node does whether an adapter serves a request: by the cosine between the whitened
// embedding of its prompt and the patterns that the adapter was learned from. Borrows the
// transformer.
class ServingGate {
 public:
  // Estimates the whitening from the prompts of public text, as `ruvd model whiten` does.
  static absl::StatusOr<ServingGate> Create(inference::Transformer& transformer,
                                            std::span<const inference::ScoredDocument> base);

  // Adds the centroids of clusters of prompts as patterns of an adapter, as the background loop
  // would have stored them.
  absl::Status Learn(std::span<const inference::ScoredDocument> texts, size_t adapter = 0);
  absl::StatusOr<std::vector<float>> Embed(std::span<const inference::TokenId> prompt) const;
  // A pattern, and the adapter that was learned from it.
  struct Choice {
    size_t pattern = 0;
    size_t adapter = 0;
    bool operator==(const Choice&) const = default;
  };
  // Returns the nearest pattern, if it is near enough.
  std::optional<Choice> Choose(std::span<const float> embedding) const;
  // Returns what a query in the middle of a text finds beside the pattern in use, as a node with
  // one pattern a request does (FilterByKind). Null means that the pattern in use stays.
  std::optional<Choice> Reselect(std::span<const float> query, inference::UncertaintyKind kind,
                                 const std::optional<Choice>& in_use) const;
  // Returns for each text whether a pattern is near enough. No text may have an empty prompt.
  absl::StatusOr<std::vector<bool>> Opens(std::span<const inference::ScoredDocument> texts) const;
  const inference::Whitening& whitening() const { return whitening_; }

 private:
  ServingGate(inference::Transformer& transformer, inference::Whitening whitening)
      : transformer_(&transformer), whitening_(std::move(whitening)) {}

  float Similarity(std::span<const float> embedding, size_t pattern) const;

  inference::Transformer* transformer_;
  inference::Whitening whitening_;
  struct Pattern {
    std::vector<float> embedding;
    size_t adapter = 0;
  };
  std::vector<Pattern> patterns_;
};

}  // namespace ruvd::bench
