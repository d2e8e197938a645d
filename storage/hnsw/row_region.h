// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"

namespace ruvd::storage::hnsw {

// Rows of a fixed size in one range of addresses that never moves, so that readers need no lock
// while the writer adds rows. All addresses are reserved at once; memory is committed as rows are
// used. Large regions ask for huge pages, because random reads of small rows otherwise spend their
// time in the page tables. Only the writer calls Grow and Shrink; all threads may call Row.
class RowRegion {
 public:
  RowRegion() = default;
  ~RowRegion();
  RowRegion(const RowRegion&) = delete;
  RowRegion& operator=(const RowRegion&) = delete;

  // Must be called once, before all others. Returns RESOURCE_EXHAUSTED without address space.
  absl::Status Reserve(size_t rows, size_t row_bytes);

  // Makes rows [0, rows) usable; new ones are zero. Returns RESOURCE_EXHAUSTED without memory.
  absl::Status Grow(size_t rows);

  // Gives the memory of rows `rows` and above back to the system. No thread may touch those rows
  // until Grow adds them again.
  void Shrink(size_t rows);

  uint8_t* Row(size_t row) const { return base_ + row * row_bytes_; }
  uint8_t* base() const { return base_; }
  size_t row_bytes() const { return row_bytes_; }
  // Returns the bytes committed for rows, whether used or not.
  size_t committed_bytes() const { return committed_.load(std::memory_order_relaxed); }

 private:
  uint8_t* base_ = nullptr;
  size_t row_bytes_ = 0;
  size_t reserved_ = 0;  // bytes
  std::atomic<size_t> committed_{0};
  void* mapping_ = nullptr;
  size_t mapping_bytes_ = 0;
};

}  // namespace ruvd::storage::hnsw
