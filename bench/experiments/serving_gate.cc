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

float ServingGate::Similarity(std::span<const float> embedding, size_t pattern) const {
  const std::vector<float>& own = patterns_[pattern].embedding;
  return std::inner_product(embedding.begin(), embedding.end(), own.begin(), 0.0F);
}

std::optional<ServingGate::Choice> ServingGate::Choose(std::span<const float> embedding) const {
  return ChooseAgain(embedding, UncertaintyKind::kNone, std::nullopt);
}

std::optional<ServingGate::Choice> ServingGate::ChooseAgain(
    std::span<const float> query, UncertaintyKind kind, const std::optional<Choice>& in_use) const {
  std::vector<RetrievedPattern> hits;
  for (size_t i = 0; i < patterns_.size(); ++i) {
    if (const float similarity = Similarity(query, i); similarity >= kWhitenedSimilarity.related) {
      hits.push_back({.pattern_id = fmt::format("{}", i), .similarity = similarity});
    }
  }
  std::ranges::stable_sort(hits, std::greater<>(), &RetrievedPattern::similarity);
  std::vector<RetrievedPattern> used;
  if (in_use) {
    used.push_back({.pattern_id = fmt::format("{}", in_use->pattern),
                    .similarity = Similarity(query, in_use->pattern)});
  }
  // Where the one in use is none of the hits, another one must be found.
  const bool others = kind == UncertaintyKind::kUnstable || kind == UncertaintyKind::kContested;
  const size_t searched = 1 + (others ? used.size() : 0);
  hits.resize(std::min(hits.size(), searched));
  hits = FilterByKind(std::move(hits), kind, used);
  if (hits.empty()) {
    return std::nullopt;
  }
  const size_t pattern = std::stoul(hits.front().pattern_id);
  return Choice{.pattern = pattern, .adapter = patterns_[pattern].adapter};
}

absl::StatusOr<std::vector<bool>> ServingGate::Opens(std::span<const ScoredDocument> texts) const {
  std::vector<bool> opens;
  for (const ScoredDocument& text : texts) {
    ASSIGN_OR_RETURN(const std::vector<float> own, Embed(text.prompt));
    opens.push_back(Choose(own).has_value());
  }
  return opens;
}

}  // namespace ruvd::bench
