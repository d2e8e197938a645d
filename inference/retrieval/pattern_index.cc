// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/retrieval/pattern_index.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "inference/limits.h"

namespace ruvd::inference {
namespace {

std::vector<RetrievedPattern> BestFirst(std::span<const RetrievedPattern> hits, float threshold) {
  std::vector<RetrievedPattern> sorted;
  for (const RetrievedPattern& hit : hits) {
    if (hit.similarity >= threshold) {  // false if the similarity is NaN
      sorted.push_back(hit);
    }
  }
  std::sort(sorted.begin(), sorted.end(), [](const RetrievedPattern& a, const RetrievedPattern& b) {
    return a.similarity != b.similarity ? a.similarity > b.similarity : a.pattern_id < b.pattern_id;
  });
  return sorted;
}

void WeightBySimilarity(const SelectionOptions& options, Selection* selection) {
  double sum = 0;
  for (size_t i = 0; i < selection->hits.size(); ++i) {
    const double distance = selection->hits[i].similarity - selection->hits[0].similarity;
    const double weight = i == 0                    ? 1.0
                          : options.temperature > 0 ? std::exp(distance / options.temperature)
                                                    : 0.0;
    selection->mix.parts[i].weight = static_cast<float>(weight);
    sum += weight;
  }
  for (AdapterMix::Part& part : selection->mix.parts) {
    part.weight = static_cast<float>(part.weight / sum) * options.total_weight;
  }
}

}  // namespace

Selection SelectAdapters(std::span<const RetrievedPattern> hits, AdapterRegistry& adapters,
                         const SelectionOptions& options) {
  const size_t limit =
      std::min(limits::kMaxMixParts, static_cast<size_t>(std::max(0, options.max_adapters)));
  Selection selection;
  for (RetrievedPattern& hit : BestFirst(hits, options.threshold)) {
    if (selection.hits.size() == limit) {
      break;
    }
    auto adapter = adapters.Get(hit.adapter, hit.version);
    if (!adapter.ok()) {
      continue;  // the adapter was removed after the pattern was indexed
    }
    const bool known = std::any_of(selection.mix.parts.begin(), selection.mix.parts.end(),
                                   [&](const auto& part) { return part.adapter == *adapter; });
    if (known) {
      continue;
    }
    selection.mix.parts.push_back({*std::move(adapter), 1.0F});
    selection.hits.push_back(std::move(hit));
  }
  if (!selection.hits.empty()) {
    WeightBySimilarity(options, &selection);
  }
  return selection;
}

}  // namespace ruvd::inference
