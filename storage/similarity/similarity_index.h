// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "base/string_map.h"
#include "storage/hnsw/hnsw_index.h"

namespace ruvd::storage {

struct SimilarityHit {
  std::string id;
  float similarity = 0;  // cosine, -1 to 1
};

struct SimilarityIndexOptions {
  // The most rows that every search scans because they are in no graph yet: a tenth of a
  // millisecond. Below this, links would cost more than they save.
  size_t max_tail = 2048;
};

// A vector index for rows that are named by text instead of dense numbers. It gives every id a
// label of HnswIndex, reuses labels, and maintains the index a little with every change. It is in
// memory only; the owner fills it from its rows. Thread-safe: writers wait for each other, searches
// never wait.
class SimilarityIndex {
 public:
  // Creates an index for vectors of `dimension` values. Returns INVALID_ARGUMENT for a dimension
  // outside storage/limits.h.
  static absl::StatusOr<std::unique_ptr<SimilarityIndex>> Create(
      uint32_t dimension, const SimilarityIndexOptions& options = {});

  // Checks a vector or query. Returns WRONG_DIMENSION or INVALID_ARGUMENT on failure.
  absl::Status Check(std::span<const float> vector) const;

  // Adds or replaces the vector of an id. Returns WRONG_DIMENSION; INVALID_ARGUMENT for values that
  // are not finite or all zero; LIMIT_EXCEEDED, after which the id has no vector.
  absl::Status Put(std::string_view id, std::span<const float> vector);

  // Removes the vector of an id; does nothing for an unknown id.
  void Remove(std::string_view id);

  // Returns the `k` ids most similar to `query`, most similar first. The errors are those of Put,
  // and INVALID_ARGUMENT for a `k` that is not 1 to limits::kMaxSearchHits.
  absl::StatusOr<std::vector<SimilarityHit>> Search(std::span<const float> query, size_t k) const;

  size_t size() const;
  HnswCounts Counts() const { return index_->Counts(); }

 private:
  // The id that has a label; an empty id: the label is free.
  struct Holder {
    std::string id;
    uint32_t since = 0;       // the first generation of its rows
    uint32_t generation = 0;  // generation of the newest row that was put
  };

  SimilarityIndex(std::unique_ptr<HnswIndex> index, const SimilarityIndexOptions& options)
      : options_(options), index_(std::move(index)) {}
  // Returns the label of an id, a new one when it has none.
  uint32_t LabelOf(std::string_view id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(names_);
  void Release(uint32_t label) ABSL_EXCLUSIVE_LOCKS_REQUIRED(names_);
  void MaintainStep() ABSL_EXCLUSIVE_LOCKS_REQUIRED(writer_);

  const SimilarityIndexOptions options_;
  const std::unique_ptr<HnswIndex> index_;  // changed under writer_
  Mutex writer_;                            // taken before names_
  mutable Mutex names_;                     // held only briefly
  StringMap<uint32_t> labels_ ABSL_GUARDED_BY(names_);
  std::vector<Holder> holders_ ABSL_GUARDED_BY(names_);  // by label
  std::vector<uint32_t> free_ ABSL_GUARDED_BY(names_);
};

}  // namespace ruvd::storage
