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
  const PreparedMix* mix = nullptr;  // null: none
  size_t begin = 0;
  size_t rows = 0;
};

// y (rows x w.rows) = x w^T, of one matrix of a group; a null y is left out.
struct GroupProduct {
  const Matrix* w = nullptr;
  const PackedMatrix* packed = nullptr;  // null or empty: from the file
  float* y = nullptr;
};

// The products of a group of matrices with their common input, adapters included: integers where
// the matrices are packed, else float32. Keeps its memory between calls; not thread-safe but for
// Change.
class GroupProducts {
 public:
  explicit GroupProducts(ParallelRunner& runner) : runner_(runner) {}

  // The sequences of the rows to come, in ascending order.
  void SetRows(std::span<const AdaptedRows> rows);

  // All products with x (rows x columns) without the adapters, in one loop of the runner as far as
  // they are packed. `group` numbers the matrices as adapters do. x and the results must stay until
  // the last Change.
  void Run(size_t group, std::span<const float> x, std::span<const GroupProduct> products);

  // Whether any row has an adapter.
  bool changes() const { return !parts_.empty(); }

  // Gives back the memory that Run keeps; ends the results' life. How much it is.
  void ReleaseMemory();
  uint64_t bytes() const;

  // Adds the adapters' changes to rows [begin, end) of the last Run's results, so that a caller can
  // go on with these rows while they are in the cache. Costs nothing without adapters. Disjoint
  // rows may be changed by several threads.
  void Change(size_t begin, size_t end) const;

 private:
  // A x of one mix for all rows.
  struct Low {
    const PreparedMix* mix = nullptr;
    bool known = false;  // else Change computes what it needs
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
  std::vector<Low> lows_;    // of each different mix
  size_t mixes_ = 0;         // of lows_ in use
  size_t group_ = 0;
  const float* x_ = nullptr;
  std::array<float*, kLargestGroup> y_{};
  size_t members_ = 0;
};

}  // namespace ruvd::inference
