// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"

namespace ruvd::storage::hnsw {

// Rows of a fixed size in one range of addresses that never moves, so that readers need no lock
// while a writer adds rows: the addresses are reserved at once, memory is taken as rows are used.
// Large regions ask for huge pages: random reads of small rows otherwise spend their time in the
// page tables. One writer calls Grow and Shrink; Row is for all.
class RowRegion {
 public:
  RowRegion() = default;
  ~RowRegion();
  RowRegion(const RowRegion&) = delete;
  RowRegion& operator=(const RowRegion&) = delete;

  // Called once, before anything else. RESOURCE_EXHAUSTED where there is no address space.
  absl::Status Reserve(size_t rows, size_t row_bytes);

  // Makes rows [0, rows) usable; new ones are zero. RESOURCE_EXHAUSTED without memory.
  absl::Status Grow(size_t rows);

  // Gives the memory behind rows [0, rows) back to the system. Nobody may touch it before it is
  // grown again.
  void Shrink(size_t rows);

  uint8_t* Row(size_t row) const { return base_ + row * row_bytes_; }
  uint8_t* base() const { return base_; }
  size_t row_bytes() const { return row_bytes_; }
  // Bytes taken for rows, whether touched or not.
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
