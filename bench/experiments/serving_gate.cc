// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/experiments/serving_gate.h"

#include <numeric>
#include <utility>

#include "base/random.h"
#include "base/status.h"
#include "inference/train/cluster.h"

namespace ruvd::bench {
namespace {

constexpr int kPatterns = 8;        // of a domain
constexpr float kShrinkage = 0.5F;  // as `ruvd model whiten` has it by default

}  // namespace

absl::StatusOr<ServingGate> ServingGate::Create(Transformer& transformer,
                                                std::span<const ScoredDocument> base) {
  std::vector<float> rows;
  for (const ScoredDocument& text : base) {
    ASSIGN_OR_RETURN(const std::vector<float> own, EmbedTokens(transformer, text.prompt));
    rows.insert(rows.end(), own.begin(), own.end());
  }
  const Model& model = transformer.model();
  ASSIGN_OR_RETURN(Whitening whitening,
                   Whitening::Estimate(model.hash(), rows, model.config().width, kShrinkage));
  return ServingGate(transformer, std::move(whitening));
}

absl::StatusOr<std::vector<float>> ServingGate::Embed(std::span<const TokenId> prompt) const {
  return EmbedText(*transformer_, prompt, &whitening_);
}

absl::Status ServingGate::Learn(std::span<const ScoredDocument> texts, size_t adapter) {
  std::vector<ClusterItem> items;
  for (const ScoredDocument& text : texts) {
    ASSIGN_OR_RETURN(std::vector<float> own, Embed(text.prompt));
    items.push_back({.embedding = std::move(own)});
  }
  Random random(1);
  ASSIGN_OR_RETURN(const Clustering clusters, ClusterItems(items, {.clusters = kPatterns}, random));
  for (const std::vector<float>& centroid : clusters.centroids) {
    patterns_.push_back({.embedding = centroid, .adapter = adapter});
  }
  return absl::OkStatus();
}

std::optional<size_t> ServingGate::AdapterFor(std::span<const float> embedding) const {
  float nearest = kWhitenedSimilarity.related;
  std::optional<size_t> adapter;
  for (const Pattern& pattern : patterns_) {
    const float similarity =
        std::inner_product(embedding.begin(), embedding.end(), pattern.embedding.begin(), 0.0F);
    if (similarity >= nearest) {
      nearest = similarity;
      adapter = pattern.adapter;
    }
  }
  return adapter;
}

absl::StatusOr<std::vector<bool>> ServingGate::Opens(std::span<const ScoredDocument> texts) const {
  std::vector<bool> opens;
  for (const ScoredDocument& text : texts) {
    ASSIGN_OR_RETURN(const std::vector<float> own, Embed(text.prompt));
    opens.push_back(AdapterFor(own).has_value());
  }
  return opens;
}

}  // namespace ruvd::bench
