// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/serving/store_pattern_index.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/status.h"
#include "storage/limits.h"

namespace ruvd::serving {
namespace {

// A peer's noised centroid tells where lessons lie but has no adapter, so it must not take the
// place of a pattern that has one.
bool BringsNothing(const storage::PatternHit& hit) {
  return hit.pattern.tier == storage::SharingTier::kDp && hit.pattern.adapter_name.empty();
}

}  // namespace

absl::StatusOr<std::vector<inference::RetrievedPattern>> StorePatternIndex::Search(
    std::span<const float> embedding, inference::TimestepBank bank, int k) const {
  storage::PatternSearchOptions options;
  options.k = static_cast<size_t>(k);
  options.filter.bank = static_cast<uint32_t>(bank);
  options.filter.serving = true;
  std::vector<storage::PatternHit> hits;
  bool all = false;
  while (hits.size() < static_cast<size_t>(k) && !all) {
    ASSIGN_OR_RETURN(hits, patterns_.Search(embedding, options));
    all = hits.size() < options.k || options.k == limits::kMaxSearchHits;
    std::erase_if(hits, BringsNothing);
    options.k = std::min(4 * options.k, limits::kMaxSearchHits);
  }
  hits.resize(std::min(hits.size(), static_cast<size_t>(k)));
  std::vector<inference::RetrievedPattern> retrieved;
  retrieved.reserve(hits.size());
  for (const storage::PatternHit& hit : hits) {
    retrieved.push_back({.pattern_id = ToHex(hit.pattern.id),
                         .similarity = hit.similarity,
                         .adapter = hit.pattern.adapter_name,
                         .version = hit.pattern.adapter_version});
  }
  return retrieved;
}

}  // namespace ruvd::serving
