// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <span>

#include "storage/hnsw/metric.h"
#include "storage/limits.h"

namespace ruvd::storage {

// What orders the best candidates of a search at its end. Errors are roots of mean squares at 768
// values, which bench/ann prints as similarity_error.
enum class HnswRescore : uint8_t {
  kCodes,     // the 8-bit codes again, with a finer query: no memory; errors near 2e-4
  kResidual,  // 12-bit codes in memory, half a byte a value: errors of similarity near 2e-5
  kSource,    // the rows themselves, from HnswOptions::rows: exact; the source's time for each row
};

// Where rows are kept besides, such as a file or a table of RocksDB.
class HnswRowSource {
 public:
  virtual ~HnswRowSource() = default;
  // Copies the row of a label and generation as Put was given it into `row`, of the index's
  // dimension; false where it is not there (any more). Called by searching threads, at the same
  // time.
  virtual bool Read(uint32_t label, uint32_t generation, std::span<float> row) const = 0;
};

struct HnswOptions {
  uint32_t dimension = 0;
  HnswMetric metric = HnswMetric::kCosine;
  uint32_t m = 16;                 // links of a node on levels above 0, half of level 0's
  uint32_t ef_construction = 200;  // breadth of the search for neighbours when linking
  uint64_t seed = 0x52757644;      // of the levels; the same seed and changes give the same graph
  uint32_t max_rows = limits::kMaxPatterns;
  HnswRescore rescore = HnswRescore::kResidual;
  const HnswRowSource* rows = nullptr;  // for kSource; outlives the index
};

}  // namespace ruvd::storage
