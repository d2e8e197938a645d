// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/serving/store_pattern_index.h"

#include "base/bytes.h"
#include "base/status.h"

namespace ruvd::serving {

absl::StatusOr<std::vector<inference::RetrievedPattern>> StorePatternIndex::Search(
    std::span<const float> embedding, inference::TimestepBank bank, int k) const {
  storage::PatternSearchOptions options;
  options.k = static_cast<size_t>(k);
  options.filter.bank = static_cast<uint32_t>(bank);
  options.filter.serving = true;
  ASSIGN_OR_RETURN(const std::vector<storage::PatternHit> hits,
                   patterns_.Search(embedding, options));
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
