// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "base/parallel.h"
#include "inference/model/linear.h"
#include "inference/model/model.h"
#include "inference/transformer/adapter_stack.h"

namespace ruvd::inference {

// Rows of a batch that one mix changes.
struct AdaptedRows {
  const PreparedMix* mix = nullptr;  // null: no adapter
  size_t begin = 0;
  size_t rows = 0;
};

// The product y (rows x w.rows) = x w^T for one matrix of a group. It is skipped if y is null.
struct GroupProduct {
  const Matrix* w = nullptr;
  const PackedMatrix* packed = nullptr;  // null or empty: the weights are read from the file
  float* y = nullptr;
};

// The products of a group of matrices with their common input, including adapters: with integers
// for packed matrices, else in float32. Keeps its memory between calls. Not thread-safe except for
// Change.
class GroupProducts {
 public:
  explicit GroupProducts(ParallelRunner& runner) : runner_(runner) {}

  // Sets the rows of the following products and their mixes, in ascending order.
  void SetRows(std::span<const AdaptedRows> rows);

  // Computes all products with x (rows x columns), without the adapters. The packed ones run in one
  // loop of the runner. `group` is a number of GroupIndex. x and the results must stay valid until
  // the last Change.
  void Run(size_t group, std::span<const float> x, std::span<const GroupProduct> products);

  // Returns whether any row has an adapter.
  bool changes() const { return !parts_.empty(); }

  // ReleaseMemory frees the memory that Run keeps; the results of Run are invalid afterwards. bytes
  // returns the size of that memory.
  void ReleaseMemory();
  uint64_t bytes() const;

  // Adds the adapters' changes to rows [begin, end) of the last Run's results, so that a caller can
  // process these rows further while they are in the cache. Costs nothing without adapters. Several
  // threads may change disjoint rows at the same time.
  void Change(size_t begin, size_t end) const;

 private:
  // A x of one mix for all rows.
  struct Low {
    const PreparedMix* mix = nullptr;
    bool known = false;  // if false, Change computes the part it needs
    std::vector<float> values;
  };
  struct Part {
    size_t begin = 0;
    size_t end = 0;
    size_t low = 0;  // index in lows_
  };

  void QueueLows(size_t rows);

  ParallelRunner& runner_;
  QuantizedRows quantized_;
  std::vector<PackedTask> tasks_;
  std::vector<Part> parts_;  // rows with an adapter
  std::vector<Low> lows_;    // one for each different mix
  size_t mixes_ = 0;         // entries of lows_ in use
  size_t group_ = 0;
  const float* x_ = nullptr;
  std::array<float*, kLargestGroup> y_{};
  size_t members_ = 0;
};

}  // namespace ruvd::inference
