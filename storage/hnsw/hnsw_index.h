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

// Breadth of a search that names none.
inline constexpr size_t kDefaultSearchEf = 64;

struct HnswRow {
  uint32_t label = 0;             // the owner's name of the row, below limits::kMaxPatterns
  uint32_t generation = 0;        // the owner's, higher each time it gives the label away again
  std::span<const float> vector;  // `dimension` finite values; not all zero for cosine
  HnswAttributes attributes;
};

struct HnswQuery {
  std::span<const float> vector;  // as of HnswRow; any norm
  size_t k = 10;                  // 1 to limits::kMaxSearchHits
  size_t ef = 0;                  // breadth, 0: kDefaultSearchEf; raised to k
  HnswFilter filter;
  HnswPath path = HnswPath::kAuto;  // other values are for measurements
};

struct HnswHit {
  uint32_t label = 0;
  uint32_t generation = 0;
  // The cosine (-1 to 1), the inner product, or minus the squared distance: more is nearer.
  float similarity = 0;
  float error = 0;  // standard deviation of what coding adds to it; 0: from the row itself
};

struct HnswCounts {
  size_t live = 0;          // rows that searches find
  size_t pending = 0;       // of them not in a graph yet
  size_t removed = 0;       // rows that are out of searches but not of memory, moved ones included
  size_t tail_places = 0;   // of the queue for LinkSome, some of them of rows that are gone
  size_t nodes = 0;         // numbers in use or free for reuse
  size_t memory_bytes = 0;  // taken for codes, links, attributes and tables
};

// Nearest neighbours among labelled rows, in memory only: the rows' owner keeps them and fills the
// index at start, with a checkpoint of the graph (hnsw/checkpoint.h) or without.
//
// Rows are held as 8-bit codes, on demand with 4 more bits for the final order (hnsw/codes.h); each
// timestep bank has a graph. A row is found as soon as Put returns: until LinkSome takes it into
// its graph it is in a flat tail that every search scans. Few rows, or few that a filter admits,
// are scanned exactly. A removed row is out of searches at once and out of memory after RepairSome.
//
// Threads: Put, Remove, SetAttributes, LinkSome and RepairSome are the writer's, one thread at a
// time. Searches and Counts may run on any threads at the same time; they take no lock and wait for
// nobody. The index has no threads of its own.
//
// Memory of a row of D values, rounded up to a multiple of 128: D bytes of codes, D/2 more with
// kResidual, 8 M of links, about 80 of headers, attributes and upper levels.
class HnswIndex {
 public:
  // INVALID_ARGUMENT for options outside storage/limits.h; LIMIT_EXCEEDED without address space.
  static absl::StatusOr<std::unique_ptr<HnswIndex>> Create(const HnswOptions& options);
  ~HnswIndex();

  // Whether rows and queries may have this vector: WRONG_DIMENSION, INVALID_ARGUMENT. Any thread's.
  absl::Status CheckVector(std::span<const float> vector) const;
  // What Put would answer, but for a lack of memory. The writer's.
  absl::Status Check(const HnswRow& row) const;

  // Adds the row of a label or replaces it. WRONG_DIMENSION; INVALID_ARGUMENT for values that are
  // not finite, zero vectors under cosine, a label or attribute out of range; LIMIT_EXCEEDED where
  // max_rows are there or memory is short.
  absl::Status Put(const HnswRow& row);

  // False where the label is not in the index.
  bool Remove(uint32_t label);

  // The same for a row that must not stay in memory: RepairSome begins a pass for it as soon as it
  // can, and when that has ended the codes are overwritten. They are needed until then, since links
  // lead over them; HnswCounts::removed tells.
  bool Erase(uint32_t label);

  // Changes what filters see. The bank cannot change: Put the row again. NOT_FOUND,
  // INVALID_ARGUMENT.
  absl::Status SetAttributes(uint32_t label, const HnswAttributes& attributes);

  // Takes up to `count` rows of the tail into their graphs, the oldest first; about half a
  // millisecond each, a hundredth of it for a row that was put again with the same vector. Returns
  // how many it took: fewer than `count` where none is left to take, which may be before
  // HnswCounts::pending is 0, or where most of a graph was removed and repairs have to come first.
  // Rows that did not stay reachable after two tries remain in the tail
  // until the index has changed by a quarter.
  size_t LinkSome(size_t count);

