// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/experiments/serving_gate.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "base/random.h"
#include "base/status.h"
#include "inference/train/cluster.h"

namespace ruvd::bench {
namespace {

constexpr int kPatterns = 8;        // of a domain
constexpr float kShrinkage = 0.5F;  // the default of `ruvd model whiten`

}  // namespace

absl::StatusOr<ServingGate> ServingGate::Create(inference::Transformer& transformer,
                                                std::span<const inference::ScoredDocument> base) {
  std::vector<float> rows;
  for (const inference::ScoredDocument& text : base) {
    ASSIGN_OR_RETURN(const std::vector<float> own,
                     inference::EmbedTokens(transformer, text.prompt));
    rows.insert(rows.end(), own.begin(), own.end());
  }
  const inference::Model& model = transformer.model();
  ASSIGN_OR_RETURN(
      inference::Whitening whitening,
      inference::Whitening::Estimate(model.hash(), rows, model.config().width, kShrinkage));
  return ServingGate(transformer, std::move(whitening));
}

absl::StatusOr<std::vector<float>> ServingGate::Embed(
    std::span<const inference::TokenId> prompt) const {
  return EmbedText(*transformer_, prompt, &whitening_);
}

absl::Status ServingGate::Learn(std::span<const inference::ScoredDocument> texts, size_t adapter) {
  std::vector<inference::ClusterItem> items;
  for (const inference::ScoredDocument& text : texts) {
    ASSIGN_OR_RETURN(std::vector<float> own, Embed(text.prompt));
    items.push_back({.embedding = std::move(own)});
  }
  Random random(1);
  ASSIGN_OR_RETURN(const inference::Clustering clusters,
                   inference::ClusterItems(items, {.clusters = kPatterns}, random));
  for (const std::vector<float>& centroid : clusters.centroids) {
    patterns_.push_back({.embedding = centroid, .adapter = adapter});
  }
  return absl::OkStatus();
}

float ServingGate::Similarity(std::span<const float> embedding, size_t pattern) const {
  const std::vector<float>& own = patterns_[pattern].embedding;
  return std::inner_product(embedding.begin(), embedding.end(), own.begin(), 0.0F);
}

std::optional<ServingGate::Choice> ServingGate::Choose(std::span<const float> embedding) const {
  return Reselect(embedding, inference::UncertaintyKind::kNone, std::nullopt);
}

std::optional<ServingGate::Choice> ServingGate::Reselect(
    std::span<const float> query, inference::UncertaintyKind kind,
    const std::optional<Choice>& in_use) const {
  std::vector<inference::RetrievedPattern> hits;
  for (size_t i = 0; i < patterns_.size(); ++i) {
    if (const float similarity = Similarity(query, i);
        similarity >= inference::kWhitenedSimilarity.related) {
      hits.push_back({.pattern_id = fmt::format("{}", i), .similarity = similarity});
    }
  }
  std::ranges::stable_sort(hits, std::greater<>(), &inference::RetrievedPattern::similarity);
  std::vector<inference::RetrievedPattern> used;
  if (in_use) {
    used.push_back({.pattern_id = fmt::format("{}", in_use->pattern),
                    .similarity = Similarity(query, in_use->pattern)});
  }
  // Where the pattern in use is not one of the hits, another one must be found.
  const bool others = kind == inference::UncertaintyKind::kUnstable ||
                      kind == inference::UncertaintyKind::kContested;
  const size_t searched = 1 + (others ? used.size() : 0);
  hits.resize(std::min(hits.size(), searched));
  hits = inference::FilterByKind(std::move(hits), kind, used);
  if (hits.empty()) {
    return std::nullopt;
  }
  const size_t pattern = std::stoul(hits.front().pattern_id);
  return Choice{.pattern = pattern, .adapter = patterns_[pattern].adapter};
}

absl::StatusOr<std::vector<bool>> ServingGate::Opens(
    std::span<const inference::ScoredDocument> texts) const {
  std::vector<bool> opens;
  for (const inference::ScoredDocument& text : texts) {
    ASSIGN_OR_RETURN(const std::vector<float> own, Embed(text.prompt));
    opens.push_back(Choose(own).has_value());
  }
  return opens;
}

}  // namespace ruvd::bench
