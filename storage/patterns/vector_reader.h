// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "storage/db/database.h"

namespace ruvd::storage::patterns {

// Reads the embeddings of a collection in the order of slots. Its own threads read and unseal them
// ahead, which is most of the work at start. Only one thread may use it.
class VectorReader {
 public:
  // `database` must outlive this object; `dimension` is above 0.
  VectorReader(const Database& database, uint32_t collection, uint32_t dimension);
  ~VectorReader();
  VectorReader(const VectorReader&) = delete;
  VectorReader& operator=(const VectorReader&) = delete;

  struct Row {
    uint32_t slot = 0;
    uint32_t generation = 0;
    std::span<const float> embedding;
  };

  // Begins to read. Call it once.
  absl::Status Start();
  // Shows every row until the callback, a decoder (STORE_CORRUPT) or Database::Scan returns an
  // error.
  absl::Status ForEach(const std::function<absl::Status(const Row& row)>& show);

 private:
  // The values are in one piece, because an allocation for each row would slow the start
  // noticeably.
  struct Block {
    std::vector<Row> rows;  // their embeddings lie in `values`, one after the other
    std::vector<float> values;
  };
  absl::StatusOr<uint32_t> CountBlocks() const;
  absl::StatusOr<Block> Read(uint32_t block) const;
  // Returns whether another block may be begun, which must not be too far ahead of the taken ones.
  bool MayBegin() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Reads the next block that no thread has begun; returns false when there is no such block now.
  bool ReadNext();
  void Work();
  absl::StatusOr<Block> Take(uint32_t block);

  const Database& database_;
  const uint32_t collection_;
  const uint32_t dimension_;
  const uint32_t block_slots_;
  uint32_t blocks_ = 0;  // set by Start, before there are threads
  uint32_t ahead_ = 0;
  Mutex mutex_;
  CondVar changed_;
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;
  uint32_t begun_ ABSL_GUARDED_BY(mutex_) = 0;
  uint32_t taken_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<uint32_t, absl::StatusOr<Block>> read_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::jthread> threads_;
};

}  // namespace ruvd::storage::patterns
