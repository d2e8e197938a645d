// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bench/ann_data.h"
#include "storage/hnsw/hnsw_index.h"

namespace ruvd::bench {

struct AnnOptions {
  uint32_t m = 16;
  uint32_t ef_construction = 200;
  storage::HnswRescore rescore = storage::HnswRescore::kCodes;
};

struct AnnAnswer {
  std::vector<uint32_t> rows;       // best first
  std::vector<float> similarities;  // as the engine reports them; the peer reports none
  storage::HnswTrace trace;         // of our engines
};

// An index under measurement; one thread uses it. Rows are unit vectors, named by their number.
class AnnEngine {
 public:
  virtual ~AnnEngine() = default;
  virtual std::string name() const = 0;
  virtual AnnAnswer Search(std::span<const float> query, size_t k, size_t ef) = 0;
};

// Our index with all rows linked, shared by the engines below. `admitted` (empty: none) marks the
// rows that a filter will ask for: they get another owner.
class RuvdIndex {
 public:
  RuvdIndex(const Matrix& base, const std::vector<bool>& admitted, const AnnOptions& options);
  ~RuvdIndex();
  void Put(uint32_t row, uint32_t generation);
  // Links and repairs until nothing is left to do.
  void Settle();
  storage::HnswIndex& index() { return *index_; }
  double put_cpu_us() const { return put_cpu_us_; }  // of one row, without linking

 private:
  const Matrix& base_;
  const std::vector<bool>& admitted_;
  std::unique_ptr<storage::HnswRowSource> source_;
  std::unique_ptr<storage::HnswIndex> index_;
  double put_cpu_us_ = 0;
};

// Searches by one path; kAuto is what users get.
std::unique_ptr<AnnEngine> MakeRuvdEngine(RuvdIndex& index, bool filtered, storage::HnswPath path);

// hnswlib's index over the same rows, built by its addPoint; null where the header was not found
// when configuring.
std::unique_ptr<AnnEngine> MakeHnswlibEngine(const Matrix& base, const AnnOptions& options);

// CPU time of this thread, seconds.
double ThreadCpuSeconds();
// Anonymous resident memory of this process, bytes.
size_t ResidentBytes();

}  // namespace ruvd::bench
