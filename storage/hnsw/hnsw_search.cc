// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// This file has the searches of HnswIndex.

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/reasons.h"
#include "base/status.h"
#include "storage/hnsw/hnsw_index.h"
#include "storage/hnsw/searcher.h"

namespace ruvd::storage {
namespace {

using hnsw::Candidate;

// Rows may be replaced so fast that a search finds a newer one each time it looks. After this many
// turns it answers with the rows as it found them.
constexpr size_t kMaxTurns = 8;

float SimilarityOf(float distance, HnswMetric metric) {
  return metric == HnswMetric::kCosine ? std::clamp(1.0F - distance, -1.0F, 1.0F) : -distance;
}

// Returns the distance of two rows as given, in double precision.
float ExactDistance(std::span<const float> a, std::span<const float> b, HnswMetric metric) {
  double dot = 0;
  double aa = 0;
  double bb = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    dot += double{a[i]} * double{b[i]};
    aa += double{a[i]} * double{a[i]};
    bb += double{b[i]} * double{b[i]};
  }
  switch (metric) {
    case HnswMetric::kCosine:
      return static_cast<float>(1.0 - dot / std::sqrt(aa * bb));
    case HnswMetric::kDot:
      return static_cast<float>(-dot);
    case HnswMetric::kL2:
      break;
  }
  return static_cast<float>(aa + bb - 2 * dot);
}

// Rounding has a mean squared error of step^2 / 12 for each value, and its errors are symmetric
// about zero. So what it adds to a product with the difference of two vectors grows with the norm
// of that difference.
float CodingError(const hnsw::IndexCore& core, const hnsw::EncodedQuery& query,
                  const Candidate& candidate) {
  if (core.options.rows != nullptr) {
    return 0;
  }
  constexpr float kResidualSteps = 16;
  const float step =
      core.nodes.header(candidate.node).scale / (core.nodes.has_residual() ? kResidualSteps : 1);
  const float distance = std::max(candidate.distance, 0.0F);
  const float norm = core.options.metric == HnswMetric::kCosine ? std::sqrt(2 * distance)
                     : core.options.metric == HnswMetric::kL2   ? 2 * std::sqrt(distance)
                                                                : query.norm;
  return step * norm / std::sqrt(12.0F);
}

// Puts the results into their final order by finer codes, and by the rows themselves when there is
// a source.
std::vector<Candidate> Rescore(const hnsw::IndexCore& core, std::span<const float> vector,
                               hnsw::SearchScratch& scratch) {
  std::vector<Candidate> found(scratch.results.entries().begin(), scratch.results.entries().end());
  std::vector<uint32_t> ids(found.size());
  std::vector<float> distances(found.size());
  std::transform(found.begin(), found.end(), ids.begin(),
                 [](const Candidate& candidate) { return candidate.node; });
  hnsw::Distances(core.nodes, scratch.query, scratch.buffers).FineDistances(ids, distances);
  std::vector<float> row(core.options.rows != nullptr ? core.options.dimension : 0);
  for (size_t i = 0; i < found.size(); ++i) {
    found[i].distance = distances[i];
    const hnsw::NodeInfo& info = core.nodes.info(found[i].node);
    if (core.options.rows != nullptr && core.options.rows->Read(info.label, info.generation, row)) {
      found[i].distance = ExactDistance(vector, row, core.options.metric);
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

absl::Status HnswIndex::CheckQuery(const HnswQuery& query) const {
  RETURN_IF_ERROR(hnsw::CheckFilter(query.filter));
  if (query.k == 0 || query.k > limits::kMaxSearchHits || query.ef > limits::kMaxSearchEf) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "search with k {} and ef {}; use k of 1 to {} and ef of at most {}", query.k,
                 query.ef, limits::kMaxSearchHits, limits::kMaxSearchEf);
  }
  return absl::OkStatus();
}

std::vector<HnswHit> HnswIndex::SearchPinned(std::span<const float> vector, const HnswQuery& query,
                                             size_t k, HnswTrace* trace) const {
  const hnsw::ReaderEpochs::Pin pin(core_.epochs);
  hnsw::SearchScratch& scratch = pin.scratch();
  hnsw::EncodeQuery(PrepareVector(vector), core_.nodes.layout(), core_.options.metric,
                    &scratch.query);
  hnsw::Searcher searcher(core_, scratch.query, scratch);
  const size_t ef = query.ef == 0 ? kDefaultSearchEf : query.ef;
  const hnsw::SearchRequest request{
      .k = k, .ef = std::max(ef, k), .filter = query.filter, .path = query.path};
  HnswTrace went = searcher.Run(request);
  std::vector<HnswHit> hits;
  for (size_t turn = 1;; ++turn) {
    const bool last = turn == kMaxTurns;
    if (!searcher.CatchUp(query.filter) && !last) {
      went = searcher.Run(request);
      continue;
    }
    const bool whole =
        TakeHits(Rescore(core_, vector, scratch), scratch.query, query.filter, k, last, &hits);
    const bool too_few = hits.size() < k && (!whole || searcher.lacks_rows());
    if (last || (!too_few && (whole || !searcher.is_behind()))) {
      break;
    }
    if (too_few) {
      went = searcher.Run(request);
    }
  }
  if (trace != nullptr) {
    *trace = went;
  }
  return hits;
}

// Returns whether a search may return a node that was found: it is live, or its row was replaced
// meanwhile and no live node of the row was found.
bool HnswIndex::MayReturn(uint32_t node, std::span<const Candidate> found) const {
  if (core_.live.Get(node)) {
    return true;
  }
  const uint32_t label = core_.nodes.info(node).label;
  return core_.replaced.Get(node) && std::none_of(found.begin(), found.end(), [&](const auto& it) {
           return core_.live.Get(it.node) && core_.nodes.info(it.node).label == label;
         });
}

// Returns false when a row was left out because it was removed or replaced during the search.
bool HnswIndex::TakeHits(std::span<const Candidate> found, const hnsw::EncodedQuery& encoded,
                         const HnswFilter& filter, size_t k, bool last,
                         std::vector<HnswHit>* hits) const {
  const bool filtered = !filter.admits_all_of_its_banks();
  bool whole = true;
  hits->clear();
  for (const Candidate& candidate : found) {
    if (hits->size() == k) {
      break;
    }
    const uint32_t node = candidate.node;
    if (last ? !MayReturn(node, found) : !core_.live.Get(node)) {
      whole = false;
      continue;
    }
    const hnsw::NodeInfo& info = core_.nodes.info(node);
    // The row was replaced meanwhile and both nodes were found, or its attributes have changed.
    if (std::any_of(hits->begin(), hits->end(),
                    [&](const HnswHit& hit) { return hit.label == info.label; }) ||
        (filtered && !core_.attributes.Admits(node, filter))) {
      continue;
    }
    hits->push_back({info.label, info.generation,
                     SimilarityOf(candidate.distance, core_.options.metric),
                     CodingError(core_, encoded, candidate)});
  }
  return whole;
}

absl::StatusOr<std::vector<HnswHit>> HnswIndex::Search(const HnswQuery& query,
                                                       HnswTrace* trace) const {
  RETURN_IF_ERROR(CheckVector(query.vector));
  RETURN_IF_ERROR(CheckQuery(query));
  return SearchPinned(query.vector, query, query.k, trace);
}

absl::StatusOr<std::vector<std::vector<HnswHit>>> HnswIndex::SearchBatch(
    std::span<const std::span<const float>> vectors, const HnswQuery& query) const {
  RETURN_IF_ERROR(CheckQuery(query));
  if (vectors.size() > limits::kMaxBatchQueries) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kLimitExceeded,
                 "batch of {} searches; send at most {} at once", vectors.size(),
                 limits::kMaxBatchQueries);
  }
  for (const std::span<const float> vector : vectors) {
    RETURN_IF_ERROR(CheckVector(vector));
  }
  std::vector<std::vector<HnswHit>> answers;
  answers.reserve(vectors.size());
  for (const std::span<const float> vector : vectors) {
    answers.push_back(SearchPinned(vector, query, query.k, nullptr));
  }
  return answers;
}

absl::StatusOr<std::vector<HnswHit>> HnswIndex::SearchRange(const HnswQuery& query,
                                                            float min_similarity) const {
  RETURN_IF_ERROR(CheckVector(query.vector));
  RETURN_IF_ERROR(CheckQuery(query));
  if (std::isnan(min_similarity)) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "the least similarity of a range search is not a number; give a number");
  }
  size_t k = kDefaultSearchEf;
  for (;;) {
    std::vector<HnswHit> hits = SearchPinned(query.vector, query, k, nullptr);
    const bool more = hits.size() == k && hits.back().similarity >= min_similarity;
    if (more && k < limits::kMaxRangeHits) {
      k = std::min(2 * k, limits::kMaxRangeHits);
      continue;
    }
    std::erase_if(hits, [&](const HnswHit& hit) { return !(hit.similarity >= min_similarity); });
    return hits;
  }
}

}  // namespace ruvd::storage
