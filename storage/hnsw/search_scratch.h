// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <vector>

#include "storage/hnsw/codes.h"
#include "storage/hnsw/search_pool.h"
#include "storage/hnsw/visited_marks.h"

namespace ruvd::storage::hnsw {

// The working memory of distances. Not thread-safe.
struct DistanceBuffers {
  std::vector<uint32_t> kept;     // nodes that the coarse distance does not reject
  std::vector<int32_t> coarse;    // products of the high plane
  std::vector<int32_t> products;  // products of another plane
  std::vector<float> distances;   // distances of `kept`
};

// The working memory of one search, which is reused by later searches. Not thread-safe.
struct SearchScratch {
  EncodedQuery query;
  VisitedMarks visited;
  SearchPool walk;                 // pool for the walk over one graph
  SearchPool results;              // pool for all graphs, the scan and the tail
  std::vector<uint64_t> matches;   // by word: nodes that a filter admits
  std::vector<uint64_t> tail;      // by word: rows that were in no graph when the search began
  std::vector<Candidate> entries;  // of a walk on level 0
  std::vector<uint32_t> ids;       // nodes whose distance is wanted
  std::vector<uint32_t> links;     // links of one node
  DistanceBuffers buffers;
};

}  // namespace ruvd::storage::hnsw
