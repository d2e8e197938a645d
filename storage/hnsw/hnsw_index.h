// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "storage/fair_shared_mutex.h"
#include "storage/hnsw/graph.h"

namespace ruvd {

struct HnswOptions {
  uint32_t dimension = 0;
  uint32_t m = 16;                 // links of a node on layers above 0, half of layer 0's
  uint32_t ef_construction = 200;  // breadth of the search for neighbours when inserting
  uint64_t seed = 0x52757644;      // of the layers; the same seed and inserts give the same graph
};

// Breadth of a search that names none: recall@10 of 0.98 and more on clustered data.
inline constexpr size_t kDefaultSearchEf = 64;

struct HnswQuery {
  std::span<const float> vector;  // `dimension` finite values, not all zero; any norm
  size_t k = 10;                  // 1 to limits::kMaxSearchHits
  size_t ef = 0;                  // 0: kDefaultSearchEf; raised to k
  // Where set, only labels it returns true for are found. Called under the index's lock.
  std::function<bool(uint32_t label)> filter;
  // How many live labels the filter admits, where the caller knows; counted otherwise.
  std::optional<size_t> matching;
};

struct HnswHit {
  uint32_t label = 0;
  float similarity = 0;  // cosine, -1 to 1
};

// Approximate nearest neighbours by cosine over rows named by labels, in memory only: the rows'
// owner stores them and rebuilds the index. Few rows, or few that a filter admits, are scanned
// exactly instead of walking the graph. Removed rows are skipped in results and walked over until
// Compacted drops them.
// Thread-safe: searches run at the same time, a writer waits for them and they for it.
class HnswIndex {
 public:
  // INVALID_ARGUMENT for options outside storage/limits.h.
  static absl::StatusOr<std::unique_ptr<HnswIndex>> Create(const HnswOptions& options);

  // What Insert would answer, without inserting.
  absl::Status CheckInsert(std::span<const float> vector) const;

  // Adds the row of a label or replaces it. WRONG_DIMENSION, INVALID_ARGUMENT for values that are
  // not finite or all zero, LIMIT_EXCEEDED above limits::kMaxPatterns nodes.
  absl::Status Insert(uint32_t label, std::span<const float> vector);

  // False where the label is not in the index.
  bool Remove(uint32_t label);

  // The k most similar rows, most similar first; fewer only where fewer match. Errors as Insert.
  absl::StatusOr<std::vector<HnswHit>> Search(const HnswQuery& query) const;

  size_t size() const;  // live rows
  size_t dead() const;  // removed ones still in the graph

  // The live rows in a new index, inserted in the old order. The caller lets no writer in between
  // and swaps the two.
  std::unique_ptr<HnswIndex> Compacted() const;

 private:
  explicit HnswIndex(const HnswOptions& options);
  absl::StatusOr<std::vector<float>> Normalised(std::span<const float> vector) const;
  absl::Status CheckRoom() const;
  size_t LevelOf(uint32_t label) const;
  void AddNode(uint32_t label, std::span<const float> unit_row);
  std::vector<hnsw::Candidate> Scan(const float* padded_query, size_t k,
                                    const hnsw::Accept& accept) const;
  std::vector<hnsw::Candidate> Find(const float* padded_query, size_t k, size_t ef, size_t matching,
                                    const hnsw::Accept& accept) const;

  const HnswOptions options_;
  mutable FairSharedMutex mutex_;  // guards everything below
  hnsw::Graph graph_;
  std::vector<uint32_t> labels_;                  // by node
  std::vector<bool> dead_;                        // by node
  std::unordered_map<uint32_t, uint32_t> nodes_;  // live ones by label
};

}  // namespace ruvd
