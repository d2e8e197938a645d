// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <span>

#include "storage/hnsw/metric.h"
#include "storage/limits.h"

namespace ruvd::storage {

// How the best candidates of a search get their final order. The errors are root mean squares for
// 768 values, which bench/ann prints as similarity_error.
enum class HnswRescore : uint8_t {
  kCodes,     // the 8-bit codes with a finer query: no extra memory; errors near 2e-4
  kResidual,  // 12-bit codes in memory, half a byte more for each value; errors near 2e-5
  kSource,    // the rows themselves, from HnswOptions::rows: exact; costs one read of each row
};

// A place outside the index that holds the rows, such as a file or a RocksDB table.
class HnswRowSource {
 public:
  virtual ~HnswRowSource() = default;
  // Copies the row of a label and generation, as it was given to Put, into `row`, which has the
  // index's dimension. Returns false when the row is not there. Searching threads call it
  // concurrently.
  virtual bool Read(uint32_t label, uint32_t generation, std::span<float> row) const = 0;
};

struct HnswOptions {
  uint32_t dimension = 0;
  HnswMetric metric = HnswMetric::kCosine;
  uint32_t m = 16;                 // links of a node on each level above 0; level 0 has 2 m
  uint32_t ef_construction = 200;  // breadth of the search for neighbours when linking
  // for the levels; the same seed and the same changes give the same graph
  uint64_t seed = 0x52757644;
  uint32_t max_rows = limits::kMaxPatterns;
  HnswRescore rescore = HnswRescore::kResidual;
  const HnswRowSource* rows = nullptr;  // for kSource; must outlive the index
};

}  // namespace ruvd::storage
