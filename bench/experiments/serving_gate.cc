// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/experiments/serving_gate.h"

#include <algorithm>
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

absl::Status ServingGate::Learn(std::span<const ScoredDocument> texts) {
  std::vector<ClusterItem> items;
  for (const ScoredDocument& text : texts) {
    ASSIGN_OR_RETURN(std::vector<float> own, EmbedText(*transformer_, text.prompt, &whitening_));
    items.push_back({.embedding = std::move(own)});
  }
  Random random(1);
  ASSIGN_OR_RETURN(const Clustering clusters, ClusterItems(items, {.clusters = kPatterns}, random));
  patterns_.insert(patterns_.end(), clusters.centroids.begin(), clusters.centroids.end());
  return absl::OkStatus();
}

absl::StatusOr<std::vector<bool>> ServingGate::Opens(std::span<const ScoredDocument> texts) const {
  std::vector<bool> opens;
  for (const ScoredDocument& text : texts) {
    ASSIGN_OR_RETURN(const std::vector<float> own,
                     EmbedText(*transformer_, text.prompt, &whitening_));
    opens.push_back(std::ranges::any_of(patterns_, [&](const std::vector<float>& pattern) {
      return std::inner_product(own.begin(), own.end(), pattern.begin(), 0.0F) >=
             kWhitenedSimilarity.related;
    }));
  }
  return opens;
}

}  // namespace ruvd::bench
