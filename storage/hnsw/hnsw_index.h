// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "storage/hnsw/attributes.h"
#include "storage/hnsw/hnsw_options.h"
#include "storage/hnsw/index_core.h"
#include "storage/hnsw/linker.h"
#include "storage/hnsw/planner.h"
#include "storage/hnsw/repair.h"

namespace ruvd::storage {

// The breadth of a search that states none.
inline constexpr size_t kDefaultSearchEf = 64;

struct HnswRow {
  uint32_t label = 0;             // the owner's number of the row, below limits::kMaxPatterns
  uint32_t generation = 0;        // chosen by the owner, higher each time it reuses the label
  std::span<const float> vector;  // `dimension` finite values; not all zero for cosine
  HnswAttributes attributes;
};

struct HnswQuery {
  std::span<const float> vector;  // as in HnswRow; any norm
  size_t k = 10;                  // 1 to limits::kMaxSearchHits
  size_t ef = 0;                  // breadth, 0: kDefaultSearchEf; raised to k
  HnswFilter filter;
  HnswPath path = HnswPath::kAuto;  // other values are for measurements
};

struct HnswHit {
  uint32_t label = 0;
  uint32_t generation = 0;
  // The cosine (-1 to 1), the inner product, or minus the squared distance. A larger one is nearer.
  float similarity = 0;
  // standard deviation that coding adds to it; 0 when computed from the row itself
  float error = 0;
};

struct HnswCounts {
  size_t live = 0;          // rows that searches find
  size_t pending = 0;       // live rows that are in no graph yet
  size_t removed = 0;       // removed rows that still take memory, moved ones included
  size_t tail_places = 0;   // length of the queue of LinkBatch, places of removed rows included
  size_t nodes = 0;         // numbers in use or free for reuse
  size_t memory_bytes = 0;  // taken for codes, links, attributes and tables
};

// Finds nearest neighbours among labelled rows. It lives in memory only: the owner of the rows
// keeps them and fills the index at start, with a checkpoint of the graph (hnsw/checkpoint.h) or
// without.
//
// Rows are held as 8-bit codes, optionally with 4 more bits for the final order (hnsw/codes.h).
// Each timestep bank has a graph. A search finds a row as soon as Put returns: until LinkBatch
// links it into its graph, it is in a flat tail that every search scans. When there are few rows,
// or a filter admits few, they are all scanned. A removed row is invisible to searches at once and
// leaves memory after RepairBatch.
//
// Threads: only the writer, one thread at a time, calls Put, Remove, Erase, SetAttributes,
// LinkBatch and RepairBatch. Searches and Counts may run on any threads at the same time; they take
// no lock and never wait. The index has no threads of its own.
//
// The memory of a row of D values, with D rounded up to a multiple of 128, is D bytes of codes, D/2
// more with kResidual, 8 M of links, and about 80 of headers, attributes and upper levels.
class HnswIndex {
 public:
  // Returns INVALID_ARGUMENT for options outside storage/limits.h, and LIMIT_EXCEEDED when the
  // address space is exhausted.
  static absl::StatusOr<std::unique_ptr<HnswIndex>> Create(const HnswOptions& options);
  ~HnswIndex();

  // Checks whether a row or query may have this vector. Returns WRONG_DIMENSION or INVALID_ARGUMENT
  // otherwise. Thread-safe.
  absl::Status CheckVector(std::span<const float> vector) const;
  // Returns what Put would return, except for lack of memory. Only the writer calls it.
  absl::Status Check(const HnswRow& row) const;

  // Adds the row of a label or replaces it. Returns WRONG_DIMENSION; INVALID_ARGUMENT for values
  // that are not finite, for zero vectors under cosine and for a label or attribute out of range;
  // LIMIT_EXCEEDED when the index holds max_rows or memory is short.
  absl::Status Put(const HnswRow& row);

  // Removes a row. Returns false when the label is not in the index.
  bool Remove(uint32_t label);

  // Removes a row whose codes must also leave memory. RepairBatch starts a pass for it as soon as
  // possible and overwrites the codes when the pass ends. Until then they are needed, because links
  // lead through them; HnswCounts::removed tells whether such rows are left.
  bool Erase(uint32_t label);

  // Changes the attributes that filters see. The bank cannot change: Put the row again instead.
  // Returns NOT_FOUND or INVALID_ARGUMENT on failure.
  absl::Status SetAttributes(uint32_t label, const HnswAttributes& attributes);

  // Links up to `count` rows of the tail into their graphs, the oldest first. A row takes about
  // half a millisecond, or a hundredth of it when it was put again with the same vector. Returns
  // how many rows it linked. That is fewer than `count` when the queue is empty, which may be
  // before HnswCounts::pending is 0, or when most of a graph was removed and must be repaired
  // first. A row that lost all links to it after two tries stays in the tail until the index has
  // changed by a quarter.
  size_t LinkBatch(size_t count);