  // Goes on with taking removed rows out of the graphs and their memory back, for about `nodes`
  // nodes of the graph; begins when a bank has more than a fifth of removed rows (vacuum), or at
  // once where `now`. Also looks for rows that no links lead to any more, which go back to the
  // tail: with every pass, and when the graphs have grown by a quarter. Where more nodes are free
  // than in use, rows move to lower numbers, by way of the tail, and memory goes back to the
  // system: that takes several passes with LinkSome between them. True while a pass goes on, or
  // while nodes wait that can be given back.
  bool RepairSome(size_t nodes, bool now = false);

  // The k nearest rows that the filter admits, nearest first. Fewer where fewer match, which is no
  // error. INVALID_ARGUMENT, WRONG_DIMENSION. `trace` may be null.
  absl::StatusOr<std::vector<HnswHit>> Search(const HnswQuery& query,
                                              HnswTrace* trace = nullptr) const;

  // Searches with the same k, ef, filter and path for every vector; `query.vector` is not used.
  // At most limits::kMaxBatchQueries vectors.
  absl::StatusOr<std::vector<std::vector<HnswHit>>> SearchBatch(
      std::span<const std::span<const float>> vectors, const HnswQuery& query) const;

  // The rows of at least this similarity, nearest first, up to limits::kMaxRangeHits of them;
  // `query.k` is not used. Widens its search until the farthest row it finds is out of range.
  absl::StatusOr<std::vector<HnswHit>> SearchRange(const HnswQuery& query,
                                                   float min_similarity) const;

  HnswCounts Counts() const;
  const HnswOptions& options() const { return core_.options; }

 private:
  friend class HnswCheckpointWriter;
  friend class HnswCheckpointReader;

  explicit HnswIndex(const HnswOptions& options);
  absl::Status Reserve();
  // The vector as it is coded: of norm 1 for cosine.
  std::vector<float> Prepared(std::span<const float> vector) const;
  uint8_t LevelOf(uint32_t label) const;
  uint32_t NodeOf(uint32_t label) const;
  void Encode(uint32_t node, std::span<const float> row);
  void Kill(uint32_t node);
  void SetPending(uint32_t node, bool pending);
  void AddToTail(uint32_t node);
  // Drops places of the tail whose rows are gone.
  void CompactTail();
  // Gives back some of the nodes that no reader can come to; true where there are more.
  bool Reclaim();
  bool PassIsDue() const;
  // Takes what a step of repairs found: unlinked nodes and orphans.
  void Apply(const hnsw::Repairer::Outcome& outcome);
  // Puts rows that links never held back into the queue of LinkSome where the index has changed.
  void RetryLoose();
  // Looks for rows that links do not lead to and puts them into the tail; returns how many.
  size_t FindOrphans();
  // Whether memory could be given back, if rows moved.
  bool MostAreFree() const;
  void MoveSome();
  bool MoveDown(uint32_t from);
  // Takes a node into its graph, at the place of its label's former one where that is equal. False
  // where repairs have to come first: it stays in the tail.
  bool Link(uint32_t node);
  // Whether a walk for links would go over removed rows most of the time.
  static bool MostAreRemoved(const hnsw::BankGraph& bank);
  // Lets searches find a node that is written; the label's former one is out of them then.
  void Publish(uint32_t node);

  absl::Status CheckQuery(const HnswQuery& query) const;
  std::vector<HnswHit> SearchPinned(std::span<const float> vector, const HnswQuery& query, size_t k,
                                    HnswTrace* trace) const;
  // The first k of `found` that are still there.
  bool TakeHits(std::span<const hnsw::Candidate> found, const hnsw::EncodedQuery& encoded,
                const HnswFilter& filter, size_t k, std::vector<HnswHit>* hits) const;

  hnsw::IndexCore core_;
  hnsw::Linker linker_;
  hnsw::Repairer repairer_;
  std::vector<uint32_t> node_of_;  // by label; kNoNode where there is none
  size_t linked_since_pass_ = 0;
  bool pass_wanted_ = false;       // rows were moved or erased since the last pass began
  bool freed_since_move_ = false;  // nodes, so that moving rows may do more than the last time
  std::vector<bool> orphaned_;     // by node: links did not hold it once
  std::vector<uint32_t> loose_;    // nodes in the tail that links did not hold twice
  size_t changed_since_retry_ = 0;
  std::deque<uint32_t> tail_;  // nodes to link, some of them out of date
  // By a node of the tail: the removed node of its label that is in the graph.
  std::unordered_map<uint32_t, uint32_t> former_;
  struct Retired {
    uint64_t epoch;
    uint32_t node;
  };
  std::deque<Retired> retired_;  // until their readers are gone
  std::atomic<size_t> tail_places_{0};
  std::atomic<size_t> live_{0};
  std::atomic<size_t> removed_{0};
};

}  // namespace ruvd::storage