  // Continues the repair of the graphs for about `nodes` nodes: unlinks removed rows and frees
  // their memory. A pass starts when more than a fifth of a bank's graph is removed rows, or at
  // once when `now` is set. With every pass, and when the graphs have grown by a quarter, it also
  // looks for rows that no link leads to and returns them to the tail. When more nodes are free
  // than in use, rows move to lower numbers through the tail, so that memory can go back to the
  // system; this takes several passes with LinkBatch between them. Returns true while a pass is
  // running or nodes are waiting to be freed.
  bool RepairBatch(size_t nodes, bool now = false);

  // Returns the k nearest rows that the filter admits, nearest first. It returns fewer, without an
  // error, when fewer match. Errors are INVALID_ARGUMENT and WRONG_DIMENSION. `trace` may be null.
  absl::StatusOr<std::vector<HnswHit>> Search(const HnswQuery& query,
                                              HnswTrace* trace = nullptr) const;

  // Searches with the same k, ef, filter and path for every vector; `query.vector` is not used.
  // At most limits::kMaxBatchQueries vectors.
  absl::StatusOr<std::vector<std::vector<HnswHit>>> SearchBatch(
      std::span<const std::span<const float>> vectors, const HnswQuery& query) const;

  // Returns the rows with at least this similarity, nearest first, up to limits::kMaxRangeHits.
  // Ignores `query.k`. Widens its search until the farthest row found is out of range.
  absl::StatusOr<std::vector<HnswHit>> SearchRange(const HnswQuery& query,
                                                   float min_similarity) const;

  HnswCounts Counts() const;
  const HnswOptions& options() const { return core_.options; }

 private:
  friend class HnswCheckpointWriter;
  friend class HnswCheckpointReader;

  explicit HnswIndex(const HnswOptions& options);
  absl::Status Reserve();
  // Returns the vector that is coded: scaled to norm 1 for cosine.
  std::vector<float> PrepareVector(std::span<const float> vector) const;
  uint8_t LevelOf(uint32_t label) const;
  uint32_t NodeOf(uint32_t label) const;
  void Encode(uint32_t node, std::span<const float> row);
  void Kill(uint32_t node);
  void SetPending(uint32_t node, bool pending);
  void AddToTail(uint32_t node);
  // Drops places of the tail whose rows are gone.
  void CompactTail();
  // Frees some of the nodes that no reader can reach. Returns true when more are left.
  bool Reclaim();
  bool PassIsDue() const;
  // Applies what a step of repairs found: unlinked nodes and orphans.
  void Apply(const hnsw::Repairer::Outcome& outcome);
  // Queues the rows in loose_ for LinkBatch again once the index has changed enough.
  void RequeueUnlinked();
  // Finds rows that no link leads to and puts them into the tail. Returns how many there were.
  size_t FindOrphans();
  // Returns whether moving rows could free memory.
  bool IsMostlyFree() const;
  void MoveBatch();
  bool MoveDown(uint32_t from);
  // Links a node into its graph, at the place of the former node of its label when both are equal.
  // Returns false, and leaves the node in the tail, when repairs have to come first.
  bool Link(uint32_t node);
  // Returns whether a walk for links would mostly pass removed rows.
  static bool IsMostlyRemoved(const hnsw::BankGraph& bank);
  // Makes a finished node visible to searches and hides the former node of its label.
  void Publish(uint32_t node);

  absl::Status CheckQuery(const HnswQuery& query) const;
  std::vector<HnswHit> SearchPinned(std::span<const float> vector, const HnswQuery& query, size_t k,
                                    HnswTrace* trace) const;
  // Takes the first k of `found` that are still in the index, and at the `last` look those that
  // were replaced meanwhile.
  bool TakeHits(std::span<const hnsw::Candidate> found, const hnsw::EncodedQuery& encoded,
                const HnswFilter& filter, size_t k, bool last, std::vector<HnswHit>* hits) const;
  bool MayReturn(uint32_t node, std::span<const hnsw::Candidate> found) const;

  hnsw::IndexCore core_;
  hnsw::Linker linker_;
  hnsw::Repairer repairer_;
  std::vector<uint32_t> node_of_;  // by label; kNoNode when absent
  size_t linked_since_pass_ = 0;
  bool pass_wanted_ = false;  // rows were moved or erased since the last pass began
  // nodes were freed, so that moving rows may achieve more than the last time
  bool freed_since_move_ = false;
  std::vector<bool> orphaned_;   // by node: a repair found no link to it once
  std::vector<uint32_t> loose_;  // nodes in the tail that a repair found without links twice
  size_t changed_since_retry_ = 0;
  std::deque<uint32_t> tail_;  // nodes to link; some places are out of date
  // Maps a node of the tail to the removed node of its label that is still in the graph.
  std::unordered_map<uint32_t, uint32_t> former_;
  struct Retired {
    uint64_t epoch;
    uint32_t node;
  };
  std::deque<Retired> retired_;  // nodes that wait until their readers are gone
  std::atomic<size_t> tail_places_{0};
  std::atomic<size_t> live_{0};
  std::atomic<size_t> removed_{0};
};

}  // namespace ruvd::storage
